// SPDX-License-Identifier: Apache-2.0
// Runs the case file tests/data/jinja/cases.jsonl, whose results come from jinja2.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "support/catch.h"
#include "support/golden.h"
#include "text/template/render.h"

namespace {

std::filesystem::path data_file(const char* name) {
    return hokku::testing::source_folder() / "tests" / "data" / "jinja" / name;
}

std::string read_all(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("ChatTemplate: the language gives what jinja2 gives", "[template][quick]") {
    const std::string variables = read_all(data_file("variables.json"));
    std::ifstream cases(data_file("cases.jsonl"), std::ios::binary);
    std::string line;
    size_t num_cases = 0;
    while (std::getline(cases, line)) {
        const auto row = nlohmann::json::parse(line);
        const auto source = row.at("template").get<std::string>();
        INFO(source);
        const std::string found = hokku::testing::render(source, variables);
        if (row.contains("text")) {
            CHECK(found == row.at("text").get<std::string>());
        } else {
            CHECK(found.substr(0, 7) == "error: ");
            const auto message = row.at("error").get<std::string>();
            if (!message.empty()) CHECK(found.substr(7) == message);
        }
        ++num_cases;
    }
    CHECK(num_cases > 300);
}
