// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <nlohmann/json.hpp>

#include "hokku/paths.h"
#include "run_hokku.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/tiny_model.h"

using hokku::testing::find_model;
using hokku::testing::HokkuRun;
using hokku::testing::make_tiny_llama;
using hokku::testing::report_skip;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;
using nlohmann::json;

namespace {

/// A tiny model in a folder whose name is no plain ASCII.
struct TinyFile {
    TinyFile() {
        const std::filesystem::path file = folder / "俳句 models" / "tiny.gguf";
        std::filesystem::create_directory(file.parent_path());
        make_tiny_llama().write(file);
        path = hokku::path_utf8(file);
    }
    ScratchFolder folder;
    std::string path;
};

}  // namespace

TEST_CASE("hokku run: a draft model leaves the answer as it is", "[cli][quick]") {
    const TinyFile tiny;
    const std::vector<std::string> plain = {"run", "-m", tiny.path, "-p", "Gr",
                                            "-n",  "30", "--seed",  "3",  "--json"};
    std::vector<std::string> drafted = plain;
    drafted.insert(drafted.end(), {"--draft-model", tiny.path, "--draft-max", "3"});
    const HokkuRun one = run_hokku(plain), other = run_hokku(drafted);
    INFO(other.err);
    REQUIRE(one.status == 0);
    REQUIRE(other.status == 0);
    CHECK(json::parse(other.out)["tokens"] == json::parse(one.out)["tokens"]);
    CHECK(json::parse(other.out)["stats"]["drafted_tokens"].is_number());
    drafted[drafted.size() - 3] = "/nowhere/at-all";
    CHECK(run_hokku(drafted).err.find("/nowhere/at-all") != std::string::npos);
}

TEST_CASE("hokku run: the JSON has every key of the contract", "[cli][quick]") {
    const TinyFile tiny;
    const HokkuRun run = run_hokku({"run", "-m", tiny.path, "-p", "Grüße", "--temp", "0", "--seed",
                                    "010", "-n", "5", "--json"});
    INFO(run.err);
    REQUIRE(run.status == 0);
    const json result = json::parse(run.out);
    CHECK(result["text"].is_string());
    CHECK(result["tokens"].is_array());
    CHECK(result["tokens"].size() <= 5);
    CHECK(result["thought"].is_string());
    CHECK(result["tool_calls"].is_array());
    CHECK(result["stop_reason"].is_string());
    CHECK(result["seed"] == 10);  // Decimal.
    for (const char* key : {"prompt_tokens", "forward_tokens", "prefill_tok_s", "decode_tok_s",
                            "ttft_ms", "peak_memory_mb"}) {
        INFO(key);
        CHECK(result["stats"][key].is_number());
    }
    CHECK(std::count(run.out.begin(), run.out.end(), '\n') == 1);
}

TEST_CASE("hokku run: text goes to stdout, seed and speed to stderr", "[cli][quick]") {
    const TinyFile tiny;
    const std::vector<std::string> arguments = {"run",    "-m", tiny.path, "--tokens", "1,2,3",
                                                "--seed", "42", "-n",      "8"};
    const HokkuRun streamed = run_hokku(arguments);
    REQUIRE(streamed.status == 0);
    CHECK(streamed.err.find("seed 42") != std::string::npos);
    CHECK(streamed.out.find("seed") == std::string::npos);
    std::vector<std::string> with_json = arguments;
    with_json.push_back("--json");
    const json result = json::parse(run_hokku(with_json).out);
    CHECK(streamed.out == result["text"].get<std::string>() + "\n");
    CHECK(result["tokens"].size() == 8);
    CHECK(result["stop_reason"] == "length");
    // One token of the prompt and each generated one but the last go through the model once.
    CHECK(result["stats"]["forward_tokens"] == 3 + 8 - 1);
}

