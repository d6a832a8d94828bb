// SPDX-License-Identifier: Apache-2.0
// Layers of a model on several GPUs of the fake driver, one behind the other: the text of one, what
// goes where, devices that are too small or lost, growth, cached prefixes and saved chats.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backend/plugin/gpu_plugin.h"
#include "cuda/support/emulated_plugin.h"
#include "emulation/fakes/fake_driver.h"
#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/scratch_folder.h"
#include "support/synthetic_model.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::DriverResult;
using emulation::FakeDriver;

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

SyntheticShape shape_of(uint32_t num_layers) {
    return {.num_layers = num_layers,
            .dim = 64,
            .num_heads = 4,
            .num_kv_heads = 2,
            .head_dim = 16,
            .hidden = 128,
            .num_vocab = 256};
}

/// Layers of 2.6 MiB, so that they count beside what a device takes for itself.
SyntheticShape wide_shape() {
    return {.num_layers = 5, .num_vocab = 256, .context = 256};
}

class ModelFile {
  public:
    explicit ModelFile(const SyntheticShape& shape) : num_layers_(shape.num_layers) {
        write_synthetic_model(path_, shape);
    }
    [[nodiscard]] LoadOptions options(const std::string& device) const {
        return options_for(path_, device);
    }
    /// What a device must have for these layers with the context of options(), and half a layer
    /// more.
    [[nodiscard]] uint64_t memory_for(uint32_t begin, uint32_t end) const {
        FakeDriver::reset();
        const GgufFile file = value_of(GgufFile::open(path_));
        const auto model = value_of(GpuModel::open(*value_of(find_emulated_plugin()), 0, file));
        const GpuPlan plan = value_of(model->plan(KvType::f32, begin, end));
        const uint64_t bytes = plan.weight_bytes + plan.fixed_bytes + 3 * plan.kv_block_bytes;
        return bytes / 19 * 20 + kMiB;
    }
    [[nodiscard]] std::vector<TokenId> text_on_cpu(uint32_t num_tokens) const;

  private:
    ScratchFolder folder_;
    std::filesystem::path path_ = folder_ / "model.gguf";
    uint32_t num_layers_;
};

std::vector<TokenId> some_tokens(size_t count) {
    std::vector<TokenId> tokens(count);
    for (size_t i = 0; i < count; ++i) tokens[i] = static_cast<TokenId>(i * 7 % 90 + 3);
    return tokens;
}

GenerationResult go_on(Engine& engine, std::vector<TokenId> tokens, uint32_t num_tokens,
                       Overflow overflow = Overflow::stop) {
    GenerationRequest request;
    request.tokens = std::move(tokens);
    request.sampling.temperature = 0;
    request.max_tokens = num_tokens;
    request.ignore_end = true;
    request.overflow = overflow;
    return engine.generate(std::move(request)).wait();
}

/// A prompt that prefill takes, and tokens one by one.
std::vector<TokenId> text_of(Engine& engine, uint32_t num_tokens) {
    const GenerationResult result = go_on(engine, some_tokens(10), num_tokens);
    INFO((result.error ? result.error->message() : ""));
    CHECK(result.reason == StopReason::max_tokens);
    return result.tokens;
}

std::vector<TokenId> ModelFile::text_on_cpu(uint32_t num_tokens) const {
    const auto cpu = engine_on_emulator();
    value_of(cpu->load(options("cpu")));
    return text_of(*cpu, num_tokens);
}

std::string refusal_of(const LoadOptions& options) {
    const auto refused = engine_on_emulator()->load(options);
    return refused.ok() ? "on " + refused->device : refused.error().message();
}

/// Warnings of devices that are left out.
std::string skipped_in(const ModelInfo& info) {
    std::string skipped;
    for (const std::string& warning : info.warnings)
        if (warning.find(" not used: ") != std::string::npos) skipped += warning + "\n";
    return skipped;
}

