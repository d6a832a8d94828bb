// SPDX-License-Identifier: Apache-2.0
// Constraint: what a generated text must look like, followed token by token: which tokens may come
// next, and whether the text may end. Made from a grammar, a JSON schema, a regular expression, a
// list of choices or words that must occur.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/result.h"
#include "hokku/tokenizer.h"

namespace hokku {

namespace constraint {
class TokenTrie;
}

/// A set of token ids below size(). Threads: any number may read it, or one change it.
class TokenMask {
  public:
    explicit TokenMask(size_t num_tokens)
        : num_tokens_(num_tokens), words_((num_tokens + 63) / 64) {}
    [[nodiscard]] size_t size() const { return num_tokens_; }
    void clear() { words_.assign(words_.size(), 0); }
    /// Needs  : id < size().
    void set(size_t id) { words_[id / 64] |= uint64_t{1} << (id % 64); }
    void reset(size_t id) { words_[id / 64] &= ~(uint64_t{1} << (id % 64)); }
    [[nodiscard]] bool test(size_t id) const { return ((words_[id / 64] >> (id % 64)) & 1u) != 0; }
    [[nodiscard]] size_t count() const;
    /// Token id i is bit i % 64 of word i / 64.
    [[nodiscard]] std::span<uint64_t> words() { return words_; }
    [[nodiscard]] std::span<const uint64_t> words() const { return words_; }
    bool operator==(const TokenMask&) const = default;

  private:
    size_t num_tokens_;
    std::vector<uint64_t> words_;
};

/// The bytes of all tokens, arranged for constraints. Built once for each tokenizer.
///
/// Threads: immutable; safe from any thread.
class ConstraintVocabulary {
  public:
    /// `end_tokens` end a generation (absent: the tokenizer's). Takes 0.2 s, 100 bytes a token.
    ///
    /// Errors : bad_argument for no tokenizer, for one without tokens or with over 16777216.
    static Result<std::shared_ptr<const ConstraintVocabulary>> create(
        std::shared_ptr<const Tokenizer> tokenizer,
        std::optional<std::vector<TokenId>> end_tokens = std::nullopt);
    ~ConstraintVocabulary();
    [[nodiscard]] const Tokenizer& tokenizer() const { return *tokenizer_; }
    [[nodiscard]] size_t num_tokens() const { return tokenizer_->num_tokens(); }
    [[nodiscard]] bool ends_generation(TokenId id) const;
    /// Tokens whose bytes the text begins with, short ones first.
    [[nodiscard]] std::vector<TokenId> beginnings(std::string_view text) const;
    [[nodiscard]] const constraint::TokenTrie& trie() const { return *trie_; }  ///< Core only.

  private:
    ConstraintVocabulary(std::shared_ptr<const Tokenizer> tokenizer,
                         std::unique_ptr<const constraint::TokenTrie> trie);
    std::shared_ptr<const Tokenizer> tokenizer_;  // shared with the engine and other constraints
    std::unique_ptr<const constraint::TokenTrie> trie_;
};

/// Control, unknown and unused tokens are never allowed, unless a grammar names one; tokens that
/// end a generation are allowed where the text is complete.
///
/// Errors : limit_exceeded when a grammar is so ambiguous that following it would take more work
///          or memory than is granted. A failed call changes nothing.
/// Threads: one thread at a time.
class Constraint {
  public:
    virtual ~Constraint() = default;
    /// The tokens that may come next. Ids from the vocabulary's size on are never allowed.
    ///
    /// Needs  : mask.size() >= the vocabulary's num_tokens().
    /// Errors : bad_argument when the generation has ended.
    /// Cost   : far below 1 ms for positions like one seen before.
    virtual Result<void> allowed_tokens(TokenMask& mask) = 0;
    /// Goes on by one token.
    ///
    /// Errors : bad_argument naming the token when it is not allowed.
    virtual Result<void> accept(TokenId token) = 0;
    /// Takes back the last tokens, at most all.
    virtual void rollback(size_t num_tokens) = 0;
    [[nodiscard]] virtual size_t num_accepted() const = 0;
    /// The text may end here.
    [[nodiscard]] virtual bool is_complete() const = 0;
    /// Nothing can follow but the end, or the end was accepted.
    [[nodiscard]] virtual bool is_finished() const = 0;
    /// Whether `text`, from its first byte to its last, has the form; what has been accepted makes
    /// no difference. Tokens that a grammar names are no text: with one, nothing matches.
    ///
    /// Errors : limit_exceeded, as above.
    virtual Result<bool> matches(std::string_view text) = 0;
    /// false: no text of this form contains `text`, as some byte of it never occurs. That true is
    /// said is no promise.
    [[nodiscard]] virtual bool may_contain(std::string_view text) const {
        static_cast<void>(text);
        return true;
    }
    /// Something that would make a text without end complete: the words that are still missing,
    /// set apart from what is there. Empty where there is nothing of the kind.
    [[nodiscard]] virtual std::string missing_text() const { return {}; }
    /// An independent copy at the same place, for another branch of a text.
    [[nodiscard]] virtual std::unique_ptr<Constraint> clone() const = 0;
};

enum class ConstraintKind {
    json,            ///< Any JSON value.
    json_schema,     ///< `text` is a JSON schema, draft 2020-12 (the supported part).
    gbnf,            ///< `text` is a grammar in llama.cpp's notation; its rule "root" is matched.
    regex,           ///< `text` is a regular expression that the whole text matches.
    choice,          ///< The text is one of `words`.
    required_words,  ///< The text may end only after each of `words` has occurred.
};

struct ConstraintSpec {
    ConstraintKind kind = ConstraintKind::json;
    std::string text;
    std::vector<std::string> words;
    bool ignore_case = false;  ///< Of required_words.
    std::string name = {};     ///< In errors: "--grammar". Empty: what kind it is.
};

/// A constraint at the beginning of a text.
///
/// Errors : bad_format naming line and column, rule or keyword; unsupported naming the keyword or
///          construct; limit_exceeded. Nothing is ever left out silently.
Result<std::unique_ptr<Constraint>> make_constraint(
    const ConstraintSpec& spec, std::shared_ptr<const ConstraintVocabulary> vocabulary);

/// What make_constraint() would refuse, as far as it can be told before there is a model.
Result<void> check_constraint(const ConstraintSpec& spec);

/// A constraint that allows what each of the parts allows.
///
/// Needs  : at least one part; all over the same vocabulary.
std::unique_ptr<Constraint> combine_constraints(std::vector<std::unique_ptr<Constraint>> parts);

/// Sets the logits of all tokens outside the mask to minus infinity.
///
/// Shapes : logits [num_vocab] f32, num_vocab == mask.size().
/// Errors : bad_argument "no token is allowed" when no token with a finite logit is left.
Result<void> mask_logits(const TokenMask& mask, std::span<float> logits);

/// Sets the logits of all tokens that are not allowed to minus infinity.
///
/// Shapes : logits [num_vocab] f32, num_vocab == mask.size(); mask is scratch.
/// Errors : those of allowed_tokens() and mask_logits().
Result<void> constrain_logits(Constraint& constraint, TokenMask& mask, std::span<float> logits);

}  // namespace hokku