TEST_CASE("hokku run: several continuations are those of their seeds", "[cli][quick]") {
    const TinyFile tiny;
    const std::vector<std::string> arguments = {"run",   "-m", tiny.path, "--tokens",
                                                "1,2,3", "-n", "8",       "--exact"};
    const auto run = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all = arguments;
        all.insert(all.end(), more.begin(), more.end());
        return run_hokku(all);
    };
    const json result = json::parse(run({"--seed", "5", "--num", "3", "--json"}).out);
    REQUIRE(result["continuations"].size() == 3);
    std::string expected_text;
    uint32_t num_forward = 0;
    for (size_t i = 0; i < 3; ++i) {
        const json& one = result["continuations"][i];
        const json alone = json::parse(run({"--seed", std::to_string(5 + i), "--json"}).out);
        CHECK(one["tokens"] == alone["tokens"]);
        CHECK(one["text"] == alone["text"]);
        CHECK(one["seed"] == 5 + i);
        num_forward += one["stats"]["forward_tokens"].get<uint32_t>();
        expected_text += (i == 0 ? "=== " : "\n=== ") + std::to_string(i + 1) + " of 3 ===\n" +
                         one["text"].get<std::string>() + "\n";
    }
    CHECK(num_forward == 3 + 3 * 7);
    const HokkuRun streamed = run({"--seed", "5", "--num", "3"});
    CHECK(streamed.status == 0);
    CHECK(streamed.out == expected_text);
    for (const char* line : {"1: 8 tokens", "2: 8 tokens", "3: 8 tokens", "seed 7"})
        CHECK(streamed.err.find(line) != std::string::npos);
    CHECK(run({"--num", "0"}).status == 2);
    const HokkuRun failed =
        run_hokku({"run", "-m", tiny.path, "--tokens", "1,999999", "--num", "2", "--json"});
    CHECK(failed.status == 2);
    CHECK(failed.out.empty());
    CHECK(failed.err.find("there is no token 999999 (--tokens)") != std::string::npos);
}

TEST_CASE("hokku run: the same seed gives the same text, however the tokens are given",
          "[cli][quick]") {
    const TinyFile tiny;
    hokku::testing::write_file(tiny.folder / "list", "[72, 105]\n");
    const std::string list = hokku::path_utf8(tiny.folder / "list");
    const auto run = [&](const std::vector<std::string>& prompt) {
        std::vector<std::string> all = {"run", "-m", tiny.path, "--seed",
                                        "3",   "-n", "12",      "--json"};
        all.insert(all.end(), prompt.begin(), prompt.end());
        return json::parse(run_hokku(all, {.text = "Hi"}).out)["tokens"];
    };
    const json expected = run({"--tokens", "72,105"});
    REQUIRE(expected.size() > 0);
    CHECK(run({"--tokens", "@" + list}) == expected);
    CHECK(run({"--raw", "-p", "Hi"}) == run({"--raw", "-f", "-"}));
}

TEST_CASE("hokku run: contradicting or missing arguments are wrong usage", "[cli][quick]") {
    const TinyFile tiny;
    const std::vector<std::vector<std::string>> wrong = {
        {},
        {"-p", "a", "--tokens", "1"},
        {"-p", "a", "-f", "b"},
        {"--tokens", "one,two"},
        {"--tokens", "1,-2"},
        {"-p", "a", "--raw", "--system", "b"},
        {"-p", "a", "--parse-special"},
        {"-p", "a", "--temp", "-1"},
        {"-p", "a", "--temp", "hot"},
        {"-p", "a", "--top-p", "1.5"},
        {"-p", "a", "-n", "-3"},
        {"-p", "a", "--sampler-order", "top_k,no_such"},
        {"-p", "a", "--logit-bias", "x=1"},
        {"-p"}};
    for (const std::vector<std::string>& arguments : wrong) {
        std::vector<std::string> all = {"run", "-m", tiny.path};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const HokkuRun run = run_hokku(all);
        INFO(run.err);
        CHECK(run.status == 2);
        CHECK(run.out.empty());
        CHECK(!run.err.empty());
    }
}

TEST_CASE("hokku run: what the model cannot take exits with 1 and says why", "[cli][quick]") {
    const TinyFile tiny;
    const HokkuRun unknown = run_hokku({"run", "-m", tiny.path, "--tokens", "5,4711"});
    CHECK(unknown.status == 2);
    CHECK(unknown.out.empty());
    CHECK(unknown.err.find("4711") != std::string::npos);
    const HokkuRun too_long =
        run_hokku({"run", "-m", tiny.path, "--raw", "-p", std::string(5000, 'a')});
    CHECK(too_long.status == 1);
    CHECK(too_long.err.find("context") != std::string::npos);
    const HokkuRun no_file = run_hokku({"run", "-m", tiny.path, "-f", "/no/such/prompt.txt"});
    CHECK(no_file.status == 1);
    CHECK(no_file.err.find("/no/such/prompt.txt") != std::string::npos);
}

TEST_CASE("hokku run: a reader that goes away ends the generation", "[cli][quick]") {
    const TinyFile tiny;
    const HokkuRun run = run_hokku({"run", "-m", tiny.path, "--raw", "-p", "a", "-n", "200"},
                                   {.closed_stdout = true});
    CHECK(run.status == 1);
    CHECK(run.err.empty());
    CHECK(run.seconds < 30);
}

