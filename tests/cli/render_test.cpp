// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "hokku/paths.h"
#include "run_hokku.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/tiny_model.h"

using hokku::testing::HokkuRun;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;
using json = nlohmann::ordered_json;  // Templates see the order of keys.

namespace {

constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'alien' %}"
    "{{ raise_exception('no aliens') }}{% endif %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}";

}  // namespace

TEST_CASE("hokku render: the prompt comes out to the byte", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::write_file(folder / "t.jinja", kTemplate);
    hokku::testing::write_file(
        folder / "in.json", R"({"messages": [{"role": "user", "content": "Grüße \u2028 {{ x }}"}],
                                "bos_token": "<s>"})");
    const std::string file = (folder / "t.jinja").string();
    const HokkuRun run =
        run_hokku({"render", "--template", file, "--input", (folder / "in.json").string()});
    INFO(run.err);
    CHECK(run.status == 0);
    CHECK(run.out == "<s>[user] Grüße \xe2\x80\xa8 {{ x }}\n[assistant]");
    CHECK(run.err.empty());
}

TEST_CASE("hokku render: JSON nested without end is an error", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::write_file(folder / "t.jinja", kTemplate);
    const auto input_of = [](size_t depth) {
        return R"({"messages": [{"role": "user", "content": )" + std::string(depth, '[') +
               std::string(depth, ']') + "}]}";
    };
    const std::vector<std::string> base{"render", "--template", (folder / "t.jinja").string()};
    std::vector<std::string> from_file = base, from_lines = base;
    from_file.insert(from_file.end(), {"--input", "-"});
    from_lines.push_back("--jsonl");
    for (const size_t depth : {size_t{300}, size_t{1'000'000}}) {
        const HokkuRun run = run_hokku(from_file, {.text = input_of(depth)});
        CHECK(run.status == 1);
        CHECK(run.out.empty());
        CHECK(run.err.find("nested too deeply (-): expected at most 200 levels") !=
              std::string::npos);
    }
    const std::string line = R"({"messages": []})";
    const HokkuRun run =
        run_hokku(from_lines, {.text = line + "\n" + input_of(1'000'000) + "\n" + line + "\n"});
    CHECK(run.status == 0);
    CHECK(std::count(run.out.begin(), run.out.end(), '\n') == 3);
    CHECK(run.out.find("nested too deeply (line 2)") != std::string::npos);
    CHECK(run_hokku(from_file, {.text = input_of(50)}).status == 0);
}

TEST_CASE("hokku render: one line out for each line in, text or error", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::write_file(folder / "t.jinja", kTemplate);
    const std::string input =
        R"({"messages": [{"role": "user", "content": "a\u2028b"}], "add_generation_prompt": false})"
        "\n"
        R"({"messages": [{"role": "alien", "content": "b"}]})"
        "\nnot JSON\n"
        R"({"messages": [], "bos_token": null, "kwargs": {"x": 1}, "tools": null})"
        "\n"
        R"({"mesages": []})"
        "\n"
        R"({"messages": [], "bos_token": 5})"
        "\n";
    const HokkuRun run = run_hokku(
        {"render", "--template", (folder / "t.jinja").string(), "--jsonl"}, {.text = input});
    CHECK(run.status == 0);
    std::vector<json> lines;
    std::istringstream stream(run.out);
    for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
    REQUIRE(lines.size() == 6);
    CHECK(lines[0] == json{{"text",
                            "[user] a\xe2\x80\xa8"
                            "b\n"}});
    CHECK(run.out.find("\xe2\x80\xa8") == std::string::npos);  // Escaped: some readers break there.
    CHECK(lines[1] == json{{"error", "no aliens"}});
    CHECK(lines[2]["error"].get<std::string>().find("line 3") != std::string::npos);
    CHECK(lines[3] == json{{"text", "[assistant]"}});
    CHECK(lines[4]["error"].get<std::string>().find("there are no messages") != std::string::npos);
    CHECK(lines[5]["error"].get<std::string>().find("bos_token") != std::string::npos);
}

