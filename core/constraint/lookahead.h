// SPDX-License-Identifier: Apache-2.0
// Lookahead: what some constraints can tell of the text that is yet to come, by its bytes alone.
#pragma once

#include <bitset>

#include "hokku/constraint.h"

namespace hokku::constraint {

/// Beside Constraint, of which it tells more; both by the same object.
class Lookahead {
  public:
    virtual ~Lookahead() = default;
    /// Bytes that may occur in what follows. That one is among them is no promise; one that is not
    /// never will.
    [[nodiscard]] virtual std::bitset<256> bytes_to_come() const {
        return std::bitset<256>().set();
    }
    /// false: these bytes do not suffice for what is still missing. True is no promise.
    [[nodiscard]] virtual bool may_be_met_by(const std::bitset<256>& bytes) const {
        static_cast<void>(bytes);
        return true;
    }
};

inline std::bitset<256> bytes_to_come(const Constraint& constraint) {
    const auto* lookahead = dynamic_cast<const Lookahead*>(&constraint);
    return lookahead != nullptr ? lookahead->bytes_to_come() : std::bitset<256>().set();
}

inline bool may_be_met_by(const Constraint& constraint, const std::bitset<256>& bytes) {
    const auto* lookahead = dynamic_cast<const Lookahead*>(&constraint);
    return lookahead == nullptr || lookahead->may_be_met_by(bytes);
}

}  // namespace hokku::constraint