TEST_CASE("hokku chat: without a terminal each line of stdin is answered", "[cli][quick]") {
    const TinyFile tiny;
    const HokkuRun run =
        run_hokku({"chat", "-m", tiny.path, "-n", "3", "--temp", "0", "--first", "hello"},
                  {.text = "one\n/reset\n/help\ntwo \\\nlines\n/quit\nnever\n"});
    INFO(run.err);
    CHECK(run.status == 0);
    CHECK(run.err.find("> hello") != std::string::npos);
    CHECK(run.err.find("/system TEXT") != std::string::npos);
    CHECK(run.err.find("/system TEXT") == run.err.rfind("/system TEXT"));
    CHECK(run.out.find("/help") == std::string::npos);
}

TEST_CASE("hokku chat: /quit after what went wrong tells scripts so", "[cli][quick]") {
    const TinyFile tiny;
    const HokkuRun run =
        run_hokku({"chat", "-m", tiny.path, "-n", "3"}, {.text = "one\n/nonsense\n/quit\n"});
    CHECK(run.err.find("no such command: /nonsense") != std::string::npos);
    CHECK(run.status == 1);
}

TEST_CASE("hokku chat: a blank line stands between answers, none around them", "[cli][quick]") {
    const TinyFile tiny;
    const auto answer = [&](const std::string& lines) {
        return run_hokku({"chat", "-m", tiny.path, "--regex", "yes"}, {.text = lines}).out;
    };
    CHECK(answer("one\n") == "yes\n");
    CHECK(answer("one\n/reset\ntwo\n/reset\nthree\n") == "yes\n\nyes\n\nyes\n");
}

TEST_CASE("hokku run: the end is told in words unless it is the model's own", "[cli][quick]") {
    const TinyFile tiny;
    const auto run = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {"run", "-m", tiny.path, "--tokens", "1,2,3"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_hokku(arguments).err;
    };
    CHECK(run({"--regex", "aaa", "--seed", "7"}).ends_with("; seed 7\n"));
    CHECK(run({"-n", "3", "--seed", "7"}).find("; cut off by -n\n") != std::string::npos);
    CHECK(run({"--regex", "abc", "--stop", "b"}).find("; stopped before a --stop text\n") !=
          std::string::npos);
}

TEST_CASE("hokku: values that only the model shows to be wrong are wrong usage", "[cli][quick]") {
    const TinyFile tiny;
    hokku::testing::write_file(tiny.folder / "text", "Some text.");
    const std::string text = hokku::path_utf8(tiny.folder / "text");
    const std::vector<std::vector<std::string>> wrong = {{"perplexity", "-f", text, "-c", "1"},
                                                         {"run", "--tokens", "@"},
                                                         {"run", "--raw", "-p", ""}};
    for (std::vector<std::string> arguments : wrong) {
        CAPTURE(arguments);
        arguments.insert(arguments.end(), {"-m", tiny.path});
        const HokkuRun run = run_hokku(arguments);
        INFO(run.err);
        CHECK(run.status == 2);
        CHECK(run.out.empty());
        CHECK(!run.err.empty());
    }
}

TEST_CASE("hokku chat: what is neither a message nor a command is a failure", "[cli][quick]") {
    const TinyFile tiny;
    const auto chat = [&](const std::string& lines) {
        return run_hokku({"chat", "-m", tiny.path, "-n", "2"}, {.text = lines});
    };
    CHECK(chat("/foo\n").status == 1);
    CHECK(chat("/again\n").status == 1);
    CHECK(chat(" \n\t\n\n").out.empty());
    const HokkuRun path = chat(" /etc/hosts is a file\n");
    CHECK(path.status == 0);
    CHECK_FALSE(path.out.empty());
    CHECK(chat("/help\n").err.find("begins with a space is no command") != std::string::npos);
}

TEST_CASE("hokku chat: an empty input is no failure", "[cli][quick]") {
    const TinyFile tiny;
    const HokkuRun run = run_hokku({"chat", "-m", tiny.path});
    CHECK(run.status == 0);
    CHECK(run.out.empty());
}

