// SPDX-License-Identifier: Apache-2.0
#include "engine/arriving_weights.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "backend/cpu/numa_topology.h"
#include "base/path_text.h"
#include "base/try.h"

namespace hokku {
namespace {

/// May still be unread when a load ends: what a disk gives while a prompt of a few tokens is made,
/// or in a second or two where it is slow.
constexpr uint64_t kBytesOfFirstStep = uint64_t{256} << 20;

/// A step begins with tables, goes through the layers and ends with the head and what it rarely
/// needs. A table that is the head as well is large and needed at the end again: it comes first,
/// as what is last delays the first token by the time to compute it.
uint64_t place_in_step(std::string_view name) {
    if (name.starts_with("token_") || name.starts_with("position_")) return 0;
    constexpr std::string_view kLayer = "blk.";
    if (!name.starts_with(kLayer)) return std::numeric_limits<uint64_t>::max();
    uint32_t layer = 0;
    std::from_chars(name.data() + kLayer.size(), name.data() + name.size(), layer);
    return uint64_t{layer} + 1;
}

/// Whether `next` goes on where `part` ends, but for padding.
bool follows(std::span<const std::byte> part, std::span<const std::byte> next) {
    constexpr uintptr_t kPageBytes = 4096;  // what is not mapped between two files is longer
    const auto end = reinterpret_cast<uintptr_t>(part.data()) + part.size();
    const auto begin = reinterpret_cast<uintptr_t>(next.data());
    return begin >= end && begin - end < kPageBytes;
}

}  // namespace

WeightOrder order_of_use(const GgufFile& file, uint32_t num_layers) {
    std::vector<std::pair<uint64_t, std::span<const std::byte>>> weights;
    for (const GgufTensor& tensor : file.tensors())
        if (!tensor.data.empty()) weights.emplace_back(place_in_step(tensor.name), tensor.data);
    std::sort(weights.begin(), weights.end(), [](const auto& a, const auto& b) {
        if (a.first != b.first) return a.first < b.first;
        return std::less<>()(a.second.data(), b.second.data());
    });
    WeightOrder order;
    order.layer_ends.resize(num_layers);
    uint64_t total = 0;
    size_t next = 0;
    for (uint64_t layer = 0; layer <= num_layers; ++layer) {
        const uint64_t last = layer < num_layers ? layer + 1 : std::numeric_limits<uint64_t>::max();
        for (; next < weights.size() && weights[next].first <= last; ++next) {
            const std::span<const std::byte> data = weights[next].second;
            if (!order.parts.empty() && follows(order.parts.back(), data)) {
                std::span<const std::byte>& part = order.parts.back();
                const auto size = static_cast<size_t>(data.data() + data.size() - part.data());
                total += size - part.size();
                part = {part.data(), size};
            } else {
                order.parts.push_back(data);
                total += data.size();
            }
        }
        if (layer < num_layers) order.layer_ends[layer] = total;
    }
    return order;
}

ArrivingWeights::ArrivingWeights(std::shared_ptr<const GgufFile> file, uint32_t num_layers)
    : ArrivingWeights(file, order_of_use(*file, num_layers)) {}

ArrivingWeights::ArrivingWeights(std::shared_ptr<const GgufFile> file, WeightOrder order)
    : file_(std::move(file)),
      layer_ends_(std::move(order.layer_ends)),
      pages_(std::move(order.parts), cpu::numa_node_ids(cpu::numa_nodes())) {}

Result<void> ArrivingWeights::wait_for_most(const LoadControl& control, double from, double to) {
    return finish(control, from, to, kBytesOfFirstStep);
}

Result<void> ArrivingWeights::wait_for_all(const LoadControl& control, double from, double to) {
    return finish(control, from, to, 0);
}

Result<void> ArrivingWeights::finish(const LoadControl& control, double from, double to,
                                     uint64_t left) {
    HOKKU_CHECK(pages_.finish(control, from, to, left));
    if (file_->has_read_fault())
        return Error{ErrorCode::io, "the model file cannot be read to its end",
                     path_text(file_->path()), "a complete file on a medium without faults"};
    return {};
}

}  // namespace hokku
