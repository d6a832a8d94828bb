// SPDX-License-Identifier: Apache-2.0
// Random schemas, texts drawn at random through the masks, and Python's jsonschema as the judge of
// every text.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "constraint/test_vocabulary.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

namespace fs = std::filesystem;

/// A Python that has jsonschema; "" if there is none.
std::string find_python() {
    for (const char* python : {"python3", "/usr/bin/python3"}) {
        const std::string command = std::string(python) + " -c 'import jsonschema' 2>/dev/null";
        if (std::system(command.c_str()) == 0) return python;
    }
    return "";
}

std::vector<std::string> read_lines(const fs::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

/// Draws until the text ends; "" if it does not within the limit. Long texts are led to their end:
/// by tokens that close something.
std::string draw_text(Constraint& constraint, const ConstraintVocabulary& vocabulary,
                      std::mt19937& random) {
    constexpr size_t kMaxTokens = 4000, kLongTokens = 60;
    TokenMask mask(vocabulary.num_tokens());
    std::string text;
    for (size_t step = 0; step < kMaxTokens; ++step) {
        const auto masked = constraint.allowed_tokens(mask);
        if (!masked.ok()) FAIL(masked.error().message());
        std::vector<TokenId> allowed, closing;
        for (size_t id = 0; id < mask.size(); ++id) {
            if (!mask.test(id)) continue;
            const auto token = static_cast<TokenId>(id);
            allowed.push_back(token);
            const auto bytes = vocabulary.tokenizer().token_text(token);
            if (bytes == "\"" || bytes == "]" || bytes == "}" || bytes == ":")
                closing.push_back(token);
        }
        REQUIRE_FALSE(allowed.empty());
        const bool wants_end = random() % 3 == 0 || step > kLongTokens;
        TokenId token = allowed[random() % allowed.size()];
        if (step > kLongTokens && !closing.empty() && random() % 8 != 0)
            token = closing[random() % closing.size()];
        if (mask.test(kEndToken) && wants_end) token = kEndToken;
        REQUIRE(constraint.accept(token).ok());
        if (token == kEndToken) return text;
        text += vocabulary.tokenizer().token_bytes(token, false);
    }
    return "";
}

std::string as_hex(const std::string& text) {
    std::string digits;
    for (const char byte : text)
        for (const unsigned half :
             {static_cast<unsigned char>(byte) / 16u, static_cast<unsigned char>(byte) % 16u})
            digits += "0123456789abcdef"[half];
    return digits;
}

}  // namespace

TEST_CASE("JSON schema: texts for 300 random schemas are valid by jsonschema", "[constraint]") {
    const std::string python = find_python();
    if (python.empty()) return report_skip("Python's jsonschema is not installed");
    const fs::path folder = binary_folder() / "random-schemas";
    fs::create_directories(folder);
    const fs::path script = source_folder() / "tests/constraint/random_schemas.py";
    const std::string run = python + " \"" + script.string() + "\" ";
    const fs::path schemas = folder / "schemas.jsonl", texts = folder / "texts.jsonl";
    REQUIRE(std::system((run + "make 300 1 > \"" + schemas.string() + "\"").c_str()) == 0);

    std::mt19937 random(3);
    size_t num_refused = 0, num_unfinished = 0, num_texts = 0;
    const auto lines = read_lines(schemas);
    REQUIRE(lines.size() == 300);
    {
        std::ofstream out(texts);
        for (size_t i = 0; i < lines.size(); ++i) {
            ConstraintSpec spec;
            spec.kind = ConstraintKind::json_schema;
            spec.text = lines[i];
            INFO(lines[i]);
            auto made = make_constraint(spec, mixed_vocabulary());
            if (!made.ok()) {
                // Parts that exclude each other, or whose common part is not computed.
                const std::string message = made.error().message();
                INFO(message);
                CHECK((message.find("no text can match") == 0 ||
                       message.find("beside listed objects or arrays") != std::string::npos));
                ++num_refused;
                continue;
            }
            for (int sample = 0; sample < 4; ++sample) {
                const std::string text = draw_text(**made, *mixed_vocabulary(), random);
                (*made)->rollback((*made)->num_accepted());
                if (text.empty()) {
                    ++num_unfinished;
                    continue;
                }
                out << "[" << i << ", \"" << as_hex(text) << "\"]\n";
                ++num_texts;
            }
        }
    }
    CHECK(num_refused <= 9);
    CHECK(num_unfinished <= num_texts / 20);
    CHECK(num_texts > 1000);
    CHECK(std::system(
              (run + "check \"" + schemas.string() + "\" \"" + texts.string() + "\"").c_str()) ==
          0);
    fs::remove_all(folder);
}