TEST_CASE("hokku run: the starter model answers by its template and stops by itself",
          "[cli][model]") {
    const auto model = find_model("smollm2");
    if (!model) return report_skip("no model smollm2");
    const HokkuRun run = run_hokku({"run", "-m", model->string(), "-p", "What is 2 + 2?", "--temp",
                                    "0", "-n", "200", "--json"});
    REQUIRE(run.status == 0);
    const json result = json::parse(run.out);
    CHECK(result["stop_reason"] == "end");
    CHECK(result["text"].get<std::string>().find("4") != std::string::npos);
    CHECK(result["text"].get<std::string>().find("<|im_end|>") == std::string::npos);
    const HokkuRun stopped =
        run_hokku({"run", "-m", model->string(), "--raw", "-p", "One, two, three,", "--temp", "0",
                   "-n", "50", "--stop", "six", "--json"});
    const json cut = json::parse(stopped.out);
    CHECK(cut["stop_reason"] == "stop");
    CHECK(cut["text"] == " four, five, ");
}

TEST_CASE("hokku run: an answer has the form that was asked for, or the command fails",
          "[cli][quick]") {
    const TinyFile tiny;
    const auto run = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments = {"run",   "-m",     tiny.path, "--tokens",
                                              "1,2,3", "--seed", "1"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_hokku(arguments);
    };
    CHECK(run({"--choice", "yes", "--choice", "yes"}).out == "yes\n");
    CHECK(run({"--regex", "a{3}"}).out == "aaa\n");
    CHECK(run({"--grammar", R"(root ::= "ab" "c"?)", "--regex", ".{3}"}).out == "abc\n");
    CHECK(run({"--json-schema", R"({"enum": [17]})"}).out == "17\n");
    const HokkuRun words = run({"--require", "forty-two", "--require", "Yes", "-n", "40"});
    CHECK(words.status == 0);
    CHECK(words.out.find("forty-two") != std::string::npos);
    CHECK(words.out.find("Yes") != std::string::npos);

    std::ofstream(tiny.folder / "grammar.gbnf") << "root ::= \"from a file\"\n";
    const std::string file = (tiny.folder / "grammar.gbnf").string();
    CHECK(run({"--grammar", file}).out == "from a file\n");
    CHECK(run({"--grammar", file + "x"}).status == 1);

    const HokkuRun cut = run({"--regex", "a{10}", "-n", "3", "--json"});
    CHECK(cut.status == 1);
    CHECK(json::parse(cut.out)["meets_constraints"] == false);
    CHECK(cut.err.find("(length)") != std::string::npos);
    const HokkuRun wrong = run({"--grammar", "root ::= ["});
    CHECK(wrong.status == 2);
    CHECK(wrong.err.find("--grammar, line 1") != std::string::npos);
    CHECK(run({"--choice", "one", "--choice", "two", "--num", "3", "--json"}).status == 0);
}

TEST_CASE("hokku run: log-probabilities are those of the logits", "[cli][quick]") {
    const TinyFile tiny;
    const HokkuRun run =
        run_hokku({"run", "-m", tiny.path, "--tokens", "1,2,3", "--seed", "5", "-n", "6", "--exact",
                   "--json", "--logprobs", "3", "--temp", "2", "--logit-bias", "4=3"});
    REQUIRE(run.status == 0);
    const json result = json::parse(run.out);
    REQUIRE(result["logprobs"].size() == result["tokens"].size());
    std::string text = "1,2,3";
    for (size_t i = 0; i < result["tokens"].size(); ++i) {
        const json& token = result["logprobs"][i];
        CHECK(token["id"] == result["tokens"][i]);
        const HokkuRun logits = run_hokku({"logits", "-m", tiny.path, "--tokens", text, "--exact",
                                           "--top", "3", "--ids", token["id"].dump()});
        const json position = json::parse(logits.out)["positions"][0];
        const double log_sum = position["logsumexp"];
        const double logit = position["logits"][0];
        CHECK(token["logprob"].get<double>() == Approx(logit - log_sum).margin(1e-4));
        REQUIRE(token["top"].size() == 3);
        for (size_t k = 0; k < 3; ++k) {
            CHECK(token["top"][k]["id"] == position["top"][k][0]);
            CHECK(token["top"][k]["logprob"].get<double>() ==
                  Approx(position["top"][k][1].get<double>() - log_sum).margin(1e-4));
        }
        text += "," + token["id"].dump();
    }
    CHECK(run_hokku({"run", "-m", tiny.path, "-p", "x", "--logprobs", "1"}).status == 2);
    CHECK_FALSE(
        json::parse(run_hokku({"run", "-m", tiny.path, "--tokens", "1", "-n", "1", "--json"}).out)
            .contains("logprobs"));
}

