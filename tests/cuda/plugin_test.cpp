// SPDX-License-Identifier: Apache-2.0
// The plug-in as the core uses it, over the fake driver: models that go to the GPU or not, with the
// reason; every call of the driver failing once; memory that is given back.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backend/plugin/gpu_plugin.h"
#include "backend/plugin/plugin_api.h"
#include "emulation/fakes/fake_blas.h"
#include "emulation/fakes/fake_driver.h"
#include "engine/engine_access.h"
#include "engine/model_loader.h"
#include "plugin/plugin.h"
#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/scratch_folder.h"
#include "support/tiny_model.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::DriverResult;
using emulation::FakeDriver;

namespace {

Result<cuda::PluginSource> open_emulated_source() {
    cuda::PluginSource source;
    source.library = std::make_unique<emulation::FakeDriverSymbols>();
    source.images = {emulation::kEmulatedImage};
    source.open_blas = []() -> Result<std::unique_ptr<cuda::SymbolSource>> {
        return std::unique_ptr<cuda::SymbolSource>(std::make_unique<emulation::FakeBlasSymbols>());
    };
    return source;
}

Result<const PluginTable*> find_emulated_plugin() {
    cuda::set_plugin_source(open_emulated_source);
    return &cuda::plugin_table();
}

std::unique_ptr<Engine> engine_on_emulator() {
    return value_of(EngineAccess::create(make_model_loader(find_emulated_plugin)));
}

class TinyFile {
  public:
    TinyFile() { make_tiny_llama().write(path_); }
    [[nodiscard]] LoadOptions options(const std::string& device) const {
        LoadOptions options;
        options.path = path_;
        options.device = device;
        options.num_threads = 1;
        options.context_tokens = 128;
        options.kv_type = KvType::f32;  // As the CPU computes, digit by digit.
        return options;
    }

  private:
    ScratchFolder folder_;
    std::filesystem::path path_ = folder_ / "tiny.gguf";
};

GenerationResult continue_text(Engine& engine, uint32_t max_tokens, float temperature = 0) {
    GenerationRequest request;
    request.tokens = std::vector<TokenId>{10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
    request.sampling.temperature = temperature;
    request.sampling.seed = 5;
    request.max_tokens = max_tokens;
    request.ignore_end = true;
    return engine.generate(std::move(request)).wait();
}

}  // namespace

TEST_CASE("GPU plug-in: the engine writes the CPU's text on a GPU", "[cuda][quick]") {
    const TinyFile file;
    FakeDriver::reset();
    const auto gpu = engine_on_emulator();
    const ModelInfo info = value_of(gpu->load(file.options("cuda")));
    CHECK(info.device == "GPU Emulated device 0");
    CHECK(info.device_note.empty());
    CHECK(info.kernels == "cuda sm_90, prompts by cuBLAS");
    CHECK(info.context_tokens == 128);
    CHECK(info.kv_bytes > 0);
    const GenerationResult on_gpu = continue_text(*gpu, 4);
    INFO((on_gpu.error ? on_gpu.error->message() : ""));
    const auto cpu = engine_on_emulator();
    CHECK(value_of(cpu->load(file.options("cpu"))).device.starts_with("CPU"));
    CHECK(on_gpu.tokens == continue_text(*cpu, 4).tokens);
    CHECK(on_gpu.tokens.size() == 4);
    // Drawn from the best logits, which are all that comes from the device.
    CHECK(continue_text(*gpu, 8, 1.5f).tokens == continue_text(*cpu, 8, 1.5f).tokens);
    gpu->unload();
    CHECK(FakeDriver::counts().num_live_allocations == 0);
}

TEST_CASE("GPU plug-in: contexts are of halves on a GPU and of floats on the CPU",
          "[cuda][quick]") {
    const TinyFile file;
    FakeDriver::reset();
    const auto engine = engine_on_emulator();
    for (const auto& [device, type] : {std::pair{"cuda", KvType::f16}, {"cpu", KvType::f32}}) {
        LoadOptions options = file.options(device);
        options.kv_type.reset();
        CHECK(value_of(engine->load(options)).kv_type == type);
        options.kv_type = KvType::q8_0;
        CHECK(value_of(engine->load(options)).kv_type == KvType::q8_0);
        CHECK(continue_text(*engine, 2).reason == StopReason::max_tokens);
    }
}

TEST_CASE("GPU plug-in: without a device the CPU is taken, and the reason told", "[cuda][quick]") {
    const TinyFile file;
    const auto expect_cpu = [&](const std::string& reason) {
        const auto engine = engine_on_emulator();
        const ModelInfo info = value_of(engine->load(file.options("auto")));
        CHECK(info.device.starts_with("CPU"));
        CHECK(info.device_note.find(reason) != std::string::npos);
        CHECK(value_of(engine->load(file.options("cpu"))).device_note.empty());
        const auto refused = engine->load(file.options("cuda"));
        REQUIRE_FALSE(refused.ok());
        CHECK(refused.error().message().find(reason) != std::string::npos);
    };
    FakeDriver::reset({.num_devices = 0});
    expect_cpu("the graphics driver finds no NVIDIA GPU");
    FakeDriver::reset({.driver_version = 11080});
    expect_cpu("the graphics driver is too old (it knows CUDA 11.8)");
    FakeDriver::reset({.compute_major = 6, .compute_minor = 1});
    expect_cpu("is too old: its architecture is 6.1");
}

TEST_CASE("GPU plug-in: what does not fit is refused with numbers", "[cuda][quick]") {
    const TinyFile file;
    FakeDriver::reset({.memory_bytes = uint64_t{64} << 20});
    const auto engine = engine_on_emulator();
    const auto refused = engine->load(file.options("cuda"));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::limit_exceeded);
    CHECK(refused.error().what.find(" MiB on the GPU and 64 MiB of 64 are free") !=
          std::string::npos);
    const ModelInfo info = value_of(engine->load(file.options("auto")));
    CHECK(info.device.starts_with("CPU"));
    CHECK(info.device_note.find("MiB on the GPU") != std::string::npos);
    CHECK(FakeDriver::counts().num_live_allocations == 0);
}

