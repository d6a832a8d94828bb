// SPDX-License-Identifier: Apache-2.0
#include "model/rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <vector>

namespace hokku {

namespace {

/// Divisors of the frequencies, [num_dims / 2]; empty where the file has no such tensor.
std::vector<double> read_factors(Hparams& keys, std::string_view tensor_name, uint32_t num_dims) {
    const GgufTensor* tensor = keys.file().find_tensor(tensor_name);
    if (tensor == nullptr) return {};
    const size_t count = num_dims / 2;
    const size_t bytes = count * sizeof(float);
    const std::string expected = fmt::format("F32 [{}], finite and above 0", count);
    Error error{ErrorCode::bad_format,
                fmt::format("the factors are {} [{}]", traits_of(tensor->type).name, tensor->ne[0]),
                fmt::format("{}, tensor {}", keys.file().metadata().file_name(), tensor_name),
                expected};
    if (tensor->type != TensorType::f32 || tensor->num_dims != 1 || tensor->ne[0] != count ||
        tensor->data.size() < bytes) {
        keys.fail(std::move(error));
        return {};
    }
    std::vector<float> values(count);
    std::memcpy(values.data(), tensor->data.data(), bytes);
    for (const float value : values) {
        if (std::isfinite(value) && value > 0) continue;
        error.what = fmt::format("a factor is {}", value);
        keys.fail(std::move(error));
        return {};
    }
    return {values.begin(), values.end()};
}

std::vector<float> divided(const std::vector<double>& frequencies,
                           const std::vector<double>& factors) {
    std::vector<float> result(frequencies.size());
    for (size_t i = 0; i < result.size(); ++i)
        result[i] =
            static_cast<float>(factors.empty() ? frequencies[i] : frequencies[i] / factors[i]);
    return result;
}

struct Yarn {
    double factor = 1, original_context = 0, beta_fast = 32, beta_slow = 1, ext_factor = 1;
};

/// The dimension whose wavelength fits `rotations` times into the original context (YaRN, eq. 17).
double correction_dim(const RopeRequest& request, const Yarn& yarn, double rotations) {
    return request.num_dims * std::log(yarn.original_context / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(request.base));
}

/// Blends interpolated and unchanged frequencies by a ramp over the dimensions.
void apply_yarn(std::vector<double>& frequencies, const RopeRequest& request, const Yarn& yarn) {
    const double last = request.num_dims - 1.0;
    const double low = std::max(0.0, std::floor(correction_dim(request, yarn, yarn.beta_fast)));
    const double high = std::min(last, std::ceil(correction_dim(request, yarn, yarn.beta_slow)));
    for (size_t i = 0; i < frequencies.size(); ++i) {
        const double ramp =
            std::clamp((static_cast<double>(i) - low) / std::max(0.001, high - low), 0.0, 1.0);
        const double unchanged = (1 - ramp) * yarn.ext_factor;
        frequencies[i] =
            frequencies[i] / yarn.factor * (1 - unchanged) + frequencies[i] * unchanged;
    }
}

/// YaRN's attention temperature as a factor on cos and sin (eq. 22 of the paper).
double yarn_magnitude(double factor, double multiplier) {
    return factor <= 1 ? 1.0 : 0.1 * multiplier * std::log(factor) + 1.0;
}

}  // namespace

RopeSpec make_rope(Hparams& keys, const RopeRequest& request) {
    RopeSpec rope;
    rope.pairing = request.pairing;
    rope.num_dims = request.num_dims;
    std::vector<double> frequencies(request.num_dims / 2);
    for (size_t i = 0; i < frequencies.size(); ++i)
        frequencies[i] = std::pow(request.base, -2.0 * static_cast<double>(i) / request.num_dims);
    if (!request.is_scaled) {
        rope.inv_freq = divided(frequencies, {});
        return rope;
    }

    // Files without a type but with a factor mean linear scaling.
    const std::string type = keys.text_or("rope.scaling.type", "linear");
    if (type != "none" && type != "linear" && type != "yarn" && type != "longrope")
        keys.fail_key("rope.scaling.type", fmt::format("the type is \"{}\"", type),
                      "none, linear, yarn or longrope");
    const uint32_t original_context =
        keys.u32_or("rope.scaling.original_context_length",
                    keys.u32_or("context_length", 1, 1, 1u << 31), 1, 1u << 31);
    const std::string factor_key =
        keys.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
    // A factor of 0 is written by some converters for "not scaled".
    double factor = static_cast<double>(keys.f32_or(factor_key, 1.0f, 0.0f, 1e6f));
    if (factor == 0) factor = 1;
    double magnitude =
        static_cast<double>(keys.f32_or("rope.scaling.attn_factor", 1.0f, 1e-3f, 1e3f));

    if (type == "linear") {
        for (double& frequency : frequencies) frequency /= factor;
    } else if (type == "yarn") {
        const auto number = [&](std::string_view key, float fallback, float max) {
            return static_cast<double>(keys.f32_or(key, fallback, 0.0f, max));
        };
        const Yarn yarn{
            .factor = factor,
            .original_context = static_cast<double>(original_context),
            .beta_fast = std::max(1e-3, number("rope.scaling.yarn_beta_fast", 32, 1e4f)),
            .beta_slow = std::max(1e-3, number("rope.scaling.yarn_beta_slow", 1, 1e4f)),
            .ext_factor = number("rope.scaling.yarn_ext_factor", 1, 1)};
        apply_yarn(frequencies, request, yarn);
        const double log_multiplier = number("rope.scaling.yarn_log_multiplier", 0, 100);
        magnitude *= number("rope.scaling.yarn_attn_factor", 1, 1e3f) * yarn_magnitude(factor, 1);
        if (log_multiplier != 0) magnitude /= yarn_magnitude(factor, log_multiplier);
    }
    rope.magnitude = static_cast<float>(magnitude);

    const auto long_factors = read_factors(keys, "rope_factors_long.weight", request.num_dims);
    const auto short_factors = read_factors(keys, "rope_factors_short.weight", request.num_dims);
    const auto factors = read_factors(keys, "rope_freqs.weight", request.num_dims);
    rope.inv_freq = divided(frequencies, short_factors.empty() ? factors : short_factors);
    if (!long_factors.empty()) {
        rope.long_inv_freq = divided(frequencies, long_factors);
        rope.long_above_context = original_context;
    }
    return rope;
}

}  // namespace hokku
