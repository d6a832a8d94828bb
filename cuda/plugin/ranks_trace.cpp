// SPDX-License-Identifier: Apache-2.0
#include "plugin/ranks_trace.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace hokku::cuda {

namespace {

template <size_t kCount>
bool is_one_of(std::string_view name, const std::array<std::string_view, kCount>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 3> kQueryStages = {"q", "q_rope", "attn_mix"};
constexpr std::array<std::string_view, 3> kKvStages = {"k", "k_rope", "v"};

/// Number and stage of "layer3.q_rope"; the stage is empty where there is none.
std::pair<uint32_t, std::string_view> split_name(std::string_view name) {
    constexpr std::string_view kLayer = "layer";
    const size_t dot = name.find('.');
    if (!name.starts_with(kLayer) || dot == std::string_view::npos) return {0, {}};
    uint32_t layer = 0;
    for (const char digit : name.substr(kLayer.size(), dot - kLayer.size()))
        layer = 10 * layer + static_cast<uint32_t>(digit - '0');
    return {layer, name.substr(dot + 1)};
}

}  // namespace

RanksTrace::RanksTrace(uint32_t num_ranks, bool has_stages) : ranks_(num_ranks) {
    for (Rank& rank : ranks_) {
        rank.trace.stages = has_stages;
        rank.trace.on_values = [&rank](const std::string& name, std::span<const float> values) {
            rank.values.emplace_back(name, std::vector<float>(values.begin(), values.end()));
        };
    }
}

void RanksTrace::tell(const StepTrace& to, const ModelSpec& spec,
                      std::span<const std::vector<ShardRange>> kv_heads) const {
    for (size_t i = 0; i < ranks_.front().values.size(); ++i) {
        const auto& [name, first] = ranks_.front().values[i];
        const auto [layer, stage] = split_name(name);
        std::vector<float> whole;
        if (is_one_of(stage,
                      kQueryStages)) {  // One rank's heads behind the other's.
            for (const Rank& rank : ranks_)
                whole.insert(whole.end(), rank.values[i].second.begin(),
                             rank.values[i].second.end());
        } else if (is_one_of(stage, kKvStages)) {
            const uint32_t index = layer - spec.part.first_layer;
            const size_t head = first.size() / kv_heads.front()[index].size();
            whole.resize(head * spec.layers[index].attention()->num_kv_heads);
            for (size_t rank = 0; rank < ranks_.size(); ++rank) {
                const std::vector<float>& own = ranks_[rank].values[i].second;
                std::copy(
                    own.begin(), own.end(),
                    whole.begin() + static_cast<ptrdiff_t>(head * kv_heads[rank][index].begin));
            }
        } else {
            whole = first;
        }
        to.on_values(name, whole);
    }
}

}  // namespace hokku::cuda
