// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "hokku/library.h"
#include "hokku/paths.h"
#include "run_hokku.h"
#include "support/catch.h"
#include "support/gguf_writer.h"
#include "support/golden.h"

namespace fs = std::filesystem;
using hokku::testing::GgufWriter;
using hokku::testing::hokku_program;
using hokku::testing::HokkuInput;
using hokku::testing::HokkuRun;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;

namespace {

GgufWriter small_file() {
    GgufWriter writer;
    writer.set_string("general.architecture", "llama")
        .set<uint32_t>("llama.block_count", 3)
        .set_strings("tokenizer.ggml.tokens", {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
        .add_f32("token_embd.weight", {2, 3}, {1, 2, 3, 4, 5, 6});
    return writer;
}

}  // namespace

TEST_CASE("hokku inspect: the JSON holds header, metadata and tensors", "[cli][quick]") {
    const ScratchFolder folder;
    small_file().write(folder / "small.gguf");
    const HokkuRun run = run_hokku({"inspect", (folder / "small.gguf").string(), "--json"});
    REQUIRE(run.status == 0);
    CHECK(run.err.empty());
    const auto json = nlohmann::json::parse(run.out);
    CHECK(json["version"] == 3);
    CHECK(json["parameters"] == 6);
    CHECK(json["metadata"]["general.architecture"]["value"] == "llama");
    CHECK(json["metadata"]["llama.block_count"]["type"] == "UINT32");
    CHECK(json["metadata"]["llama.block_count"]["value"] == 3);
    CHECK(json["metadata"]["tokenizer.ggml.tokens"]["count"] == 10);
    CHECK(json["metadata"]["tokenizer.ggml.tokens"]["shortened"] == true);
    REQUIRE(json["tensors"].size() == 1);
    CHECK(json["tensors"][0]["name"] == "token_embd.weight");
    CHECK(json["tensors"][0]["type"] == "F32");
    CHECK(json["tensors"][0]["dims"] == nlohmann::json({2, 3}));
    CHECK(json["tensors"][0]["bytes"] == 24);
}

TEST_CASE("hokku inspect: finds the models that came with the program, the user's own first",
          "[cli][quick]") {
    const ScratchFolder folder;
    const fs::path installed = folder / "Höhe 俳句", models = installed / "share/hokku/models";
    const fs::path program = installed / "bin" / hokku_program().filename();
    fs::create_directories(program.parent_path());
    fs::create_directories(models);
    fs::create_directories(folder / "home" / "models");
    fs::copy_file(hokku_program(), program);
    const HokkuInput there = {.home = (folder / "home").string(), .program = program};
    const auto blocks_of = [&](const std::string& model) {
        const HokkuRun run = run_hokku({"inspect", model, "--json"}, there);
        REQUIRE(run.err.empty());
        return nlohmann::json::parse(run.out)["metadata"]["llama.block_count"]["value"].get<int>();
    };
    small_file().write(models / "small.gguf");
    small_file().write(models / std::string(hokku::kStarterModel));
    CHECK(blocks_of("small") == 3);
    CHECK(nlohmann::json::parse(run_hokku({"inspect", "--json"}, there).out)["version"] == 3);
    small_file().set<uint32_t>("llama.block_count", 4).write(folder / "home/models/small.gguf");
    CHECK(blocks_of("small") == 4);
}

TEST_CASE("hokku inspect: names the format of replies and where it was read", "[cli][quick]") {
    const ScratchFolder folder;
    const std::filesystem::path file = folder / "small.gguf";
    const std::string path = hokku::path_utf8(file);
    small_file().write(file);
    auto json = nlohmann::json::parse(run_hokku({"inspect", path, "--json"}).out);
    CHECK(json["reply_format"]["name"] == "plain");
    CHECK(json["reply_format"]["evidence"] == "the model has no chat template");
    small_file().set_string("tokenizer.chat_template", "<tool_call> .. </think>").write(file);
    json = nlohmann::json::parse(run_hokku({"inspect", path, "--json"}).out);
    CHECK(json["reply_format"]["name"] == "hermes");
    CHECK(json["reply_format"]["thoughts"] == true);
    CHECK(json["reply_format"]["tool_calls"] == true);
    CHECK(run_hokku({"inspect", path})
              .out.find(
                  "Replies: hermes (chat template: '<tool_call>'; thoughts: '</think>'), thoughts, "
                  "tool calls\n") != std::string::npos);
    small_file().set<uint32_t>("tokenizer.chat_template", 1).write(file);
    const HokkuRun wrong = run_hokku({"inspect", path, "--json"});
    CHECK(wrong.status == 0);
    CHECK(nlohmann::json::parse(wrong.out)["reply_format"]["name"] == "unknown");
}

TEST_CASE("hokku inspect: names from a file cannot send control codes to the terminal",
          "[cli][quick]") {
    const ScratchFolder folder;
    small_file().set_string("evil\x1b[2Jkey", "evil\x1b[2Jvalue").write(folder / "evil.gguf");
    const HokkuRun run = run_hokku({"inspect", (folder / "evil.gguf").string()});
    CHECK(run.out.find('\x1b') == std::string::npos);
    CHECK(run.err.find('\x1b') == std::string::npos);
}

TEST_CASE("hokku inspect: a file that is no GGUF exits with 1 and names the file", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::write_file(folder / "bad.gguf", "not a model at all, only text");
    const HokkuRun run = run_hokku({"inspect", (folder / "bad.gguf").string()});
    CHECK(run.status == 1);
    CHECK(run.out.empty());
    CHECK(run.err.find("bad.gguf") != std::string::npos);
    CHECK(run.err.find("GGUF") != std::string::npos);
}

TEST_CASE("hokku inspect: paths may hold spaces and any script", "[cli][quick]") {
    const ScratchFolder folder;
    const auto path = folder / "ein Modell für 俳句 \xf0\x9f\x8d\x82.gguf";
    small_file().write(path);
    const HokkuRun run = run_hokku({"inspect", path.string(), "--json"});
    REQUIRE(run.status == 0);
    CHECK(nlohmann::json::parse(run.out)["path"] == path.string());
}
