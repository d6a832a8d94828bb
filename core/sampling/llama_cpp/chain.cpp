// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/try.h"
#include "hokku/llama_sampling.h"
#include "sampling/check_logits.h"
#include "sampling/llama_cpp/step.h"

namespace hokku::llama_cpp {
namespace {

constexpr uint32_t kRandomSeed = 0xffffffff;

template <class T>
constexpr bool picks = std::is_same_v<T, Greedy> || std::is_same_v<T, Dist> ||
                       std::is_same_v<T, Mirostat> || std::is_same_v<T, MirostatV2>;

Error bad_number(const char* element, const char* name, float value, const char* expected) {
    return {ErrorCode::bad_argument, fmt::format("{} is {:g}", name, static_cast<double>(value)),
            element, expected};
}

Result<void> check_finite(const char* element, const char* name, float value) {
    if (std::isfinite(value)) return {};
    return bad_number(element, name, value, "a finite number");
}

struct CheckElement {
    uint32_t num_vocab;

    Result<void> operator()(const Greedy&) const { return {}; }
    Result<void> operator()(const Dist&) const { return {}; }
    Result<void> operator()(const TopK&) const { return {}; }
    Result<void> operator()(const TopP& e) const { return check_finite("top_p", "p", e.p); }
    Result<void> operator()(const MinP& e) const { return check_finite("min_p", "p", e.p); }
    Result<void> operator()(const Typical& e) const { return check_finite("typical", "p", e.p); }
    Result<void> operator()(const Temp& e) const {
        return check_finite("temp", "temperature", e.temperature);
    }
    Result<void> operator()(const TempExt& e) const {
        HOKKU_CHECK(check_finite("temp_ext", "temperature", e.temperature));
        HOKKU_CHECK(check_finite("temp_ext", "range", e.range));
        return check_finite("temp_ext", "exponent", e.exponent);
    }
    Result<void> operator()(const TopNSigma& e) const {
        return check_finite("top_n_sigma", "n", e.n);
    }
    Result<void> operator()(const Xtc& e) const {
        HOKKU_CHECK(check_finite("xtc", "probability", e.probability));
        return check_finite("xtc", "threshold", e.threshold);
    }
    Result<void> operator()(const Mirostat& e) const {
        HOKKU_CHECK(check_finite("mirostat", "tau", e.tau));
        return check_finite("mirostat", "eta", e.eta);
    }
    Result<void> operator()(const MirostatV2& e) const {
        HOKKU_CHECK(check_finite("mirostat_v2", "tau", e.tau));
        return check_finite("mirostat_v2", "eta", e.eta);
    }
    Result<void> operator()(const Penalties& e) const {
        if (!(e.repeat > 0) || !std::isfinite(e.repeat))
            return bad_number("penalties", "repeat", e.repeat, "a finite number above 0");
        HOKKU_CHECK(check_finite("penalties", "frequency", e.frequency));
        return check_finite("penalties", "presence", e.presence);
    }
    Result<void> operator()(const Dry& e) const {
        HOKKU_CHECK(check_finite("dry", "multiplier", e.multiplier));
        return check_finite("dry", "base", e.base);
    }
    Result<void> operator()(const LogitBias& e) const {
        for (const auto& [id, bias] : e.bias) {
            if (id < 0 || static_cast<uint32_t>(id) >= num_vocab)
                return Error{ErrorCode::bad_argument, fmt::format("token {} does not exist", id),
                             "logit_bias", fmt::format("ids below {}", num_vocab)};
            if (std::isnan(bias) || bias == std::numeric_limits<float>::infinity())
                return bad_number("logit_bias", "bias", bias, "a finite number or -inf");
        }
        return {};
    }
};

}  // namespace

struct Chain::State {
    explicit State(uint32_t vocabulary_size) : array(vocabulary_size), num_vocab(vocabulary_size) {}
    TokenArray array;
    std::vector<std::unique_ptr<Step>> steps;
    std::vector<TokenId> forbidden;  ///< By a bias of -inf.
    uint32_t num_vocab;
    bool looks_up_unmoved = false;
};

Chain::Chain(std::unique_ptr<State> state) : state_(std::move(state)) {}
Chain::~Chain() = default;
Chain::Chain(Chain&&) noexcept = default;
Chain& Chain::operator=(Chain&&) noexcept = default;

Result<Chain> Chain::create(const ChainOptions& options) {
    if (options.seed == kRandomSeed)
        return Error{ErrorCode::bad_argument, "llama.cpp replaces this seed by a random one",
                     fmt::format("seed {}", options.seed), "a seed below 4294967295"};
    auto state = std::make_unique<State>(options.num_vocab);
    state->looks_up_unmoved = options.looks_up_unmoved;
    const StepContext context{options.seed, options.num_vocab, options.max_history};
    bool has_pick = false;
    for (const Element& element : options.elements) {
        if (const auto* biased = std::get_if<LogitBias>(&element)) {
            for (const auto& [id, bias] : biased->bias)
                if (std::isinf(bias)) state->forbidden.push_back(id);
        }
        HOKKU_CHECK(std::visit(CheckElement{options.num_vocab}, element));
        std::visit(
            [&](const auto& kind) {
                has_pick = has_pick || picks<std::decay_t<decltype(kind)>>;
                if (auto step = make_step(kind, context)) state->steps.push_back(std::move(step));
            },
            element);
    }
    if (!has_pick)
        return Error{ErrorCode::bad_argument, "no element of the chain picks a token", "chain",
                     "one of greedy, dist, mirostat and mirostat_v2"};
    return Chain(std::move(state));
}

void Chain::accept(TokenId token) {
    assert(token >= 0 && static_cast<uint32_t>(token) < state_->num_vocab);
    for (const auto& step : state_->steps) step->accept(token);
}

// No order may ever see a NaN: the library's sorts need one that is consistent. Infinite logits
// that a step has made are worked with, as there; a token that was forbidden is never picked,
// though, where the chain has left nothing else.
Result<TokenId> Chain::sample(std::span<const float> logits) {
    assert(logits.size() == state_->num_vocab && "one logit for each token of the vocabulary");
    HOKKU_CHECK(check_logits(logits));
    TokenArray& array = state_->array;
    array.reset(logits);
    for (const auto& step : state_->steps) {
        step->apply(array);
        if (array.has_nan())
            return Error{ErrorCode::numeric, "a sampler made a logit that is not a number", "chain",
                         "logits that are numbers"};
    }
    if (array.selected < 0 || static_cast<size_t>(array.selected) >= array.size())
        return Error{ErrorCode::bad_argument, "the picked token was dropped again", "chain",
                     "no element after the one that picks"};
    const auto index = static_cast<size_t>(array.selected);
    const TokenId picked = array.tokens()[index].id;
    const std::vector<TokenId>& forbidden = state_->forbidden;
    if (std::isinf(logits[static_cast<size_t>(picked)]) ||
        std::find(forbidden.begin(), forbidden.end(), picked) != forbidden.end())
        return Error{ErrorCode::numeric, "the chain left none but forbidden tokens", "chain",
                     "at least one with a logit above -inf"};
    return state_->looks_up_unmoved ? array.at_unmoved(index).id : picked;
}

uint32_t Chain::num_candidates() const {
    return static_cast<uint32_t>(state_->array.size());
}

}  // namespace hokku::llama_cpp
