// SPDX-License-Identifier: Apache-2.0
// logits, perplexity and bench.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_hokku.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/tiny_model.h"

using hokku::testing::find_golden;
using hokku::testing::find_model;
using hokku::testing::HokkuRun;
using hokku::testing::make_tiny_llama;
using hokku::testing::report_skip;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;
using hokku::testing::TinyLlama;
using nlohmann::json;

TEST_CASE("hokku logits: positions, chosen ids and residuals", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    const std::string model = (folder / "tiny.gguf").string();
    const HokkuRun run =
        run_hokku({"logits", "-m", model, "--tokens", "10,20,30", "--exact", "--all", "--top",
                   "261", "--ids", "0,7,260", "--hidden", "--stages"});
    INFO(run.err);
    REQUIRE(run.status == 0);
    const json result = json::parse(run.out);
    REQUIRE(result["positions"].size() == 3);
    for (size_t index = 0; index < 3; ++index) {
        const json& position = result["positions"][index];
        CHECK(position["index"] == index);
        REQUIRE(position["top"].size() == TinyLlama::kNumVocab);
        CHECK(position["top"][0][0] == position["argmax"]);
        REQUIRE(position["logits"].size() == 3);
        double sum = 0;
        for (const json& pair : position["top"]) {
            sum += std::exp(pair[1].get<double>());
            if (pair[0] == 7) CHECK(pair[1] == position["logits"][1]);
        }
        CHECK(position["logsumexp"].get<double>() == Approx(std::log(sum)).epsilon(1e-9));
    }
    // The embedding, and each layer: the last one after the final norm.
    REQUIRE(result["hidden"].size() == 1 + TinyLlama::kLayers);
    for (const json& values : result["hidden"]) CHECK(values.size() == TinyLlama::kDim);
    CHECK(result["stages"]["layer0.q"].size() == TinyLlama::kHeads * TinyLlama::kHeadDim);

    const json last = json::parse(
        run_hokku({"logits", "-m", model, "--tokens", "10,20,30", "--exact", "--ids", "0,7,260"})
            .out);
    REQUIRE(last["positions"].size() == 1);
    CHECK(last["positions"][0]["index"] == 2);
    CHECK(last["positions"][0]["logits"] == result["positions"][2]["logits"]);
    CHECK(!last.contains("hidden"));
    CHECK(!last.contains("stages"));
    CHECK(run_hokku({"logits", "-m", model, "--tokens", "1", "--ids", "261"}).status == 2);
    CHECK(run_hokku({"logits", "-m", model, "--tokens", "x"}).status == 2);
    CHECK(run_hokku({"logits", "-m", model}).status == 2);
}

TEST_CASE("hokku logits: the exact path equals the reference on real models", "[cli][model]") {
    for (const std::string name : {"smollm2", "qwen2", "gemma3"}) {
        const auto model = find_model(name);
        if (!model) return report_skip("no model " + name);
        const auto golden = find_golden("real/" + name + "/visible.json");
        if (!golden) return report_skip("no golden logits of " + name);
        std::ifstream stream(*golden);
        const json reference = json::parse(stream)["cases"][0];
        const HokkuRun run =
            run_hokku({"logits", "-m", model->string(), "--tokens", reference["tokens"].dump(),
                       "--exact", "--hidden", "--ids", reference["last_sample_ids"].dump()});
        REQUIRE(run.status == 0);
        const json result = json::parse(run.out);
        const json& position = result["positions"][0];
        CHECK(position["argmax"] == reference["argmax"].back());
        for (size_t i = 0; i < position["logits"].size(); ++i) {
            CHECK(std::abs(position["logits"][i].get<double>() -
                           reference["last_sample"][i].get<double>()) < 0.01);
        }
        REQUIRE(result["hidden"].size() == reference["hidden_last"].size());
        for (size_t i = 0; i < result["hidden"].size(); ++i) {
            double difference = 0, largest = 0;
            for (size_t j = 0; j < result["hidden"][i].size(); ++j) {
                const double expected = reference["hidden_last"][i][j].get<double>();
                largest = std::max(largest, std::abs(expected));
                difference =
                    std::max(difference, std::abs(result["hidden"][i][j].get<double>() - expected));
            }
            CHECK(difference < 1e-3 * largest);
        }
    }
}

