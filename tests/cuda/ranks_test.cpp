// SPDX-License-Identifier: Apache-2.0
// Models on several GPUs of the fake driver, which meet in the in-memory NCCL: the text and logits
// of one, blocks in the file's layout, errors of one rank, and what the engine makes of all that.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/plugin/gpu_plugin.h"
#include "base/try.h"
#include "cuda/support/emulated_plugin.h"
#include "cuda/support/kv_checks.h"
#include "emulation/fakes/fake_driver.h"
#include "plugin/ranks_backend.h"
#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/golden.h"
#include "support/scratch_folder.h"
#include "support/synthetic_model.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::AllReduce;
using cuda::DriverResult;
using emulation::FakeDriver;
namespace fs = std::filesystem;

namespace {

/// GPUs of the fake driver, with a model's shards on them.
class Ranks {
  public:
    explicit Ranks(uint32_t num_ranks, bool has_peer_access = true) {
        FakeDriver::reset(
            {.num_devices = static_cast<int32_t>(num_ranks), .has_peer_access = has_peer_access});
        api_ = value_of(cuda::load_driver_api(emulation::FakeDriverSymbols{}));
        nccl_ = value_of(cuda::load_nccl_api(emulation::FakeNcclSymbols{}));
        blas_ = value_of(cuda::load_blas_api(emulation::FakeBlasSymbols{}));
        value_of(cuda::list_gpus(api_));
        const std::vector<const void*> images = {emulation::kEmulatedImage};
        for (uint32_t i = 0; i < num_ranks; ++i) {
            gpus_.push_back(value_of(cuda::Gpu::open(api_, static_cast<int32_t>(i), images)));
            pointers_.push_back(gpus_.back().get());
        }
    }
    std::unique_ptr<ModelRunner> open(const fs::path& path, const ModelRunner::Options& options,
                                      AllReduce all_reduce = AllReduce::automatic) {
        return value_of(try_open(path, options, all_reduce));
    }
    Result<std::unique_ptr<ModelRunner>> try_open(const fs::path& path,
                                                  const ModelRunner::Options& options,
                                                  AllReduce all_reduce) {
        const auto make = [this, all_reduce](
                              const Model& model,
                              const BackendOptions& wanted) -> Result<std::unique_ptr<Backend>> {
            BackendOptions own = wanted;
            own.exact = false;
            HOKKU_TRY(shards_, cuda::shard_for_gpus(model, static_cast<uint32_t>(gpus_.size())));
            HOKKU_TRY(auto backend,
                      cuda::RanksBackend::create(pointers_, model, shards_, own, nccl_,
                                                 {.blas = &blas_, .all_reduce = all_reduce},
                                                 [](double) { return Result<void>(); }));
            return std::unique_ptr<Backend>(std::move(backend));
        };
        return ModelRunner::open(path, options, make);
    }

    std::vector<std::unique_ptr<cuda::GpuCommunicator>> ends() {
        return value_of(cuda::GpuCommunicator::create(nccl_, pointers_));
    }

