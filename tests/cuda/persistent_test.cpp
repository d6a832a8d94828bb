// SPDX-License-Identifier: Apache-2.0
// A layer as one cooperative launch gives the bits of the launches that it stands for, whatever the
// number of blocks, and can be launched again.
#include <cstring>
#include <memory>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

constexpr uint32_t kDim = 256, kHeads = 4, kKvHeads = 1, kHeadDim = 64, kHidden = 256;
constexpr uint32_t kQkv = (kHeads + 2 * kKvHeads) * kHeadDim, kPosition = 70, kSplits = 3;

/// One launch with its parameters.
struct Operation {
    uint32_t kind, format;
    const char* kernel;
    LaunchShape shape;      ///< As a launch of its own.
    uint32_t num_x, num_y;  ///< As part of the persistent kernel.
    std::vector<uint8_t> params;
};

template <class Params>
std::vector<uint8_t> bytes_of(const Params& params) {
    std::vector<uint8_t> bytes(sizeof params);
    std::memcpy(bytes.data(), &params, sizeof params);
    return bytes;
}

struct Layer {
    RepackedMatrix qkv_weight{TensorType::q4_k, kQkv, kDim, BlockKind::plain, 1};
    RepackedMatrix o_weight{TensorType::q6_k, kDim, kDim, BlockKind::plain, 2};
    RepackedMatrix gate{TensorType::q5_0, kHidden, kDim, BlockKind::plain, 3};
    RepackedMatrix up{TensorType::q5_0, kHidden, kDim, BlockKind::plain, 4};
    RepackedMatrix down{TensorType::q4_0, kDim, kHidden, BlockKind::plain, 5};
    RepackedMatrix head{TensorType::q8_0, 100, kDim, BlockKind::plain, 6};
    DeviceBuffer<float> norm{activations(kDim, 6)}, bias{activations(kQkv, 8, 20.0f)};
    DeviceBuffer<float> cos_sin{activations(size_t{kPosition + 1} * kHeadDim, 9)};
    DeviceBuffer<uint16_t> keys{size_t{3} * 64 * kHeadDim}, values{size_t{3} * 64 * kHeadDim};
    DeviceBuffer<uint32_t> tables{std::vector<uint32_t>{2, 0, 1}},
        position{std::vector<uint32_t>{kPosition}}, counters{std::vector<uint32_t>(16, 0)};
    DeviceBuffer<float> x{kDim}, qkv{kQkv}, sums{kHeads * kSplits * kHeadDim},
        maxima{kHeads * kSplits}, weights{kHeads * kSplits}, logits{100};
    QuantizedBuffer normed{1, kDim}, attended{1, kDim}, activated{1, kHidden};

    void reset() const {
        const std::vector<uint16_t> zeros(keys.size());
        TestDevice& device = TestDevice::get();
        const std::vector<float> input = activations(kDim, 30, 5.0f);
        device.upload(reinterpret_cast<uint64_t>(x.pointer()), input.data(), kDim * 4);
        for (const uint16_t* pool : {keys.pointer(), values.pointer()}) {
            device.upload(reinterpret_cast<uint64_t>(pool), zeros.data(), zeros.size() * 2);
        }
    }

    [[nodiscard]] cuda::GemvParams product(const RepackedMatrix& weight, const QuantizedBuffer& in,
                                           const float* added, const DeviceBuffer<float>& out,
                                           bool is_residual) const {
        return {.weight = weight.view(),
                .x = in.view(),
                .bias = added,
                .residual = is_residual ? out.pointer() : nullptr,
                .out = out.pointer(),
                .out_stride = weight.view().rows,
                .warps_per_row = 1};
    }

