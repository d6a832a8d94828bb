// SPDX-License-Identifier: Apache-2.0
#include "sampling/candidates.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "sampling/softmax.h"

namespace hokku {
namespace {

constexpr size_t kBlockValues = 64;
constexpr size_t kMassSteps = 1024;
constexpr float kForbidden = -std::numeric_limits<float>::infinity();

}  // namespace

TopSelector::TopSelector(uint32_t num_vocab)
    : block_maxima_((num_vocab + kBlockValues - 1) / kBlockValues),
      sorted_maxima_(block_maxima_.size()),
      found_(num_vocab) {}

// At least `count` values reach the count-th largest of the block maxima, so everything below it
// can be passed over, whole blocks at a time.
std::span<Candidate> TopSelector::best(std::span<const float> logits, uint32_t count) {
    assert(logits.size() <= found_.size());
    const size_t num_blocks = (logits.size() + kBlockValues - 1) / kBlockValues;
    const auto block = [&](size_t index) {
        const size_t start = index * kBlockValues;
        return logits.subspan(start, std::min(kBlockValues, logits.size() - start));
    };
    for (size_t i = 0; i < num_blocks; ++i) block_maxima_[i] = max_of(block(i));
    float threshold = kForbidden;
    if (count > 0 && count < num_blocks) {
        const auto first = sorted_maxima_.begin();
        std::copy_n(block_maxima_.begin(), num_blocks, first);
        const auto nth = first + (count - 1);
        std::nth_element(first, nth, first + static_cast<ptrdiff_t>(num_blocks), std::greater<>());
        threshold = *nth;
    }
    size_t num_found = 0;
    for (size_t i = 0; i < num_blocks; ++i) {
        if (block_maxima_[i] < threshold || block_maxima_[i] == kForbidden) continue;
        const auto values = block(i);
        for (size_t j = 0; j < values.size(); ++j) {
            if (values[j] >= threshold && values[j] != kForbidden)
                found_[num_found++] = {static_cast<TokenId>(i * kBlockValues + j), values[j]};
        }
    }
    const std::span<Candidate> found(found_.data(), num_found);
    const size_t kept = std::min<size_t>(count, num_found);
    std::partial_sort(found.begin(), found.begin() + static_cast<ptrdiff_t>(kept), found.end(),
                      is_better);
    return found.first(kept);
}

Candidates::Candidates(uint32_t num_vocab)
    : dense_(num_vocab),
      weights_(num_vocab),
      values_(num_vocab),
      step_mass_(kMassSteps),
      storage_(num_vocab),
      selector_(num_vocab) {}

LogitState Candidates::reset(std::span<const float> logits) {
    assert(logits.size() == dense_.size() && "one logit for each token of the vocabulary");
    is_dense_ = true;
    is_sorted_ = false;
    constexpr size_t kLanes = 16;
    constexpr float kLargest = std::numeric_limits<float>::max();
    std::array<uint32_t, kLanes> not_finite{};
    size_t i = 0;
    for (; i + kLanes <= logits.size(); i += kLanes) {
        for (size_t j = 0; j < kLanes; ++j) {
            const float logit = logits[i + j];
            dense_[i + j] = logit;
            not_finite[j] |= logit <= kLargest ? 0u : 1u;  // NaN compares false
        }
    }
    for (; i < logits.size(); ++i) {
        dense_[i] = logits[i];
        not_finite[0] |= logits[i] <= kLargest ? 0u : 1u;
    }
    for (const uint32_t lane : not_finite)
        if (lane != 0) return LogitState::not_finite;
    return max_of(dense_) == kForbidden ? LogitState::all_forbidden : LogitState::usable;
}

uint32_t Candidates::size() const {
    return static_cast<uint32_t>(is_dense_ ? dense_.size() : list_.size());
}

float Candidates::max_logit() const {
    if (is_dense_) return max_of(dense_);
    float best = kForbidden;
    for (const Candidate& candidate : list_) best = std::max(best, candidate.logit);
    return best;
}

void Candidates::sort_list() {
    if (!is_sorted_) std::sort(list_.begin(), list_.end(), is_better);
    is_sorted_ = true;
}

void Candidates::keep_best(uint32_t count) {
    count = std::max(count, 1u);
    if (is_dense_) {
        const auto best = selector_.best(dense_, count);
        std::copy(best.begin(), best.end(), storage_.begin());
        list_ = std::span(storage_).first(best.size());
        is_dense_ = false;
        is_sorted_ = true;
        return;
    }
    if (!is_sorted_ && count < list_.size()) {
        std::partial_sort(list_.begin(), list_.begin() + count, list_.end(), is_better);
        list_ = list_.first(count);
        is_sorted_ = true;
        return;
    }
    sort_list();
    list_ = list_.first(std::min<size_t>(count, list_.size()));
}

void Candidates::keep_from(float threshold) {
    size_t kept = 0;
    if (is_dense_) {
        for (size_t id = 0; id < dense_.size(); ++id) {
            storage_[kept] = {static_cast<TokenId>(id), dense_[id]};
            kept += dense_[id] >= threshold;
        }
        list_ = storage_;
        is_dense_ = false;
    } else {
        for (const Candidate& candidate : list_)
            if (candidate.logit >= threshold) list_[kept++] = candidate;
    }
    list_ = list_.first(kept);
}

void Candidates::keep_mass(double mass) {
    if (is_dense_) return keep_mass_of_dense(mass);
    sort_list();
    for (size_t i = 0; i < list_.size(); ++i) values_[i] = list_[i].logit;
    const std::span<const float> values(values_.data(), list_.size());
    const double wanted = mass * exp_shifted(values, list_.front().logit, weights_.data());
    double sum = 0;
    size_t kept = 0;
    while (kept < list_.size() && (kept == 0 || sum < wanted))
        sum += static_cast<double>(weights_[kept++]);
    list_ = list_.first(kept);
}

// Sorting a vocabulary takes milliseconds. Instead the mass is added up by distance from the best
// logit; only the tokens of the one distance at which the wanted mass is passed are sorted.
void Candidates::keep_mass_of_dense(double mass) {
    constexpr float kStepsPerUnit = 32.0f;  // 32 steps for a factor of e
    const float maximum = max_of(dense_);
    const double wanted = mass * exp_shifted(dense_, maximum, weights_.data());
    const auto distance_of = [&](float logit) {
        const float steps = (maximum - logit) * kStepsPerUnit;
        constexpr auto kLast = static_cast<float>(kMassSteps - 1);
        return steps < kLast ? static_cast<size_t>(steps) : kMassSteps - 1;
    };
    std::fill(step_mass_.begin(), step_mass_.end(), 0.0);
    for (size_t id = 0; id < dense_.size(); ++id)
        step_mass_[distance_of(dense_[id])] += static_cast<double>(weights_[id]);
    size_t last_step = 0;
    double sum = 0;
    while (last_step < kMassSteps - 1 && sum + step_mass_[last_step] < wanted)
        sum += step_mass_[last_step++];

    size_t num_kept = 0;
    const auto add = [&](size_t id) {
        storage_[num_kept++] = {static_cast<TokenId>(id), dense_[id]};
    };
    for (size_t id = 0; id < dense_.size(); ++id)
        if (distance_of(dense_[id]) < last_step) add(id);
    const size_t num_certain = num_kept;
    for (size_t id = 0; id < dense_.size(); ++id)
        if (distance_of(dense_[id]) == last_step && weights_[id] > 0.0f) add(id);
    const std::span<Candidate> boundary = std::span(storage_).first(num_kept).subspan(num_certain);
    std::sort(boundary.begin(), boundary.end(), is_better);
    num_kept = num_certain;
    for (const Candidate& candidate : boundary) {
        if (num_kept > 0 && sum >= wanted) break;
        sum += static_cast<double>(weights_[static_cast<size_t>(candidate.id)]);
        ++num_kept;
    }
    list_ = std::span(storage_).first(num_kept);
    is_dense_ = false;
    is_sorted_ = false;
}

TokenId Candidates::best() const {
    if (!is_dense_) return std::min_element(list_.begin(), list_.end(), is_better)->id;
    const float maximum = max_of(dense_);
    return static_cast<TokenId>(std::find(dense_.begin(), dense_.end(), maximum) - dense_.begin());
}

Candidates::Weights Candidates::weigh() {
    std::span<const float> values = dense_;
    if (!is_dense_) {
        for (size_t i = 0; i < list_.size(); ++i) values_[i] = list_[i].logit;
        values = std::span<const float>(values_.data(), list_.size());
    }
    Weights weights{std::span<const float>(weights_).first(values.size()), 0, max_of(values)};
    weights.sum = exp_shifted(values, weights.max_logit, weights_.data());
    return weights;
}

std::span<const Candidate> Candidates::best_few(uint32_t count) {
    if (is_dense_) return selector_.best(dense_, count);
    sort_list();
    return list_.first(std::min<size_t>(count, list_.size()));
}

Candidates::Drawn Candidates::draw(double unit) {
    const Weights weights = weigh();
    const double target = unit * weights.sum;
    double sum = 0;
    size_t chosen = 0;
    for (size_t i = 0; i < weights.values.size(); ++i) {
        if (weights.values[i] == 0.0f) continue;
        chosen = i;  // stays at the last possible one should rounding leave the sum short
        sum += static_cast<double>(weights.values[i]);
        if (sum > target) break;
    }
    return {id_at(chosen), static_cast<double>(weights.values[chosen]) / weights.sum};
}

}  // namespace hokku
