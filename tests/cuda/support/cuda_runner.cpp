// SPDX-License-Identifier: Apache-2.0
#include "cuda/support/cuda_runner.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "backend/split_backend.h"
#include "base/try.h"
#include "emulation/fakes/fake_blas.h"

namespace hokku::testing {

namespace {

struct TestGpu {
    std::unique_ptr<cuda::SymbolSource> library;
    std::vector<std::string> images;
    std::unique_ptr<cuda::Gpu> gpu;
};

Result<TestGpu> open_test_gpu() {
    TestGpu out;
    if (const char* list = std::getenv("HOKKU_GPU_TEST_IMAGES")) {
        HOKKU_TRY(out.library, cuda::open_library(cuda::driver_library_names()));
        std::istringstream paths(list);
        for (std::string path; std::getline(paths, path, ':');) {
            std::ifstream file(path, std::ios::binary);
            out.images.emplace_back(std::istreambuf_iterator<char>(file),
                                    std::istreambuf_iterator<char>());
        }
    } else {
        emulation::FakeDriver::reset();
        out.library = std::make_unique<emulation::FakeDriverSymbols>();
        out.images.emplace_back(emulation::kEmulatedImage);
    }
    HOKKU_TRY(const cuda::DriverApi api, cuda::load_driver_api(*out.library));
    HOKKU_CHECK(cuda::list_gpus(api));
    std::vector<const void*> images;
    for (const std::string& image : out.images) images.push_back(image.data());
    HOKKU_TRY(out.gpu, cuda::Gpu::open(api, 0, images));
    return out;
}

}  // namespace

Result<const cuda::Gpu*> test_gpu() {
    static const Result<TestGpu> gpu = open_test_gpu();
    if (!gpu.ok()) return gpu.error();
    return gpu->gpu.get();
}

const cuda::BlasApi* test_blas() {
    static const std::unique_ptr<cuda::SymbolSource> library =
        []() -> std::unique_ptr<cuda::SymbolSource> {
        if (is_test_gpu_emulated()) return std::make_unique<emulation::FakeBlasSymbols>();
        auto installed = cuda::open_library(cuda::blas_library_names());
        return installed.ok() ? std::move(installed).value() : nullptr;
    }();
    if (library == nullptr) return nullptr;
    static const Result<cuda::BlasApi> api = cuda::load_blas_api(*library);
    return api.ok() ? &*api : nullptr;
}

bool is_test_gpu_emulated() {
    return std::getenv("HOKKU_GPU_TEST_IMAGES") == nullptr;
}

namespace {

Result<std::unique_ptr<Backend>> make_cuda_backend(const Model& model, const BackendOptions& wanted,
                                                   const cuda::CudaOptions& own_options) {
    HOKKU_TRY(const cuda::Gpu* gpu, test_gpu());
    BackendOptions own = wanted;
    own.exact = false;
    own.num_ranks = 1;
    HOKKU_TRY(auto backend,
              cuda::CudaBackend::create(
                  *gpu, model, own, [](double) { return Result<void>(); }, own_options));
    return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace

Result<std::unique_ptr<ModelRunner>> open_on_gpu(const std::filesystem::path& path,
                                                 const ModelRunner::Options& options,
                                                 const cuda::CudaOptions& own_options) {
    return ModelRunner::open(path, options,
                             [own_options](const Model& model, const BackendOptions& wanted) {
                                 return make_cuda_backend(model, wanted, own_options);
                             });
}

Result<std::unique_ptr<ModelRunner>> open_split(const std::filesystem::path& path,
                                                uint32_t num_cpu_layers,
                                                const ModelRunner::Options& options,
                                                const std::vector<uint32_t>& cuts) {
    const auto make = [num_cpu_layers, cuts](
                          const Model& model,
                          const BackendOptions& wanted) -> Result<std::unique_ptr<Backend>> {
        std::vector<uint32_t> ends;
        if (num_cpu_layers > 0) ends.push_back(num_cpu_layers);
        ends.insert(ends.end(), cuts.begin(), cuts.end());
        ends.push_back(model.spec().num_layers);
        std::vector<ModelPart> parts;
        uint32_t begin = 0;
        for (const uint32_t end : ends) {
            ModelPart part;
            part.model = std::make_unique<const Model>(model.layers(begin, end));
            part.num_layers = end - begin;
            part.is_rest = end == num_cpu_layers;
            if (part.is_rest) {
                HOKKU_TRY(part.backend, make_cpu_backend(*part.model, wanted));
            } else {
                HOKKU_TRY(part.backend,
                          make_cuda_backend(*part.model, wanted, {.blas = test_blas()}));
            }
            parts.push_back(std::move(part));
            begin = end;
        }
        return make_split_backend(std::move(parts));
    };
    return ModelRunner::open(path, options, make);
}

}  // namespace hokku::testing