  private:
    cuda::DriverApi api_;
    cuda::NcclApi nccl_;
    cuda::BlasApi blas_;
    std::vector<std::unique_ptr<cuda::Gpu>> gpus_;
    std::vector<const cuda::Gpu*> pointers_;
    std::vector<cuda::GpuShard> shards_;
};

std::vector<int32_t> counted(int32_t count) {
    std::vector<int32_t> tokens(static_cast<size_t>(count));
    for (int32_t i = 0; i < count; ++i) tokens[static_cast<size_t>(i)] = i * 7 % 90 + 3;
    return tokens;
}

/// Text by identity where both compute without codes.
void check_ranks(const fs::path& path, uint32_t num_ranks, KvType kv_type, double limit,
                 bool has_codes = false) {
    INFO(num_ranks << " ranks, " << kv_type_name(kv_type));
    const ModelRunner::Options options{.exact = false, .context_tokens = 192, .kv_type = kv_type};
    const auto cpu = open_or_fail(path, options);
    Ranks ranks(num_ranks);
    const auto gpus = ranks.open(path, options);
    const std::vector<int32_t> tokens = counted(21);
    const auto expected = value_of(cpu->evaluate(tokens, 64));
    CHECK(relative_error(value_of(gpus->evaluate(tokens, 64)), expected) < limit);
    const auto decoded = value_of(gpus->evaluate(tokens, 1));
    CHECK(relative_error(decoded, expected) < limit);
    const auto text = value_of(cpu->greedy(tokens, 5));
    const auto got = value_of(gpus->greedy(tokens, 5));
    if (!has_codes) CHECK(got == text);
    if (kv_type != KvType::f32) return;
    // Blocks leave in the file's layout, and come back.
    Backend& backend = gpus->backend();
    check_moved_block(backend, *cpu, 25, limit);
    CHECK(backend.growth_blocks(0).value() > 7);
}

struct File {
    explicit File(const SyntheticShape& shape) { write_synthetic_model(path, shape); }
    ScratchFolder folder;
    fs::path path = folder / "model.gguf";
};

GenerationResult continue_text(Engine& engine, uint32_t max_tokens) {
    GenerationRequest request;
    request.tokens = std::vector<TokenId>{10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    request.ignore_end = true;
    return engine.generate(std::move(request)).wait();
}

LoadOptions options_of(const File& file, const std::string& device, uint32_t num_ranks) {
    LoadOptions options = options_for(file.path, device);
    options.num_ranks = num_ranks;
    options.num_threads = 2;
    return options;
}

const SyntheticShape kFourLayers{.num_layers = 4,
                                 .dim = 64,
                                 .num_heads = 4,
                                 .num_kv_heads = 2,
                                 .head_dim = 16,
                                 .hidden = 128,
                                 .num_vocab = 256};

}  // namespace

TEST_CASE("Several GPUs: one, two and four ranks give the CPU's logits and text", "[cuda]") {
    const File llama({.dim = 128,
                      .num_heads = 4,
                      .num_kv_heads = 2,
                      .head_dim = 32,
                      .hidden = 256,
                      .num_vocab = 300});
    const File qwen2({.architecture = "qwen2",
                      .dim = 128,
                      .num_heads = 8,
                      .num_kv_heads = 4,
                      .head_dim = 16,
                      .hidden = 128,
                      .num_vocab = 256,
                      .key_bias = 40});
    const File gemma2({.architecture = "gemma2",
                       .dim = 128,
                       .num_heads = 4,
                       .num_kv_heads = 4,
                       .head_dim = 32,
                       .hidden = 128,
                       .num_vocab = 256,
                       .is_tied = true});
    for (const uint32_t num_ranks : {1u, 2u, 4u}) {
        check_ranks(llama.path, num_ranks, KvType::f32, 2e-4);
        check_ranks(qwen2.path, num_ranks, KvType::f16, 3e-3);
        check_ranks(gemma2.path, num_ranks, KvType::f32, 2e-4);
    }
}

TEST_CASE("Several GPUs: sums by kernels have the bits of the library's", "[cuda]") {
    // A row of values is no multiple of what threads or lines have.
    const SyntheticShape shapes[] = {{.num_layers = 1,
                                      .dim = 72,
                                      .num_heads = 4,
                                      .num_kv_heads = 4,
                                      .head_dim = 16,
                                      .hidden = 96,
                                      .num_vocab = 80},
                                     {.architecture = "gemma2",
                                      .dim = 264,
                                      .num_heads = 4,
                                      .num_kv_heads = 4,
                                      .head_dim = 32,
                                      .hidden = 128,
                                      .num_vocab = 128,
                                      .is_tied = true}};
    for (const SyntheticShape& shape : shapes) {
        const File file(shape);
        for (const uint32_t num_ranks : {2u, 4u}) {
            std::vector<std::vector<float>> logits;
            for (const AllReduce kind : {AllReduce::nccl, AllReduce::one_shot}) {
                Ranks ranks(num_ranks);
                const auto gpus = ranks.open(
                    file.path, {.exact = false, .context_tokens = 64, .kv_type = KvType::f32},
                    kind);
                const bool is_own =
                    gpus->backend().info().kernels.find("one-shot") != std::string::npos;
                CHECK(is_own == (kind == AllReduce::one_shot));
                std::vector<float> all;
                for (uint32_t rows = 1; rows <= 8; ++rows) {
                    const auto got = gpus->evaluate(counted(static_cast<int32_t>(rows)), rows);
                    INFO(num_ranks << " ranks, " << rows << " rows " << FakeDriver::last_error());
                    const auto some = value_of(got);
                    all.insert(all.end(), some.begin(), some.end());
                }
                logits.push_back(std::move(all));
            }
            CHECK(logits[0] == logits[1]);
        }
    }
}

TEST_CASE("Several GPUs: where they do not reach each other the library adds up", "[cuda][quick]") {
    const File file(kFourLayers);
    const ModelRunner::Options options{.exact = false, .context_tokens = 64};
    Ranks ranks(2, false);
    CHECK(ranks.open(file.path, options)->backend().info().kernels.find("one-shot") ==
          std::string::npos);
    const auto refused = ranks.try_open(file.path, options, AllReduce::one_shot);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message().find("do not reach each other") != std::string::npos);
}

