// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <cstdint>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"

namespace hokku {
namespace {

struct FreeCode {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatchData {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeMatchContext {
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

// Unicode White_Space. PCRE2's own \s also has U+180E, which is no space since Unicode 6.3.
constexpr std::string_view kWhiteSpace = R"(\x{09}-\x{0D}\x{85}\p{Z})";

PCRE2_SPTR as_subject(std::string_view text) {
    return reinterpret_cast<PCRE2_SPTR>(text.data());
}

std::string pcre2_message(int code) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(code, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

void replace_classes(std::string& pattern) {
    for (const PatternClass& replaced : pattern_classes()) {
        const std::string name = fmt::format("{{{{{}}}}}", replaced.name);
        for (size_t at = pattern.find(name); at != std::string::npos; at = pattern.find(name, at))
            pattern.replace(at, name.size(), replaced.text);
    }
}

}  // namespace

std::string expand_pattern(std::string_view pattern) {
    std::string source(pattern);
    replace_classes(source);
    std::string out;
    bool in_class = false;
    for (size_t k = 0; k < source.size(); ++k) {
        const char c = source[k];
        if (c == '\\' && k + 1 < source.size()) {
            const char next = source[++k];
            if (next == 's') {
                out += in_class ? std::string(kWhiteSpace) : fmt::format("[{}]", kWhiteSpace);
            } else if (next == 'S' && !in_class) {
                out += fmt::format("[^{}]", kWhiteSpace);
            } else {
                out += {c, next};
            }
            continue;
        }
        if (c == '[') in_class = true;
        if (c == ']') in_class = false;
        out += c;
    }
    return out;
}

struct PreTokenizer::Pattern {
    std::unique_ptr<pcre2_code, FreeCode> code;
    bool has_jit = false;
    bool threes_from_right = false;
};

struct PreTokenizer::Scratch::Impl {
    std::unique_ptr<pcre2_match_context, FreeMatchContext> context;
    std::vector<std::unique_ptr<pcre2_match_data, FreeMatchData>> match_data;  // one per level
};

PreTokenizer::PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

PreTokenizer::Scratch::Scratch(const PreTokenizer& owner) : impl_(std::make_unique<Impl>()) {
    impl_->context.reset(pcre2_match_context_create(nullptr));
    // Without JIT the interpreter keeps its frames on the heap; 64 MiB of them at most.
    if (impl_->context) pcre2_set_heap_limit(impl_->context.get(), 64 * 1024);
    for (size_t level = 0; level < owner.patterns_.size(); ++level)
        impl_->match_data.emplace_back(pcre2_match_data_create(1, nullptr));
}

PreTokenizer::Scratch::~Scratch() = default;

Result<PreTokenizer> PreTokenizer::create(const PreTokenizerFamily& family) {
    PreTokenizer made;
    for (std::string_view pattern : family.patterns) {
        Pattern compiled;
        if (pattern.substr(0, kThreesFromRight.size()) == kThreesFromRight) {
            compiled.threes_from_right = true;
            pattern.remove_prefix(kThreesFromRight.size());
        }
        const std::string source = expand_pattern(pattern);
        int error_code = 0;
        PCRE2_SIZE error_offset = 0;
        compiled.code.reset(
            pcre2_compile(as_subject(source), source.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
                          &error_code, &error_offset, nullptr));
        if (!compiled.code)
            return Error{ErrorCode::unsupported,
                         fmt::format("PCRE2 refuses a pattern of the pre-tokenizer family {}: {}",
                                     family.name, pcre2_message(error_code)),
                         fmt::format("pattern {}, offset {}", pattern, error_offset), ""};
        // Where the system forbids code made at run time the interpreter does the same, slower.
        compiled.has_jit = pcre2_jit_compile(compiled.code.get(), PCRE2_JIT_COMPLETE) == 0;
        made.patterns_.push_back(std::move(compiled));
    }
    return made;
}

namespace {

bool is_utf8_lead(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

// The first match in text at or after `from`: 1 and its bounds, 0 for none, below 0 an error.
int find_match(const pcre2_code* code, bool has_jit, std::string_view text, size_t from,
               pcre2_match_data* data, pcre2_match_context* context) {
    if (has_jit) {
        const int rc = pcre2_jit_match(code, as_subject(text), text.size(), from, 0, data, context);
        if (rc != PCRE2_ERROR_JIT_STACKLIMIT) return rc == PCRE2_ERROR_NOMATCH ? 0 : rc;
    }
    const int rc = pcre2_match(code, as_subject(text), text.size(), from,
                               PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, context);
    return rc == PCRE2_ERROR_NOMATCH ? 0 : rc;
}

}  // namespace

Result<bool> PreTokenizer::split_from(size_t level, std::string_view text, Scratch& scratch,
                                      PieceSink& sink) const {
    if (level == patterns_.size()) return sink.on_piece(text);
    const Pattern& pattern = patterns_[level];
    pcre2_match_data* const data = scratch.impl_->match_data[level].get();
    const PCRE2_SIZE* const bounds = pcre2_get_ovector_pointer(data);
    size_t done = 0;
    size_t from = 0;
    while (from < text.size()) {
        const int rc = find_match(pattern.code.get(), pattern.has_jit, text, from, data,
                                  scratch.impl_->context.get());
        if (rc < 0)
            return Error{ErrorCode::limit_exceeded,
                         "the text is too irregular to split into words: " + pcre2_message(rc),
                         fmt::format("byte {} of {}", from, text.size()), ""};
        const size_t begin = rc == 0 ? text.size() : bounds[0];
        const size_t end = rc == 0 ? text.size() : bounds[1];
        bool wants_more = true;
        if (begin > done) {
            HOKKU_TRY(wants_more,
                      split_from(level + 1, text.substr(done, begin - done), scratch, sink));
        }
        const std::string_view match = text.substr(begin, end - begin);
        if (wants_more && pattern.threes_from_right) {
            HOKKU_TRY(wants_more, split_threes(level + 1, match, scratch, sink));
        } else if (wants_more && end > begin) {
            HOKKU_TRY(wants_more, split_from(level + 1, match, scratch, sink));
        }
        if (!wants_more) return false;
        done = end;
        // An empty match is a cut without a piece: go on behind the next character.
        from = end > begin || end >= text.size() ? end : end + decode_utf8(text, end).num_bytes;
    }
    if (done < text.size()) return split_from(level + 1, text.substr(done), scratch, sink);
    return true;
}

Result<bool> PreTokenizer::split_threes(size_t level, std::string_view text, Scratch& scratch,
                                        PieceSink& sink) const {
    size_t num_left = 0;
    for (const char c : text) num_left += is_utf8_lead(c) ? 1u : 0u;
    size_t begin = 0;
    for (size_t pos = 0; pos < text.size(); ++pos) {
        if (!is_utf8_lead(text[pos])) continue;
        if (num_left % 3 == 0 && pos > begin) {
            HOKKU_TRY(const bool wants_more,
                      split_from(level, text.substr(begin, pos - begin), scratch, sink));
            if (!wants_more) return false;
            begin = pos;
        }
        --num_left;
    }
    if (begin == text.size()) return true;
    return split_from(level, text.substr(begin), scratch, sink);
}

Result<void> PreTokenizer::split(std::string_view text, Scratch& scratch, PieceSink& sink) const {
    if (text.empty()) return {};
    for (const auto& data : scratch.impl_->match_data)
        if (!data) return Error{ErrorCode::out_of_memory, "no memory to match patterns", "", ""};
    HOKKU_CHECK(split_from(0, text, scratch, sink));
    return {};
}

}  // namespace hokku
