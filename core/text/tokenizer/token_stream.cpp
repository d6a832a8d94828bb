// SPDX-License-Identifier: Apache-2.0
#include "hokku/tokenizer.h"
#include "text/tokenizer/vocabulary_tokenizer.h"

namespace hokku {

struct TokenStream::State {
    TokenTextDecoder decoder;
    std::string text;
};

TokenStream::TokenStream(const Tokenizer& tokenizer, bool keep_special)
    : state_(new State{TokenTextDecoder(tokenizer, keep_special), {}}) {
    state_->text.reserve(2 * kUsualTokenBytes);
}
TokenStream::~TokenStream() = default;
TokenStream::TokenStream(TokenStream&&) noexcept = default;

std::string_view TokenStream::push(TokenId id) {
    state_->text.clear();
    state_->decoder.push(id, state_->text);
    return state_->text;
}

std::string_view TokenStream::finish() {
    state_->text.clear();
    state_->decoder.finish(state_->text);
    return state_->text;
}

}  // namespace hokku
