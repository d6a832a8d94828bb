// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks of the CPU kernels: decode products as bytes of weights a second beside a plain
// read of the same bytes, prefill products as operations a second, attention, and a whole step of
// the test models. HOKKU_CPU chooses the kernels; HOKKU_THREADS the number of threads.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/attention.h"
#include "backend/cpu/kv_layout.h"
#include "backend/cpu/matmul.h"
#include "backend/quant_blocks.h"
#include "base/aligned_buffer.h"
#include "gguf/gguf_file.h"
#include "model/model.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::cpu;
using hokku::testing::BlockKind;
using hokku::testing::GuardedMatrix;

namespace {

uint32_t num_threads() {
    const char* text = std::getenv("HOKKU_THREADS");
    return text ? static_cast<uint32_t>(std::atoi(text)) : default_num_threads();
}

ThreadTeam& team() {
    static ThreadTeam threads(num_threads());
    return threads;
}

const KernelTable& kernels() {
    static const KernelTable* table = *select_kernels();
    return *table;
}

const GuardedMatrix& matrix(TensorType type, uint32_t rows, uint32_t cols) {
    static std::map<std::tuple<TensorType, uint32_t, uint32_t>, std::unique_ptr<GuardedMatrix>> all;
    auto& slot = all[{type, rows, cols}];
    if (!slot) {
        all.clear();
        auto made = std::make_unique<GuardedMatrix>(type, rows, cols, BlockKind::plain, 1);
        return *(all[{type, rows, cols}] = std::move(made));
    }
    return *slot;
}

template <class Function>
void run_on_team(Function& function) {
    team().run([](void* context, Lane lane) { (*static_cast<Function*>(context))(lane); },
               &function);
}

std::vector<float> random_floats(size_t n) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values) value = normal(random) * (random() % 100 == 0 ? 6.0f : 1.0f);
    return values;
}

void multiply(benchmark::State& state, const GuardedMatrix& weights, uint32_t num_rows) {
    const WeightMatrix& weight = weights.weight();
    auto scratch = *MatmulScratch::create(
        {.num_lanes = team().size(), .max_rows = num_rows, .max_in = weight.cols});
    const std::vector<float> x = random_floats(size_t{num_rows} * weight.cols);
    std::vector<float> out(size_t{num_rows} * weight.rows);
    const MatmulTarget target{&weight, nullptr, out.data(), weight.rows};
    auto task = [&](Lane lane) {
        matmul(lane, kernels(), scratch,
               {x.data(), weight.cols, num_rows, num_rows <= kDecodeRows ? num_rows : 0},
               {&target, 1});
    };
    for (auto _ : state) run_on_team(task);
}

/// A matrix of about 256 MB, so that it comes from memory, times a few rows of x.
void bench_gemv(benchmark::State& state, TensorType type, uint32_t cols) {
    const TensorTypeTraits& traits = traits_of(type);
    const size_t row_bytes = cols / traits.block_values * traits.block_bytes;
    const auto rows = static_cast<uint32_t>((size_t{1} << 28) / row_bytes / 64 * 64);
    multiply(state, matrix(type, rows, cols), static_cast<uint32_t>(state.range(0)));
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(rows * row_bytes));
}

/// A matrix that stays in the L2 caches: what the instructions alone allow.
void bench_gemv_cached(benchmark::State& state, TensorType type, uint32_t cols) {
    const TensorTypeTraits& traits = traits_of(type);
    const size_t row_bytes = cols / traits.block_values * traits.block_bytes;
    const auto rows =
        static_cast<uint32_t>((size_t{1} << 19) * team().size() / row_bytes / 64 * 64);
    multiply(state, matrix(type, rows, cols), static_cast<uint32_t>(state.range(0)));
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(rows * row_bytes));
}

