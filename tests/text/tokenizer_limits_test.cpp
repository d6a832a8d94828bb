// SPDX-License-Identifier: Apache-2.0
// A million of one character, and runs that make backtracking patterns slow: linear time, on a
// thread with a stack of 256 KB.
#include <ctime>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "hokku/tokenizer.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/system.h"
#include "support/time_limits.h"
#include "text/tiny_vocabulary.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/vocabulary_tokenizer.h"

using hokku::Tokenizer;
using hokku::testing::find_model;
using hokku::testing::open_tiny;
using hokku::testing::report_skip;
using hokku::testing::run_on_small_stack;

namespace {

constexpr size_t kSmallStack = size_t{256} << 10;

std::string repeat(const std::string& text, size_t count) {
    std::string all;
    all.reserve(text.size() * count);
    for (size_t k = 0; k < count; ++k) all += text;
    return all;
}

// Instrumented code is ten times slower; what it looks for shows in a tenth of the text.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kLength = 100'000;
#else
constexpr size_t kLength = 1'000'000;
#endif

// What is repeated, and what follows the run.
struct Run {
    std::string unit, tail;
};

const std::vector<Run> kCharacters = {
    {"a", ""},
    {"A", ""},
    {"0", ""},
    {" ", ""},
    {"\n", ""},
    {"\r\n", ""},
    {"!", ""},
    {"\xE4\xB8\xAD", ""},
    {"\xCC\x81", ""},
    {"\xE2\x80\x8D", ""},
    {"\xF0\x9F\x98\x80", ""},
};

// Runs that make careless patterns backtrack, and bytes that are no text.
const std::vector<Run> kTraps = {
    {"\xE3\x80\x80", ""},
    {"\xCC\x81\xCC\xA3", ""},
    {" ", "a"},
    {" ", "\xE3\x81\x82"},
    {"0", "a"},
    {"\n", " x"},
    {"aB", ""},
    {"a ", ""},
    {"<", ""},
    {"'", ""},
    {"\x80", ""},
    {"\xF0\x9F", ""},
};

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

using Work = std::function<bool(const std::string&)>;

double seconds_for(const Work& work, const std::string& text) {
    const double start = thread_seconds();
    REQUIRE(work(text));
    return thread_seconds() - start;
}

// Eight times the text takes a little over eight times the time; a quadratic step would take 64.
void check_linear(const std::string& name, const std::vector<Run>& runs, const Work& work) {
    for (const auto& [unit, tail] : runs) {
        const double short_time = seconds_for(work, repeat(unit, kLength / 8) + tail);
        const double long_time = seconds_for(work, repeat(unit, kLength) + tail);
        INFO(name << ", many " << unit << " then \"" << tail << "\": " << short_time << " s, eight"
                  << " times as many: " << long_time << " s");
        CHECK(long_time < 24 * short_time + 0.2);
    }
}

bool tokenizes(const Tokenizer& tokenizer, const std::string& text) {
    const auto ids = tokenizer.encode(text, {.parse_special = true, .add_special = false});
    return ids.ok() && hokku::is_valid_utf8(tokenizer.decode(*ids, true));
}

}  // namespace

TEST_CASE("Tokenizer: a million of one character takes linear time", "[text][serial]") {
    run_on_small_stack(kSmallStack, [] {
        const auto bpe = open_tiny(hokku::testing::tiny_bpe());
        const auto spm = open_tiny(hokku::testing::tiny_sentencepiece());
        const Work encode_bpe = [&](const std::string& text) { return tokenizes(*bpe, text); };
        check_linear("bpe", kCharacters, encode_bpe);
        check_linear("bpe", kTraps, encode_bpe);
        check_linear("spm", kCharacters,
                     [&](const std::string& text) { return tokenizes(*spm, text); });
    });
}

TEST_CASE("Tokenizer: models take a million of one character in linear time", "[text][model]") {
    for (const char* name : {"smollm2", "qwen2", "gemma3"}) {
        const auto model = find_model(name);
        if (!model) return report_skip(std::string("model ") + name + " is not here");
        const auto tokenizer = hokku::open_tokenizer(*model);
        REQUIRE(tokenizer.ok());
        run_on_small_stack(kSmallStack, [&] {
            check_linear(name, kCharacters,
                         [&](const std::string& text) { return tokenizes(**tokenizer, text); });
        });
    }
}

