// SPDX-License-Identifier: Apache-2.0
// Sources: the pre_tokenizer sections of the models' published tokenizer.json files; the names are
// those that GGUF converters write (llama.cpp, convert_hf_to_gguf.py).
#include "text/tokenizer/pre_tokenizer_families.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace hokku {
namespace {

using Pattern = std::string_view;

constexpr std::array kClasses = {
    // Contractions, any case.
    PatternClass{"CONTRACTION", R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"},
    // What may stand in a word before, and from, its first lower-case letter.
    PatternClass{"UPPER", R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"},
    PatternClass{"LOWER", R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"},
    // The same without Chinese characters, written as what they are not.
    PatternClass{"UPPER_NO_HAN", R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}])"},
    PatternClass{"LOWER_NO_HAN", R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}])"},
    // U+0800 to U+4E00 holds many scripts and symbols; so the published pattern has it.
    PatternClass{"CJK_AND_MORE", R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}])"},
    PatternClass{"KANA_HAN", R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}])"},
    PatternClass{"ASCII_PUNCT", R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~])"},
    PatternClass{"NOT_IN_SPACES", R"((?<![\x{09}\x{0B}\x{0C}\x{85}\p{Z}]))"},
    // The cased letters of Unicode 11.
    PatternClass{
        "CASED_LETTER",
        "["
        R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
        R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})"
        R"(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F})"
        R"(\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})"
        R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A})"
        R"(\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
        R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})"
        R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3})"
        R"(\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
        R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D})"
        R"(\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})"
        R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
        R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
        R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A})"
        R"(\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
        R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
        "]"},
};

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"({{CONTRACTION}}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"({{CONTRACTION}}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepseek3 =
    R"({{ASCII_PUNCT}}[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBloom =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{0964}\x{06D4}\x{060C})]+)";

constexpr std::array kGpt2Patterns = {kGpt2};
constexpr std::array kDefaultPatterns = {
    Pattern{R"([\p{P}$+<=>^~|]+)"},
    kGpt2,
    Pattern{R"(\p{N}+)"},
    Pattern{R"([0-9][0-9][0-9])"},
};
constexpr std::array kDigitsGpt2Patterns = {Pattern{R"(\p{N})"}, kGpt2};
constexpr std::array kLlama3Patterns = {kLlama3};
// Behind a space that was cut from its run there is no newline left in the run: the look-behind
// saves reading the whole run again at every cut.
constexpr std::array kJais2Patterns = {
    Pattern{R"({{CONTRACTION}}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
            R"({{NOT_IN_SPACES}}\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|)"
            R"(\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s)"},
};
constexpr std::array kQwen2Patterns = {kQwen2};
constexpr std::array kQwen35Patterns = {
    Pattern{R"({{CONTRACTION}}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
            R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};
constexpr std::array kDeepseekLlmPatterns = {
    Pattern{R"([\r\n])"},
    Pattern{R"(\s?{{CASED_LETTER}}+)"},
    Pattern{R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)"},
    // Published as \s+$; a run of spaces that does not reach the end is tried once, not from
    // each of its characters.
    Pattern{R"((?<![\s])\s+$)"},
    Pattern{R"({{CJK_AND_MORE}}+)"},
    Pattern{R"(\p{N})"},
};
constexpr std::array kDeepseekCoderPatterns = {
    Pattern{R"([\r\n])"},    Pattern{R"(\s?\p{L}+)"},
    Pattern{R"(\s?\p{P}+)"}, Pattern{R"({{CJK_AND_MORE}}+)"},
    Pattern{R"(\p{N})"},
};
constexpr std::array kDeepseekV3Patterns = {
    Pattern{R"(\p{N}{1,3})"},
    Pattern{R"({{KANA_HAN}}+)"},
    kDeepseek3,
};
constexpr std::array kSparkPatterns = {
    Pattern{R"(\p{N}{1,3})"},
    Pattern{R"({{KANA_HAN}}+)"},
    Pattern{R"({{ASCII_PUNCT}}[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
            R"( ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)"},
    Pattern{R"(\p{N})"},
};
constexpr std::array kFalconPatterns = {
    Pattern{R"([\p{P}$+<=>^~|`]+)"},
    kGpt2,
    Pattern{R"([0-9][0-9][0-9])"},
};
constexpr std::array kGpt4oPatterns = {
    Pattern{R"([^\r\n\p{L}\p{N}]?{{UPPER}}*{{LOWER}}+{{CONTRACTION}}?|)"
            R"([^\r\n\p{L}\p{N}]?{{UPPER}}+{{LOWER}}*{{CONTRACTION}}?|)"
            R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};
constexpr std::array kTekkenPatterns = {
    Pattern{R"([^\r\n\p{L}\p{N}]?{{UPPER}}*{{LOWER}}+|[^\r\n\p{L}\p{N}]?{{UPPER}}+{{LOWER}}*|)"
            R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};
constexpr std::array kYoutuPatterns = {
    Pattern{R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|)"
            R"([\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C})"
            R"(\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+|{{KANA_HAN}}+)"},
    Pattern{R"([^\r\n\p{L}\p{N}]?{{UPPER}}*{{LOWER}}+{{CONTRACTION}}?|)"
            R"([^\r\n\p{L}\p{N}]?{{UPPER}}+{{LOWER}}*{{CONTRACTION}}?|)"
            R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};
constexpr std::array kKimiK2Patterns = {
    Pattern{R"([\p{Han}]+|)"
            R"([^\r\n\p{L}\p{N}]?{{UPPER_NO_HAN}}*{{LOWER_NO_HAN}}+{{CONTRACTION}}?|)"
            R"([^\r\n\p{L}\p{N}]?{{UPPER_NO_HAN}}+{{LOWER_NO_HAN}}*{{CONTRACTION}}?|)"
            R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};
constexpr std::array kMinicpm5Patterns = {
    Pattern{R"(\p{N}{1,3})"},
    Pattern{R"({{CONTRACTION}}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
            R"(\s*[\r\n]+|\s+(?!\S)|\s+)"},
};
constexpr std::array kBailingmoePatterns = {
    Pattern{R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
            R"(\s*[\r\n]|\s+(?!\S)|\s+)"},
};
constexpr std::array kSeedCoderPatterns = {
    Pattern{R"({{CONTRACTION}}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)"
            R"(\s*[\r\n]+|\s+(?!\S)|\s+)"},
};
constexpr std::array kUfakzekaPatterns = {
    Pattern{R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
            R"(\s*[\r\n]+|\s+(?!\S)|\s+)"},
};
constexpr std::array kLagunaPatterns = {Pattern{R"([^\n]+|[\n]+)"}, kQwen2};
// The possessive repeats give nothing back, which no later part of their branch could use.
constexpr std::array kExaoneMoePatterns = {
    Pattern{R"({{CONTRACTION}}|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++|\p{N}|)"
            R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"},
};
constexpr std::array kBloomPatterns = {kBloom};
constexpr std::array kVikingPatterns = {kBloom, Pattern{R"(\p{N})"}};
constexpr std::array kChameleonPatterns = {
    Pattern{R"(<sentinel:[0-9]+>)"},    Pattern{R"(IMGIMG[A-I]{1,4}Z)"},
    Pattern{R"([\t\n]|    |  )"},       Pattern{R"(\p{N})"},
    Pattern{R"([\p{P}!-/:-@\[-`{-~])"}, kGpt2,
};

constexpr std::array kTinyAyaPatterns = {
    Pattern{R"({{THREES_FROM_RIGHT}}(?<!\d)\d++\b)"},
    kGpt4oPatterns[0],
};
constexpr std::array kAfmoePatterns = {
    Pattern{R"({{THREES_FROM_RIGHT}}(?<!\d)\d++)"},
    // Han, kana, Kangxi radicals, Thai, Lao, Khmer, Burmese, Hangul.
    Pattern{R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{30FF})"
            R"(\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{0E40}-\x{0E7F}\x{0E80}-\x{0EFF})"
            R"(\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF})"
            R"(\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)"},
    kDeepseek3,
};
constexpr std::array kSuperbpePatterns = {
    Pattern{R"(\p{N}+)"},
    Pattern{R"({{THREES_FROM_RIGHT}}(?<!\d)\d++)"},
};

constexpr std::array kFamilies = {
    PreTokenizerFamily{"default", kDefaultPatterns},
    PreTokenizerFamily{"gpt-2", kGpt2Patterns},
    PreTokenizerFamily{"digits-gpt-2", kDigitsGpt2Patterns},
    PreTokenizerFamily{"llama-bpe", kLlama3Patterns},
    PreTokenizerFamily{"jais-2", kJais2Patterns},
    PreTokenizerFamily{"qwen2", kQwen2Patterns},
    PreTokenizerFamily{"qwen35", kQwen35Patterns},
    PreTokenizerFamily{"deepseek-llm", kDeepseekLlmPatterns},
    PreTokenizerFamily{"deepseek-coder", kDeepseekCoderPatterns},
    PreTokenizerFamily{"deepseek-v3", kDeepseekV3Patterns},
    PreTokenizerFamily{"spark2_5", kSparkPatterns},
    PreTokenizerFamily{"falcon", kFalconPatterns},
    PreTokenizerFamily{"gpt-4o", kGpt4oPatterns},
    PreTokenizerFamily{"tekken", kTekkenPatterns},
    PreTokenizerFamily{"youtu", kYoutuPatterns},
    PreTokenizerFamily{"kimi-k2", kKimiK2Patterns},
    PreTokenizerFamily{"minicpm5", kMinicpm5Patterns},
    PreTokenizerFamily{"bailingmoe", kBailingmoePatterns},
    PreTokenizerFamily{"seed-coder", kSeedCoderPatterns},
    PreTokenizerFamily{"ufakzeka", kUfakzekaPatterns},
    PreTokenizerFamily{"laguna", kLagunaPatterns},
    PreTokenizerFamily{"exaone-moe", kExaoneMoePatterns},
    PreTokenizerFamily{"bloom", kBloomPatterns},
    PreTokenizerFamily{"viking", kVikingPatterns},
    PreTokenizerFamily{"chameleon", kChameleonPatterns},
    PreTokenizerFamily{"tiny_aya", kTinyAyaPatterns},
    PreTokenizerFamily{"afmoe", kAfmoePatterns},
    PreTokenizerFamily{"superbpe", kSuperbpePatterns},
};

constexpr bool kIgnoreMerges = true;
constexpr bool kAddBos = true;
constexpr bool kNfc = true;

constexpr std::array kNames = {
    PreTokenizerName{"default", "default"},
    PreTokenizerName{"gpt-2", "gpt-2"},
    PreTokenizerName{"phi-2", "gpt-2"},
    PreTokenizerName{"jina-es", "gpt-2"},
    PreTokenizerName{"jina-de", "gpt-2"},
    PreTokenizerName{"gigachat", "gpt-2"},
    PreTokenizerName{"jina-v2-es", "gpt-2"},
    PreTokenizerName{"jina-v2-de", "gpt-2"},
    PreTokenizerName{"a.x-4.0", "gpt-2"},
    PreTokenizerName{"mellum", "gpt-2"},
    PreTokenizerName{"modern-bert", "gpt-2"},
    PreTokenizerName{"mpt", "gpt-2", false, false, kNfc},
    PreTokenizerName{"olmo", "gpt-2", false, false, kNfc},
    PreTokenizerName{"jais", "gpt-2"},
    PreTokenizerName{"trillion", "gpt-2"},
    PreTokenizerName{"granite-docling", "gpt-2"},
    PreTokenizerName{"exaone4", "gpt-2"},
    PreTokenizerName{"jina-v1-en", "gpt-2"},
    PreTokenizerName{"jina-v2-code", "gpt-2"},
    PreTokenizerName{"roberta-bpe", "gpt-2"},
    PreTokenizerName{"starcoder", "digits-gpt-2"},
    PreTokenizerName{"refact", "digits-gpt-2"},
    PreTokenizerName{"command-r", "digits-gpt-2", false, false, kNfc},
    PreTokenizerName{"smollm", "digits-gpt-2"},
    PreTokenizerName{"codeshell", "digits-gpt-2"},
    PreTokenizerName{"exaone", "digits-gpt-2"},
    PreTokenizerName{"minerva-7b", "digits-gpt-2"},
    PreTokenizerName{"mellum2", "digits-gpt-2"},
    PreTokenizerName{"llama3", "llama-bpe", kIgnoreMerges, kAddBos, false},
    PreTokenizerName{"llama-v3", "llama-bpe", kIgnoreMerges, kAddBos, false},
    PreTokenizerName{"llama-bpe", "llama-bpe", kIgnoreMerges, kAddBos, false},
    PreTokenizerName{"falcon3", "llama-bpe", kIgnoreMerges, kAddBos, false},
    PreTokenizerName{"falcon-h1", "llama-bpe", kIgnoreMerges, kAddBos, false},
    PreTokenizerName{"pixtral", "llama-bpe", kIgnoreMerges, kAddBos, false},
    PreTokenizerName{"midm-2.0", "llama-bpe", kIgnoreMerges, kAddBos, false},
    PreTokenizerName{"lfm2", "llama-bpe", kIgnoreMerges, kAddBos, false},
    PreTokenizerName{"jina-v5-nano", "llama-bpe", kIgnoreMerges, kAddBos, false},
    PreTokenizerName{"dbrx", "llama-bpe"},
    PreTokenizerName{"smaug-bpe", "llama-bpe"},
    PreTokenizerName{"chatglm-bpe", "llama-bpe"},
    PreTokenizerName{"glm4", "llama-bpe", kIgnoreMerges, false, false},
    PreTokenizerName{"glm5", "llama-bpe", kIgnoreMerges, false, false},
    PreTokenizerName{"jais-2", "jais-2"},
    PreTokenizerName{"qwen2", "qwen2", false, false, kNfc},
    PreTokenizerName{"deepseek-r1-qwen", "qwen2"},
    PreTokenizerName{"kormo", "qwen2"},
    PreTokenizerName{"f2llmv2", "qwen2"},
    PreTokenizerName{"megrez", "qwen2"},
    PreTokenizerName{"stablelm2", "qwen2"},
    PreTokenizerName{"hunyuan", "qwen2"},
    PreTokenizerName{"solar-open", "qwen2"},
    PreTokenizerName{"grok-2", "qwen2"},
    PreTokenizerName{"qwen35", "qwen35", false, false, kNfc},
    PreTokenizerName{"deepseek-llm", "deepseek-llm"},
    PreTokenizerName{"deepseek-coder", "deepseek-coder"},
    PreTokenizerName{"deepseek-v3", "deepseek-v3"},
    PreTokenizerName{"hunyuan-dense", "deepseek-v3"},
    PreTokenizerName{"joyai-llm", "deepseek-v3"},
    PreTokenizerName{"hy_v4", "deepseek-v3"},
    PreTokenizerName{"spark2_5", "spark2_5"},
    PreTokenizerName{"falcon", "falcon"},
    PreTokenizerName{"gpt-4o", "gpt-4o"},
    PreTokenizerName{"llama4", "gpt-4o"},
    PreTokenizerName{"kanana2", "gpt-4o"},
    PreTokenizerName{"talkie", "gpt-4o"},
    PreTokenizerName{"minimax-m2", "gpt-4o"},
    PreTokenizerName{"granite-embed-multi-97m", "gpt-4o", kIgnoreMerges, false, false},
    PreTokenizerName{"tekken", "tekken", kIgnoreMerges, kAddBos, false},
    PreTokenizerName{"youtu", "youtu", kIgnoreMerges, false, false},
    PreTokenizerName{"kimi-k2", "kimi-k2"},
    PreTokenizerName{"minicpm5", "minicpm5", kIgnoreMerges, false, false},
    PreTokenizerName{"bailingmoe", "bailingmoe"},
    PreTokenizerName{"bailingmoe2", "bailingmoe"},
    PreTokenizerName{"llada-moe", "bailingmoe"},
    PreTokenizerName{"seed-coder", "seed-coder"},
    PreTokenizerName{"ufakzeka", "ufakzeka"},
    PreTokenizerName{"laguna", "laguna"},
    PreTokenizerName{"exaone-moe", "exaone-moe"},
    PreTokenizerName{"poro-chat", "bloom"},
    PreTokenizerName{"bloom", "bloom"},
    PreTokenizerName{"gpt3-finnish", "bloom"},
    PreTokenizerName{"viking", "viking"},
    PreTokenizerName{"chameleon", "chameleon", false, kAddBos, false},
    PreTokenizerName{"tiny_aya", "tiny_aya"},
    PreTokenizerName{"cohere2moe", "tiny_aya"},
    PreTokenizerName{"afmoe", "afmoe"},
    PreTokenizerName{"superbpe", "superbpe"},
};

template <class Table>
auto find_by_name(const Table& table, std::string_view name) -> decltype(table.data()) {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [name](const auto& entry) { return entry.name == name; });
    return found == table.end() ? nullptr : &*found;
}

}  // namespace

const PreTokenizerName* find_pre_tokenizer_name(std::string_view name) {
    return find_by_name(kNames, name);
}
const PreTokenizerFamily* find_pre_tokenizer_family(std::string_view name) {
    return find_by_name(kFamilies, name);
}
std::span<const PatternClass> pattern_classes() {
    return kClasses;
}
std::span<const PreTokenizerFamily> pre_tokenizer_families() {
    return kFamilies;
}
std::span<const PreTokenizerName> pre_tokenizer_names() {
    return kNames;
}

}  // namespace hokku
