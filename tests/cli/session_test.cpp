// SPDX-License-Identifier: Apache-2.0
// hokku chat --session and hokku run --prompt-cache: what is kept between two runs.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "hokku/paths.h"
#include "run_hokku.h"
#include "support/catch.h"
#include "support/scratch_folder.h"
#include "support/tiny_model.h"

using namespace hokku::testing;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::string read_all(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Home {
    Home() { make_tiny_llama().write(folder / "tiny.gguf"); }
    [[nodiscard]] HokkuRun chat(const std::string& lines, const std::string& name,
                                std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments = {"chat", "-m",        (folder / "tiny.gguf").string(),
                                              "-n",   "6",         "--temp",
                                              "0",    "--session", name};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_hokku(arguments, {.text = lines, .home = folder.path().string()});
    }
    [[nodiscard]] fs::path context(const std::string& name) const {
        return folder.path() / "cache" / "chats" / (name + ".kv");
    }
    [[nodiscard]] fs::path conversation(const std::string& name) const {
        return folder.path() / "chats" / (name + ".json");
    }
    ScratchFolder folder;
};

}  // namespace

TEST_CASE("hokku chat --session: two runs say what one says", "[cli][quick]") {
    const Home home;
    const HokkuRun whole = home.chat("one\ntwo\nthree\n", "whole", {"--system", "Be brief"});
    REQUIRE(whole.status == 0);
    const HokkuRun first = home.chat("one\ntwo\n", "parts", {"--system", "Be brief"});
    INFO(first.err);
    REQUIRE(first.status == 0);
    REQUIRE(fs::exists(home.context("parts")));
    const HokkuRun second = home.chat("three\n", "parts");
    INFO(second.err);
    REQUIRE(second.status == 0);
    CHECK(second.err.empty());
    CHECK(first.out + "\n" + second.out == whole.out);
    CHECK(json::parse(read_all(home.conversation("parts"))) ==
          json::parse(read_all(home.conversation("whole"))));
    const json kept = json::parse(read_all(home.conversation("whole")));
    CHECK(kept["system"] == "Be brief");
    REQUIRE(kept["messages"].size() == 6);
    CHECK(kept["messages"][4]["content"] == "three");
}

TEST_CASE("hokku chat --session: a context that is gone, damaged or of another type costs no text",
          "[cli][quick]") {
    const Home home;
    const HokkuRun whole = home.chat("one\ntwo\n", "whole");
    const HokkuRun first = home.chat("one\n", "a");
    REQUIRE(first.status == 0);
    fs::copy_file(home.conversation("a"), home.folder / "a.json");
    const std::string context = read_all(home.context("a"));
    const auto second_answer = [&](std::vector<std::string> more = {}) {
        fs::remove(home.conversation("a"));
        fs::copy_file(home.folder / "a.json", home.conversation("a"));
        return home.chat("two\n", "a", std::move(more));
    };
    fs::remove(home.context("a"));
    HokkuRun second = second_answer();
    CHECK(second.status == 0);
    CHECK(first.out + "\n" + second.out == whole.out);
    std::ofstream(home.context("a"), std::ios::binary) << context.substr(0, context.size() / 2);
    second = second_answer();
    CHECK(second.err.find("read again") != std::string::npos);
    CHECK(first.out + "\n" + second.out == whole.out);
    second = second_answer({"--kv-type", "f16"});
    CHECK(second.status == 0);
    CHECK(second.err.find("type f32") != std::string::npos);
    // No room is room for none.
    second = second_answer({"--session-cache", "0"});
    CHECK(second.status == 0);
    CHECK_FALSE(fs::exists(home.context("a")));
}

