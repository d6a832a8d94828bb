// SPDX-License-Identifier: Apache-2.0
// Several constraints that must hold at once.
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "constraint/lookahead.h"
#include "hokku/constraint.h"

namespace hokku {

namespace {

class CombinedConstraint final : public Constraint, public constraint::Lookahead {
  public:
    explicit CombinedConstraint(std::vector<std::unique_ptr<Constraint>> parts)
        : parts_(std::move(parts)), other_(0) {}

    Result<void> allowed_tokens(TokenMask& mask) override {
        HOKKU_CHECK(parts_.front()->allowed_tokens(mask));
        if (other_.size() != mask.size()) other_ = TokenMask(mask.size());
        for (size_t i = 1; i < parts_.size(); ++i) {
            HOKKU_CHECK(parts_[i]->allowed_tokens(other_));
            for (size_t word = 0; word < mask.words().size(); ++word)
                mask.words()[word] &= other_.words()[word];
        }
        return {};
    }

    Result<void> accept(TokenId token) override {
        for (size_t i = 0; i < parts_.size(); ++i) {
            auto accepted = parts_[i]->accept(token);
            if (accepted.ok()) continue;
            for (size_t k = 0; k < i; ++k) parts_[k]->rollback(1);
            return accepted;
        }
        return {};
    }

    void rollback(size_t num_tokens) override {
        for (const auto& part : parts_) part->rollback(num_tokens);
    }

    size_t num_accepted() const override { return parts_.front()->num_accepted(); }

    bool is_complete() const override {
        return std::all_of(parts_.begin(), parts_.end(),
                           [](const auto& part) { return part->is_complete(); });
    }

    bool is_finished() const override {
        return std::any_of(parts_.begin(), parts_.end(),
                           [](const auto& part) { return part->is_finished(); });
    }

    Result<bool> matches(std::string_view text) override {
        for (const auto& part : parts_) {
            HOKKU_TRY(const bool is_match, part->matches(text));
            if (!is_match) return false;
        }
        return true;
    }

    std::bitset<256> bytes_to_come() const override {
        std::bitset<256> bytes = constraint::bytes_to_come(*parts_.front());
        for (const auto& part : parts_) bytes &= constraint::bytes_to_come(*part);
        return bytes;
    }

    bool may_be_met_by(const std::bitset<256>& bytes) const override {
        return std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) {
            return constraint::may_be_met_by(*part, bytes);
        });
    }

    std::string missing_text() const override {
        std::string text;
        for (const auto& part : parts_) {
            const std::string missing = part->missing_text();
            if (!text.empty() && !missing.empty() && !missing.starts_with(' ')) text += ' ';
            text += missing;
        }
        return text;
    }

    std::unique_ptr<Constraint> clone() const override {
        std::vector<std::unique_ptr<Constraint>> copies;
        for (const auto& part : parts_) copies.push_back(part->clone());
        return std::make_unique<CombinedConstraint>(std::move(copies));
    }

  private:
    std::vector<std::unique_ptr<Constraint>> parts_;
    TokenMask other_;
};

}  // namespace

std::unique_ptr<Constraint> combine_constraints(std::vector<std::unique_ptr<Constraint>> parts) {
    if (parts.size() == 1) return std::move(parts.front());
    return std::make_unique<CombinedConstraint>(std::move(parts));
}

}  // namespace hokku
