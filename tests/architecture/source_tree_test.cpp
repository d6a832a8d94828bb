// SPDX-License-Identifier: Apache-2.0
// The rules between layers that the compiler does not see: which way includes point, and what
// no part of the library may use.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/golden.h"

namespace {

namespace fs = std::filesystem;

/// Layers by height. Only lower ones, and the layer itself, may be included.
const std::map<std::string, int> kHeights = {
    {"base", 0}, {"gguf", 1},     {"text", 2},       {"model", 2},  {"backend", 3},
    {"kv", 3},   {"sampling", 3}, {"constraint", 3}, {"engine", 4},
};

/// The layer whose types a public header describes. Those not listed belong to engine.
const std::map<std::string, std::string> kPublicHeaders = {
    {"error.h", "base"},
    {"result.h", "base"},
    {"model_file.h", "gguf"},
    {"chat_template.h", "text"},
    {"reply.h", "text"},
    {"tokenizer.h", "text"},
    {"prompt_part.h", "text"},
    {"kv_type.h", "base"},
    {"paths.h", "base"},
    {"file_lock.h", "base"},
    {"replace_file.h", "base"},
    {"settle_file.h", "base"},
    {"sampling.h", "text"},  // plain data
    {"constraint.h", "constraint"},
    {"llama_sampling.h", "sampling"},
};

struct Line {
    fs::path file;
    size_t number = 0;
    std::string text;
    [[nodiscard]] std::string describe() const {
        return file.string() + ":" + std::to_string(number) + ": " + text;
    }
};

/// Calls visit(line) for each line of each source file below `folder` of the project.
template <class Visit>
void visit_lines(const std::string& folder, Visit&& visit) {
    const fs::path root = hokku::testing::source_folder() / folder;
    if (!fs::exists(root)) return;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
        const std::string extension = entry.path().extension().string();
        if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
        std::ifstream file(entry.path());
        Line line{fs::relative(entry.path(), root), 0, {}};
        while (std::getline(file, line.text)) {
            ++line.number;
            visit(line);
        }
    }
}

/// The path between quotes or angle brackets of an include line; empty for other lines.
std::string included(const std::string& line, char open, char close) {
    const size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line.compare(hash, 8, "#include") != 0) return {};
    const size_t begin = line.find(open, hash);
    if (begin == std::string::npos) return {};
    return line.substr(begin + 1, line.find(close, begin + 1) - begin - 1);
}

std::string first_part(const fs::path& path) {
    return path.begin()->string();
}

bool may_include(const std::string& layer, const fs::path& target) {
    const std::string folder = first_part(target);
    std::string target_layer = folder;
    if (folder == "hokku") {
        const auto known = kPublicHeaders.find(target.filename().string());
        target_layer = known == kPublicHeaders.end() ? "engine" : known->second;
    }
    if (target_layer == layer) return true;
    const auto target_height = kHeights.find(target_layer);
    return target_height != kHeights.end() && target_height->second < kHeights.at(layer);
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Whether the word stands in the code by itself, perhaps after std:: or ::, but as no member and
/// in no other namespace; if it is a function, with its opening parenthesis.
bool uses(const std::string& code, const std::string& word, bool is_function) {
    for (size_t at = 0; (at = code.find(word, at)) != std::string::npos; ++at) {
        size_t end = at + word.size();
        if (end < code.size() && is_word(code[end])) continue;
        while (is_function && end < code.size() && code[end] == ' ') ++end;
        if (is_function && (end == code.size() || code[end] != '(')) continue;
        std::string before = code.substr(0, at);
        if (before.ends_with("::")) before.resize(before.size() - 2);
        if (before.size() + 2 == at && before.ends_with("std")) before.resize(before.size() - 3);
        if (before.empty()) return true;
        const char last = before.back();
        if (!is_word(last) && last != '.' && last != '>' && last != ':') return true;
    }
    return false;
}

/// Whether the code before a comment calls something that prints or ends the process.
bool prints_or_ends(const std::string& line) {
    const std::string code = line.substr(0, line.find("//"));
    for (const char* name :
         {"printf", "fprintf", "puts", "putchar", "perror", "abort", "terminate", "exit"}) {
        if (uses(code, name, true)) return true;
    }
    for (const char* name : {"cout", "cerr", "clog"}) {
        if (uses(code, name, false)) return true;
    }
    return code.find("fmt::print(") != std::string::npos;
}

}  // namespace

TEST_CASE("core: includes point to lower layers only", "[architecture][quick]") {
    size_t num_includes = 0;
    visit_lines("core", [&](const Line& line) {
        const fs::path target = included(line.text, '"', '"');
        if (target.empty()) return;
        ++num_includes;
        const std::string layer = first_part(line.file);
        INFO(line.describe());
        if (layer == "include") {  // public headers know only each other
            CHECK(first_part(target) == "hokku");
            return;
        }
        REQUIRE(kHeights.count(layer) == 1);
        CHECK(may_include(layer, target));
    });
    CHECK(num_includes > 100);
}

TEST_CASE("app: only public headers of the library are included", "[architecture][quick]") {
    const fs::path core = hokku::testing::source_folder() / "core";
    const fs::path qt = hokku::testing::source_folder() / "app" / "qt" / "include";
    visit_lines("app", [&](const Line& line) {
        const fs::path target = included(line.text, '"', '"');
        if (target.empty()) return;
        INFO(line.describe());
        if (first_part(target) == "hokku") {
            CHECK((fs::exists(core / "include" / target) || fs::exists(qt / target)));
        } else {
            CHECK(kHeights.count(first_part(target)) == 0);
            CHECK_FALSE(fs::exists(core / target));
        }
    });
}

