// SPDX-License-Identifier: Apache-2.0
// The format of a reply is found from the template, and says what it was found by.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "support/catch.h"
#include "support/golden.h"
#include "text/reply/reply_format.h"

using namespace hokku;
using namespace hokku::reply;

namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// By the name of the template file; those not here are not looked at.
const std::map<std::string, std::pair<std::string, bool>> kKnown = {
    {"Apertus-8B-Instruct", {"apertus", true}},
    {"Apriel-1.6-15b-Thinker-fixed", {"tool-calls", true}},
    {"Bielik-11B-v3.0-Instruct", {"hermes", true}},
    {"ByteDance-Seed-OSS", {"seed-oss", true}},
    {"Cohere2MoE", {"command-r7b", true}},
    {"CohereForAI-c4ai-command-r-plus-tool_use", {"command-r", false}},
    {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", {"command-r7b", true}},
    {"GLM-4.6", {"glm", true}},
    {"GigaChat3-10B-A1.8B", {"gigachat", false}},
    {"GigaChat3.1-10B-A1.8B", {"gigachat", false}},
    {"HuggingFaceTB-SmolLM3-3B", {"thoughts", true}},
    {"Kimi-K2-Instruct", {"kimi-k2", false}},
    {"Kimi-K2-Thinking", {"kimi-k2", true}},
    {"Kimi-K3", {"kimi-k3", true}},
    {"LFM2-8B-A1B", {"lfm2", false}},
    {"LFM2.5-8B-A1B", {"lfm2", true}},
    {"LFM2.5-Instruct", {"lfm2", true}},
    {"MiniMax-M1", {"tool-calls", false}},
    {"MiniMax-M2", {"minimax-m2", true}},
    {"MiniMax-M3", {"minimax-m3", true}},
    {"Mistral-Small-3.2-24B-Instruct-2506", {"mistral", false}},
    {"NVIDIA-Nemotron-Nano-v2", {"nemotron", true}},
    {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", {"hermes", false}},
    {"Qwen-Qwen2.5-7B-Instruct", {"hermes", false}},
    {"Qwen-Qwen3-0.6B", {"hermes", true}},
    {"Qwen3-Coder", {"qwen-coder", false}},
    {"Qwen3.5-4B", {"qwen-coder", true}},
    {"Reka-Edge", {"hermes", true}},
    {"Spark2.5", {"glm", true}},
    {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", {"deepseek", true}},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", {"deepseek", true}},
    {"deepseek-ai-DeepSeek-V3.1", {"deepseek", true}},
    {"deepseek-ai-DeepSeek-V3.2", {"deepseek-dsml", true}},
    {"deepseek-ai-DeepSeek-V4", {"deepseek-dsml", true}},
    {"fireworks-ai-llama-3-firefunction-v2", {"firefunction", false}},
    {"gguf-SmolLM2-135M-Instruct.Q4_1", {"plain", false}},
    {"google-gemma-2-2b-it", {"plain", false}},  // no architecture is given here
    {"google-gemma-4-31B-it-interleaved", {"gemma-4", true}},
    {"ibm-granite-granite-4.0", {"hermes", false}},
    {"inclusionai-ling-3.0-flash", {"glm", true}},
    {"llama-cpp-deepseek-r1", {"deepseek", true}},
    {"meetkai-functionary-medium-v3.1", {"functionary-3.1", false}},
    {"meta-llama-Llama-3.1-8B-Instruct", {"llama-3", false}},
    {"microsoft-Phi-3.5-mini-instruct", {"plain", false}},
    {"mistralai-Ministral-3-14B-Reasoning-2512", {"mistral", true}},
    {"openai-gpt-oss-120b", {"harmony", true}},
    {"openbmb-MiniCPM5-1B", {"minicpm-5", true}},
    {"poolside-Laguna-S-2.1", {"glm", true}},
    {"poolside-Laguna-XS-2.1", {"glm", true}},
    {"poolside-Laguna-XS.2", {"glm", true}},
    {"tencent-Hy3", {"hunyuan-3", true}},
    {"unsloth-Apriel-1.5", {"tool-calls", true}},
};

}  // namespace

TEST_CASE("ReplyFormat: real templates are known by their markers", "[text][reply][quick]") {
    const auto folder = hokku::testing::find_golden("templates/visible");
    if (!folder) return hokku::testing::report_skip("golden templates are not there");
    size_t num_templates = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(*folder)) {
        const auto known = kKnown.find(entry.path().stem().string());
        if (entry.path().extension() != ".jinja" || known == kKnown.end()) continue;
        INFO(known->first);
        const std::string source = read_file(entry.path());
        const ReplyFormat format = find_reply_format({.template_source = source});
        CHECK(format.name == known->second.first);
        CHECK(format.info().has_thoughts == known->second.second);
        CHECK_FALSE(format.evidence.empty());
        ++num_templates;
    }
    CHECK(num_templates == kKnown.size());
}

TEST_CASE("ReplyFormat: says where it was read", "[text][reply][quick]") {
    const auto found = [](std::string_view source, std::string_view architecture = "") {
        return find_reply_format({.template_source = source, .architecture = architecture});
    };
    CHECK(found("").evidence == "the model has no chat template");
    CHECK(found("{{ messages }}").evidence == "no known marker in the chat template");
    CHECK(found("{{ messages }}").name == "plain");
    CHECK(found("..<tool_call>..</think>").evidence ==
          "chat template: '<tool_call>'; thoughts: '</think>'");
    CHECK(found("..</think>").evidence == "chat template: '</think>'");
    CHECK(found("..</think>").name == "thoughts");
    CHECK(found("<start_of_turn>", "gemma3").evidence ==
          "chat template: '<start_of_turn>'; architecture gemma3");
    CHECK(found("<start_of_turn>", "llama").name == "plain");
    CHECK(found("<tool_call>").info().has_tool_calls);
    CHECK_FALSE(found("<tool_call>").info().has_thoughts);
}
