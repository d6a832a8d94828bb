// SPDX-License-Identifier: Apache-2.0
// CharDfa: a deterministic automaton over characters, for what the grammar itself cannot say: that
// a string matches two patterns at once, or none of some words.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/grammar/expressions.h"
#include "hokku/result.h"

namespace hokku::constraint {

/// Invariant: from every state but the first there is a way to acceptance. State 0 is the start.
class CharDfa {
  public:
    static constexpr size_t kMaxStates = 20'000, kMaxEdges = 400'000;

    /// The texts that an expression of characters, repetitions, sequences and alternatives matches.
    ///
    /// Errors : limit_exceeded above kMaxStates, repetitions counted as written out, and when
    ///          work_left, from which the work is taken, is used up.
    static Result<CharDfa> of(const Expressions& expressions, ExprId root, uint64_t& work_left);
    /// Texts of min to max characters. Errors : limit_exceeded.
    static Result<CharDfa> of_length(uint32_t min, uint32_t max);
    /// Exactly these texts.
    static CharDfa of_words(const std::vector<std::string>& words);
    static CharDfa of_anything();

    /// The texts of both. Errors : limit_exceeded, as for of().
    [[nodiscard]] Result<CharDfa> intersected(const CharDfa& other, uint64_t& work_left) const;
    /// All other texts.
    [[nodiscard]] CharDfa complement() const;

    [[nodiscard]] bool accepts(std::string_view text) const;
    /// True when no text is accepted.
    [[nodiscard]] bool is_empty() const;
    [[nodiscard]] size_t num_states() const { return states_.size(); }

    /// Adds the automaton to `out` as rules named `name`, each character as make_char(set).
    ExprId to_expression(Expressions& out, const std::string& name,
                         const std::function<ExprId(const CharSet&)>& make_char) const;

  private:
    struct Edge {
        CharRange chars;
        uint32_t next = 0;
    };
    struct State {
        bool accepts = false;
        std::vector<Edge> edges;  ///< Ascending, disjoint. No edge: not accepted.
    };
    void trim();
    std::vector<State> states_;
    friend class DfaBuilder;
};

/// A copy of an expression in which make_char(set) stands for each set of characters.
ExprId copy_with_chars(const Expressions& from, ExprId root, Expressions& to,
                       const std::function<ExprId(const CharSet&)>& make_char);

}  // namespace hokku::constraint