TEST_CASE("hokku chat --session: names and files that are none", "[cli][quick]") {
    const Home home;
    for (const char* name : {"../a", "a/b", "", ".", "CON", "a\nb"}) {
        INFO(name);
        const HokkuRun run = home.chat("x\n", name);
        CHECK(run.status == 2);
    }
    CHECK_FALSE(fs::exists(home.folder.path().parent_path() / "a.json"));
    REQUIRE(home.chat("x\n", "a").status == 0);
    // What the file holds, and what the message must say of it.
    const std::vector<std::pair<std::string, std::string>> files = {
        {"", "the file is empty"},
        {"{", "not valid JSON: column 2"},
        {"{\n \"messages\": [\n  x]}", "line 3, column 3"},
        {"[]", "\"messages\""},
        {"{}", "\"messages\""},
        {R"({"messages": 1})", "\"messages\" is no list"},
        {R"({"messages": [{}]})", "messages[0] has no text under \"role\""},
        {R"({"messages": [{"role": 1, "content": "x"}]})", "\"role\""},
        {R"({"messages": [{"role": "narrator", "content": "x"}]})",
         "the unknown role \"narrator\""},
        {R"({"messages": [{"role": "user", "content": "x", "time": 1}]})", "\"time\""},
        {R"({"messages": [], "context": [1]})", "context[0]"},
        {R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
             "context": []})",
         "does not end as"},
        {R"({"messages": [], "title": "x"})", "\"title\""},
        {R"({"system": 1, "messages": []})", "\"system\""}};
    for (const auto& [text, words] : files) {
        INFO(text);
        std::ofstream(home.conversation("a"), std::ios::binary) << text;
        const HokkuRun run = home.chat("x\n", "a");
        CHECK(run.status == 1);
        CHECK(run.err.find("a.json") != std::string::npos);
        CHECK(run.err.find(words) != std::string::npos);
        CHECK(run.err.find("another --session name") != std::string::npos);
        CHECK(run.err.find("syntax") == std::string::npos);
        CHECK(read_all(home.conversation("a")) == text);
    }
}

TEST_CASE("hokku chat --session: the context is kept as the next message will begin",
          "[cli][quick]") {
    const Home home;
    // What a budget of no thoughts changes stands in front of everything.
    GgufWriter writer = make_tiny_llama();
    writer.remove("tokenizer.chat_template");
    writer.set_string("tokenizer.chat_template",
                      "{% if enable_thinking is false %}[brief]{% endif %}"
                      "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n"
                      "{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}");
    writer.write(home.folder / "tiny.gguf");
    const std::vector<std::string> more = {"--thought-budget", "0"};
    const HokkuRun whole = home.chat("one\ntwo\n", "whole", more);
    REQUIRE(whole.status == 0);
    const HokkuRun first = home.chat("one\n", "parts", more);
    CHECK(first.err.empty());
    REQUIRE(fs::exists(home.context("parts")));
    const HokkuRun second = home.chat("two\n", "parts", more);
    CHECK(second.err.empty());
    CHECK(first.out + "\n" + second.out == whole.out);
}

TEST_CASE("hokku chat --session: a context that has grown is there again", "[cli][quick]") {
    const Home home;
    const std::vector<std::string> more = {"-c", "64", "--overflow", "grow"};
    const std::string line(80, 'x');
    const HokkuRun first = home.chat(line + "\n", "parts", more);
    INFO(first.err);
    REQUIRE(first.status == 0);
    const HokkuRun second = home.chat("two\n", "parts", more);
    INFO(second.err);
    REQUIRE(second.status == 0);
    CHECK(second.err.find("read again") == std::string::npos);
    CHECK(home.chat(line + "\ntwo\n", "whole", more).out == first.out + "\n" + second.out);
    // A context that does not grow has no place for it.
    CHECK(home.chat("three\n", "parts", {"-c", "64"}).err.find("read again") != std::string::npos);
}

TEST_CASE("hokku chat --session: what is not saved is said, and is a failure", "[cli][quick]") {
    const Home home;
    REQUIRE(home.chat("one\n", "a").status == 0);
    // Nothing can be written there.
    fs::path part = home.conversation("a");
    part += ".part";
    fs::create_directory(part);
    const HokkuRun run = home.chat("two\nthree\n", "a");
    CHECK(run.status == 1);
    CHECK_FALSE(run.out.empty());
    const size_t said = run.err.find("the conversation is not saved: ");
    CHECK(said != std::string::npos);
    CHECK(run.err.find("the conversation is not saved: ", said + 1) == std::string::npos);
    CHECK(json::parse(read_all(home.conversation("a")))["messages"].size() == 2);
}

TEST_CASE("hokku chat --session: without a folder for the cache the chat goes on", "[cli][quick]") {
    const Home home;
    std::ofstream(home.folder / "cache") << "a file";
    const HokkuRun run = home.chat("one\n", "a");
    INFO(run.err);
    CHECK(run.status == 0);
    CHECK(run.err.find("the folder for saved chats cannot be made") != std::string::npos);
    CHECK(json::parse(read_all(home.conversation("a")))["messages"].size() == 2);
    CHECK(home.chat("two\n", "a").status == 0);
    CHECK(read_all(home.folder / "cache") == "a file");
}