TEST_CASE("Several GPUs: 74 blocks of hidden values go to four ranks unevenly", "[cuda]") {
    // The hidden size of Qwen2.5-7B.
    const File file({.num_layers = 1,
                     .dim = 64,
                     .num_heads = 4,
                     .num_kv_heads = 4,
                     .head_dim = 32,
                     .hidden = 18944,
                     .num_vocab = 256,
                     .type = TensorType::q4_k});
    const ModelRunner::Options options{.exact = false, .context_tokens = 64};
    const auto cpu = open_or_fail(file.path, options);
    std::vector<uint32_t> sizes;
    for (const cuda::GpuShard& shard : value_of(cuda::shard_for_gpus(cpu->model(), 4)))
        sizes.push_back(shard.model.spec().layers[0].ffn.hidden);
    std::sort(sizes.begin(), sizes.end());
    CHECK(sizes == std::vector<uint32_t>{18 * 256, 18 * 256, 19 * 256, 19 * 256});
    Ranks ranks(4);
    const auto gpus = ranks.open(file.path, options);
    const std::vector<int32_t> tokens = counted(10);
    const auto expected = value_of(cpu->evaluate(tokens, 64));
    CHECK(relative_error(value_of(gpus->evaluate(tokens, 64)), expected) < 3e-2);
    CHECK(relative_error(value_of(gpus->evaluate(tokens, 1)), expected) < 3e-2);
}

TEST_CASE("Several GPUs: quantised weights are cut between their blocks", "[cuda]") {
    for (const TensorType type : {TensorType::q8_0, TensorType::q4_k}) {
        const File file({.dim = 256,
                         .num_heads = 8,
                         .num_kv_heads = 2,
                         .head_dim = 64,
                         .hidden = 1024,
                         .num_vocab = 512,
                         .type = type});
        check_ranks(file.path, 2, KvType::f32, 3e-2, true);
    }
}

TEST_CASE("Several GPUs: experts are split over ranks", "[cuda]") {
    for (const char* name : {"mixtral", "qwen2moe"}) {
        const auto folder = find_golden_or_copy(std::string("arch/") + name);
        if (!folder) {
            report_skip(std::string("golden/arch/") + name + " is not there");
            continue;
        }
        INFO(name);
        check_ranks(*folder / "model.gguf", 2, KvType::f32, 1e-3);
    }
}

TEST_CASE("Several GPUs: the engine writes the CPU's text on two, and says so", "[cuda][quick]") {
    const File file(kFourLayers);
    FakeDriver::reset({.num_devices = 2});
    const auto cpu = engine_on_emulator();
    value_of(cpu->load(options_of(file, "cpu", 1)));
    const std::vector<TokenId> expected = continue_text(*cpu, 4).tokens;
    const auto engine = engine_on_emulator();
    LoadOptions options = options_of(file, "cuda", 2);
    const ModelInfo info = value_of(engine->load(options));
    CHECK(info.device == "GPU Emulated device 0, 2 ranks");
    CHECK(info.rank_weight_bytes.size() == 2);
    CHECK(continue_text(*engine, 4).tokens == expected);
    // Two layers on the CPU, the others on both GPUs.
    options.gpu_layers = 2;
    CHECK(value_of(engine->load(options))
              .device.starts_with(
                  "GPU Emulated device 0, 2 ranks, 2 of 4 layers; the others on CPU"));
    CHECK(continue_text(*engine, 4).tokens == expected);
    engine->unload();
    CHECK(FakeDriver::counts().num_live_allocations == 0);
}

