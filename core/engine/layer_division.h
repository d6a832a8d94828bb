// SPDX-License-Identifier: Apache-2.0
// Which layers of a model go to which of several devices, decided from what they take there and
// what is free, before anything is copied. Knows sizes, no devices.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "hokku/result.h"

namespace hokku {

/// What some layers take on a device, and what there is.
struct LayerNeeds {
    uint64_t budget_bytes = 0;    ///< That may be taken.
    uint64_t taken_bytes = 0;     ///< Weights and what does not depend on the context.
    uint64_t kv_block_bytes = 0;  ///< Of each block of the context.
    [[nodiscard]] uint64_t bytes_with(uint64_t num_blocks) const {
        return taken_bytes + num_blocks * kv_block_bytes;
    }
};

/// Divides layers over devices, each of which gets neighbouring ones, at least one. Devices are
/// filled from the first one on, which finds the best division where layers are of one size; where
/// they are not, a device with hardly room for one may be found too small.
///
/// Threads: one at a time.
class LayerDivision {
  public:
    /// What the layers [begin, end) need on a device. More layers never need less.
    using NeedsOf =
        std::function<Result<LayerNeeds>(uint32_t device, uint32_t begin, uint32_t end)>;

    LayerDivision(uint32_t num_layers, NeedsOf needs_of)
        : num_layers_(num_layers), needs_of_(std::move(needs_of)) {}

    /// For each device where its layers end, those from `first_layer` on with a context of so many
    /// blocks; devices are filled to the same share of what is free there. Empty: they do not fit.
    Result<std::vector<uint32_t>> divide(const std::vector<uint32_t>& devices, uint32_t first_layer,
                                         uint64_t num_blocks);
    /// The least first layer with which they fit; nullopt: there is none.
    Result<std::optional<uint32_t>> first_that_fits(const std::vector<uint32_t>& devices,
                                                    uint64_t num_blocks);

    /// Whether the layers [begin, end) fit into a share of a device's budget.
    Result<bool> fits(uint32_t device, uint32_t begin, uint32_t end, uint64_t num_blocks,
                      double share);

  private:
    /// Fills each device to a share of its budget. Empty: layers are left.
    Result<std::vector<uint32_t>> fill(const std::vector<uint32_t>& devices, uint32_t first_layer,
                                       uint64_t num_blocks, double share);

    uint32_t num_layers_;
    NeedsOf needs_of_;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, LayerNeeds> known_;
};

}  // namespace hokku
