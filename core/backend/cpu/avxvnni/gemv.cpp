// SPDX-License-Identifier: Apache-2.0
// The GEMV of avx2/ with AVX-VNNI, for the types whose products it makes cheaper.
#include "backend/cpu/avx2/gemv_rows.h"
#include "backend/cpu/avx2/gemv_steps.h"
#include "backend/cpu/avxvnni/tables.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

void fill_avxvnni_gemv(MatmulKernels& table) {
    const auto set = [&table](TensorType type, GemvKernel kernel) {
        table.gemv[static_cast<uint32_t>(type)] = kernel;
    };
    set(TensorType::q4_0, make_kernel<StepQ4_0>());
    set(TensorType::q4_1, make_kernel<StepQ4_1>());
    set(TensorType::q5_0, make_kernel<StepQ5_0>());
    set(TensorType::q5_1, make_kernel<StepQ5_1>());
    set(TensorType::q8_0, make_kernel<StepQ8_0>());
    set(TensorType::q4_k, make_kernel<StepQ4_K>());
    set(TensorType::q5_k, make_kernel<StepQ5_K>());
    set(TensorType::q6_k, make_kernel<StepQ6_K>());
    set(TensorType::iq4_nl, make_kernel<StepIq4Nl>());
    set(TensorType::iq4_xs, make_kernel<StepIq4Xs>());
    set(TensorType::mxfp4, make_kernel<StepMxfp4>());
}

}  // namespace hokku::cpu
