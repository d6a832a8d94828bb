// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_hokku.h"
#include "support/catch.h"
#include "support/golden.h"

using hokku::testing::find_golden;
using hokku::testing::find_model;
using hokku::testing::HokkuRun;
using hokku::testing::report_skip;
using hokku::testing::run_hokku;
using nlohmann::json;

namespace {

std::vector<json> json_lines(std::istream& stream) {
    std::vector<json> values;
    for (std::string line; std::getline(stream, line);) values.push_back(json::parse(line));
    return values;
}

std::vector<json> json_lines(const std::string& text) {
    std::istringstream stream(text);
    return json_lines(stream);
}

}  // namespace

TEST_CASE("hokku tokenize: every golden row, through the command line", "[cli][model]") {
    for (const std::string name : {"smollm2", "qwen2", "gemma3"}) {
        const auto model = find_model(name);
        if (!model) return report_skip("no model " + name);
        const auto golden = find_golden("tok/" + model->stem().string() + ".visible.jsonl");
        if (!golden) return report_skip("no golden tokens of " + name);
        std::ifstream stream(*golden);
        const std::vector<json> rows = json_lines(stream);
        REQUIRE(rows.size() > 1000);
        std::string texts, ids;
        for (const json& row : rows) {
            texts += row["text"].dump() + "\n";
            ids += row["ref_ids"].dump() + "\n";
        }
        const std::string path = model->string();

        const HokkuRun plain = run_hokku({"tokenize", "-m", path, "--jsonl"}, {.text = texts});
        const HokkuRun special =
            run_hokku({"tokenize", "-m", path, "--jsonl", "--parse-special"}, {.text = texts});
        const HokkuRun back = run_hokku({"detokenize", "-m", path, "--jsonl"}, {.text = ids});
        REQUIRE(plain.status == 0);
        REQUIRE(special.status == 0);
        REQUIRE(back.status == 0);
        const std::vector<json> found = json_lines(plain.out),
                                found_special = json_lines(special.out);
        const std::vector<json> found_texts = json_lines(back.out);
        REQUIRE(found.size() == rows.size());
        REQUIRE(found_special.size() == rows.size());
        REQUIRE(found_texts.size() == rows.size());
        for (size_t i = 0; i < rows.size(); ++i) {
            const json& row = rows[i];
            INFO(name << ": " << row["text"].dump());
            // The original tokenizer's normalisation, where a row has it, is the right one.
            CHECK(found[i] == row.value("upstream_nfc_ids", row["ref_ids"]));
            // There are no reference ids with both normalisation and control tokens.
            if (!row.contains("upstream_nfc_ids")) {
                CHECK(found_special[i] == row["ref_ids_parse_special"]);
            }
            CHECK(found_texts[i] == row.value("decode", row["text"]));
        }
    }
}

TEST_CASE("hokku tokenize: plain text in, a list out that every command takes", "[cli][model]") {
    const auto model = find_model("smollm2");
    if (!model) return report_skip("no model smollm2");
    const std::string path = model->string();
    const HokkuRun ids = run_hokku({"tokenize", "-m", path, "--parse-special"},
                                   {.text = "<|im_start|>user\nHi there.<|im_end|>"});
    CHECK(ids.status == 0);
    CHECK(ids.err.empty());
    CHECK(ids.out.find_first_not_of("0123456789,\n") == std::string::npos);
    CHECK(ids.out.starts_with("1,"));  // <|im_start|>
    const HokkuRun text = run_hokku({"detokenize", "-m", path}, {.text = ids.out});
    CHECK(text.out == "<|im_start|>user\nHi there.<|im_end|>");
    const HokkuRun without =
        run_hokku({"detokenize", "-m", path, "--skip-special"}, {.text = ids.out});
    CHECK(without.out == "user\nHi there.");
    CHECK(run_hokku({"tokenize", "-m", path}, {.text = ""}).out == "\n");
}

TEST_CASE("hokku tokenize: broken input is an error that names the line", "[cli][model]") {
    const auto model = find_model("smollm2");
    if (!model) return report_skip("no model smollm2");
    const std::string path = model->string();
    const HokkuRun broken =
        run_hokku({"tokenize", "-m", path, "--jsonl"}, {.text = "\"fine\"\n{\"not\": \n"});
    CHECK(broken.status == 1);
    CHECK(json_lines(broken.out).size() == 1);
    CHECK(broken.err.find("line 2") != std::string::npos);
    const HokkuRun wrong_type = run_hokku({"tokenize", "-m", path, "--jsonl"}, {.text = "[1,2]\n"});
    CHECK(wrong_type.status == 1);
    CHECK(wrong_type.err.find("line 1") != std::string::npos);
    const HokkuRun unknown_id = run_hokku({"detokenize", "-m", path}, {.text = "1,99999999"});
    CHECK(unknown_id.status == 1);
    CHECK(unknown_id.err.find("99999999") != std::string::npos);
    const HokkuRun wrong_id =
        run_hokku({"detokenize", "-m", path, "--jsonl"}, {.text = "[1]\n[1.5]\n"});
    CHECK(wrong_id.status == 1);
    CHECK(wrong_id.err.find("line 2") != std::string::npos);
    const HokkuRun garbage =
        run_hokku({"detokenize", "-m", path}, {.text = std::string("\x00\xff\x1b[2J\x80", 7)});
    CHECK(garbage.status == 1);
    CHECK(garbage.err.find('\x1b') == std::string::npos);
    // Any bytes are a text.
    CHECK(
        run_hokku({"tokenize", "-m", path}, {.text = std::string("\x00\xff\xc0\x80", 4)}).status ==
        0);
}
