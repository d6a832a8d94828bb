# SPDX-License-Identifier: Apache-2.0
# Run by CPack when the files of a package lie in their folder, before it packs them.
set(_here ${CMAKE_CURRENT_LIST_DIR})
if(CPACK_GENERATOR STREQUAL "DEB")
    execute_process(COMMAND bash ${_here}/finish-deb ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr
                    COMMAND_ERROR_IS_FATAL ANY)
elseif(CPACK_GENERATOR STREQUAL "TGZ")
    execute_process(COMMAND bash ${_here}/bundle ${CPACK_TEMPORARY_INSTALL_DIRECTORY}
                    COMMAND_ERROR_IS_FATAL ANY)
endif()