bool contains(const std::string& text, const std::string& part) {
    UNSCOPED_INFO(text);
    return text.find(part) != std::string::npos;
}

}  // namespace

// Devices are filled, one after another, to the share of the fullest, which is that of three layers
// where seven are on three; the last one has the head.
TEST_CASE("GPUs in a row: two and three give the text of one and of the CPU", "[cuda][quick]") {
    SyntheticShape tied = shape_of(7);
    tied.architecture = "gemma2";
    tied.is_tied = true;
    const std::pair<SyntheticShape, std::pair<const char*, const char*>> cases[] = {
        {shape_of(5),
         {"GPU Emulated device 0, 3 layers; GPU Emulated device 1, 2 layers",
          "GPU Emulated device 2, 2 layers; GPU Emulated device 0, 2 layers; GPU Emulated device "
          "1, 1 layer"}},
        {tied,
         {"GPU Emulated device 0, 4 layers; GPU Emulated device 1, 3 layers",
          "GPU Emulated device 2, 3 layers; GPU Emulated device 0, 3 layers; GPU Emulated device "
          "1, 1 layer"}}};
    for (const auto& [shape, devices] : cases) {
        const ModelFile file(shape);
        FakeDriver::reset({.num_devices = 3});
        const std::vector<TokenId> expected = file.text_on_cpu(3);
        const auto engine = engine_on_emulator();
        value_of(engine->load(file.options("cuda")));
        CHECK(text_of(*engine, 3) == expected);
        for (const auto& [names, device] :
             {std::pair{"cuda:0,1", devices.first}, {"cuda:2,0,1", devices.second}}) {
            INFO(names);
            const ModelInfo info = value_of(engine->load(file.options(names)));
            CHECK(info.device == device);
            CHECK(info.device_note.empty());
            CHECK(skipped_in(info).empty());
            CHECK(info.kernels ==
                  "cuda sm_90, a graph for a token, prompts by cuBLAS, attention of eight rows");
            CHECK(info.context_tokens == 128);
            CHECK(text_of(*engine, 3) == expected);
        }
        engine->unload();
        CHECK(FakeDriver::counts().num_live_allocations == 0);
    }
}

TEST_CASE("GPUs in a row: each gets as many layers as its memory says", "[cuda][quick]") {
    const ModelFile file(wide_shape());
    const std::vector<TokenId> expected = file.text_on_cpu(2);
    for (uint32_t first = 1; first < 5; ++first) {
        INFO(first << " layers in front");
        const std::vector<uint64_t> memory = {file.memory_for(0, first), file.memory_for(first, 5)};
        FakeDriver::reset({.num_devices = 2, .memory_of_devices = memory});
        const auto engine = engine_on_emulator();
        const ModelInfo info = value_of(engine->load(file.options("cuda:0,1")));
        CHECK(contains(info.device, "GPU Emulated device 0, " + std::to_string(first) + " layer"));
        CHECK(contains(info.device,
                       "; GPU Emulated device 1, " + std::to_string(5 - first) + " layer"));
        CHECK(text_of(*engine, 2) == expected);
    }
}