TEST_CASE("hokku run: --replace goes on from a changed token", "[cli][quick]") {
    const TinyFile tiny;
    const auto run = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments = {"run", "-m", tiny.path, "--seed",
                                              "5",   "-n", "8",       "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_hokku(arguments);
    };
    const auto tokens_of = [&](std::vector<std::string> more) {
        return json::parse(run(std::move(more)).out)["tokens"];
    };
    CHECK(tokens_of({"--tokens", "1,2,3,4", "--replace", "2=7"}) ==
          tokens_of({"--tokens", "1,2,7"}));
    CHECK(tokens_of({"--tokens", "1,2,3,4", "--replace", "0=9"}) == tokens_of({"--tokens", "9"}));
    CHECK(tokens_of({"--tokens", "1,2,3,4", "--replace", "3=4"}) ==
          tokens_of({"--tokens", "1,2,3,4"}));
    for (const char* wrong : {"4=1", "-1=1", "1=-1", "1=1000000", "1", "=", "1=", "=1", "a=1",
                              "1=1=1", "1= 1", "99999999999=1"}) {
        const HokkuRun refused = run({"--tokens", "1,2,3,4", "--replace", wrong});
        CAPTURE(wrong, refused.err);
        CHECK(refused.status == 2);
        CHECK(refused.out.empty());
        CHECK(refused.err.find(wrong) != std::string::npos);
    }
    CHECK(run({"--tokens", "1,2", "--replace", "0=1", "--replace", "1=1"}).status == 2);
    CHECK(run({"-p", "text", "--replace", "0=1"}).status == 2);
}

TEST_CASE("hokku run: the haiku always has its word", "[cli][model]") {
    const auto model = find_model("qwen2");
    if (!model) return report_skip("no model qwen2");
    for (int seed = 1; seed <= 10; ++seed) {
        const HokkuRun run =
            run_hokku({"run", "-m", model->string(), "-p",
                       "Write a haiku about GPU computing that includes the word \"forty-two\"",
                       "--require", "forty-two", "--seed", std::to_string(seed)});
        INFO(run.out << run.err);
        CHECK(run.status == 0);
        CHECK(run.out.find("forty-two") != std::string::npos);
    }
}

TEST_CASE("hokku run: a real model fills in a schema", "[cli][model]") {
    const auto model = find_model("qwen2");
    if (!model) return report_skip("no model qwen2");
    const std::string schema = R"({"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 40}, "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3}},
        "required": ["name", "age", "tags"], "additionalProperties": false})";
    for (int seed = 1; seed <= 5; ++seed) {
        const HokkuRun run =
            run_hokku({"run", "-m", model->string(), "-p", "Describe a person.", "--json-schema",
                       schema, "--seed", std::to_string(seed), "--temp", "1.5"});
        INFO(run.out << run.err);
        REQUIRE(run.status == 0);
        const json person = json::parse(run.out);
        CHECK(person.size() == 3);
        CHECK(person.at("name").is_string());
        CHECK(person.at("age").is_number_integer());
        CHECK(person.at("tags").is_array());
    }
}

TEST_CASE("hokku run: tools must be a list, and need a conversation", "[cli][quick]") {
    const TinyFile tiny;
    hokku::testing::write_file(tiny.folder / "object.json", "{}");
    hokku::testing::write_file(tiny.folder / "broken.json", "[");
    hokku::testing::write_file(tiny.folder / "none.json", "[]");
    const auto run = [&](const std::string& file, const std::vector<std::string>& prompt) {
        std::vector<std::string> all = {
            "run", "-m", tiny.path, "-n", "2", "--tools", (tiny.folder / file).string()};
        all.insert(all.end(), prompt.begin(), prompt.end());
        return run_hokku(all);
    };
    CHECK(run("none.json", {"-p", "Hi"}).status == 0);
    for (const char* file : {"object.json", "broken.json", "absent.json"}) {
        const HokkuRun refused = run(file, {"-p", "Hi"});
        INFO(refused.err);
        CHECK(refused.status != 0);
        CHECK(refused.err.find(file) != std::string::npos);
    }
    CHECK(run("none.json", {"--tokens", "1"}).status == 2);
    CHECK(run("none.json", {"-p", "Hi", "--raw"}).status == 2);
    CHECK(run_hokku({"run", "-p", "Hi", "--thought-budget", "-1"}).status == 2);
}

