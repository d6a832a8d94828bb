// SPDX-License-Identifier: Apache-2.0
// The kernels of a dense layer one after another, as decoding runs them: as dependent launches and
// in a graph they must give the bits of launches that are waited for one by one, in every order;
// positions come from the device's memory, nothing is allocated and one wait is enough for a token.
#include <cmath>
#include <cstring>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "emulation/fakes/fake_driver.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

constexpr uint32_t kDim = 256, kHeads = 8, kKvHeads = 2, kHeadDim = 64, kHidden = 256;
constexpr uint32_t kQkv = (kHeads + 2 * kKvHeads) * kHeadDim, kBlocks = 3, kContext = 64 * kBlocks;
constexpr uint32_t kSplit = 64, kSplits = kContext / kSplit;
constexpr float kEps = 1e-5f;

std::vector<float> angles() {
    std::vector<float> table(kContext * kHeadDim);
    for (uint32_t p = 0; p < kContext; ++p) {
        for (uint32_t i = 0; i < kHeadDim / 2; ++i) {
            const double angle = p * std::pow(10000.0, -2.0 * i / kHeadDim);
            table[p * kHeadDim + i] = static_cast<float>(std::cos(angle));
            table[p * kHeadDim + kHeadDim / 2 + i] = static_cast<float>(std::sin(angle));
        }
    }
    return table;
}

/// One layer with its weights, cache and buffers, for one row.
struct Layer {
    RepackedMatrix qkv_weight{TensorType::q4_k, kQkv, kDim, BlockKind::plain, 1};
    RepackedMatrix o_weight{TensorType::q6_k, kDim, kHeads* kHeadDim, BlockKind::plain, 2};
    RepackedMatrix gate{TensorType::q4_k, kHidden, kDim, BlockKind::plain, 3};
    RepackedMatrix up{TensorType::q4_k, kHidden, kDim, BlockKind::plain, 4};
    RepackedMatrix down{TensorType::q6_k, kDim, kHidden, BlockKind::plain, 5};
    DeviceBuffer<float> attn_norm{activations(kDim, 6)}, ffn_norm{activations(kDim, 7)};
    DeviceBuffer<float> bias{activations(kQkv, 8, 20.0f)};  // As large as those of Qwen 2.
    DeviceBuffer<float> cos_sin{angles()};
    DeviceBuffer<uint16_t> keys{kContext * kKvHeads * kHeadDim},
        values{kContext * kKvHeads * kHeadDim};
    DeviceBuffer<uint32_t> tables{std::vector<uint32_t>{2, 0, 1}}, position{1};
    DeviceBuffer<float> x{kDim}, qkv{kQkv}, sums{kHeads * kSplits * kHeadDim},
        maxima{kHeads * kSplits}, weights{kHeads * kSplits};
    QuantizedBuffer normed{1, kDim}, attended{1, kHeads*kHeadDim}, activated{1, kHidden};
    bool is_dependent = false, is_waited_for = false;

    template <class Params>
    void launch(const char* kernel, LaunchShape shape, const Params& params) const {
        shape.is_dependent = is_dependent;
        TestDevice::get().launch(kernel, shape, params);
        if (is_waited_for) TestDevice::get().synchronize();
    }

    void run() const {
        const cuda::KvPool kv{keys.pointer(), values.pointer(), tables.pointer(), kBlocks,
                              kKvHeads,       kHeadDim,         kHeadDim,         cuda::kKvF16};
        norm(attn_norm);
        product("gemv_q4_k_1", qkv_weight, normed, bias.pointer(), nullptr, qkv);
        launch("rope_append", {.grid_x = kHeads + 2 * kKvHeads},
               cuda::RopeParams{.qkv = qkv.pointer(),
                                .positions = position.pointer(),
                                .cos_sin = cos_sin.pointer(),
                                .q_norm = nullptr,
                                .k_norm = nullptr,
                                .kv = kv,
                                .num_heads = kHeads,
                                .num_dims = kHeadDim,
                                .is_interleaved = 0,
                                .eps = kEps});
        launch("attention_f16_4", {.grid_x = kKvHeads, .grid_y = kSplits, .num_threads = 128},
               cuda::AttentionParams{.q = qkv.pointer(),
                                     .positions = position.pointer(),
                                     .kv = kv,
                                     .sums = sums.pointer(),
                                     .maxima = maxima.pointer(),
                                     .weights = weights.pointer(),
                                     .q_stride = kQkv,
                                     .num_heads = kHeads,
                                     .split_positions = kSplit,
                                     .window = 0,
                                     .scale = 0.125f,
                                     .softcap = 0});
        launch("attention_combine", {.grid_x = kHeads * kHeadDim / 128, .num_threads = 128},
               cuda::CombineParams{sums.pointer(), maxima.pointer(), weights.pointer(), nullptr,
                                   attended.view(), kHeads, kSplits, kHeadDim});
        product("gemv_q6_k_1", o_weight, attended, nullptr, x.pointer(), x);
        norm(ffn_norm);
        launch("gated_gemv_q4_k_1", {.grid_x = kHidden / 32, .num_threads = 256},
               cuda::GatedGemvParams{gate.view(), up.view(), normed.view(), nullptr, nullptr,
                                     activated.view(), cuda::kSilu});
        product("gemv_q6_k_1", down, activated, nullptr, x.pointer(), x);
    }

