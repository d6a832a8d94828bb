// SPDX-License-Identifier: Apache-2.0
#include "engine/layer_division.h"

#include <utility>

#include "base/try.h"

namespace hokku {

Result<bool> LayerDivision::fits(uint32_t device, uint32_t begin, uint32_t end, uint64_t num_blocks,
                                 double share) {
    auto known = known_.find({device, begin, end});
    if (known == known_.end()) {
        HOKKU_TRY(const LayerNeeds needs, needs_of_(device, begin, end));
        known = known_.emplace(std::tuple(device, begin, end), needs).first;
    }
    const LayerNeeds& needs = known->second;
    return static_cast<double>(needs.bytes_with(num_blocks)) <=
           share * static_cast<double>(needs.budget_bytes);
}

Result<std::vector<uint32_t>> LayerDivision::fill(const std::vector<uint32_t>& devices,
                                                  uint32_t first_layer, uint64_t num_blocks,
                                                  double share) {
    std::vector<uint32_t> ends;
    uint32_t begin = first_layer;
    for (size_t i = 0; i < devices.size(); ++i) {
        const auto num_behind = static_cast<uint32_t>(devices.size() - 1 - i);
        if (begin + 1 + num_behind > num_layers_) return std::vector<uint32_t>();
        // The most layers that fit, but for one on each of those behind; all on the last one.
        const uint32_t most = num_layers_ - num_behind;
        uint32_t good = begin, bad = most + 1;
        if (num_behind == 0) good = most - 1;
        while (good + 1 < bad) {
            const uint32_t middle = good + (bad - good) / 2;
            HOKKU_TRY(const bool do_fit, fits(devices[i], begin, middle, num_blocks, share));
            (do_fit ? good : bad) = middle;
        }
        const uint32_t least = num_behind == 0 ? most : begin + 1;
        if (good < least) return std::vector<uint32_t>();
        ends.push_back(good);
        begin = good;
    }
    return ends;
}

Result<std::vector<uint32_t>> LayerDivision::divide(const std::vector<uint32_t>& devices,
                                                    uint32_t first_layer, uint64_t num_blocks) {
    HOKKU_TRY(std::vector<uint32_t> best, fill(devices, first_layer, num_blocks, 1.0));
    if (best.empty() || devices.size() == 1) return best;
    double enough = 1.0, little = 0.0;
    for (int i = 0; i < 24; ++i) {  // To a few KiB of the largest devices.
        const double middle = (enough + little) / 2;
        HOKKU_TRY(std::vector<uint32_t> ends, fill(devices, first_layer, num_blocks, middle));
        (ends.empty() ? little : enough) = middle;
        if (!ends.empty()) best = std::move(ends);
    }
    return best;
}

Result<std::optional<uint32_t>> LayerDivision::first_that_fits(const std::vector<uint32_t>& devices,
                                                               uint64_t num_blocks) {
    if (devices.size() > num_layers_) return std::optional<uint32_t>();
    const uint32_t none = num_layers_ - static_cast<uint32_t>(devices.size()) + 1;
    uint32_t least = 0, most = none;
    while (least < most) {
        const uint32_t middle = (least + most) / 2;
        HOKKU_TRY(const std::vector<uint32_t> ends, fill(devices, middle, num_blocks, 1.0));
        if (ends.empty()) {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    return least < none ? std::optional<uint32_t>(least) : std::nullopt;
}

}  // namespace hokku
