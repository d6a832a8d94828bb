// SPDX-License-Identifier: Apache-2.0
#include "plugin/host_logits.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/try.h"

namespace hokku::cuda {

namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

}  // namespace

bool has_nonfinite(std::span<const float> values) {
    uint32_t bad = 0;
    for (const float& value : values) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
    }
    return bad != 0;
}

Result<HostLogits> HostLogits::create(const Gpu& gpu, uint32_t max_rows, uint32_t num_vocab) {
    HostLogits out;
    const size_t rows = std::max(max_rows, 1u);
    out.num_vocab_ = num_vocab;
    HOKKU_TRY(out.logits_, gpu.allocate_pinned(rows * num_vocab * sizeof(float), "logits"));
    HOKKU_TRY(out.best_, gpu.allocate_pinned(2 * rows * kNumBest * sizeof(float), "logits"));
    out.best_values_ = out.best_.as<float>();
    out.best_ids_ = reinterpret_cast<uint32_t*>(out.best_values_ + rows * kNumBest);
    out.spread_.resize(rows * kNumBest);
    out.has_few_.resize(rows);
    return out;
}

Result<void> HostLogits::copy_all(const Gpu& gpu, const float* from, uint32_t count, size_t place) {
    std::fill_n(has_few_.begin() + static_cast<ptrdiff_t>(place), count, false);
    return gpu.check(gpu.api().copy_to_host_async(logits_.as<float>() + place * num_vocab_,
                                                  reinterpret_cast<DevicePointer>(from),
                                                  count * num_vocab_ * sizeof(float), gpu.stream()),
                     "cuMemcpyDtoHAsync_v2");
}

Result<void> HostLogits::copy_best(const Gpu& gpu, const float* values, const uint32_t* ids,
                                   uint32_t count, size_t place) {
    const auto copy = [&](auto* to, const auto* from) {
        return gpu.check(gpu.api().copy_to_host_async(
                             to + place * kNumBest, reinterpret_cast<DevicePointer>(from),
                             count * kNumBest * sizeof *from, gpu.stream()),
                         "cuMemcpyDtoHAsync_v2");
    };
    HOKKU_CHECK(copy(best_values_, values));
    return copy(best_ids_, ids);
}

bool HostLogits::are_finite(size_t num_rows, bool are_best) const {
    if (!are_best) return !has_nonfinite(rows(num_rows));
    for (size_t row = 0; row < num_rows; ++row) {
        if (has_nonfinite({best_values_ + row * kNumBest, 1})) return false;
    }
    return true;
}

void HostLogits::complete(size_t num_rows, bool are_best,
                          const std::function<float(float)>& change) {
    if (!are_best) {
        if (!change) return;
        for (float& logit : std::span(logits_.as<float>(), num_rows * num_vocab_))
            logit = change(logit);
        return;
    }
    for (size_t row = 0; row < num_rows; ++row) {
        empty_row(row);
        float* logits = logits_.as<float>() + row * num_vocab_;
        for (size_t i = row * kNumBest; i < (row + 1) * kNumBest; ++i) {
            spread_[i] = best_ids_[i];
            if (best_ids_[i] >= num_vocab_) continue;  // There are fewer.
            logits[best_ids_[i]] = change ? change(best_values_[i]) : best_values_[i];
        }
        has_few_[row] = true;
    }
}

/// To -infinity.
void HostLogits::empty_row(size_t row) {
    float* logits = logits_.as<float>() + row * num_vocab_;
    if (!has_few_[row]) {
        std::fill_n(logits, num_vocab_, kForbidden);
        return;
    }
    for (size_t i = row * kNumBest; i < (row + 1) * kNumBest; ++i) {
        if (spread_[i] < num_vocab_) logits[spread_[i]] = kForbidden;
    }
}

}  // namespace hokku::cuda
