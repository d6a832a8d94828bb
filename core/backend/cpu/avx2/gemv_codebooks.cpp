// SPDX-License-Identifier: Apache-2.0
// GEMV for a few rows of x: types with codebooks, ternary and binary types.
#include "backend/cpu/avx2/gemv_codebooks.h"

#include "backend/cpu/avx2/gemv_rows.h"
#include "backend/cpu/avx2/tables.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

void fill_avx2_gemv_codebooks(MatmulKernels& table) {
    fill_point_tables();
    const auto set = [&table](TensorType type, GemvKernel kernel) {
        table.gemv[static_cast<uint32_t>(type)] = kernel;
    };
    set(TensorType::iq1_m, make_kernel<StepIq1M, 1>());
    set(TensorType::iq1_s, make_kernel<StepIq1S, 1>());
    set(TensorType::iq2_s, make_kernel<StepIq2S, 1>());
    set(TensorType::iq2_xs, make_kernel<StepIq2Xs, 1>());
    set(TensorType::iq2_xxs, make_kernel<StepIq2Xxs, 1>());
    set(TensorType::iq3_s, make_kernel<StepIq3S, 1>());
    set(TensorType::iq3_xxs, make_kernel<StepIq3Xxs, 1>());
    set(TensorType::nvfp4, make_kernel<StepNvfp4>());
    set(TensorType::q1_0, make_kernel<StepQ1_0>());
    set(TensorType::q2_0, make_kernel<StepQ2_0>());
    set(TensorType::tq1_0, make_kernel<StepTq1_0, 1>());
    set(TensorType::tq2_0, make_kernel<StepTq2_0>());
}

}  // namespace hokku::cpu