TEST_CASE("hokku run: a model's call is told as JSON", "[cli][model]") {
    const auto model = find_model("qwen2");
    if (!model) return report_skip("the qwen2 model is not here");
    const ScratchFolder folder;
    hokku::testing::write_file(folder / "tools.json", R"([{"type": "function", "function": {
        "name": "get_weather", "description": "Get the current weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}},
                       "required": ["city"]}}}])");
    const std::vector<std::string> arguments = {"run",
                                                "-m",
                                                model->string(),
                                                "--temp",
                                                "0",
                                                "-n",
                                                "60",
                                                "-p",
                                                "What is the weather in Paris?",
                                                "--tools",
                                                (folder / "tools.json").string()};
    const json line = json::parse(run_hokku(arguments).out);
    CHECK(line["tool_call"]["name"] == "get_weather");
    CHECK(line["tool_call"]["arguments"] == json({{"city", "Paris"}}));
    std::vector<std::string> with_json = arguments;
    with_json.push_back("--json");
    const json result = json::parse(run_hokku(with_json).out);
    CHECK(result["tool_calls"][0] == line["tool_call"]);
    CHECK(result["text"] == "");
}

TEST_CASE("hokku run: a form that is none is told before there is a model", "[cli][quick]") {
    const hokku::testing::ScratchFolder folder;
    hokku::testing::write_file(folder / "s.json", R"({"type": "string", "not": {}})");
    hokku::testing::write_file(folder / "g.gbnf", "root = 1");
    const std::string schema = (folder / "s.json").string(), grammar = (folder / "g.gbnf").string();
    struct Case {
        std::string option, value;
        int status;
        std::string words;
    };
    for (const Case& c :
         {Case{"--regex", "[", 2, "(--regex, line 1, column 1)"},
          Case{"--regex", "(?=a)b", 2, "a group \"(?=\" is not supported (--regex"},
          Case{"--regex", R"(\bcat)", 2, R"("\b" is not supported)"},
          Case{"--json-schema", R"({"type": "foo"})", 2, "(--json-schema, #/type)"},
          Case{"--json-schema", schema, 1, "keyword \"not\" is not supported (" + schema},
          Case{"--grammar", grammar, 1, "(" + grammar + ", line 1, column 6)"},
          Case{"--grammar", "no-such-file", 1, "a text with \"root ::=\""}}) {
        CAPTURE(c.option, c.value);
        const HokkuRun run =
            run_hokku({"run", "-m", "no-such-model", "-p", "x", c.option, c.value});
        INFO(run.err);
        CHECK(run.status == c.status);
        CHECK(run.err.find(c.words) != std::string::npos);
    }
    // What only the vocabulary tells is left to the model.
    const HokkuRun token =
        run_hokku({"run", "-m", "no-such-model", "-p", "x", "--grammar", "root ::= <[5]>"});
    CHECK(token.err.find("no-such-model") != std::string::npos);
}

TEST_CASE("hokku run: what a model takes no notice of is said", "[cli][quick]") {
    const hokku::testing::ScratchFolder folder;
    auto writer = hokku::testing::make_tiny_llama();
    writer.set_string("tokenizer.chat_template",
                      "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}"
                      "{% endfor %}");
    writer.write(folder / "plain.gguf");
    writer.remove("tokenizer.chat_template");
    writer.write(folder / "none.gguf");
    hokku::testing::write_file(folder / "tools.json",
                               R"([{"type": "function", "function": {"name": "f"}}])");
    const HokkuRun run =
        run_hokku({"run", "-m", (folder / "plain.gguf").string(), "-p", "a", "-n", "2", "--system",
                   "b", "--tools", (folder / "tools.json").string(), "--thought-budget", "5"});
    INFO(run.err);
    CHECK(run.status == 0);
    for (const char* words : {"template does not know tools", "not know system messages",
                              "--thought-budget has no effect"})
        CHECK(run.err.find(words) != std::string::npos);
    const HokkuRun chat = run_hokku(
        {"chat", "-m", (folder / "plain.gguf").string(), "-n", "2", "--system", "b"}, {.text = ""});
    CHECK(chat.err.find("not know system messages") != std::string::npos);
    for (const std::string command : {"run", "chat"}) {
        const HokkuRun none = run_hokku({command, "-m", (folder / "none.gguf").string(),
                                         command == "run" ? "-p" : "--first", "hi"});
        INFO(none.err);
        CHECK(none.status == 1);
        CHECK(none.err.find("hokku: the model has no chat template (") != std::string::npos);
        CHECK(none.err.find("hokku run --raw") != std::string::npos);
    }
}
