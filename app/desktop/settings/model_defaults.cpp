// SPDX-License-Identifier: Apache-2.0
#include "settings/model_defaults.h"

#include <QByteArray>
#include <limits>

#include "hokku/model_file.h"

namespace hokku::desktop {
namespace {

std::optional<double> numberOf(const ModelFileInfo& info, const char* name, double least,
                               double most) {
    const MetadataEntryInfo* entry = info.find(std::string("general.sampling.") + name);
    if (entry == nullptr) return {};
    bool isNumber = false;
    const double value = QByteArray::fromStdString(entry->value_json).toDouble(&isNumber);
    if (!isNumber || !(value >= least && value <= most)) return {};
    return value;
}

std::optional<float> floatOf(const ModelFileInfo& info, const char* name, double least,
                             double most) {
    const auto value = numberOf(info, name, least, most);
    if (!value) return {};
    return static_cast<float>(*value);
}

}  // namespace

void ModelDefaults::applyTo(SamplingOptions& sampling) const {
    sampling.temperature = temperature.value_or(sampling.temperature);
    sampling.top_p = topP.value_or(sampling.top_p);
    sampling.min_p = minP.value_or(sampling.min_p);
    sampling.top_k = topK.value_or(sampling.top_k);
    if (repeatPenalty) sampling.repeat_penalty = repeatPenalty;
}

ModelDefaults readModelDefaults(const std::filesystem::path& path) {
    const auto info = inspect_model_file(path, {.max_array_elements = 1, .max_string_bytes = 1024});
    ModelDefaults defaults;
    if (!info.ok()) return defaults;
    constexpr double kMostTemperature = 5, kMostPenalty = 2;
    defaults.temperature = floatOf(*info, "temp", 0, kMostTemperature);
    defaults.topP = floatOf(*info, "top_p", 0, 1);
    defaults.minP = floatOf(*info, "min_p", 0, 1);
    defaults.repeatPenalty = floatOf(*info, "penalty_repeat", 1, kMostPenalty);
    if (const auto k = numberOf(*info, "top_k", 0, std::numeric_limits<int32_t>::max()))
        defaults.topK = static_cast<int32_t>(*k);
    return defaults;
}

}  // namespace hokku::desktop
