// SPDX-License-Identifier: Apache-2.0
// The table of architectures: the one list that a new one is entered in.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/try.h"
#include "base/utf8.h"
#include "model/arch/declaration.h"

namespace hokku::arch {

namespace {

constexpr Architecture kArchitectures[] = {
    {"llama", declare_llama},
    {"mistral3", declare_mistral3},
    {"qwen2", declare_qwen2},
    {"qwen2moe", declare_qwen2moe},
    {"qwen3", declare_qwen3},
    {"qwen3moe", declare_qwen3moe},
    {"gemma", declare_gemma},
    {"gemma2", declare_gemma2},
    {"gemma3", declare_gemma3},
    {"phi2", declare_phi2},
    {"phi3", declare_phi3},
    {"granite", declare_granite},
    {"granitemoe", declare_granite},
    {"olmo2", declare_olmo2},
    {"olmoe", declare_olmoe},
    {"smollm3", declare_smollm3},
    {"gpt-oss", declare_gptoss},
    {"glm4", declare_glm4},
    {"glm4moe", declare_glm4moe},
    {"command-r", declare_cohere},
    {"cohere2", declare_cohere2},
    {"ernie4_5", declare_ernie45},
    {"ernie4_5-moe", declare_ernie45},
    {"exaone4", declare_exaone4},
    {"seed_oss", declare_seed_oss},
    {"hunyuan-dense", declare_hunyuan},
    {"apertus", declare_apertus},
    {"arcee", declare_arcee},
    {"nemotron", declare_nemotron},
    {"starcoder2", declare_starcoder2},
    {"stablelm", declare_stablelm},
    {"gptneox", declare_gptneox},
    {"gpt2", declare_gpt2},
};

}  // namespace

std::span<const Architecture> architectures() {
    return kArchitectures;
}

Result<Declaration> declare(const GgufFile& file) {
    const GgufMetadata& metadata = file.metadata();
    HOKKU_TRY(const std::string_view name, metadata.require_string("general.architecture"));
    for (const Architecture& architecture : kArchitectures) {
        if (architecture.name != name) continue;
        Hparams keys(file, name);
        Declaration declaration = architecture.declare(keys);
        if (keys.error()) return *keys.error();
        return declaration;
    }
    std::vector<std::string_view> names;
    for (const Architecture& architecture : kArchitectures) names.push_back(architecture.name);
    // The name comes from the file: a hostile one must not fill or control a terminal.
    return Error{ErrorCode::unsupported,
                 fmt::format("the architecture \"{}\" is not supported", to_printable(name, 64)),
                 fmt::format("{}, key general.architecture", metadata.file_name()),
                 fmt::format("one of {}", fmt::join(names, ", "))};
}

}  // namespace hokku::arch