  private:
    void norm(const DeviceBuffer<float>& weight) const {
        launch("norm_quantize", {.num_threads = 128},
               cuda::NormParams{x.pointer(), nullptr, weight.pointer(), normed.view(), kDim, kEps});
    }
    void product(const char* kernel, const RepackedMatrix& weight, const QuantizedBuffer& in,
                 const float* added, const float* residual, const DeviceBuffer<float>& out) const {
        const uint32_t rows = weight.view().rows;
        launch(kernel, {.grid_x = (rows + 15) / 16, .num_threads = 256},
               cuda::GemvParams{.weight = weight.view(),
                                .x = in.view(),
                                .bias = added,
                                .residual = residual,
                                .out = out.pointer(),
                                .out_stride = rows,
                                .warps_per_row = 1});
    }
};

constexpr uint32_t kTokens[] = {0, 1, 64, 130};  // Positions, across blocks and splits.

std::vector<float> input(uint32_t token) {
    return activations(kDim, 100 + token, 5.0f);
}

/// What the layer gives for some positions one after another; those skipped hold zeros.
template <class Step>
std::vector<std::vector<float>> run_tokens(const Layer& layer, Step step) {
    std::vector<std::vector<float>> out;
    const std::vector<uint16_t> zeros(layer.keys.size());
    TestDevice& device = TestDevice::get();
    device.upload(reinterpret_cast<uint64_t>(layer.keys.pointer()), zeros.data(), zeros.size() * 2);
    device.upload(reinterpret_cast<uint64_t>(layer.values.pointer()), zeros.data(),
                  zeros.size() * 2);
    for (const uint32_t token : kTokens) {
        device.upload(reinterpret_cast<uint64_t>(layer.position.pointer()), &token, 4);
        const std::vector<float> x = input(token);
        device.upload(reinterpret_cast<uint64_t>(layer.x.pointer()), x.data(), kDim * 4);
        step();
        out.push_back(layer.x.read());
    }
    return out;
}

}  // namespace

TEST_CASE("Layer: dependent launches and graphs give the bits of launches one by one", "[cuda]") {
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    Layer layer;
    layer.is_waited_for = true;
    const auto expected = run_tokens(layer, [&] { layer.run(); });
    for (const std::vector<float>& row : expected) {
        for (const float value : row) REQUIRE(std::isfinite(value));
    }
    CHECK(expected[0] != expected[1]);
    layer.is_waited_for = false;
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        device.set_schedule(schedule);
        layer.is_dependent = true;
        CHECK(run_tokens(layer, [&] { layer.run(); }) == expected);
        // The same as a graph that was captured once.
        const cuda::DriverApi& api = device.api();
        cuda::GraphHandle graph = nullptr;
        cuda::GraphExecHandle exec = nullptr;
        REQUIRE(api.stream_begin_capture(device.stream(), cuda::CaptureMode::relaxed) ==
                cuda::DriverResult::success);
        layer.run();
        REQUIRE(api.stream_end_capture(device.stream(), &graph) == cuda::DriverResult::success);
        REQUIRE(api.graph_instantiate(&exec, graph, 0) == cuda::DriverResult::success);
        CHECK(run_tokens(layer, [&] {
                  api.graph_launch(exec, device.stream());
                  const emulation::FakeDriverCounts before = emulation::FakeDriver::counts();
                  device.synchronize();
                  const emulation::FakeDriverCounts& after = emulation::FakeDriver::counts();
                  CHECK(after.num_allocations == before.num_allocations);
                  if (device.is_emulated()) CHECK(after.num_launches - before.num_launches == 9);
              }) == expected);
        api.graph_destroy(graph);
        api.graph_exec_destroy(exec);
    }
}
