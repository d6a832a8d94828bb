// SPDX-License-Identifier: Apache-2.0
// Equality, order and hashes of values, as Python has them: 1 == 1.0 == true, lists compare
// element by element, unlike types have no order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>
#include <utility>

#include "text/template/value.h"

namespace hokku::jinja {

/// One comparison with a budget, because shared nesting can make it exponentially long. A stop
/// exhausts it.
class Comparison {
  public:
    enum class Order { less, equal, greater, none };

    explicit Comparison(uint64_t max_steps, std::stop_token stop = {})
        : steps_left_(max_steps), stop_(std::move(stop)) {}
    [[nodiscard]] bool equal(const Value& a, const Value& b);
    /// none: the types have no order, or the budget is used up.
    [[nodiscard]] Order order(const Value& a, const Value& b);

    [[nodiscard]] bool exhausted() const { return exhausted_; }
    [[nodiscard]] bool is_too_deep() const { return too_deep_; }
    [[nodiscard]] uint64_t steps_left() const { return steps_left_; }
    /// The two values without order, for the message; set after Order::none.
    [[nodiscard]] const Value& left() const { return left_; }
    [[nodiscard]] const Value& right() const { return right_; }

  private:
    bool step(size_t bytes = 0);
    bool equal_items(const List& a, const List& b);
    bool equal_dicts(const Dict& a, const Dict& b);
    Order order_items(const List& a, const List& b);

    uint64_t steps_left_ = 0;
    std::stop_token stop_;
    uint32_t num_calls_ = 0;
    int depth_ = 0;
    bool exhausted_ = false, too_deep_ = false;
    Value left_, right_;
};

/// Equality with a budget that suffices for hashable values.
bool equals(const Value& a, const Value& b);
/// Whether a value may be a dict key. Tuples of more than 1,000 values count as not hashable.
bool is_hashable(const Value& value);
/// Equal values have equal hashes; needs is_hashable().
size_t hash_value(const Value& value);
size_t hash_text(std::string_view text);

}  // namespace hokku::jinja
