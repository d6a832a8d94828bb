// SPDX-License-Identifier: Apache-2.0
// The plug-in as the core uses it, over the fake driver: models that go to the GPU or not, with the
// reason; every call of the driver failing once; memory that is given back.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backend/plugin/gpu_plugin.h"
#include "cuda/support/emulated_plugin.h"
#include "emulation/fakes/fake_driver.h"
#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/scratch_folder.h"
#include "support/synthetic_model.h"
#include "support/system.h"
#include "support/tiny_model.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::DriverResult;
using emulation::FakeDriver;

namespace {

class TinyFile {
  public:
    TinyFile() { make_tiny_llama().write(path_); }
    [[nodiscard]] LoadOptions options(const std::string& device) const {
        return options_for(path_, device);
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
    CHECK(info.kernels ==
          "cuda sm_90, a graph for a token, prompts by cuBLAS, attention of eight rows");
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

TEST_CASE("GPU plug-in: kernels compiled for an older device get no dependent launches",
          "[cuda][quick]") {
    const TinyFile file;
    FakeDriver::reset({.ptx_version = 75});
    const auto gpu = engine_on_emulator();
    CHECK(value_of(gpu->load(file.options("cuda"))).device == "GPU Emulated device 0");
    const GenerationResult on_gpu = continue_text(*gpu, 4);
    INFO((on_gpu.error ? on_gpu.error->message() : ""));
    CHECK(!on_gpu.error);
    CHECK(FakeDriver::counts().num_launches > 0);
    const auto cpu = engine_on_emulator();
    value_of(cpu->load(file.options("cpu")));
    CHECK(on_gpu.tokens == continue_text(*cpu, 4).tokens);
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

TEST_CASE("GPU plug-in: a context of 4 bits is the CPU's, which is told by name", "[cuda][quick]") {
    const TinyFile file;
    FakeDriver::reset();
    const auto engine = engine_on_emulator();
    const auto options = [&](const std::string& device) {
        LoadOptions of_type = file.options(device);
        of_type.kv_type = KvType::q4_0;
        return of_type;
    };
    value_of(engine->load(file.options("cpu")));
    const auto refused = engine->load(options("cuda"));
    REQUIRE_FALSE(refused.ok());
    // The model before stays, as nothing had to be tried.
    CHECK(continue_text(*engine, 2).reason == StopReason::max_tokens);
    CHECK(refused.error().code == ErrorCode::unsupported);
    CHECK(refused.error().what == "GPUs do not keep a context of type q4_0");
    CHECK(refused.error().expected == "q8_0 or f16 there, or the CPU");
    const ModelInfo info = value_of(engine->load(options("auto")));
    CHECK(info.device.starts_with("CPU"));
    CHECK(info.kv_type == KvType::q4_0);
    CHECK(info.device_note.find("GPUs do not keep a context of type q4_0") != std::string::npos);
    CHECK(continue_text(*engine, 2).reason == StopReason::max_tokens);
    CHECK(FakeDriver::counts().num_live_allocations == 0);
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

namespace {

/// Four layers, of which a device can be too small for some.
class LargeFile {
  public:
    LargeFile() { write_synthetic_model(path_, {.num_layers = 4, .num_vocab = 256}); }
    [[nodiscard]] LoadOptions options(const std::string& device) const {
        return options_for(path_, device);
    }
    /// Of a device that the layers from first_layer on just fit on.
    [[nodiscard]] uint64_t memory_for(uint32_t first_layer) const {
        FakeDriver::reset();
        const GgufFile file = value_of(GgufFile::open(path_));
        const auto model = value_of(GpuModel::open(*value_of(find_emulated_plugin()), 0, file));
        const GpuPlan plan = value_of(model->plan(KvType::f32, first_layer, 4));
        const uint64_t bytes = plan.weight_bytes + plan.fixed_bytes + 3 * plan.kv_block_bytes;
        return bytes / 19 * 20 + (uint64_t{1} << 20);
    }

  private:
    ScratchFolder folder_;
    std::filesystem::path path_ = folder_ / "large.gguf";
};

}  // namespace

TEST_CASE("GPU plug-in: layers that do not fit stay on the CPU", "[cuda][quick]") {
    const LargeFile file;
    const auto cpu = engine_on_emulator();
    value_of(cpu->load(file.options("cpu")));
    const std::vector<TokenId> expected = continue_text(*cpu, 6).tokens;
    for (const uint32_t first : {0u, 1u, 3u}) {
        INFO("from layer " << first);
        FakeDriver::reset({.memory_bytes = file.memory_for(first)});
        const auto engine = engine_on_emulator();
        const ModelInfo info = value_of(engine->load(file.options("auto")));
        CHECK(info.device_note.empty());
        if (first == 0) {
            CHECK(info.device == "GPU Emulated device 0");
        } else {
            CHECK(info.device.starts_with("GPU Emulated device 0, " + std::to_string(4 - first) +
                                          " of 4 layers; the others on CPU "));
            CHECK(info.kernels.starts_with("cuda sm_90"));
        }
        CHECK(info.context_tokens == 128);
        const GenerationResult result = continue_text(*engine, 6);
        INFO((result.error ? result.error->message() : ""));
        CHECK(result.tokens == expected);
        engine->unload();
        CHECK(FakeDriver::counts().num_live_allocations == 0);
    }
}

TEST_CASE("GPU plug-in: where there is no room the draft model goes to the CPU as well",
          "[cuda][quick]") {
    const TinyFile file;
    LoadOptions options = file.options("auto");
    options.draft_model = options.path;
    FakeDriver::reset({.memory_bytes = uint64_t{1} << 20});
    const auto engine = engine_on_emulator();
    const auto info = engine->load(options);
    INFO((info.ok() ? "" : info.error().message()));
    REQUIRE(info.ok());
    CHECK(info->device.starts_with("CPU"));
    CHECK(info->draft_bytes > 0);
    CHECK(continue_text(*engine, 4).tokens.size() == 4);
}

TEST_CASE("GPU plug-in: the draft model takes no other GPU than the one that was asked for",
          "[cuda][quick]") {
    const LargeFile file;
    const uint64_t memory = file.memory_for(0);  // No room for a second one.
    LoadOptions options = file.options("cuda:1");
    const auto bytes_on_devices = [&] {
        FakeDriver::reset({.num_devices = 2, .memory_bytes = memory});
        const auto engine = engine_on_emulator();
        value_of(engine->load(options));
        return FakeDriver::counts().live_bytes;
    };
    const uint64_t alone = bytes_on_devices();
    REQUIRE(alone > 0);
    options.draft_model = options.path;
    CHECK(bytes_on_devices() == alone);
}

TEST_CASE("GPU plug-in: settings that have no meaning are refused by name", "[cuda][quick]") {
    const TinyFile file;
    FakeDriver::reset();
    for (const std::string name :
         {"HOKKU_CUDA_PERSISTENT", "HOKKU_CUDA_PREFILL", "HOKKU_CUDA_ALL_REDUCE"}) {
        set_environment(name, "yes");
        const auto refused = engine_on_emulator()->load(file.options("cuda"));
        const auto elsewhere = engine_on_emulator()->load(file.options("auto"));
        unset_environment(name);
        REQUIRE_FALSE(refused.ok());
        CHECK(refused.error().message().starts_with(name + " is \"yes\" (environment): expected "));
        REQUIRE(elsewhere.ok());
        CHECK(elsewhere->device_note == refused.error().message());
        CHECK(engine_on_emulator()->load(file.options("cuda")).ok());
    }
}

TEST_CASE("GPU plug-in: as many layers as are wanted, or the reason why not", "[cuda][quick]") {
    const LargeFile file;
    const auto device_of = [&](uint32_t layers, const char* device = "cuda") {
        LoadOptions options = file.options(device);
        options.gpu_layers = layers;
        const auto info = engine_on_emulator()->load(options);
        return info.ok() ? info->device : info.error().message();
    };
    const uint64_t memory = file.memory_for(2);
    FakeDriver::reset();
    CHECK(device_of(1).find(", 1 of 4 layers; ") != std::string::npos);
    CHECK(device_of(4) == "GPU Emulated device 0");
    CHECK(device_of(1000) == "GPU Emulated device 0");
    CHECK(device_of(0, "auto").starts_with("CPU"));
    CHECK(device_of(0).find("no layers are wanted on the GPU") != std::string::npos);
    FakeDriver::reset({.memory_bytes = memory});
    CHECK(device_of(2).find(", 2 of 4 layers; ") != std::string::npos);
    CHECK(device_of(3).starts_with("3 of 4 layers take "));
    CHECK(device_of(3).find(" MiB on the GPU and ") != std::string::npos);
    CHECK(device_of(3, "auto").starts_with("CPU"));
}

TEST_CASE("GPU plug-in: a device that is lost with some of the layers", "[cuda][quick]") {
    const LargeFile file;
    LoadOptions options = file.options("cuda");
    options.gpu_layers = 2;
    const auto cpu = engine_on_emulator();
    value_of(cpu->load(file.options("cpu")));
    const std::vector<TokenId> expected = continue_text(*cpu, 4).tokens;
    FakeDriver::reset();
    const auto engine = engine_on_emulator();
    value_of(engine->load(options));
    CHECK(continue_text(*engine, 4).tokens == expected);
    for (const char* device : {"GPU Emulated device 0, 2 of 4 layers", "CPU", "CPU"}) {
        FakeDriver::lose_devices();
        CHECK(continue_text(*engine, 4).tokens == expected);
        CHECK(engine->model()->device.starts_with(device));
    }
    engine->unload();
    CHECK(FakeDriver::counts().num_live_allocations == 0);
}

namespace {

/// A text that is longer than the context of 128 tokens, of the tiny model's 256.
GenerationResult grow_text(Engine& engine) {
    GenerationRequest request;
    request.tokens = std::vector<TokenId>(120, 7);
    request.sampling.temperature = 0;
    request.max_tokens = 12;
    request.ignore_end = true;
    request.overflow = Overflow::grow;
    return engine.generate(std::move(request)).wait();
}

}  // namespace

TEST_CASE("GPU plug-in: the device's memory says how far a context can grow", "[cuda][quick]") {
    const TinyFile file;
    FakeDriver::reset();
    const auto engine = engine_on_emulator();
    value_of(engine->load(file.options("cuda")));
    const std::vector<TokenId> expected = continue_text(*engine, 3).tokens;
    // Others have taken it; the machine has plenty.
    FakeDriver::leave_free(0);
    GenerationResult result = grow_text(*engine);
    CHECK(result.reason == StopReason::context_full);
    CHECK(result.notice.find("0 MiB of memory are available") != std::string::npos);
    CHECK(engine->model()->context_tokens == 128);
    CHECK(continue_text(*engine, 3).tokens == expected);
    // It looks as if there were room, and there is none.
    FakeDriver::leave_free(uint64_t{1} << 30);
    for (uint64_t number = 1; number < 200; ++number) {
        FakeDriver::fail_call(number, DriverResult::out_of_memory);
        result = grow_text(*engine);
        INFO("call " << number << ", " << FakeDriver::failed_call());
        REQUIRE_FALSE(FakeDriver::failed_call().empty());
        CHECK(engine->model()->device == "GPU Emulated device 0");
        if (engine->model()->context_tokens == 256) break;
        const bool is_told = result.error.has_value() || !result.notice.empty();
        CHECK(is_told);
        CHECK(continue_text(*engine, 3).tokens == expected);
    }
    CHECK(engine->model()->context_tokens == 256);
    FakeDriver::fail_call(0, DriverResult::success);
    CHECK(grow_text(*engine).tokens.size() == 12);
    CHECK(continue_text(*engine, 3).tokens == expected);
    engine->unload();
    CHECK(FakeDriver::counts().num_live_allocations == 0);
}

TEST_CASE("GPU plug-in: memory that is short in a step ends that answer alone", "[cuda][quick]") {
    const TinyFile file;
    FakeDriver::reset();
    const auto engine = engine_on_emulator();
    value_of(engine->load(file.options("cuda")));
    const std::vector<TokenId> expected = continue_text(*engine, 2).tokens;
    uint32_t num_errors = 0;
    for (uint64_t number = 1; number < 200; ++number) {
        FakeDriver::fail_call(number, DriverResult::out_of_memory);
        const GenerationResult result = continue_text(*engine, 2);
        const std::string failed = FakeDriver::failed_call();
        INFO("call " << number << ", " << failed);
        if (failed.empty()) {
            CHECK(result.tokens == expected);
            CHECK(num_errors > 5);
            return;
        }
        ++num_errors;
        REQUIRE(result.error.has_value());
        CHECK(result.error->code == ErrorCode::out_of_memory);
        CHECK(engine->model()->device == "GPU Emulated device 0");
        CHECK(continue_text(*engine, 2).tokens == expected);
    }
    FAIL("a prompt and a token have no two hundred calls");
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
