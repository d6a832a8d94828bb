// SPDX-License-Identifier: Apache-2.0
#include "plugin/gpu_persistent.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/round_up.h"
#include "base/try.h"

namespace hokku::cuda {

namespace {

constexpr uint32_t kWarps = kPersistentThreads / 32;
constexpr size_t kAlignment = 16;
constexpr size_t kLineBytes = 128;  // Of NextWeights.

uint32_t ceil_div(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

size_t aligned(size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

template <class Params>
void PersistentRecorder::add(PersistentKind kind, uint32_t format, uint32_t num_x, uint32_t num_y,
                             const Params& params) {
    const size_t offset = bytes_.size();
    bytes_.resize(offset + aligned(sizeof params));
    std::memcpy(bytes_.data() + offset, &params, sizeof params);
    ops_.push_back({kind, format, num_x, num_y, reinterpret_cast<const void*>(offset)});
}

/// Of the operation that was added last; all of them.
void PersistentRecorder::note_weights(uint32_t format, const WeightPlanes& first,
                                      const WeightPlanes* second) {
    const size_t group_bytes = format == kPersistentQ8_0 ? 32 : 16;
    const size_t bytes = size_t{first.rows} * first.groups * group_bytes;
    ops_.back().next = {{first.codes, second != nullptr ? second->codes : nullptr},
                        static_cast<uint32_t>(bytes / kLineBytes)};
}

/// For blocks of kPersistentThreads; the blocks that it takes.
uint32_t PersistentRecorder::fit_product(GemvParams& product) {
    product.warps_per_row = std::min(product.warps_per_row, kWarps);
    return ceil_div(product.weight.rows, kWarps / product.warps_per_row * 2);
}

void PersistentRecorder::record(const LaunchSize&, const NormParams& params) {
    add(kPersistentNorm, 0, params.out.num_vectors, 1, params);
}

void PersistentRecorder::record(const LaunchSize& size, const QkvParams& params) {
    is_complete_ &= size.format != kNoPersistentFormat;
    QkvParams own = params;
    const uint32_t num_x = fit_product(own.gemv);
    add(kPersistentQkv, size.format, num_x, 1, own);
    note_weights(size.format, own.gemv.weight, nullptr);
}

void PersistentRecorder::record(const LaunchSize& size, const AttentionParams& params) {
    is_complete_ &= params.kv.format == kKvF16;
    const uint32_t group = params.num_heads / params.kv.num_kv_heads;
    AttentionParams own = params;
    own.next = {};  // Every operation asks for the next one's.
    add(kPersistentAttention, 0, params.kv.num_kv_heads * ceil_div(group, kPersistentHeads),
        size.grid_y, own);
}

void PersistentRecorder::record(const LaunchSize& size, const CombineParams& params) {
    add(kPersistentCombine, 0, size.grid_x, 1, params);
}

void PersistentRecorder::record(const LaunchSize& size, const GemvParams& params) {
    is_complete_ &= size.format != kNoPersistentFormat;
    GemvParams own = params;
    const uint32_t num_x = fit_product(own);
    add(kPersistentGemv, size.format, num_x, 1, own);
    note_weights(size.format, own.weight, nullptr);
}

void PersistentRecorder::record(const LaunchSize& size, const GemvNormParams& params) {
    is_complete_ &= size.format != kNoPersistentFormat;
    GemvNormParams own = params;
    const uint32_t num_x = fit_product(own.gemv);
    add(kPersistentGemvNorm, size.format, num_x, 1, own);
    note_weights(size.format, own.gemv.weight, nullptr);
}

void PersistentRecorder::record(const LaunchSize& size, const GatedGemvParams& params) {
    is_complete_ &= size.format != kNoPersistentFormat;
    add(kPersistentGated, size.format, size.grid_x, 1, params);
    note_weights(size.format, params.gate, &params.up);
}

Result<PersistentProgram> PersistentRecorder::upload(const Gpu& gpu) const {
    PersistentProgram program;
    const size_t ops_bytes = aligned(ops_.size() * sizeof(PersistentOp));
    std::vector<std::byte> all(kAlignment + ops_bytes + bytes_.size());  // A barrier in front.
    HOKKU_TRY(program.memory, gpu.allocate(all.size(), "a persistent step"));
    const DevicePointer base = program.memory.address(), params = base + kAlignment + ops_bytes;
    std::vector<PersistentOp> ops = ops_;
    NextWeights next;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
        op->params =
            reinterpret_cast<const void*>(params + reinterpret_cast<uintptr_t>(op->params));
        const NextWeights own = std::exchange(op->next, next);
        if (own.num_lines == 0) continue;
        const size_t most = gpu.prefetch_bytes() / (own.planes[1] != nullptr ? 2 : 1) / kLineBytes;
        next = own;
        next.num_lines = std::min(next.num_lines, static_cast<uint32_t>(most));
    }
    std::memcpy(all.data() + kAlignment, ops.data(), ops.size() * sizeof(PersistentOp));
    std::memcpy(all.data() + kAlignment + ops_bytes, bytes_.data(), bytes_.size());
    HOKKU_CHECK(
        gpu.check(gpu.api().copy_to_device(base, all.data(), all.size()), "cuMemcpyHtoD_v2"));
    program.params = {.ops = reinterpret_cast<const PersistentOp*>(base + kAlignment),
                      .barrier = reinterpret_cast<uint32_t*>(base),
                      .num_ops = static_cast<uint32_t>(ops.size())};
    return program;
}

}  // namespace hokku::cuda