TEST_CASE("hokku chat --session: what is forgotten is not there again", "[cli][quick]") {
    const Home home;
    REQUIRE(home.chat("one\n", "a").status == 0);
    REQUIRE(fs::exists(home.context("a")));
    const HokkuRun reset = home.chat("/reset\n", "a");
    REQUIRE(reset.status == 0);
    CHECK(reset.err.find("not saved") == std::string::npos);
    CHECK_FALSE(fs::exists(home.context("a")));
    CHECK(json::parse(read_all(home.conversation("a")))["messages"].empty());
    REQUIRE(home.chat("one\n/system Be brief.\n", "a").status == 0);
    const json kept = json::parse(read_all(home.conversation("a")));
    CHECK(kept["messages"].empty());
    CHECK(kept["system"] == "Be brief.");
    CHECK(home.chat("two\n", "a").status == 0);
}

TEST_CASE("hokku chat --session: a message that was not answered is not lost", "[cli][quick]") {
    const Home home;
    fs::create_directories(home.conversation("a").parent_path());
    std::ofstream(home.conversation("a"))
        << R"({"system": "", "messages": [{"role": "user", "content": "one"}]})";
    const HokkuRun more = home.chat("two\n", "a");
    CHECK(more.status == 0);
    CHECK(more.err.find("/again answers it") != std::string::npos);
    const json kept = json::parse(read_all(home.conversation("a")));
    REQUIRE(kept["messages"].size() == 2);
    CHECK(kept["messages"][0]["content"] == "one\n\ntwo");
    // An answer that fails changes nothing.
    const std::string before = read_all(home.conversation("a"));
    CHECK(home.chat("/again\n", "a", {"-c", "8"}).status == 1);
    CHECK(read_all(home.conversation("a")) == before);
}

TEST_CASE("hokku run --prompt-cache: a prompt is evaluated once", "[cli][quick]") {
    const Home home;
    const fs::path file = home.folder / "prompt.kv";
    const std::string path = hokku::path_utf8(file);
    const std::string prompt(100, 'x');
    const auto run = [&](const std::string& text, std::vector<std::string> more = {}) {
        std::vector<std::string> arguments = {
            "run",   "-m",     (home.folder / "tiny.gguf").string(),
            "--raw", "-p",     text,
            "-n",    "5",      "--temp",
            "0",     "--json", "--prompt-cache",
            path};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_hokku(arguments, {.home = home.folder.path().string()});
    };
    const HokkuRun first = run(prompt);
    INFO(first.err);
    REQUIRE(first.status == 0);
    const json begun = json::parse(first.out);
    CHECK(begun["stats"]["cached_tokens"] == 0);
    const json again = json::parse(run(prompt).out);
    CHECK(again["stats"]["cached_tokens"].get<int>() > 80);
    CHECK(again["tokens"] == begun["tokens"]);

    const std::string kept = read_all(file);
    const json longer = json::parse(run(prompt + " and more", {"--prompt-cache-ro"}).out);
    CHECK(longer["stats"]["cached_tokens"].get<int>() > 80);
    CHECK(read_all(file) == kept);
    // Another prompt uses what it has in common: the start.
    CHECK(json::parse(run("y").out)["stats"]["cached_tokens"].get<int>() <= 1);
    std::ofstream(file, std::ios::binary) << kept.substr(0, kept.size() / 2);
    const HokkuRun broken = run(prompt);
    CHECK(broken.status == 0);
    CHECK(broken.err.find("read again") != std::string::npos);
    CHECK(json::parse(broken.out)["tokens"] == begun["tokens"]);
    // What was computed otherwise is not used.
    const json exact = json::parse(run(prompt, {"--exact", "--prompt-cache-ro"}).out);
    CHECK(exact["stats"]["cached_tokens"] == 0);
    CHECK(run_hokku({"run", "-p", "x", "--prompt-cache-ro"}).status == 2);
}