TEST_CASE("hokku perplexity: the mean over the text equals that of its logits", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    hokku::testing::write_file(folder / "text", "xyz");
    const std::string model = (folder / "tiny.gguf").string();
    const HokkuRun run = run_hokku(
        {"perplexity", "-m", model, "-f", (folder / "text").string(), "--exact", "--json"});
    INFO(run.err);
    REQUIRE(run.status == 0);
    const json result = json::parse(run.out);

    std::string ids = run_hokku({"tokenize", "-m", model}, {.text = "xyz"}).out;
    const json logits = json::parse(
        run_hokku({"logits", "-m", model, "--tokens", ids, "--exact", "--all", "--ids", ids}).out);
    REQUIRE(logits["positions"].size() == 3);
    double nll = 0;
    for (size_t i = 0; i < 2; ++i) {
        const json& position = logits["positions"][i];
        nll += position["logsumexp"].get<double>() - position["logits"][i + 1].get<double>();
    }
    CHECK(result["tokens"] == 2);
    CHECK(result["mean_nll"].get<double>() == Approx(nll / 2).epsilon(1e-5));
    CHECK(result["perplexity"].get<double>() == Approx(std::exp(nll / 2)).epsilon(1e-5));
    CHECK(run_hokku({"perplexity", "-m", model}).status == 2);
    CHECK(run_hokku({"perplexity", "-m", model, "-f", "/no/such"}).status == 1);
}

TEST_CASE("hokku bench: the JSON has every key of the contract", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    const HokkuRun run = run_hokku({"bench", "-m", (folder / "tiny.gguf").string(), "-p", "16",
                                    "-n", "4", "-r", "1", "--json"});
    INFO(run.err);
    REQUIRE(run.status == 0);
    const json result = json::parse(run.out);
    for (const char* key :
         {"prefill_tok_s", "decode_tok_s", "load_s", "peak_memory_mb", "bytes_per_token",
          "read_bandwidth_gb_s", "share_of_bandwidth", "threads"}) {
        INFO(key);
        REQUIRE(result.contains(key));
        CHECK(result[key].get<double>() > 0);
    }
    CHECK(result["device"].is_string());
    CHECK_FALSE(result["kernels"].get<std::string>().empty());
    CHECK_FALSE(result.contains("driver"));
    CHECK_FALSE(result.contains("sequences"));
}

TEST_CASE("hokku bench: several sequences decode together", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    const HokkuRun run = run_hokku({"bench", "-m", (folder / "tiny.gguf").string(), "-p", "16",
                                    "-n", "4", "-r", "1", "--sequences", "3", "--json"});
    INFO(run.err);
    REQUIRE(run.status == 0);
    const json result = json::parse(run.out);
    CHECK(result["sequences"] == 3);
    const double one = result["decode_tok_s"], all = result["batched_decode_tok_s"];
    CHECK(all > 0);
    CHECK(result["batched_step_ratio"].get<double>() == Approx(3 * one / all));
}

TEST_CASE("hokku bench: a draft model is timed on what the model says itself", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    const std::string model = (folder / "tiny.gguf").string();
    const auto bench = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"bench", "-m", model, "-p", "8", "-r", "1"});
        return run_hokku(more);
    };
    const HokkuRun run = bench({"-n", "24", "--draft-model", model, "--draft-max", "3", "--json"});
    INFO(run.err);
    REQUIRE(run.status == 0);
    const json result = json::parse(run.out);
    CHECK(result["draft_model"].get<std::string>().size() > 0);
    CHECK(result["text_decode_tok_s"].get<double>() > 0);
    CHECK(result["drafted_decode_tok_s"].get<double>() > 0);
    CHECK(result["decode_tok_s"].get<double>() > 0);
    // The model guesses for itself, so that what it guesses is right.
    CHECK(result["guessed_tokens"] == result["right_guesses"]);

    const json plain = json::parse(bench({"-n", "4", "--json"}).out);
    for (const char* key : {"draft_model", "text_decode_tok_s", "guessed_tokens"})
        CHECK_FALSE(plain.contains(key));
    const std::string rows = bench({"-n", "24", "--draft-model", model}).out;
    CHECK(rows.find("says itself") != std::string::npos);
    CHECK(rows.find("guesses") != std::string::npos);

    CHECK(bench({"-n", "1", "--draft-model", model}).status == 2);
    CHECK(bench({"--draft-max", "3"}).status == 2);
    // Room for the fixed tokens, but none for the question.
    const HokkuRun narrow = bench({"-n", "24", "-c", "40", "--draft-model", model});
    CHECK(narrow.status == 2);
    CHECK(narrow.err.find("a context of at least") != std::string::npos);
    CHECK(bench({"-n", "4", "--draft-model", "/nowhere/at-all"}).status == 1);
}