TEST_CASE("PreTokenizer: every family takes a million of one character", "[text][serial]") {
    class Counter final : public hokku::PieceSink {
      public:
        bool on_piece(std::string_view piece) override {
            num_bytes += piece.size();
            return true;
        }
        size_t num_bytes = 0;
    };
    run_on_small_stack(kSmallStack, [] {
        for (const auto& family : hokku::pre_tokenizer_families()) {
            const auto pre_tokenizer = hokku::PreTokenizer::create(family);
            REQUIRE(pre_tokenizer.ok());
            hokku::PreTokenizer::Scratch scratch(*pre_tokenizer);
            const Work split = [&](const std::string& text) {
                if (!hokku::is_valid_utf8(text)) return true;
                Counter counter;
                const auto outcome = pre_tokenizer->split(text, scratch, counter);
                return outcome.ok() && counter.num_bytes == text.size();
            };
            check_linear(std::string(family.name), kCharacters, split);
            check_linear(std::string(family.name), kTraps, split);
        }
    });
}

namespace {

std::string without_marks(std::string text) {
    const std::string mark = "\xEF\xBF\xBD";
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
        text.erase(at, mark.size());
    return text;
}

}  // namespace

TEST_CASE("Tokenizer: whatever bytes a text has, its tokens are text again", "[text]") {
    const std::shared_ptr<const Tokenizer> tokenizers[] = {
        open_tiny(hokku::testing::tiny_bpe()), open_tiny(hokku::testing::tiny_sentencepiece()),
        open_tiny(hokku::testing::tiny_character_bpe())};
    // Every start of a character with every second byte, whole, cut and overlong, within text.
    const std::string tails[] = {"", "\x80", "\x80\xBF", "hi"};
    for (const auto& tokenizer : tokenizers) {
        size_t num_wrong = 0;
        for (int lead = 0x80; lead < 256; ++lead)
            for (int second = 0; second < 256; ++second)
                for (const std::string& tail : tails) {
                    const std::string text = std::string("hi") + static_cast<char>(lead) +
                                             static_cast<char>(second) + tail;
                    const auto ids = tokenizer->encode(text, {});
                    REQUIRE(ids.ok());
                    const std::string decoded = tokenizer->decode(*ids, true);
                    // What is no character is marked, once or byte by byte; the rest comes back.
                    const bool is_same =
                        without_marks(decoded) == without_marks(hokku::to_valid_utf8(text));
                    if (!is_same || !hokku::is_valid_utf8(decoded)) ++num_wrong;
                }
        INFO(tokenizer->model_kind());
        CHECK(num_wrong == 0);
    }
}

TEST_CASE("Tokenizer: encoding ends soon after a stop is requested", "[text][quick][serial]") {
    constexpr size_t kNumBytes = 8u << 20;
    std::stop_source source;
    source.request_stop();
    const auto check_stops = [&](const char* name, const Tokenizer& tokenizer,
                                 const std::string& text) {
        INFO(name << ": " << text.substr(0, 8));
        const std::vector<hokku::PromptPart> parts = {{text, true}};
        for (const bool in_parts : {false, true}) {
            const double start = thread_seconds();
            const auto ids = in_parts ? tokenizer.encode_parts(parts, false, source.get_token())
                                      : tokenizer.encode(text, {.stop = source.get_token()});
            CHECK(thread_seconds() - start < 0.2 * hokku::testing::kTimeFactor);
            REQUIRE_FALSE(ids.ok());
            CHECK(ids.error().code == hokku::ErrorCode::cancelled);
        }
    };
    const std::string words = repeat("hello ", kNumBytes / 6);
    const std::string letters(kNumBytes, 'l');
    const auto bpe = open_tiny(hokku::testing::tiny_bpe());
    check_stops("bpe", *bpe, words);
    check_stops("bpe", *bpe, letters);
    const auto characters = open_tiny(hokku::testing::tiny_character_bpe());
    check_stops("characters", *characters, words);
    check_stops("characters", *characters, letters);
    check_stops("spm", *open_tiny(hokku::testing::tiny_sentencepiece()), words);
}

TEST_CASE("Tokenizer: text over the budget is an error", "[text]") {
    const auto tokenizer = open_tiny(hokku::testing::tiny_bpe());
    const std::string text(hokku::kMaxEncodeBytes + 1, ' ');
    const auto ids = tokenizer->encode(text, {});
    REQUIRE_FALSE(ids.ok());
    CHECK(ids.error().code == hokku::ErrorCode::limit_exceeded);
    const std::vector<hokku::PromptPart> parts = {{text.substr(1), false}, {"x", true}};
    CHECK_FALSE(tokenizer->encode_parts(parts, false).ok());
}
