// SPDX-License-Identifier: Apache-2.0
// BytesToCome: which bytes a grammar can still bring forth from each of its positions. It tells a
// way that cannot lead to a word before it is taken.
#pragma once

#include <bitset>
#include <vector>

#include "constraint/grammar/grammar.h"

namespace hokku::constraint {

/// Counters are not looked at, so there may be fewer of them than are told, never more.
///
/// Threads: immutable; safe from any thread.
class BytesToCome {
  public:
    using Bytes = std::bitset<256>;
    /// Cost : 32 bytes a position; a few passes over them. Of large grammars all is told to be
    ///        possible.
    explicit BytesToCome(const Grammar& grammar);
    /// Up to the end of the position's rule, with those of the rules that it calls.
    [[nodiscard]] Bytes from(PositionId position) const {
        return bytes_.empty() ? Bytes().set() : bytes_[position];
    }

  private:
    std::vector<Bytes> bytes_;  ///< By position; empty where it is not known.
};

}  // namespace hokku::constraint