TEST_CASE("GPUs in a row: auto takes further ones before the CPU", "[cuda][quick]") {
    const ModelFile file(wide_shape());
    const std::vector<TokenId> expected = file.text_on_cpu(2);
    const uint64_t all = file.memory_for(0, 5), three = file.memory_for(0, 3),
                   two = file.memory_for(3, 5), one = file.memory_for(4, 5);
    const std::pair<std::vector<uint64_t>, std::string> cases[] = {
        {{all, all}, "GPU Emulated device 0"},
        {{three, all, all}, "GPU Emulated device 0, 2 layers; GPU Emulated device 1, 3 layers"},
        {{three, two, all}, "GPU Emulated device 0, 3 layers; GPU Emulated device 1, 2 layers"},
        // The first has no room for a layer.
        {{64 * kMiB, all}, "GPU Emulated device 1"},
        {{two, 64 * kMiB, three},
         "GPU Emulated device 0, 2 layers; GPU Emulated device 2, 3 layers"},
        {{one, two},
         "GPU Emulated device 0, 1 of 5 layers; GPU Emulated device 1, 2 of 5 layers; the others "
         "on CPU "},
        {{64 * kMiB, 64 * kMiB}, "CPU "}};
    for (const auto& [memory, device] : cases) {
        INFO(device);
        FakeDriver::reset(
            {.num_devices = static_cast<int32_t>(memory.size()), .memory_of_devices = memory});
        const auto engine = engine_on_emulator();
        const ModelInfo info = value_of(engine->load(file.options("auto")));
        CHECK(info.device.starts_with(device));
        CHECK(info.device_note.empty() == info.device.starts_with("GPU"));
        CHECK(text_of(*engine, 2) == expected);
        engine->unload();
        CHECK(FakeDriver::counts().num_live_allocations == 0);
    }
}

TEST_CASE("GPUs in a row: what is named is used or refused with the reason", "[cuda][quick]") {
    const ModelFile file(wide_shape());
    const uint64_t two = file.memory_for(3, 5);
    FakeDriver::reset({.num_devices = 3});
    const auto refuse = [&](const char* device, uint32_t num_ranks = 1) {
        LoadOptions options = file.options(device);
        options.num_ranks = num_ranks;
        return refusal_of(options);
    };
    CHECK(contains(refuse("cuda:0,0"), "the device cuda:0 is named twice"));
    CHECK(contains(refuse("cuda:1,3"), "there is no such GPU"));
    for (const char* device : {"cuda:0,", "cuda:,1", "cuda:0,,1", "cuda:0 1", "cuda:0;1"})
        CHECK(contains(refuse(device), "auto, cpu, cuda, cuda:N or cuda:N,M"));
    CHECK(contains(refuse("cuda:0,1", 2), "several devices or several ranks"));
    FakeDriver::reset({.num_devices = 7});
    CHECK(contains(refuse("cuda:0,1,2,3,4,5"), "6 devices share 5 layers"));
    FakeDriver::reset({.num_devices = 2, .memory_of_devices = {uint64_t{1} << 30, 64 * kMiB}});
    CHECK(contains(refuse("cuda:0,1"), "MiB on the GPU 1 and 64 MiB of 64 are free"));
    CHECK(contains(refuse("cuda:1,0"), "MiB on the GPU 1 and 64 MiB of 64 are free"));
    CHECK(FakeDriver::counts().num_live_allocations == 0);
    // As many layers as were asked for, over both.
    FakeDriver::reset({.num_devices = 2, .memory_bytes = two});
    LoadOptions options = file.options("cuda:0,1");
    options.gpu_layers = 3;
    CHECK(contains(refusal_of(options),
                   "GPU Emulated device 0, 2 of 5 layers; GPU Emulated device 1, 1 of 5 layers; "
                   "the others on CPU "));
    options.gpu_layers = 5;
    const std::string numbers = refusal_of(options);
    CHECK(contains(numbers, "5 of 5 layers take "));
    CHECK(contains(numbers, " MiB on the GPUs and "));
    options.gpu_layers = 1;
    CHECK(contains(refusal_of(options), "2 devices share 1 layer ("));
}

TEST_CASE("GPUs in a row: one that cannot be opened is left out, and said", "[cuda][quick]") {
    const ModelFile file(wide_shape());
    const uint64_t three = file.memory_for(0, 3);
    for (uint64_t number = 1; number < 60; number += 2) {
        FakeDriver::reset({.num_devices = 2, .memory_bytes = three});
        FakeDriver::fail_call(number, DriverResult::unknown);
        const auto engine = engine_on_emulator();
        const ModelInfo info = value_of(engine->load(file.options("auto")));
        INFO("call " << number << ", " << FakeDriver::failed_call() << ": " << info.device);
        if (info.device.starts_with("CPU")) {
            CHECK_FALSE(info.device_note.empty());
        } else if (!contains(info.device, "GPU Emulated device 0, ") ||
                   !contains(info.device, "GPU Emulated device 1, ")) {
            CHECK_FALSE(skipped_in(info).empty());
        }
    }
}

