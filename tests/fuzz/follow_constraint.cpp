// SPDX-License-Identifier: Apache-2.0
#include "fuzz/follow_constraint.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/fuzz.h"
#include "text/tiny_vocabulary.h"

namespace hokku::testing {

namespace {

constexpr size_t kMaxSteps = 24;

const std::shared_ptr<const ConstraintVocabulary>& vocabulary() {
    static const auto made = [] {
        GgufWriter file = tiny_bpe();
        file.set<uint32_t>("tokenizer.ggml.eos_token_id", 262);
        return ConstraintVocabulary::create(open_tiny(file)).value();
    }();
    return made;
}

/// False when the constraint is too ambiguous to be followed.
bool get_mask(Constraint& constraint, TokenMask& mask) {
    mask.clear();
    const Result<void> got = constraint.allowed_tokens(mask);
    if (got.ok()) return true;
    check_error(got.error());
    must(got.error().code == ErrorCode::limit_exceeded, "only limits end a walk",
         got.error().message());
    return false;
}

std::vector<TokenId> ids_of(const TokenMask& mask) {
    std::vector<TokenId> ids;
    for (size_t id = 0; id < mask.size(); ++id)
        if (mask.test(id)) ids.push_back(static_cast<TokenId>(id));
    return ids;
}

class Walk {
  public:
    Walk(Constraint& constraint, uint32_t seed,
         const std::function<void(std::string_view text)>& check_whole)
        : constraint_(constraint), random_(seed), check_whole_(check_whole) {}

    void run() {
        TokenMask first(vocabulary()->num_tokens());
        if (!get_mask(constraint_, first)) return;
        for (size_t step = 0; step < kMaxSteps && take_step(); ++step) {
        }
        const size_t num_accepted = constraint_.num_accepted();
        must(num_accepted == num_taken_, "every accepted token counts");
        constraint_.rollback(num_accepted);
        TokenMask again(first.size());
        if (get_mask(constraint_, again)) must(again == first, "a walk can be taken back");
    }

  private:
    bool take_step() {
        TokenMask mask(vocabulary()->num_tokens());
        if (constraint_.is_complete() && check_whole_) check_whole_(text_);
        if (!get_mask(constraint_, mask)) return false;
        const std::vector<TokenId> allowed = ids_of(mask);
        must(!allowed.empty(), "something may come next", text_);
        try_another(mask);
        const TokenId chosen = allowed[random_() % allowed.size()];
        const bool is_end = vocabulary()->ends_generation(chosen);
        must(!is_end || constraint_.is_complete(), "a text ends where it may", text_);
        const Result<void> taken = constraint_.accept(chosen);
        if (!taken.ok()) {
            must(taken.error().code == ErrorCode::limit_exceeded, "what is allowed is accepted",
                 taken.error().message());
            return false;
        }
        ++num_taken_;
        text_ += vocabulary()->tokenizer().token_bytes(chosen, false);
        return !is_end && !constraint_.is_finished();
    }

    /// A token that is not allowed is refused and changes nothing.
    void try_another(const TokenMask& mask) {
        const size_t id = random_() % mask.size();
        if (mask.test(id)) return;
        const size_t before = constraint_.num_accepted();
        must(!constraint_.accept(static_cast<TokenId>(id)).ok(), "what is not allowed is refused",
             text_);
        must(constraint_.num_accepted() == before, "what is refused does not count");
    }

    Constraint& constraint_;
    std::minstd_rand random_;
    const std::function<void(std::string_view text)>& check_whole_;
    std::string text_;
    size_t num_taken_ = 0;
};

}  // namespace

void follow_constraint(const ConstraintSpec& spec,
                       const std::function<void(std::string_view text)>& check_whole) {
    auto made = make_constraint(spec, vocabulary());
    if (!made.ok()) return check_error(made.error());
    for (uint32_t seed = 1; seed <= 3; ++seed) {
        const auto copy = (*made)->clone();
        Walk(*copy, seed, check_whole).run();
    }
}

}  // namespace hokku::testing