    [[nodiscard]] std::vector<Operation> operations() const {
        const cuda::KvPool kv{keys.pointer(), values.pointer(), tables.pointer(), 3,
                              kKvHeads,       kHeadDim,         kHeadDim,         cuda::kKvF16};
        const cuda::NormParams norm_params{x.pointer(),   nullptr, norm.pointer(),
                                           normed.view(), kDim,    1e-5f};
        const cuda::RopeParams rope{.qkv = qkv.pointer(),
                                    .positions = position.pointer(),
                                    .cos_sin = cos_sin.pointer(),
                                    .q_norm = nullptr,
                                    .k_norm = nullptr,
                                    .kv = kv,
                                    .num_heads = kHeads,
                                    .num_dims = kHeadDim,
                                    .is_interleaved = 0,
                                    .eps = 1e-5f};
        const cuda::QkvParams qkv_params{product(qkv_weight, normed, bias.pointer(), qkv, false),
                                         rope, 0, counters.pointer()};
        const cuda::AttentionParams attention{.q = qkv.pointer(),
                                              .positions = position.pointer(),
                                              .kv = kv,
                                              .sums = sums.pointer(),
                                              .maxima = maxima.pointer(),
                                              .weights = weights.pointer(),
                                              .q_stride = kQkv,
                                              .num_heads = kHeads,
                                              .split_positions = 64,
                                              .window = 0,
                                              .scale = 0.125f,
                                              .softcap = 0};
        const cuda::CombineParams combine{sums.pointer(), maxima.pointer(), weights.pointer(),
                                          nullptr,        attended.view(),  kHeads,
                                          kSplits,        kHeadDim};
        const cuda::GemvNormParams o{product(o_weight, attended, nullptr, x, true), norm_params,
                                     counters.pointer() + 15};
        const cuda::GatedGemvParams gated{gate.view(), up.view(),        normed.view(), nullptr,
                                          nullptr,     activated.view(), cuda::kSilu};
        const cuda::GemvNormParams down_params{product(down, activated, nullptr, x, true),
                                               norm_params, counters.pointer() + 15};
        const auto head_params = bytes_of(product(head, normed, nullptr, logits, false));
        return {
            {cuda::kPersistentNorm,
             0,
             "norm_quantize",
             {.num_threads = 128},
             1,
             1,
             bytes_of(norm_params)},
            {cuda::kPersistentQkv,
             cuda::kPersistentQ4K,
             "qkv_q4_k",
             {.grid_x = kQkv / 16, .num_threads = 256},
             kQkv / 8,
             1,
             bytes_of(qkv_params)},
            {cuda::kPersistentAttention,
             0,
             "attention_f16_4",
             {.grid_x = kKvHeads, .grid_y = kSplits, .num_threads = 128},
             kKvHeads,
             kSplits,
             bytes_of(attention)},
            {cuda::kPersistentCombine,
             0,
             "attention_combine",
             {.grid_x = kDim / 128, .num_threads = 128},
             kDim / 128,
             1,
             bytes_of(combine)},
            {cuda::kPersistentGemvNorm,
             cuda::kPersistentQ6K,
             "gemv_norm_q6_k",
             {.grid_x = kDim / 8, .num_threads = 128},
             kDim / 8,
             1,
             bytes_of(o)},
            {cuda::kPersistentGated,
             cuda::kPersistentQ5_0,
             "gated_gemv_q5_0_1",
             {.grid_x = kHidden / 32, .num_threads = 256},
             kHidden / 32,
             1,
             bytes_of(gated)},
            {cuda::kPersistentGemvNorm,
             cuda::kPersistentQ4_0,
             "gemv_norm_q4_0",
             {.grid_x = kDim / 8, .num_threads = 128},
             kDim / 8,
             1,
             bytes_of(down_params)},
            {cuda::kPersistentGemv,
             cuda::kPersistentQ8_0,
             "gemv_q8_0_1",
             {.grid_x = 7, .num_threads = 256},
             13,
             1,
             head_params},
        };
    }
};

template <class Params>
void launch(const Operation& op) {
    Params params{};
    std::memcpy(static_cast<void*>(&params), op.params.data(), sizeof params);
    TestDevice::get().run(op.kernel, op.shape, params);
}

void launch_alone(const Operation& op) {
    switch (op.kind) {
        case cuda::kPersistentNorm:
            return launch<cuda::NormParams>(op);
        case cuda::kPersistentQkv:
            return launch<cuda::QkvParams>(op);
        case cuda::kPersistentAttention:
            return launch<cuda::AttentionParams>(op);
        case cuda::kPersistentCombine:
            return launch<cuda::CombineParams>(op);
        case cuda::kPersistentGemv:
            return launch<cuda::GemvParams>(op);
        case cuda::kPersistentGemvNorm:
            return launch<cuda::GemvNormParams>(op);
        default:
            return launch<cuda::GatedGemvParams>(op);
    }
}

/// The operations on the device.
struct Program {
    explicit Program(const std::vector<Operation>& operations) {
        std::vector<cuda::PersistentOp> ops;
        for (const Operation& op : operations) {
            params.push_back(std::make_unique<DeviceBuffer<uint8_t>>(op.params));
            ops.push_back({op.kind, op.format, op.num_x, op.num_y, params.back()->pointer()});
        }
        num_ops = static_cast<uint32_t>(ops.size());
        device_ops = std::make_unique<DeviceBuffer<cuda::PersistentOp>>(ops);
    }
    void run(const Layer& layer, uint32_t num_blocks) const {
        layer.reset();
        TestDevice::get().run(
            "persistent_step",
            {.grid_x = num_blocks, .num_threads = cuda::kPersistentThreads, .is_cooperative = true},
            cuda::PersistentParams{device_ops->pointer(), barrier.pointer(), num_ops});
        for (const uint32_t counter : layer.counters.read()) CHECK(counter == 0);
    }
    std::vector<std::unique_ptr<DeviceBuffer<uint8_t>>> params;
    std::unique_ptr<DeviceBuffer<cuda::PersistentOp>> device_ops;
    DeviceBuffer<uint32_t> barrier{std::vector<uint32_t>{0}};
    uint32_t num_ops = 0;
};

/// What a step leaves.
struct Results {
    explicit Results(const Layer& layer)
        : x(layer.x.read()), logits(layer.logits.read()), keys(layer.keys.read()) {}
    bool operator==(const Results&) const = default;
    std::vector<float> x, logits;
    std::vector<uint16_t> keys;
};

}  // namespace

TEST_CASE("Persistent kernel: the bits of the launches that it stands for", "[cuda]") {
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    const Layer layer;
    const std::vector<Operation> operations = layer.operations();
    layer.reset();
    for (const Operation& op : operations) launch_alone(op);
    const Results expected(layer);
    const Program program(operations);
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        device.set_schedule(schedule);
        for (const uint32_t num_blocks : {1u, 5u, 32u}) {
            INFO(num_blocks << " blocks");
            program.run(layer, num_blocks);
            CHECK((Results(layer) == expected));
        }
    }
}

TEST_CASE("Persistent kernel: two blocks at random do what one does", "[cuda][quick][threads]") {
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    const Layer layer;
    const Program program(layer.operations());
    program.run(layer, 1);
    const Results expected(layer);
    device.set_schedule({.order = emulation::Order::random, .seed = 7});
    program.run(layer, 2);
    CHECK((Results(layer) == expected));
}