TEST_CASE("hokku bench: --tp splits the model and shows the bytes of each rank", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    const auto bench = [&](const std::string& ranks) {
        return run_hokku({"bench", "-m", (folder / "tiny.gguf").string(), "-p", "16", "-n", "2",
                          "-r", "1", "-t", "1", "--tp", ranks, "--json"});
    };
    // A layer: q and output, k and v, three of the FFN; table and head of 261 tokens, five norms.
    constexpr uint64_t kDim = TinyLlama::kDim, kHidden = TinyLlama::kHidden;
    constexpr uint64_t kLayer = 2 * kDim * kDim + 2 * kDim * kDim / 2 + 3 * kDim * kHidden;
    constexpr uint64_t kNorms = 5 * kDim;
    for (const uint64_t num_ranks : {uint64_t{1}, uint64_t{2}}) {
        const HokkuRun run = bench(std::to_string(num_ranks));
        INFO(run.err);
        REQUIRE(run.status == 0);
        const json result = json::parse(run.out);
        CHECK(result["ranks"] == num_ranks);
        CHECK(result["threads"] == num_ranks);  // at least one each
        REQUIRE(result["rank_weight_bytes"].size() == num_ranks);
        // The first of two has 131 of the tokens.
        const uint64_t num_tokens = num_ranks == 1 ? 261 : 131;
        CHECK(result["rank_weight_bytes"][0] ==
              4 * (2 * kLayer / num_ranks + 2 * num_tokens * kDim + kNorms));
    }
    const HokkuRun refused = bench("5");
    CHECK(refused.status == 1);
    CHECK(refused.err.find("5 ranks") != std::string::npos);
    CHECK(refused.err.find("4 heads") != std::string::npos);
    for (const char* wrong : {"0", "65", "-1", "x"}) CHECK(bench(wrong).status == 2);
}

TEST_CASE("hokku logits: --tp gives the logits, residuals and stages of one rank", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    const auto logits = [&](const char* ranks) {
        const HokkuRun run =
            run_hokku({"logits", "-m", (folder / "tiny.gguf").string(), "--tokens", "9,8,7,6",
                       "--exact", "--top", "20", "--hidden", "--stages", "--tp", ranks});
        INFO(run.err);
        REQUIRE(run.status == 0);
        return json::parse(run.out);
    };
    const json one = logits("1");
    for (const char* ranks : {"2", "3", "4"}) {
        const json split = logits(ranks);
        CHECK(split["positions"][0]["argmax"] == one["positions"][0]["argmax"]);
        for (size_t i = 0; i < 20; ++i)
            CHECK(split["positions"][0]["top"][i][1].get<double>() ==
                  Approx(one["positions"][0]["top"][i][1].get<double>()).margin(1e-4));
        REQUIRE(split["hidden"].size() == one["hidden"].size());
        REQUIRE(split["stages"].size() == one["stages"].size());
        for (const auto& [name, values] : one["stages"].items()) {
            INFO(name);
            REQUIRE(split["stages"][name].size() == values.size());
            for (size_t i = 0; i < values.size(); ++i)
                CHECK(split["stages"][name][i].get<double>() ==
                      Approx(values[i].get<double>()).margin(1e-4));
        }
    }
}

TEST_CASE("hokku run: --tp writes the text of one rank", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    const auto text = [&](const char* ranks) {
        const HokkuRun run =
            run_hokku({"run", "-m", (folder / "tiny.gguf").string(), "--tokens", "9,8,7,6",
                       "--temp", "0", "-n", "30", "--exact", "--json", "--tp", ranks});
        INFO(run.err);
        REQUIRE(run.status == 0);
        return json::parse(run.out)["tokens"];
    };
    const json one = text("1");
    CHECK(text("2") == one);
    CHECK(text("4") == one);
}

TEST_CASE("hokku bench: --kv-type chooses how the context is kept", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    const auto bench = [&](const std::string& type) {
        return run_hokku({"bench", "-m", (folder / "tiny.gguf").string(), "-p", "70", "-n", "2",
                          "-r", "1", "--kv-type", type, "--json"});
    };
    // Two blocks of 64 positions and one for copies; a head has 8 dimensions, in values room
    // for 16.
    constexpr uint64_t kHeads = uint64_t{TinyLlama::kLayers} * TinyLlama::kKvHeads * 3 * 64;
    const std::vector<std::pair<std::string, uint64_t>> cases = {
        {"f32", kHeads * (8 + 8) * 4},
        {"f16", kHeads * (8 + 16) * 2},
        {"q8_0", kHeads * 28},
        // A group of 32 has 16 bytes and a scale, however few dimensions it has.
        {"q4_0", kHeads * (16 + 2) * 2}};
    for (const auto& [type, bytes] : cases) {
        const HokkuRun run = bench(type);
        INFO(type << " " << run.err);
        REQUIRE(run.status == 0);
        const json result = json::parse(run.out);
        CHECK(result["kv_type"] == type);
        CHECK(result["kv_bytes"] == bytes);
    }
    for (const char* wrong : {"q4_1", "", "F16", "f32,f16"}) CHECK(bench(wrong).status == 2);
}
