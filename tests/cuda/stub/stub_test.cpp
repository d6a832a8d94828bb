// SPDX-License-Identifier: Apache-2.0
// The plug-in for Windows as a library of its own over a driver as a library of its own: both are
// opened, each call of the driver fails once, and the program goes on.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "backend/plugin/gpu_plugin.h"
#include "base/executable_path.h"
#include "base/path_text.h"
#include "base/shared_library.h"
#include "hokku/engine.h"
#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/scratch_folder.h"
#include "support/system.h"
#include "support/tiny_model.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

namespace fs = std::filesystem;

/// The two libraries lie in a folder beside this program. The driver is opened first, by its path:
/// by its name alone it is then found.
struct Stub {
    SharedLibrary library;
    void (*reset)(int32_t number);
    const char* (*failed)();
    int32_t (*live_allocations)();

    static Stub open() {
        const fs::path folder = executable_path()->parent_path() / "gpu_stub";
        set_environment("HOKKU_CUDA", path_utf8(folder / "hokku_cuda_of_stub.dll"));
        Stub stub{value_of(SharedLibrary::open(folder / "nvcuda.dll")), {}, {}, {}};
        const auto find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
                stub.library.find(name));
            REQUIRE(function != nullptr);
        };
        find(stub.reset, "hokku_stub_reset");
        find(stub.failed, "hokku_stub_failed");
        find(stub.live_allocations, "hokku_stub_live_allocations");
        return stub;
    }
};

struct TinyFile {
    TinyFile() { make_tiny_llama().write(path); }
    [[nodiscard]] LoadOptions options(const std::string& device) const {
        LoadOptions options;
        options.path = path;
        options.device = device;
        options.num_threads = 1;
        options.context_tokens = 128;
        return options;
    }
    ScratchFolder folder;
    fs::path path = folder / "tiny.gguf";
};

GenerationResult two_tokens(Engine& engine) {
    GenerationRequest request;
    request.tokens = std::vector<TokenId>{10, 20, 30};
    request.sampling.temperature = 0;
    request.max_tokens = 2;
    request.ignore_end = true;
    return engine.generate(std::move(request)).wait();
}

}  // namespace

TEST_CASE("GPU plug-in: opens as a library, and so does the driver", "[cuda][quick]") {
    const Stub stub = Stub::open();
    stub.reset(0);
    const auto devices = value_of(list_gpu_devices(*value_of(find_gpu_plugin())));
    REQUIRE(devices.size() == 1);
    CHECK(devices[0].name == "Stub");
    CHECK(devices[0].total_bytes == uint64_t{1} << 33);
    const TinyFile file;
    const auto engine = value_of(Engine::create());
    const ModelInfo info = value_of(engine->load(file.options("auto")));
    CHECK(info.device == "GPU Stub");
    CHECK(info.device_note.empty());
    const GenerationResult result = two_tokens(*engine);
    CHECK(result.reason == StopReason::max_tokens);
    CHECK(result.tokens.size() == 2);
    CHECK(stub.live_allocations() >= 5);
    engine->unload();
    CHECK(stub.live_allocations() == 0);
}

TEST_CASE("GPU plug-in: each call of the driver's library fails once, and is named",
          "[cuda][quick]") {
    const Stub stub = Stub::open();
    const TinyFile file;
    std::set<std::string> seen;
    int32_t number = 1, num_leaked = 0;
    for (; number < 5000; ++number) {
        stub.reset(number);
        const auto engine = value_of(Engine::create());
        const auto info = engine->load(file.options("auto"));
        REQUIRE(info.ok());
        const bool is_on_gpu = info->device.starts_with("GPU");
        const GenerationResult result = two_tokens(*engine);
        const std::string failed = stub.failed();
        CAPTURE(number, failed);
        CHECK(is_on_gpu == info->device_note.empty());
        if (failed.empty()) {
            CHECK(is_on_gpu);
            CHECK(result.reason == StopReason::max_tokens);
        } else {
            // Whichever it was, it was met; the CPU has taken over, or the text ends with it.
            seen.insert(failed);
            // A function that is not found is a kernel that is missing, and told as that.
            if (!is_on_gpu && failed != "cuModuleGetFunction")
                CHECK(info->device_note.find(failed) != std::string::npos);
            if (result.error) CHECK(result.error->where.find(failed) != std::string::npos);
            if (!is_on_gpu) CHECK(result.reason == StopReason::max_tokens);
        }
        const int32_t live_before = num_leaked;
        engine->unload();
        num_leaked = stub.live_allocations();
        // What cannot reach its context cannot be freed.
        if (std::string(stub.failed()) != "cuCtxSetCurrent") CHECK(num_leaked == live_before);
        if (std::string(stub.failed()).empty()) break;
    }
    CHECK(number > 100);
    CHECK(number < 5000);
    for (const char* name : {"cuInit", "cuDevicePrimaryCtxRetain", "cuModuleLoadData",
                             "cuMemAlloc_v2", "cuMemHostAlloc", "cuStreamEndCapture",
                             "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuStreamSynchronize"})
        CHECK(seen.count(name) == 1);
}
