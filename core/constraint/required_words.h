// SPDX-License-Identifier: Apache-2.0
// RequiredWords: any text, which may end only after each of some words has occurred.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "constraint/lookahead.h"
#include "hokku/constraint.h"

namespace hokku::constraint {

/// A word occurs where no letter, digit or mark stands directly before or behind it; in scripts
/// that are written without spaces (Han, kana, Thai and the like) it occurs anywhere. Upper and
/// lower case differ unless ignore_case.
///
/// Threads: one thread at a time.
/// Cost   : accept() linear in the words' total length.
class RequiredWords final : public Constraint, public Lookahead {
  public:
    static constexpr size_t kMaxWords = 1000, kMaxWordBytes = 1000;

    /// Errors : bad_argument for an empty list, an empty word, invalid UTF-8; limit_exceeded.
    static Result<std::unique_ptr<Constraint>> create(
        const std::vector<std::string>& words, bool ignore_case,
        std::shared_ptr<const ConstraintVocabulary> vocabulary);

    Result<void> allowed_tokens(TokenMask& mask) override;
    Result<void> accept(TokenId token) override;
    void rollback(size_t num_tokens) override;
    [[nodiscard]] size_t num_accepted() const override { return lengths_.size() - 1; }
    [[nodiscard]] bool is_complete() const override;
    [[nodiscard]] bool is_finished() const override { return has_ended_; }
    Result<bool> matches(std::string_view text) override;
    [[nodiscard]] bool may_be_met_by(const std::bitset<256>& bytes) const override;
    [[nodiscard]] std::string missing_text() const override;
    [[nodiscard]] std::unique_ptr<Constraint> clone() const override {
        return std::make_unique<RequiredWords>(*this);
    }

  private:
    static constexpr size_t kNotFound = SIZE_MAX;
    enum class Occurrence { no, if_it_ends_here, yes };
    struct Word {
        std::string text;  ///< As it was given.
        std::vector<char32_t> chars;
        size_t num_bytes = 0;
        size_t found_at = kNotFound;  ///< Length of the text when it was found for good.
    };

    explicit RequiredWords(std::shared_ptr<const ConstraintVocabulary> vocabulary)
        : vocabulary_(std::move(vocabulary)) {}
    [[nodiscard]] char32_t fold(char32_t c) const;
    [[nodiscard]] Occurrence occurs_at(const Word& word, size_t pos) const;
    [[nodiscard]] Occurrence occurs_since(const Word& word, size_t pos) const;
    [[nodiscard]] bool may_follow(const Word& word, const std::bitset<256>& bytes) const;
    [[nodiscard]] bool has_occurred(const Word& word) const;

    std::shared_ptr<const ConstraintVocabulary> vocabulary_;  // shared by all constraints
    std::vector<Word> words_;
    bool ignore_case_ = false, has_ended_ = false;
    std::string text_;
    std::vector<size_t> lengths_{0};  ///< Of the text before the first token and after each.
};

}  // namespace hokku::constraint
