// SPDX-License-Identifier: Apache-2.0
// ArrivingWeights: the weights of a mapped model on their way from the disk, in the order in which
// a step needs them, so that the first step may run behind them, layer by layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/read_ahead.h"
#include "gguf/gguf_file.h"

namespace hokku {

/// In which order the weights of a file are used, as few long parts.
struct WeightOrder {
    std::vector<std::span<const std::byte>> parts;
    /// Bytes of the parts up to the end of each layer: with them are all that come before it.
    std::vector<uint64_t> layer_ends;
};
WeightOrder order_of_use(const GgufFile& file, uint32_t num_layers);

/// Threads: wait_for_layer() from any; see ReadAhead.
class ArrivingWeights {
  public:
    ArrivingWeights(std::shared_ptr<const GgufFile> file, uint32_t num_layers);

    /// Waits for what a step needs up to this layer; for all, if there are not so many.
    void wait_for_layer(uint32_t index) {
        pages_.wait_for(index < layer_ends_.size() ? layer_ends_[index] : UINT64_MAX);
    }

    /// Waits until what is left comes in the time of a first step, and reports [from, to].
    /// Errors : cancelled; io: a page cannot be read.
    Result<void> wait_for_most(const LoadControl& control, double from, double to);
    /// The same for all.
    Result<void> wait_for_all(const LoadControl& control, double from, double to);

  private:
    ArrivingWeights(std::shared_ptr<const GgufFile> file, WeightOrder order);
    Result<void> finish(const LoadControl& control, double from, double to, uint64_t left);

    std::shared_ptr<const GgufFile> file_;  // the model may be given up before
    std::vector<uint64_t> layer_ends_;
    ReadAhead pages_;
};

}  // namespace hokku
