// SPDX-License-Identifier: Apache-2.0
// A model on the CUDA backend, over the emulator or, where HOKKU_GPU_TEST_IMAGES names images, on
// the first GPU; with the step helpers of ModelRunner.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emulation/fakes/fake_driver.h"
#include "plugin/cuda_backend.h"
#include "support/model_runner.h"

namespace hokku::testing {

/// The device that these tests run on; the same for all.
Result<const cuda::Gpu*> test_gpu();
bool is_test_gpu_emulated();
/// Its cuBLAS; null where a real one is not installed.
const cuda::BlasApi* test_blas();

/// ModelRunner::Options count but for exact, threads and ranks.
Result<std::unique_ptr<ModelRunner>> open_on_gpu(const std::filesystem::path& path,
                                                 const ModelRunner::Options& options = {},
                                                 const cuda::CudaOptions& own = {
                                                     .blas = test_blas()});

/// The same with the first layers on the CPU. Behind `cuts` layers the device has another backend.
Result<std::unique_ptr<ModelRunner>> open_split(const std::filesystem::path& path,
                                                uint32_t num_cpu_layers,
                                                const ModelRunner::Options& options = {},
                                                const std::vector<uint32_t>& cuts = {});

}  // namespace hokku::testing