TEST_CASE("core: neither Qt nor CUDA, std::regex nor streams to the console are used",
          "[architecture][quick]") {
    visit_lines("core", [&](const Line& line) {
        const std::string header = included(line.text, '<', '>');
        if (header.empty()) return;
        INFO(line.describe());
        CHECK((header.empty() || header[0] != 'Q'));
        CHECK(header.rfind("cuda", 0) != 0);
        CHECK(header.rfind("cublas", 0) != 0);
        CHECK(header != "regex");
        CHECK(header != "iostream");
    });
}

TEST_CASE("core: nothing prints, aborts or ends the process", "[architecture][quick]") {
    visit_lines("core", [&](const Line& line) {
        INFO(line.describe());
        CHECK_FALSE(prints_or_ends(line.text));
    });
}

TEST_CASE("cuda: kernel files know the device by its header only", "[architecture][quick]") {
    size_t num_lines = 0;
    for (const char* folder : {"cuda/kernels", "tests/cuda/kernels"}) {
        visit_lines(folder, [&](const Line& line) {
            ++num_lines;
            INFO(line.describe());
            const std::string code = line.text.substr(0, line.text.find("//"));
            for (const char* word : {"asm", "__shared__", "__global__", "__device__", "threadIdx",
                                     "blockIdx", "__CUDA", "__GNUC__", "<<<", "#if", "#undef"})
                CHECK(code.find(word) == std::string::npos);
            const fs::path target = included(line.text, '"', '"');
            if (target.empty()) return;
            CHECK((first_part(target) == "device" || first_part(target) == "kernels"));
        });
    }
    CHECK(num_lines > 500);
}

TEST_CASE("cuda: what goes into the plug-in knows neither the emulator nor the engine",
          "[architecture][quick]") {
    size_t num_includes = 0;
    visit_lines("cuda", [&](const Line& line) {
        const std::string layer = first_part(line.file);
        const fs::path target = included(line.text, '"', '"');
        if (target.empty() || layer == "emulation") return;
        ++num_includes;
        INFO(line.describe());
        const std::string folder = first_part(target);
        CHECK(folder != "emulation");
        for (const char* above : {"engine", "kv", "sampling", "constraint", "text"})
            CHECK(folder != above);
        if (folder != "hokku") return;
        const std::string header = target.filename().string();
        CHECK((header == "result.h" || header == "error.h" || header == "kv_type.h" ||
               header == "paths.h"));
    });
    CHECK(num_includes > 20);
}

TEST_CASE("sources: licence line, guarded headers, at most 800 lines", "[architecture][quick]") {
    struct Seen {
        bool has_licence = false, is_guarded = false;
        size_t num_lines = 0;
    };
    for (const char* folder : {"core", "app", "tests", "cuda"}) {
        std::map<fs::path, Seen> files;
        visit_lines(folder, [&](const Line& line) {
            Seen& seen = files[line.file];
            seen.num_lines = line.number;
            seen.is_guarded |= line.text == "#pragma once";
            if (line.number == 1)
                seen.has_licence = line.text == "// SPDX-License-Identifier: Apache-2.0";
        });
        for (const auto& [file, seen] : files) {
            INFO(folder << "/" << file.string());
            CHECK(seen.has_licence);
            CHECK(seen.num_lines <= 800);
            CHECK(seen.is_guarded == (file.extension() == ".h"));
        }
    }
}

TEST_CASE("the check of prints itself: calls are found, other words are not",
          "[architecture][quick]") {
    for (const char* line : {"    std::cout << x;", "if (a) abort();", "std::printf(\"x\");",
                             "  fmt::print(stderr, x);", "std::exit (1);", "::fprintf(f, x);"})
        CHECK(prints_or_ends(line));
    for (const char* line : {"snprintf(a, b, c);", "x = 1;  // abort()", "loop.exit();",
                             "on_exit(x);", "std::vsnprintf(a);", "_exit(0);", "a::exit();",
                             "p->exit();", "int cout_1;", "xstd::abort();", "exit = 1;"})
        CHECK_FALSE(prints_or_ends(line));
}

TEST_CASE("the check of directions itself: upward and sideways includes are refused",
          "[architecture][quick]") {
    CHECK(may_include("gguf", "base/utf8.h"));
    CHECK(may_include("gguf", "gguf/gguf_file.h"));
    CHECK(may_include("engine", "kv/kv_cache.h"));
    CHECK(may_include("engine", "hokku/engine.h"));
    CHECK(may_include("base", "hokku/result.h"));
    CHECK_FALSE(may_include("base", "gguf/gguf_file.h"));
    CHECK_FALSE(may_include("gguf", "model/model.h"));
    CHECK_FALSE(may_include("text", "model/model.h"));
    CHECK_FALSE(may_include("kv", "sampling/sampler.h"));
    CHECK_FALSE(may_include("model", "hokku/engine.h"));
    CHECK_FALSE(may_include("model", "unknown/header.h"));
    CHECK(included("#include \"base/utf8.h\"  // why", '"', '"') == "base/utf8.h");
    CHECK(included("  #include <regex>", '<', '>') == "regex");
    CHECK(included("// #include <regex>", '<', '>').empty());
}