TEST_CASE("hokku render: a broken template exits with 1 and names line and column",
          "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::write_file(folder / "t.jinja", "fine\n{% if %}");
    const HokkuRun run =
        run_hokku({"render", "--template", (folder / "t.jinja").string(), "--jsonl"});
    CHECK(run.status == 1);
    CHECK(run.out.empty());
    CHECK(run.err.find("line 2") != std::string::npos);
    CHECK(run.err.find("column") != std::string::npos);
}

TEST_CASE("hokku render: the template of a model, and one source only", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama()
        .set_string("tokenizer.chat_template", kTemplate)
        .write(folder / "tiny.gguf");
    const std::string model = (folder / "tiny.gguf").string();
    const HokkuRun run =
        run_hokku({"render", "-m", model, "--jsonl"}, {.text = "{\"messages\": []}\n"});
    CHECK(run.out == "{\"text\":\"[assistant]\"}\n");
    hokku::testing::make_tiny_llama().remove("tokenizer.chat_template").write(folder / "none.gguf");
    const HokkuRun none = run_hokku({"render", "-m", (folder / "none.gguf").string(), "--jsonl"});
    CHECK(none.status == 1);
    CHECK(none.err.find("tokenizer.chat_template") != std::string::npos);
    CHECK(run_hokku({"render", "--jsonl"}).status == 2);
    CHECK(run_hokku({"render", "-m", model, "--template", "x", "--jsonl"}).status == 2);
    CHECK(run_hokku({"render", "-m", model}).status == 2);
    CHECK(run_hokku({"render", "-m", model, "--input", "x", "--jsonl"}).status == 2);
}

TEST_CASE("hokku render: every golden rendering, through the command line", "[cli]") {
    const auto folder = hokku::testing::find_golden("templates/visible");
    if (!folder) return hokku::testing::report_skip("no golden templates");
    size_t num_rows = 0;
    for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
        if (entry.path().extension() != ".json") continue;
        std::ifstream stream(entry.path());
        const json rows = json::parse(stream);
        std::string input;
        for (const json& row : rows) {
            json line = row;
            line["now"] = "2025-01-15T10:30:00";
            input += line.dump() + "\n";
        }
        const std::string file =
            std::filesystem::path(entry.path()).replace_extension(".jinja").string();
        const HokkuRun run = run_hokku({"render", "--template", file, "--jsonl"}, {.text = input});
        INFO(file << run.err);
        REQUIRE(run.status == 0);
        std::istringstream out(run.out);
        for (const json& row : rows) {
            std::string line;
            REQUIRE(std::getline(out, line));
            const json found = json::parse(line);
            INFO(row["name"].dump() << line);
            ++num_rows;
            if (found.contains("text")) {
                bool is_right = false;
                for (const char* key :
                     {"expected", "expected_if_mutation_allowed", "expected_if_safe_is_noop"}) {
                    is_right |= row.contains(key) && row[key] == found["text"];
                }
                CHECK(is_right);
            } else {
                CHECK(row.contains("error"));
                if (row.value("error_type", "") == "raise_exception") {
                    CHECK(found["error"] == row["error"]);
                }
            }
        }
    }
    CHECK(num_rows > 2000);
}

TEST_CASE("hokku render: errors in JSON are told briefly and without the parser's codes",
          "[cli][quick]") {
    const hokku::testing::ScratchFolder folder;
    hokku::testing::write_file(folder / "t.jinja", "x");
    const std::string chat_template = hokku::path_utf8(folder / "t.jinja");
    const HokkuRun run = run_hokku({"render", "--template", chat_template, "--jsonl"},
                                   {.text = "\"" + std::string(100000, 'a') + "\xff\"\n{]\n"});
    CHECK(run.status == 0);
    CHECK(run.out.size() < 2000);
    CHECK(run.out.find("json.exception") == std::string::npos);
    CHECK(run.out.find("not valid JSON: column 2") != std::string::npos);
    CHECK(run.out.find("(line 2)") != std::string::npos);
}
