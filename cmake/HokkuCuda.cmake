# SPDX-License-Identifier: Apache-2.0
# hokku_device_kernels(TARGET FILES..): kernel files compiled for GPUs, warnings and spills being
# errors. Of each: NAME.fatbin for every architecture, NAME.ptx to look at and NAME.log, what ptxas
# says of registers. Target property HOKKU_FATBINS lists the images.
find_program(HOKKU_NVCC nvcc PATHS /usr/local/cuda/bin)
# Whatever is newer than the last is compiled from its PTX by the driver.
set(HOKKU_CUDA_ARCHITECTURES 75 80 86 89 90 100 120 CACHE STRING "GPU architectures")

function(hokku_device_kernels target)
    if(NOT HOKKU_NVCC)
        message(FATAL_ERROR "HOKKU_BUILD_CUDA needs nvcc of CUDA 13")
    endif()
    set(generate "")
    foreach(architecture IN LISTS HOKKU_CUDA_ARCHITECTURES)
        list(APPEND generate -gencode arch=compute_${architecture},code=sm_${architecture})
    endforeach()
    list(GET HOKKU_CUDA_ARCHITECTURES -1 newest)
    list(APPEND generate -gencode arch=compute_${newest},code=compute_${newest})
    set(flags -std=c++20 -O3 --expt-relaxed-constexpr -Werror all-warnings
        -I${PROJECT_SOURCE_DIR}/cuda -I${PROJECT_SOURCE_DIR}/cuda/device/nvcc
        -I${PROJECT_SOURCE_DIR}/tests/cuda)
    set(images "")
    foreach(file IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
        cmake_path(GET file STEM name)
        set(base ${CMAKE_CURRENT_BINARY_DIR}/${name})
        add_custom_command(OUTPUT ${base}.fatbin ${base}.log ${base}.ptx VERBATIM
            COMMAND sh -c "log=$1; shift; \"$@\" > $log 2>&1 || { cat $log; exit 1; }"
                    sh ${base}.log
                    ${HOKKU_NVCC} ${flags} -MD -MF ${base}.d -MT ${base}.fatbin -fatbin ${generate}
                    -Xptxas -v,-warn-spills ${file} -o ${base}.fatbin
            COMMAND ${HOKKU_NVCC} ${flags} -ptx -arch=compute_90 ${file} -o ${base}.ptx
            DEPENDS ${file} DEPFILE ${base}.d COMMENT "Compiling ${name}.cu for GPUs")
        list(APPEND images ${base}.fatbin)
    endforeach()
    add_custom_target(${target} ALL DEPENDS ${images})
    set_target_properties(${target} PROPERTIES HOKKU_FATBINS "${images}")
endfunction()
