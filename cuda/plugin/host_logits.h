// SPDX-License-Identifier: Apache-2.0
// HostLogits: the logits of a step on the host: all of each row, or the few best with -infinity for
// the rest, so that only few numbers cross the bus.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plugin/gpu.h"
#include "plugin/gpu_buffers.h"

namespace hokku::cuda {

class HostLogits {
  public:
    HostLogits() = default;
    /// Errors : out_of_memory, device.
    static Result<HostLogits> create(const Gpu& gpu, uint32_t max_rows, uint32_t num_vocab);

    /// Copies rows from the device, into the stream.
    Result<void> copy_all(const Gpu& gpu, const float* from, uint32_t count, size_t place);
    /// The same of the best of rows, [count][kNumBest].
    Result<void> copy_best(const Gpu& gpu, const float* values, const uint32_t* ids, uint32_t count,
                           size_t place);
    /// Once all copies have come: whether every logit is a finite number, the best of a row
    /// standing for all.
    [[nodiscard]] bool are_finite(size_t num_rows, bool are_best) const;
    /// Afterwards the rows are complete; `change` is done to each logit that was copied.
    void complete(size_t num_rows, bool are_best, const std::function<float(float)>& change);
    [[nodiscard]] std::span<const float> rows(size_t num_rows) const {
        return {logits_.as<float>(), num_rows * num_vocab_};
    }
    [[nodiscard]] size_t size_bytes() const { return logits_.size_bytes() + best_.size_bytes(); }

  private:
    void empty_row(size_t row);

    PinnedMemory logits_, best_;
    float* best_values_ = nullptr;  ///< [rows][kNumBest]
    uint32_t* best_ids_ = nullptr;  ///< The same.
    std::vector<uint32_t> spread_;  ///< The same: the ids of a row that are not -infinity, ...
    std::vector<bool> has_few_;     ///< ... where a row has few of them.
    size_t num_vocab_ = 0;
};

/// Whether any is infinite or not a number.
bool has_nonfinite(std::span<const float> values);

}  // namespace hokku::cuda
