// SPDX-License-Identifier: Apache-2.0
// TokenMasks: which tokens of a vocabulary can follow a state of a Matcher.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "constraint/match/matcher.h"
#include "constraint/match/token_trie.h"

namespace hokku::constraint {

/// The stacks of a state are grouped by what lies below their tops. What the tops alone say of the
/// vocabulary is found by a walk through the trie and remembered, whatever lies below: tokens that
/// stay within the rule, and the places in the trie where the rule ends. Only from these places
/// the walk goes on with what lies below.
///
/// Threads: one thread at a time.
class TokenMasks {
  public:
    explicit TokenMasks(const TokenTrie& trie);

    /// Adds the tokens that can follow `state` to `mask`. Where the matcher is exhausted
    /// afterwards, the mask means nothing.
    void add_allowed(Matcher& matcher, StackSetId state, TokenMask& mask);

    /// The sets that remembered answers belong to, to be kept alive by the matcher.
    [[nodiscard]] std::vector<StackSetId> known_sets() const;
    /// Tells the new ids of known_sets(), in the same order.
    void rename_sets(const std::vector<StackSetId>& old_ids,
                     const std::vector<StackSetId>& new_ids);
    void forget();

  private:
    static constexpr size_t kMaxAnswerBytes = 24u << 20, kMaxRecent = 16, kMaxGroups = 16;

    /// What the tops of stacks say, whatever lies below.
    struct Answer {
        /// Where set: what follows holds for tokens, and exits, of more than base_bytes; for the
        /// others the base does, the answer of the same tops far from the bounds of counters.
        const Answer* base = nullptr;
        uint32_t base_bytes = 0;
        std::vector<uint64_t> words;  ///< The allowed tokens as a mask, or empty:
        std::vector<TokenId> tokens;  ///< as a list.
        /// Trie nodes whose parent is a place where the rule may end, in groups by their byte.
        std::vector<uint32_t> after_exit;
        std::vector<std::pair<uint8_t, uint32_t>> exit_groups;  ///< Byte and end in after_exit.
        [[nodiscard]] size_t memory_bytes() const;
    };
    struct Recent {
        StackSetId state = StackPool::kNothing;
        std::vector<uint64_t> words;
    };

    const Answer* answer(Matcher& matcher, StackSetId tops);
    std::unique_ptr<Answer> compute(Matcher& matcher, StackSetId tops);
    void collect_walk(Matcher& matcher, StackSetId tops, uint32_t min_bytes);
    Answer take_collected();
    void add_answer(const Answer& answer, uint32_t max_bytes, TokenMask& mask);
    void add_beyond(Matcher& matcher, const Answer& answer, uint32_t max_bytes, StackSetId state,
                    TokenMask& mask);
    const TokenMask& tokens_up_to(uint32_t max_bytes);
    void add_named(Matcher& matcher, StackSetId state, TokenMask& mask) const;
    template <class Visit>
    void walk(Matcher& matcher, uint32_t first, uint32_t end, StackSetId from, uint32_t min_bytes,
              const Visit& visit);

    const TokenTrie& trie_;
    std::unordered_map<StackSetId, std::unique_ptr<Answer>> answers_;
    size_t answer_bytes_ = 0;
    std::vector<Recent> recent_;  ///< The last masks, the oldest at next_recent_.
    size_t next_recent_ = 0;

    std::vector<TokenMask> up_to_;  ///< By length: the tokens of at most that; empty: not built.

    // Scratch.
    std::vector<StackSetId> path_;  ///< State by depth.
    std::vector<TokenId> tokens_;
    std::vector<uint32_t> exits_;  ///< Children of exits.
};

}  // namespace hokku::constraint
