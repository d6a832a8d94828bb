# SPDX-License-Identifier: Apache-2.0
# hokku_device_kernels(TARGET FILES..): kernel files compiled for GPUs, warnings and spills being
# errors. Of each: NAME.fatbin for every architecture, NAME.ptx to look at and NAME.log, what ptxas
# says of registers. Target property HOKKU_FATBINS lists the images.
find_program(HOKKU_NVCC nvcc PATHS /usr/local/cuda/bin)
# Kernels that another build folder has compiled (its cuda/kernels): images are the same for every
# system, and a compiler for Windows cannot be nvcc's.
set(HOKKU_CUDA_KERNELS "" CACHE PATH "Compiled kernels to take instead of compiling them")
# Whatever is newer than the last is compiled from its PTX by the driver.
set(HOKKU_CUDA_ARCHITECTURES 75 80 86 89 90 100 120 CACHE STRING "GPU architectures")

function(hokku_device_kernels target)
    if(HOKKU_CUDA_KERNELS)
        set(images "")
        foreach(file IN LISTS ARGN)
            cmake_path(GET file STEM name)
            list(APPEND images ${HOKKU_CUDA_KERNELS}/${name}.fatbin)
            if(NOT EXISTS ${HOKKU_CUDA_KERNELS}/${name}.fatbin)
                message(FATAL_ERROR "HOKKU_CUDA_KERNELS has no ${name}.fatbin")
            endif()
        endforeach()
        add_custom_target(${target})
        set_target_properties(${target} PROPERTIES HOKKU_FATBINS "${images}")
        return()
    endif()
    if(NOT HOKKU_NVCC)
        message(FATAL_ERROR "HOKKU_BUILD_CUDA needs nvcc of CUDA 13")
    endif()
    set(generate "")
    foreach(architecture IN LISTS HOKKU_CUDA_ARCHITECTURES)
        list(APPEND generate -gencode arch=compute_${architecture},code=sm_${architecture})
    endforeach()
    list(GET HOKKU_CUDA_ARCHITECTURES -1 newest)
    list(APPEND generate -gencode arch=compute_${newest},code=compute_${newest})
    # Kernels of eight architectures are much alike: a third of the size. Drivers of CUDA 13 read it.
    set(flags -std=c++20 -O3 --expt-relaxed-constexpr --compress-mode=size -Werror all-warnings
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