TEST_CASE("GPU plug-in: devices have numbers, and others are refused", "[cuda][quick]") {
    const TinyFile file;
    FakeDriver::reset({.num_devices = 2});
    const auto engine = engine_on_emulator();
    CHECK(value_of(engine->load(file.options("cuda:1"))).device == "GPU Emulated device 1");
    CHECK_FALSE(engine->load(file.options("cuda:2")).ok());
    for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "CUDA"}) {
        const auto refused = engine->load(file.options(name));
        REQUIRE_FALSE(refused.ok());
        CHECK(refused.error().code == ErrorCode::bad_argument);
    }
}

TEST_CASE("GPU plug-in: what kernels do not compute runs on the CPU, by name", "[cuda][quick]") {
    const TinyFile file;
    FakeDriver::reset();
    const auto engine = engine_on_emulator();
    LoadOptions exact = file.options("auto");
    exact.exact = true;
    CHECK(value_of(engine->load(exact)).device_note.find("exact") != std::string::npos);
    exact.device = "cuda";
    CHECK_FALSE(engine->load(exact).ok());
}

TEST_CASE("GPU plug-in: whatever call fails at load, the CPU takes over", "[cuda]") {
    const TinyFile file;
    uint64_t number = 1;
    for (; number < 5000; ++number) {
        FakeDriver::reset();
        FakeDriver::fail_call(
            number, number % 2 == 0 ? DriverResult::out_of_memory : DriverResult::unknown);
        const auto engine = engine_on_emulator();
        const auto info = engine->load(file.options("auto"));
        const std::string failed = FakeDriver::failed_call();
        INFO("call " << number << ", " << failed);
        REQUIRE(info.ok());
        if (failed.empty()) break;  // The load has no such call.
        const bool is_on_gpu = info->device.starts_with("GPU");
        CHECK(is_on_gpu == info->device_note.empty());
        engine->unload();
        // Freeing itself may be what failed.
        const bool can_leak =
            failed == "cuMemFree_v2" || failed == "cuMemFreeHost" || failed == "cuCtxSetCurrent";
        if (!can_leak) CHECK(FakeDriver::counts().num_live_allocations == 0);
    }
    CHECK(number > 100);
    CHECK(number < 5000);
}

TEST_CASE("GPU plug-in: whatever call fails in a step, the text is the same", "[cuda]") {
    const TinyFile file;
    FakeDriver::reset();
    const auto cpu = engine_on_emulator();
    value_of(cpu->load(file.options("cpu")));
    const std::vector<TokenId> expected = continue_text(*cpu, 2).tokens;
    for (uint64_t number = 1; number < 200; ++number) {
        FakeDriver::reset();
        const auto engine = engine_on_emulator();
        value_of(engine->load(file.options("cuda")));
        FakeDriver::fail_call(number, DriverResult::launch_failed);
        const GenerationResult result = continue_text(*engine, 2);
        const std::string failed = FakeDriver::failed_call();
        INFO("call " << number << ", " << failed);
        REQUIRE(result.reason == StopReason::max_tokens);
        CHECK(result.tokens == expected);
        CHECK(engine->model()->device.starts_with("GPU"));
        if (!failed.empty()) continue;
        CHECK(number > 5);
        return;
    }
    FAIL("a prompt and a token have no two hundred calls");
}

TEST_CASE("GPU plug-in: a lost device is taken up again once, then the CPU goes on",
          "[cuda][quick]") {
    const TinyFile file;
    FakeDriver::reset();
    const auto cpu = engine_on_emulator();
    value_of(cpu->load(file.options("cpu")));
    const auto gpu = engine_on_emulator();
    value_of(gpu->load(file.options("cuda")));
    for (const char* device : {"GPU", "CPU", "CPU"}) {
        const auto generate = [](Engine& engine, bool has_loss) {
            GenerationRequest request;
            request.tokens = std::vector<TokenId>{10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
            request.sampling.temperature = 0.9f;
            request.sampling.seed = 7;
            request.max_tokens = 6;
            request.ignore_end = true;
            int count = 0;
            GenerationEvents events;
            events.on_token = [&](const TokenLogprob&) {
                if (++count == 3 && has_loss) FakeDriver::lose_devices();
            };
            return engine.generate(std::move(request), std::move(events)).wait();
        };
        const GenerationResult result = generate(*gpu, true);
        INFO((result.error ? result.error->message() : ""));
        CHECK(result.reason == StopReason::max_tokens);
        CHECK(result.tokens == generate(*cpu, false).tokens);
        const ModelInfo info = *gpu->model();
        CHECK(info.device.starts_with(device));
        CHECK(info.device_note.empty() == info.device.starts_with("GPU"));
    }
    gpu->unload();
    CHECK(FakeDriver::counts().num_live_allocations == 0);
}