void bench_read(benchmark::State& state) {
    const GuardedMatrix& weights = matrix(TensorType::q8_0, 1 << 18, 896);
    const auto* words = reinterpret_cast<const char*>(weights.weight().data);
    const size_t bytes = weights.weight().row_bytes() * weights.weight().rows;
    auto task = [&](Lane lane) {
        constexpr size_t kStreams = 4;
        const size_t part = bytes / lane.count / kStreams / 64 * 64;
        const char* p = words + part * kStreams * lane.index;
        uint64_t sums[kStreams][8] = {};
        for (size_t i = 0; i < part; i += 64) {
            for (size_t s = 0; s < kStreams; ++s) {
                uint64_t line[8];
                __builtin_memcpy(line, p + s * part + i, 64);
                for (size_t k = 0; k < 8; ++k) sums[s][k] += line[k];
            }
        }
        benchmark::DoNotOptimize(sums);
    };
    for (auto _ : state) run_on_team(task);
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void bench_gemm(benchmark::State& state, TensorType type, uint32_t rows, uint32_t cols) {
    const auto num_rows = static_cast<uint32_t>(state.range(0));
    multiply(state, matrix(type, rows, cols), num_rows);
    const double operations =
        2.0 * rows * cols * num_rows * static_cast<double>(state.iterations());
    state.counters["op/s"] = benchmark::Counter(operations, benchmark::Counter::kIsRate);
}

struct AttentionShape {
    uint32_t heads, kv_heads, dim, layers;
    KvType type = KvType::f32;
};

/// For `rows` rows of q after `cached` tokens, without its keys and values.
AttentionCall attention_call(const AttentionShape& shape, const std::vector<float>& q,
                             std::vector<float>& out, uint32_t rows, uint32_t cached) {
    AttentionCall call;
    call.q = q.data();
    call.out = out.data();
    call.q_stride = call.out_stride = size_t{shape.heads} * shape.dim;
    call.num_rows = rows;
    call.first_position = cached;
    call.num_heads = shape.heads;
    call.num_kv_heads = shape.kv_heads;
    call.key_dim = call.value_dim = shape.dim;
    call.scale = 0.125f;
    return call;
}

AttentionScratch attention_scratch(const AttentionShape& shape) {
    return *AttentionScratch::create(
        {.num_lanes = team().size(), .max_heads = shape.heads, .max_value_dim = shape.dim});
}

std::vector<uint32_t> blocks_in_order(uint32_t num_blocks) {
    std::vector<uint32_t> blocks(num_blocks);
    std::iota(blocks.begin(), blocks.end(), 0u);
    return blocks;
}

void bench_attention(benchmark::State& state, AttentionShape shape) {
    const auto num_rows = static_cast<uint32_t>(state.range(0));
    const auto num_cached = static_cast<uint32_t>(state.range(1));
    const uint32_t total = num_rows + num_cached;
    const uint32_t num_blocks = (total + kKvBlockTokens - 1) / kKvBlockTokens;
    const size_t key_bytes = shape.kv_heads * kv_key_head_bytes(shape.type, shape.dim);
    const size_t value_bytes = shape.kv_heads * kv_value_head_bytes(shape.type, shape.dim);
    // Finite numbers in each type: what they are does not matter.
    constexpr std::byte kAny{0x31};
    std::vector<std::byte> keys(num_blocks * key_bytes, kAny);
    std::vector<std::byte> values(num_blocks * value_bytes, kAny);
    const std::vector<uint32_t> blocks = blocks_in_order(num_blocks);
    const std::vector<float> q = random_floats(size_t{num_rows} * shape.heads * shape.dim);
    std::vector<float> out(q.size());
    AttentionScratch scratch = attention_scratch(shape);
    AttentionCall call = attention_call(shape, q, out, num_rows, num_cached);
    call.kv = {.type = shape.type,
               .keys = keys.data(),
               .values = values.data(),
               .key_block_stride = key_bytes,
               .value_block_stride = value_bytes,
               .blocks = blocks.data()};
    auto task = [&](Lane lane) { attention(lane, kernels(), scratch, call); };
    for (auto _ : state) run_on_team(task);
    const double pairs = num_rows * (num_cached + (num_rows + 1) / 2.0);
    const double operations = pairs * 4 * shape.dim * shape.heads;
    state.counters["op/s"] = benchmark::Counter(
        operations * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

/// One token after range(0) cached ones, layer after layer, blocks of all layers in one pool as the
/// engine has them: bytes of keys and values a second.
void bench_decode_attention(benchmark::State& state, AttentionShape shape) {
    const auto num_cached = static_cast<uint32_t>(state.range(0));
    const uint32_t num_blocks = num_cached / kKvBlockTokens + 1;
    const size_t key_bytes = shape.kv_heads * kv_key_head_bytes(shape.type, shape.dim);
    const size_t value_bytes = shape.kv_heads * kv_value_head_bytes(shape.type, shape.dim);
    const size_t layer_bytes = key_bytes + value_bytes, stride = layer_bytes * shape.layers;
    const AlignedBuffer pool(stride * num_blocks);
    if (pool.data() == nullptr) return state.SkipWithError("not enough memory");
    std::memset(pool.data(), 0x31, pool.size_bytes());  // Finite numbers in each type.
    const std::vector<uint32_t> blocks = blocks_in_order(num_blocks);
    const std::vector<float> q = random_floats(size_t{shape.heads} * shape.dim);
    std::vector<float> out(q.size());
    AttentionScratch scratch = attention_scratch(shape);
    const AttentionCall call = attention_call(shape, q, out, 1, num_cached);
    auto task = [&](Lane lane) {
        for (uint32_t layer = 0; layer < shape.layers; ++layer) {
            AttentionCall of_layer = call;
            std::byte* keys = pool.data() + layer * layer_bytes;
            of_layer.kv = {.type = shape.type,
                           .keys = keys,
                           .values = keys + key_bytes,
                           .key_block_stride = stride,
                           .value_block_stride = stride,
                           .blocks = blocks.data()};
            attention(lane, kernels(), scratch, of_layer);
            lane.barrier();
        }
    };
    for (auto _ : state) run_on_team(task);
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(pool.size_bytes()));
}

/// A step of a whole model: range(0) tokens after range(1) cached ones.
void bench_model(benchmark::State& state, const char* name) {
    const auto path = hokku::testing::find_model(name);
    if (!path) return state.SkipWithError("the model is not there");
    auto file = GgufFile::open(*path);
    if (!file.ok()) return state.SkipWithError("cannot open the model");
    auto model = Model::load(std::make_shared<const GgufFile>(std::move(*file)));
    if (!model.ok()) return state.SkipWithError("cannot load the model");
    const auto num_rows = static_cast<uint32_t>(state.range(0));
    const auto num_cached = static_cast<uint32_t>(state.range(1));
    const uint32_t num_blocks = (num_rows + num_cached) / kKvBlockTokens + 1;
    BackendOptions options;
    options.num_threads = num_threads();
    options.num_kv_blocks = num_blocks;
    options.max_step_tokens = 512;
    auto backend = make_cpu_backend(*model, options);
    if (!backend.ok()) return state.SkipWithError("cannot make the backend");
    const std::vector<uint32_t> blocks = blocks_in_order(num_blocks);
    std::vector<int32_t> tokens(512);
    for (size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<int32_t>(100 + i * 37 % 20000);
    const auto run_step = [&](uint32_t rows, uint32_t cached) {
        const StepSequence sequence{
            .first_row = 0, .num_rows = rows, .num_cached = cached, .blocks = blocks};
        const uint32_t last = rows - 1;
        Step step{};
        step.tokens = std::span(tokens).first(rows);
        step.sequences = {&sequence, 1};
        step.logit_rows = {&last, 1};
        return (*backend)->run(step).ok();
    };
    for (uint32_t done = 0; done < num_cached;) {
        const uint32_t rows = std::min(512u, num_cached - done);
        if (!run_step(rows, done)) return state.SkipWithError("the step failed");
        done += rows;
    }
    for (auto _ : state) {
        if (!run_step(num_rows, num_cached)) return state.SkipWithError("the step failed");
    }
    const auto bytes = static_cast<int64_t>((*backend)->info().bytes_per_token);
    state.SetItemsProcessed(state.iterations() * num_rows);
    if (num_rows == 1) state.SetBytesProcessed(state.iterations() * bytes);
}

void register_all() {
    using benchmark::RegisterBenchmark;
    const auto ms = benchmark::kMillisecond;
    RegisterBenchmark("read", bench_read)->Unit(ms)->UseRealTime();
    struct Product {
        TensorType type;
        uint32_t rows, cols;
    };
    const Product products[] = {{TensorType::q4_1, 1536, 576},   {TensorType::q4_1, 576, 1536},
                                {TensorType::q5_0, 4864, 896},   {TensorType::q8_0, 4864, 896},
                                {TensorType::q4_k, 896, 4864},   {TensorType::q6_k, 896, 4864},
                                {TensorType::q5_0, 896, 896},    {TensorType::q5_0, 2048, 640},
                                {TensorType::q4_0, 4864, 896},   {TensorType::q5_k, 896, 4864},
                                {TensorType::q3_k, 896, 4864},   {TensorType::q2_k, 896, 4864},
                                {TensorType::iq4_xs, 896, 4864}, {TensorType::iq3_s, 896, 4864},
                                {TensorType::f16, 4864, 896},    {TensorType::f32, 4864, 896}};
    for (const Product& p : products) {
        const std::string name = std::string(traits_of(p.type).name) + "/" +
                                 std::to_string(p.rows) + "x" + std::to_string(p.cols);
        RegisterBenchmark(("gemv/" + name).c_str(), bench_gemv, p.type, p.cols)
            ->Arg(1)
            ->Arg(4)
            ->Unit(ms)
            ->UseRealTime();
        RegisterBenchmark(("gemv_cached/" + name).c_str(), bench_gemv_cached, p.type, p.cols)
            ->Arg(1)
            ->Arg(2)
            ->Arg(4)
            ->Arg(8)
            ->UseRealTime();
        RegisterBenchmark(("gemm/" + name).c_str(), bench_gemm, p.type, p.rows, p.cols)
            ->Arg(9)
            ->Arg(16)
            ->Arg(64)
            ->Arg(512)
            ->Unit(ms)
            ->UseRealTime();
    }
    const std::pair<const char*, AttentionShape> shapes[] = {
        {"qwen2", {14, 2, 64, 24}}, {"smollm2", {9, 3, 64, 30}}, {"gemma3", {4, 1, 256, 18}}};
    for (const auto& [name, of_floats] : shapes) {
        for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0, KvType::q4_0}) {
            AttentionShape shape = of_floats;
            shape.type = type;
            const std::string full =
                "attention/" + std::string(name) + "/" + std::string(kv_type_name(type));
            RegisterBenchmark(full.c_str(), bench_attention, shape)
                ->Args({1, 100})
                ->Args({1, 4000})
                ->Args({1, 100000})
                ->Args({512, 0})
                ->Args({512, 3584})
                ->Unit(ms)
                ->UseRealTime();
            RegisterBenchmark(("decode_" + full).c_str(), bench_decode_attention, shape)
                ->Arg(1000)
                ->Arg(4000)
                ->Arg(16000)
                ->Unit(ms)
                ->UseRealTime();
        }
    }
    for (const char* name : {"smollm2", "qwen2", "gemma3"}) {
        RegisterBenchmark(("model/" + std::string(name)).c_str(), bench_model, name)
            ->Args({1, 512})
            ->Args({512, 0})
            ->Args({64, 0})
            ->Args({1, 4000})
            ->Unit(ms)
            ->UseRealTime();
    }
}

}  // namespace

int main(int argc, char** argv) {
    register_all();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
