// SPDX-License-Identifier: Apache-2.0
// GrammarConstraint: a text that a compiled grammar matches.
#pragma once

#include <bitset>
#include <memory>
#include <vector>

#include "constraint/grammar/bytes_to_come.h"
#include "constraint/grammar/grammar.h"
#include "constraint/lookahead.h"
#include "constraint/match/matcher.h"
#include "constraint/match/token_masks.h"
#include "hokku/constraint.h"

namespace hokku::constraint {

/// Threads: one thread at a time.
class GrammarConstraint final : public Constraint, public Lookahead {
  public:
    /// Errors : limit_exceeded when the grammar is too ambiguous to begin.
    static Result<std::unique_ptr<Constraint>> create(
        std::shared_ptr<const Grammar> grammar,
        std::shared_ptr<const ConstraintVocabulary> vocabulary);

    Result<void> allowed_tokens(TokenMask& mask) override;
    Result<void> accept(TokenId token) override;
    void rollback(size_t num_tokens) override;
    [[nodiscard]] size_t num_accepted() const override { return states_.size() - 1; }
    [[nodiscard]] bool is_complete() const override;
    [[nodiscard]] bool is_finished() const override;
    Result<bool> matches(std::string_view text) override;
    [[nodiscard]] bool may_contain(std::string_view text) const override;
    [[nodiscard]] std::bitset<256> bytes_to_come() const override;
    [[nodiscard]] std::unique_ptr<Constraint> clone() const override;

  private:
    GrammarConstraint(std::shared_ptr<const Grammar> grammar,
                      std::shared_ptr<const ConstraintVocabulary> vocabulary);
    [[nodiscard]] Error too_ambiguous() const;
    [[nodiscard]] bool has_ended() const { return states_.back() == StackPool::kNothing; }
    Result<void> make_room();

    std::shared_ptr<const ConstraintVocabulary> vocabulary_;  // shared by all constraints
    Matcher matcher_;
    TokenMasks masks_;
    /// State before the first token and after each; kNothing after the end was accepted.
    std::vector<StackSetId> states_;
    /// Made when it is first asked for; shared by clones.
    mutable std::shared_ptr<const BytesToCome> bytes_to_come_;
};

}  // namespace hokku::constraint