TEST_CASE("hokku run --prompt-cache: what is no saved chat is refused and stays", "[cli][quick]") {
    const Home home;
    const fs::path path = home.folder / "precious.txt", part = home.folder / "precious.txt.part";
    const auto run = [&](std::vector<std::string> more = {}) {
        std::vector<std::string> arguments = {
            "run",        "-m", (home.folder / "tiny.gguf").string(),
            "--raw",      "-p", "x",
            "-n",         "2",  "--prompt-cache",
            path.string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_hokku(arguments, {.home = home.folder.path().string()});
    };
    for (const fs::path& file : {path, part}) {
        std::ofstream(file) << "precious";
        const HokkuRun refused = run();
        CHECK(refused.status == 1);
        CHECK(refused.out.empty());
        CHECK(refused.err.find(file.string()) != std::string::npos);
        CHECK(read_all(file) == "precious");
        fs::remove(file);
    }
    const HokkuRun nowhere = run_hokku({"run", "-m", "no-such-model", "-p", "x", "--prompt-cache",
                                        (home.folder / "no" / "x.kv").string()});
    CHECK(nowhere.status == 1);
    CHECK(nowhere.err.find("there is no such folder (--prompt-cache in " +
                           (home.folder / "no").string()) != std::string::npos);
    std::ofstream(path) << "precious";
    CHECK(run({"--prompt-cache-ro"}).status == 0);
    CHECK(read_all(path) == "precious");
    fs::remove(path);
    CHECK(run().status == 0);
    CHECK(run().status == 0);
}

TEST_CASE("hokku chat --overflow: says what is left out, and keeps the rest", "[cli][quick]") {
    const Home home;
    const std::string lines = "one two three four\nfive six seven eight\nnine ten\neleven\n";
    const auto chat = [&](const std::string& how, const std::string& name) {
        return home.chat(lines, name, {"-c", "64", "--overflow", how});
    };
    const HokkuRun dropped = chat("drop_oldest", "a");
    INFO(dropped.err);
    CHECK(dropped.status == 0);
    CHECK(dropped.err.find("the oldest ") != std::string::npos);
    CHECK(dropped.err.find(" left out") != std::string::npos);
    CHECK(dropped.err.find("\"one two three four\"") != std::string::npos);
    const json kept = json::parse(read_all(home.conversation("a")));
    CHECK(kept["messages"].size() == 8);
    REQUIRE(kept.contains("context"));
    CHECK(kept["context"].size() < 8);
    CHECK(kept["context"].back() == kept["messages"].back());
    // Goes on from there.
    const HokkuRun next = home.chat("twelve\n", "a", {"-c", "64"});
    CHECK(next.status == 0);
    CHECK(next.err.find("read again") == std::string::npos);
    CHECK(json::parse(read_all(home.conversation("a")))["messages"].size() == 10);

    const HokkuRun stopped = chat("stop", "b");
    CHECK(stopped.status == 1);
    CHECK(stopped.err.find("the context holds 64") != std::string::npos);
    const HokkuRun grown = chat("grow", "c");
    INFO(grown.err);
    CHECK(grown.status == 0);
    CHECK(grown.err.find("left out") == std::string::npos);
    const HokkuRun roomy = home.chat(lines, "d", {"-c", "256"});
    CHECK(grown.out == roomy.out);
    CHECK(chat("forget", "e").status == 2);

    // Beside what stays there is no room for a summary: that is said.
    const HokkuRun summarised = chat("summarise", "f");
    INFO(summarised.err);
    CHECK(summarised.status == 0);
    CHECK((summarised.err.find("left out, without a summary") != std::string::npos ||
           summarised.err.find("summarised: ") != std::string::npos));
}

TEST_CASE("hokku chat: says whether a chat goes on whose context is full", "[cli][quick]") {
    const Home home;
    const auto chat = [&](const std::string& how) {
        // Never ends by itself: 260 is the end.
        return run_hokku({"chat", "-m", (home.folder / "tiny.gguf").string(), "-c", "64",
                          "--logit-bias", "260=-inf", "--overflow", how},
                         {.text = "one\ntwo\n", .home = home.folder.path().string()});
    };
    const HokkuRun dropping = chat("drop_oldest"), stopping = chat("stop");
    CHECK(dropping.err.find("cut off where the context is full; the chat goes on") !=
          std::string::npos);
    CHECK(dropping.err.find("/reset") == std::string::npos);
    CHECK(stopping.err.find("the context is full; /reset starts a new conversation") !=
          std::string::npos);
}

TEST_CASE("hokku run --overflow grow: writes to the end of the model's own context",
          "[cli][quick]") {
    const Home home;
    const auto run = [&](const std::string& how, const std::string& context) {
        return json::parse(run_hokku({"run", "-m", (home.folder / "tiny.gguf").string(), "--tokens",
                                      "10,20,30", "--temp", "0", "--json", "-c", context,
                                      "--logit-bias", "260=-inf", "--overflow", how})
                               .out);
    };
    const json whole = run("stop", "256");
    CHECK(whole["stop_reason"] == "context_full");
    CHECK(whole["tokens"].size() == 254);
    CHECK(run("stop", "64")["tokens"].size() == 62);
    const json grown = run("grow", "64");
    CHECK(grown["stop_reason"] == "context_full");
    CHECK(grown["tokens"] == whole["tokens"]);
    CHECK(grown["notice"].get<std::string>().find("up to 256 tokens") != std::string::npos);
}