TEST_CASE("GPUs in a row: prefixes, saved chats, growth and stops are those of one device",
          "[cuda]") {
    const ModelFile file(shape_of(5));
    const ScratchFolder folder;
    FakeDriver::reset({.num_devices = 3});
    const auto one = engine_on_emulator(), row = engine_on_emulator();
    value_of(one->load(file.options("cuda")));
    const std::string devices = value_of(row->load(file.options("cuda:2,0,1"))).device;
    const std::vector<TokenId> prompt = some_tokens(70);
    const GenerationResult first = go_on(*row, prompt, 4);
    CHECK(first.tokens == go_on(*one, prompt, 4).tokens);
    // Half of a block is shared, and goes on elsewhere.
    std::vector<TokenId> other(prompt.begin(), prompt.begin() + 40);
    other.push_back(9);
    const GenerationResult shared = go_on(*row, other, 4);
    const GenerationResult alone = go_on(*one, other, 4);
    CHECK(shared.stats.cached_tokens > 0);
    CHECK(shared.stats.cached_tokens == alone.stats.cached_tokens);
    CHECK(shared.tokens == alone.tokens);
    // To a file, and from there to a device alone and back.
    std::vector<TokenId> chat = prompt;
    chat.insert(chat.end(), first.tokens.begin(), first.tokens.end());
    const auto saved = value_of(row->save_chat(folder / "chat.kv", chat));
    CHECK(saved.tokens.size() == chat.size() - 1);
    for (const char* device : {"cuda", "cuda:1,0"}) {
        const auto engine = engine_on_emulator();
        value_of(engine->load(file.options(device)));
        value_of(engine->restore_chat(folder / "chat.kv"));
        const GenerationResult next = go_on(*engine, chat, 3);
        CHECK(next.stats.cached_tokens > 0);
        CHECK(next.tokens == go_on(*one, chat, 3).tokens);
    }
    // Where one of them has no memory nothing grows, and the chat is as it was.
    const std::vector<TokenId> expected = text_of(*row, 3);
    FakeDriver::leave_free(0);
    GenerationResult grown = go_on(*row, some_tokens(126), 8, Overflow::grow);
    CHECK(grown.reason == StopReason::context_full);
    CHECK(contains(grown.notice, "0 MiB of memory are available"));
    CHECK(text_of(*row, 3) == expected);
    FakeDriver::leave_free(uint64_t{1} << 29);
    for (uint64_t number = 1; number < 400 && row->model()->context_tokens == 128; number += 29) {
        FakeDriver::fail_call(number, DriverResult::out_of_memory);
        go_on(*row, some_tokens(126), 8, Overflow::grow);
        CHECK(row->model()->device == devices);
        CHECK(text_of(*row, 3) == expected);
    }
    FakeDriver::fail_call(0, DriverResult::success);
    grown = go_on(*row, some_tokens(126), 8, Overflow::grow);
    CHECK(grown.tokens == go_on(*one, some_tokens(126), 8, Overflow::grow).tokens);
    CHECK(row->model()->context_tokens == 256);
    CHECK(text_of(*row, 3) == expected);
    // A generation that is stopped in its prompt, and one after that.
    GenerationRequest request;
    request.tokens = some_tokens(100);
    GenerationHandle handle;
    GenerationEvents events;
    events.on_prefill = [&](uint32_t, uint32_t) { handle.cancel(); };
    handle = row->generate(std::move(request), std::move(events));
    CHECK(handle.wait().reason == StopReason::cancelled);
    CHECK(text_of(*row, 3) == expected);
}