TEST_CASE("Several GPUs: too few of them, and models that cannot be cut, go to the CPU's ranks",
          "[cuda][quick]") {
    const File file(kFourLayers);
    FakeDriver::reset({.num_devices = 2});
    const auto engine = engine_on_emulator();
    const auto refused = engine->load(options_of(file, "cuda", 4));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message().find("there are fewer GPUs than ranks") != std::string::npos);
    CHECK_FALSE(engine->load(options_of(file, "cuda:1", 2)).ok());
    const ModelInfo info = value_of(engine->load(options_of(file, "auto", 4)));
    CHECK(info.device.starts_with("CPU"));
    CHECK(info.device_note.find("fewer GPUs than ranks") != std::string::npos);
}

TEST_CASE("GpuCommunicator: after it was aborted nothing is asked of the library",
          "[cuda][quick]") {
    Ranks ranks(2);
    const auto ends = ranks.ends();
    std::vector<float> values(4);
    cuda::GpuCommunicator* both[] = {ends[0].get(), ends[1].get()};
    cuda::GpuCommunicator::abort_all(both);
    cuda::GpuCommunicator::abort_all(both);
    CHECK_FALSE(ends[1]->meet());
    ends[0]->all_reduce(values);
    CHECK(ends[0]->take_result() == DriverResult::unknown);
    ends[0]->all_gather({.part = values.data(), .cols = 1, .whole = values.data()});
    CHECK(ends[0]->take_result() == DriverResult::unknown);
    CHECK(ends[0]->take_result() == DriverResult::success);
}

TEST_CASE("Several GPUs: where one fails in a step, all are brought up again and the text goes on",
          "[cuda]") {
    const File file(kFourLayers);
    FakeDriver::reset({.num_devices = 2});
    const auto cpu = engine_on_emulator();
    value_of(cpu->load(options_of(file, "cpu", 1)));
    const std::vector<TokenId> expected = continue_text(*cpu, 3).tokens;
    emulation::set_fake_nccl_timeout_ms(4000);
    emulation::take_fake_nccl_misuse();
    // Without peer access graphs hold calls of NCCL.
    const bool has_peer_access = GENERATE(true, false);
    for (uint64_t number = 1; number < 400; number += 23) {
        FakeDriver::reset({.num_devices = 2, .has_peer_access = has_peer_access});
        const auto engine = engine_on_emulator();
        value_of(engine->load(options_of(file, "cuda", 2)));
        FakeDriver::fail_call(number, DriverResult::launch_failed);
        const GenerationResult result = continue_text(*engine, 3);
        const std::string failed = FakeDriver::failed_call();
        INFO("call " << number << ", " << failed << ", peer access " << has_peer_access);
        INFO((result.error ? result.error->message() : ""));
        CHECK(result.tokens == expected);
        CHECK(emulation::take_fake_nccl_misuse() == "");
        if (failed.empty()) break;
    }
    emulation::set_fake_nccl_timeout_ms(20000);
}

TEST_CASE("Several GPUs: where one fails while a model is brought there, none waits in the library",
          "[cuda]") {
    const File file(kFourLayers);
    emulation::take_fake_nccl_misuse();
    emulation::set_fake_nccl_calls({.are_first_ones_met = true});
    const bool has_peer_access = GENERATE(true, false);
    uint64_t number = 1;
    for (; number < 4000; number += has_peer_access ? 31 : 155) {
        FakeDriver::reset({.num_devices = 2, .has_peer_access = has_peer_access});
        FakeDriver::fail_call(
            number, number % 2 == 0 ? DriverResult::out_of_memory : DriverResult::unknown);
        const auto engine = engine_on_emulator();
        const auto info = engine->load(options_of(file, "cuda", 2));
        const std::string failed = FakeDriver::failed_call();
        INFO("call " << number << ", " << failed);
        engine->unload();
        CHECK(emulation::take_fake_nccl_misuse() == "");
        if (failed.empty()) break;
    }
    CHECK(number > 300);
    CHECK(number < 4000);
    emulation::set_fake_nccl_calls({});
}

