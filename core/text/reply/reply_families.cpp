// SPDX-License-Identifier: Apache-2.0
// Facts about formats are taken from the chat templates that the models' makers publish, and from
// the documents named beside them.
#include "text/reply/reply_families.h"

namespace hokku::reply {
namespace {

CallFormat json_calls(std::string open, std::string close) {
    return {.syntax = CallSyntax::json, .open = std::move(open), .close = std::move(close)};
}

CallFormat bare(CallSyntax syntax) {
    return {.syntax = syntax, .only_known_tools = true};
}

/// <tool_call><function=NAME><parameter=KEY>: Qwen3-Coder, Qwen3.5, Nemotron 3; Seed-OSS.
CallFormat function_tags(std::string open, std::string close) {
    return {.syntax = CallSyntax::tags,
            .open = std::move(open),
            .close = std::move(close),
            .call_open = "<function=",
            .call_close = "</function>",
            .name_end = ">",
            .key_open = "<parameter=",
            .key_end = ">",
            .value_close = "</parameter>",
            .has_lines = true};
}

/// DeepSeek V3.2 and V4, whose markers differ in the name of the block.
CallFormat dsml_tags(const std::string& block) {
    return {.syntax = CallSyntax::tags,
            .open = "<｜DSML｜" + block + ">",
            .close = "</｜DSML｜" + block + ">",
            .call_open = "<｜DSML｜invoke name=\"",
            .call_close = "</｜DSML｜invoke>",
            .name_end = "\"",
            .key_open = "<｜DSML｜parameter name=\"",
            .key_end = "\"",
            .value_close = "</｜DSML｜parameter>",
            .attributes_end = ">"};
}

/// GLM 4.5 and what follows it; Hunyuan 3 puts a suffix into each marker and a block around.
CallFormat argument_tags(const std::string& suffix = "") {
    const auto tag = [&](const std::string& name) { return "<" + name + suffix + ">"; };
    CallFormat format{.syntax = CallSyntax::tags,
                      .open = tag("tool_call"),
                      .call_close = tag("/tool_call"),
                      .key_open = tag("arg_key"),
                      .key_end = tag("/arg_key"),
                      .value_open = tag("arg_value"),
                      .value_close = tag("/arg_value")};
    if (suffix.empty()) return format;
    format.call_open = std::exchange(format.open, tag("tool_calls"));
    format.close = tag("/tool_calls");
    format.name_end = tag("tool_sep");
    return format;
}

CallFormat named(std::string open, std::string name_end) {
    return {.syntax = CallSyntax::named, .open = std::move(open), .name_end = std::move(name_end)};
}

/// <function=NAME>{..}</function>: Functionary 3.1, and Llama 3.1's first way for own tools.
CallFormat function_object() {
    CallFormat format = named("<function=", ">");
    format.call_close = "</function>";
    return format;
}

/// >>>NAME and an object on the next line; the answer is for "all". The prompt ends with the first
/// ">>>". Source: Functionary 3.2's chat template.
CallFormat recipient_object() {
    CallFormat format = named(">>>", "\n");
    format.only_known_tools = true;
    return format;
}

std::vector<CallFormat> deepseek_calls() {
    CallFormat format = named("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>");
    format.close = "<｜tool▁calls▁end｜>";
    format.call_open = "<｜tool▁call▁begin｜>";
    format.call_close = "<｜tool▁call▁end｜>";
    format.has_kind = true;
    return {format};
}

std::vector<CallFormat> kimi_calls() {
    CallFormat format = named("<|tool_calls_section_begin|>", "<|tool_call_argument_begin|>");
    format.close = "<|tool_calls_section_end|>";
    format.call_open = "<|tool_call_begin|>";
    format.call_close = "<|tool_call_end|>";
    return {format};
}

std::vector<CallFormat> kimi_3_calls() {
    return {{.syntax = CallSyntax::tags,
             .open = "<|open|>tools<|sep|>",
             .close = "<|close|>tools<|sep|>",
             .call_open = "<|open|>call tool=\"",
             .call_close = "<|close|>call<|sep|>",
             .name_end = "\"",
             .key_open = "<|open|>argument key=\"",
             .key_end = "\"",
             .value_close = "<|close|>argument<|sep|>",
             .attributes_end = "<|sep|>"}};
}

/// Until 2024 a list of objects, since then a name and an object.
std::vector<CallFormat> mistral_calls() {
    CallFormat by_name = named("[TOOL_CALLS]", "[ARGS]");
    by_name.id_open = "[CALL_ID]";
    return {json_calls("[TOOL_CALLS]", ""), by_name};
}

CallFormat gemma_call(std::string open, std::string close, std::string quote) {
    return {.syntax = CallSyntax::gemma,
            .open = std::move(open),
            .close = std::move(close),
            .quote = std::move(quote)};
}

CallFormat fenced_object() {
    CallFormat format = json_calls("```json\n", "```");
    format.is_fence = format.only_known_tools = true;
    return format;
}

/// Small models forget the tags, as Qwen2.5-Coder 0.5B does (measured).
std::vector<CallFormat> hermes_calls() {
    return {json_calls("<tool_call>", "</tool_call>"), bare(CallSyntax::json), fenced_object()};
}

/// Gemma 1 to 3 have no markers of their own. Google's guide to function calling with Gemma asks
/// for [f(a=1)] or {"name", "parameters"}; its examples for ```tool_code.
std::vector<CallFormat> plain_gemma_calls() {
    CallFormat code{.syntax = CallSyntax::python, .open = "```tool_code\n", .close = "\n```"};
    code.is_fence = true;
    return {code, fenced_object(), bare(CallSyntax::json), bare(CallSyntax::python)};
}

/// Llama 3.1 to 3.3: an object without a marker, or behind <|python_tag|>; built-in tools as
/// NAME.call(..), programs as they are. Llama 3.2 also [f(a=1)].
/// Source: Meta's "Prompt formats" of Llama 3.1 and 3.3.
std::vector<CallFormat> llama_calls() {
    CallFormat program{.syntax = CallSyntax::python, .open = "<|python_tag|>"};
    program.ends_with_reply = true;
    return {json_calls("<|python_tag|>", ""), program, bare(CallSyntax::json),
            bare(CallSyntax::python), function_object()};
}

std::vector<CallFormat> minimax_2_calls() {
    return {{.syntax = CallSyntax::tags,
             .open = "<minimax:tool_call>",
             .close = "</minimax:tool_call>",
             .call_open = "<invoke name=\"",
             .call_close = "</invoke>",
             .name_end = "\">",
             .key_open = "<parameter name=\"",
             .key_end = "\">",
             .value_close = "</parameter>"}};
}

std::vector<CallFormat> minicpm_calls() {
    return {{.syntax = CallSyntax::tags,
             .open = "<function name=\"",
             .call_close = "</function>",
             .name_end = "\">",
             .key_open = "<param name=\"",
             .key_end = "\">",
             .value_close = "</param>",
             .has_cdata = true}};
}

CallFormat apertus_calls() {
    CallFormat format = json_calls("<|tools_prefix|>", "<|tools_suffix|>");
    format.is_name_the_key = true;
    return format;
}

CallFormat lfm_calls() {
    return {
        .syntax = CallSyntax::python, .open = "<|tool_call_start|>", .close = "<|tool_call_end|>"};
}

std::vector<CallFamily> make_call_families() {
    const std::vector<std::string> cohere_silent{"<|START_RESPONSE|>", "<|END_RESPONSE|>",
                                                 "<|START_TEXT|>", "<|END_TEXT|>"};
    const std::vector<std::string> kimi_3_silent{
        "<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"};
    return {
        {.name = "harmony", .markers = {"<|channel|>", "<|message|>"}, .framing = Framing::harmony},
        {.name = "deepseek-dsml",
         .markers = {"｜DSML｜"},
         .calls = {dsml_tags("function_calls"), dsml_tags("tool_calls")}},
        {.name = "deepseek", .markers = {"<｜tool▁calls▁begin｜>"}, .calls = deepseek_calls()},
        {.name = "kimi-k2", .markers = {"<|tool_calls_section_begin|>"}, .calls = kimi_calls()},
        {.name = "kimi-k3",
         .markers = {"<|open|>", "<|close|>", "<|sep|>"},
         .calls = kimi_3_calls(),
         .silent = kimi_3_silent},
        {.name = "mistral", .markers = {"[TOOL_CALLS]"}, .calls = mistral_calls()},
        {.name = "function-gemma",
         .markers = {"<start_function_call>"},
         .calls = {gemma_call("<start_function_call>", "<end_function_call>", "<escape>")},
         .ends = {"<start_function_response>"}},
        {.name = "gemma-4",
         .markers = {"<|tool_call>", "<tool_call|>"},
         .calls = {gemma_call("<|tool_call>", "<tool_call|>", "<|\"|>")}},
        {.name = "lfm2", .markers = {"<|tool_call_start|>"}, .calls = {lfm_calls()}},
        {.name = "lfm2", .markers = {"<|tool_list_start|>"}, .calls = {lfm_calls()}},
        {.name = "lfm2", .markers = {"\"List of tools: [\""}, .calls = {lfm_calls()}},
        {.name = "seed-oss",
         .markers = {"<seed:tool_call>", "<function="},
         .calls = {function_tags("<seed:tool_call>", "</seed:tool_call>")}},
        {.name = "minimax-m2", .markers = {"<minimax:tool_call>"}, .calls = minimax_2_calls()},
        {.name = "minicpm-5",
         .markers = {"<function name=", "<param name="},
         .calls = minicpm_calls()},
        {.name = "hunyuan-3",
         .markers = {"<arg_key{}>", "':opensource'"},
         .calls = {argument_tags(":opensource")}},
        {.name = "glm", .markers = {"<tool_call>", "<arg_key>"}, .calls = {argument_tags()}},
        {.name = "qwen-coder",
         .markers = {"<tool_call>", "<function=", "<parameter="},
         .calls = {function_tags("<tool_call>", "</tool_call>")}},
        // MiniMax M3 puts a mark of its own before every element; its calls are not read.
        {.name = "minimax-m3", .markers = {"]<]minimax[>["}},
        {.name = "tool-calls",
         .markers = {"<tool_calls>", "</tool_calls>"},
         .calls = {json_calls("<tool_calls>", "</tool_calls>")}},
        {.name = "hermes", .markers = {"<tool_call>"}, .calls = hermes_calls()},
        {.name = "nemotron",
         .markers = {"<TOOLCALL>"},
         .calls = {json_calls("<TOOLCALL>", "</TOOLCALL>")}},
        {.name = "apertus", .markers = {"<|tools_prefix|>"}, .calls = {apertus_calls()}},
        {.name = "command-r7b",
         .markers = {"<|START_ACTION|>"},
         .calls = {json_calls("<|START_ACTION|>", "<|END_ACTION|>")},
         .silent = cohere_silent},
        {.name = "command-r",
         .markers = {"Action:", "```json", "tool_name"},
         .calls = {json_calls("Action:\n```json\n", "```")}},
        {.name = "firefunction", .markers = {"functools["}, .calls = {json_calls("functools", "")}},
        {.name = "gigachat",
         .markers = {"<|function_call|>"},
         .calls = {json_calls("<|function_call|>", "")}},
        {.name = "gigachat",
         .markers = {"'role': 'function call'", "role_sep"},
         .calls = {json_calls("<|message_sep|>\n\nfunction call<|role_sep|>\n", "")}},
        // Granite 3 and Phi 4 mini.
        {.name = "tool-call-list",
         .markers = {"<|tool_call|>"},
         .calls = {json_calls("<|tool_call|>", "")},
         .silent = {"<|/tool_call|>"}},
        {.name = "functionary-3.2",
         .markers = {"<|start_header_id|>", "'>>>'"},
         .calls = {recipient_object()},
         .silent = {">>>all\n"}},
        {.name = "functionary-3.1", .markers = {"<function="}, .calls = {function_object()}},
        {.name = "llama-3",
         .markers = {"<|start_header_id|>", "\"parameters\""},
         .calls = llama_calls()},
        {.name = "gemma",
         .markers = {"<start_of_turn>"},
         .architectures = {"gemma", "gemma2", "gemma3", "gemma3n"},
         .calls = plain_gemma_calls()},
    };
}

std::vector<ThoughtFamily> make_thought_families() {
    const auto in_lines = [](const std::string& open, const std::string& close) {
        return ThoughtMarkers{open, close, "\n" + close + "\n\n"};
    };
    const auto alone = [](const std::string& open, const std::string& close) {
        return ThoughtMarkers{open, close, close};
    };
    return {
        {"<｜DSML｜", in_lines("<think>", "</think>")},
        {"</think>", in_lines("<think>", "</think>")},
        {"</think{}>", alone("<think:opensource>", "</think:opensource>")},
        {"</seed:think>", alone("<seed:think>", "</seed:think>")},
        {"</mm:think>", alone("<mm:think>", "</mm:think>")},
        {"[/THINK]", alone("[THINK]", "[/THINK]")},
        {"<|END_THINKING|>", alone("<|START_THINKING|>", "<|END_THINKING|>")},
        {"<|channel>thought", alone("<|channel>thought\n", "<channel|>")},
        {"<|inner_suffix|>", alone("<|inner_prefix|>", "<|inner_suffix|>")},
        {"[BEGIN FINAL RESPONSE]",
         in_lines("Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]")},
        {"<|open|>", alone("<|open|>think<|sep|>", "<|close|>think<|sep|>")},
        // Exaone Deep.
        {"</thought>", in_lines("<thought>", "</thought>")},
    };
}

}  // namespace

const std::vector<CallFamily>& call_families() {
    static const std::vector<CallFamily> families = make_call_families();
    return families;
}

const std::vector<ThoughtFamily>& thought_families() {
    static const std::vector<ThoughtFamily> families = make_thought_families();
    return families;
}

}  // namespace hokku::reply