TEST_CASE("GPUs in a row: one that is lost comes back once, then the CPU has all",
          "[cuda][quick]") {
    const ModelFile file(shape_of(5));
    FakeDriver::reset({.num_devices = 3});
    const std::vector<TokenId> expected = file.text_on_cpu(6);
    for (const int32_t lost : {0, 1, 2}) {
        INFO("device " << lost);
        FakeDriver::reset({.num_devices = 3});
        const auto engine = engine_on_emulator();
        const std::string row = value_of(engine->load(file.options("cuda:0,1,2"))).device;
        for (const std::string& device : {row, std::string("CPU"), std::string("CPU")}) {
            GenerationRequest request;
            request.tokens = some_tokens(10);
            request.sampling.temperature = 0;
            request.max_tokens = 6;
            request.ignore_end = true;
            int count = 0;
            GenerationEvents events;
            events.on_token = [&](const TokenLogprob&) {
                if (++count == 3) FakeDriver::lose_device(lost);
            };
            const GenerationResult result =
                engine->generate(std::move(request), std::move(events)).wait();
            INFO((result.error ? result.error->message() : ""));
            CHECK(result.tokens == expected);
            CHECK(engine->model()->device.starts_with(device));
            CHECK(engine->model()->device_note.empty() == (device == row));
        }
        engine->unload();
        CHECK(FakeDriver::counts().num_live_allocations == 0);
    }
}

TEST_CASE("GPUs in a row: whatever call fails, the text goes on or the error is the answer's",
          "[cuda]") {
    const ModelFile file(shape_of(5));
    FakeDriver::reset({.num_devices = 2});
    const std::vector<TokenId> expected = file.text_on_cpu(2);
    for (const DriverResult kind : {DriverResult::launch_failed, DriverResult::out_of_memory}) {
        uint64_t number = 1;
        for (; number < 400; number += 3) {
            FakeDriver::reset({.num_devices = 2});
            const auto engine = engine_on_emulator();
            const std::string row = value_of(engine->load(file.options("cuda:0,1"))).device;
            FakeDriver::fail_call(number, kind);
            const GenerationResult result = go_on(*engine, some_tokens(10), 2);
            const std::string failed = FakeDriver::failed_call();
            INFO("call " << number << ", " << failed);
            CHECK(engine->model()->device == row);
            if (kind == DriverResult::launch_failed || failed.empty()) {
                CHECK(result.tokens == expected);
            } else {
                REQUIRE(result.error.has_value());
                CHECK(result.error->code == ErrorCode::out_of_memory);
                CHECK(text_of(*engine, 2) == expected);
            }
            if (failed.empty()) break;
        }
        CHECK(number > 15);
        CHECK(number < 400);
    }
}

TEST_CASE("GPUs in a row: a load that fails anywhere leaves nothing behind", "[cuda]") {
    const ModelFile file(shape_of(3));
    uint64_t number = 1;
    for (; number < 3000; number += 5) {
        FakeDriver::reset({.num_devices = 2});
        FakeDriver::fail_call(
            number, number % 2 == 0 ? DriverResult::out_of_memory : DriverResult::unknown);
        const auto engine = engine_on_emulator();
        const auto info = engine->load(file.options("cuda:0,1"));
        const std::string failed = FakeDriver::failed_call();
        INFO("call " << number << ", " << failed);
        if (info.ok()) CHECK(contains(info->device, "; GPU Emulated device 1"));
        engine->unload();
        const bool can_leak =
            failed == "cuMemFree_v2" || failed == "cuMemFreeHost" || failed == "cuCtxSetCurrent";
        if (!can_leak) CHECK(FakeDriver::counts().num_live_allocations == 0);
        if (failed.empty()) break;
    }
    CHECK(number > 200);
    CHECK(number < 3000);
}