TEST_CASE("GpuCommunicator: none is aborted while its rank is in a call", "[cuda][quick]") {
    Ranks ranks(2);
    const auto ends = ranks.ends();
    emulation::take_fake_nccl_misuse();
    emulation::set_fake_nccl_calls({.call_ms = 200});
    std::vector<float> values(4);
    std::atomic<bool> has_begun = false;
    std::thread rank([&] {
        has_begun = true;
        ends[1]->all_reduce(values);
    });
    while (!has_begun) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    cuda::GpuCommunicator* both[] = {ends[0].get(), ends[1].get()};
    cuda::GpuCommunicator::abort_all(both);
    rank.join();
    emulation::set_fake_nccl_calls({});
    CHECK(emulation::take_fake_nccl_misuse() == "");
}

TEST_CASE("Several GPUs: what sums by kernels need is in the plan", "[cuda][quick]") {
    SyntheticShape wide = kFourLayers;
    wide.dim = 256;
    const File file(wide);
    FakeDriver::reset({.num_devices = 2});
    const GgufFile gguf = value_of(GgufFile::open(file.path));
    auto model = value_of(GpuModel::open(*value_of(find_emulated_plugin()), 0, gguf, 2));
    const GpuPlan plan = value_of(model->plan(KvType::f32, 0, 4));
    const uint64_t before = FakeDriver::used_bytes(0);
    constexpr uint32_t kBlocks = 3;
    const auto backend = value_of(GpuModel::start(
        std::move(model),
        value_of(Model::load(std::make_shared<const GgufFile>(value_of(GgufFile::open(file.path)))))
            .spec(),
        {.num_kv_blocks = kBlocks, .kv_type = KvType::f32, .max_step_tokens = 512},
        [](double) { return Result<void>(); }));
    REQUIRE(backend->info().kernels.find("one-shot") != std::string::npos);
    // What the driver, cuBLAS and NCCL take of a device (docs/gpu.md) the fakes
    // do not.
    const uint64_t planned = plan.weight_bytes + plan.fixed_bytes + kBlocks * plan.kv_block_bytes;
    const uint64_t others = uint64_t{192 + 96 + 256} << 20;
    const uint64_t used = FakeDriver::used_bytes(0) - before;
    CHECK(used <= planned - others);
    // What is left over is less than the rows that the sums exchange: those are counted.
    CHECK(planned - others - used < uint64_t{2} * 2 * 8 * 256 * sizeof(float));
}

TEST_CASE("Several GPUs: stages are those of one, heads of all ranks in order", "[cuda]") {
    SyntheticShape shape = kFourLayers;
    shape.num_layers = 2;
    shape.num_kv_heads = 1;  // Both ranks have it.
    SyntheticShape permuted = kFourLayers;
    permuted.num_layers = 3;
    for (const SyntheticShape& one : {shape, permuted}) {
        const File file(one);
        FakeDriver::reset({.num_devices = 3});
        using Stages = std::vector<std::pair<std::string, std::vector<float>>>;
        const auto stages_on = [&](const std::string& device, uint32_t num_ranks) {
            const auto engine = engine_on_emulator();
            value_of(engine->load(options_of(file, device, num_ranks)));
            Stages stages;
            for (const uint32_t chunk : {64u, 1u}) {
                EvaluateRequest request;
                request.tokens = std::vector<TokenId>{5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45, 49};
                request.hidden = request.stages = true;
                request.chunk_tokens = chunk;
                request.on_trace = [&](const std::string& name, std::span<const float> values) {
                    stages.emplace_back(name, std::vector<float>(values.begin(), values.end()));
                };
                REQUIRE(engine->evaluate(request).ok());
            }
            return stages;
        };
        const Stages expected = stages_on("cpu", 1);
        REQUIRE(expected.size() > 40);
        for (const auto& [device, num_ranks] :
             {std::pair{"cuda", 1u}, {"cuda", 2u}, {"cuda:0,1", 1u}, {"cuda:2,0", 1u}}) {
            INFO(device << ", " << num_ranks << " ranks");
            const Stages got = stages_on(device, num_ranks);
            REQUIRE(got.size() == expected.size());
            for (size_t i = 0; i < got.size(); ++i) {
                INFO(expected[i].first);
                CHECK(got[i].first == expected[i].first);
                REQUIRE(got[i].second.size() == expected[i].second.size());
                CHECK(relative_error(got[i].second, expected[i].second) < 2e-4);
            }
        }
    }
}
