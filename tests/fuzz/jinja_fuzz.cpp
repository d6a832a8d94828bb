// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "fuzz/fuzz.h"
#include "hokku/chat_template.h"

using hokku::testing::check_error;
using hokku::testing::must;

namespace {

hokku::TemplateInput conversation() {
    hokku::TemplateInput input;
    input.messages_json = R"([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "  Grüße, {{ 俳句 }} <|im_end|>\n"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
            "function": {"name": "f", "arguments": {"a": 1, "b": [true, null, 2.5]}}}]},
        {"role": "tool", "tool_call_id": "1", "name": "f", "content": "42"},
        {"role": "user", "content": [{"type": "text", "text": "and now?"}]}])";
    input.tools_json = R"([{"type": "function", "function": {"name": "f", "description": "d",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}])";
    input.kwargs_json = R"({"enable_thinking": false, "custom": {"x": [1, 2, 3]}})";
    input.has_bos_token = input.has_eos_token = true;
    input.bos_token = "<s>";
    input.eos_token = "</s>";
    input.now = "2025-01-15T10:30:00";
    return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    hokku::TemplateLimits limits;
    limits.max_steps = 1'000'000;
    limits.max_output_bytes = size_t{1} << 20;
    limits.max_memory_bytes = size_t{8} << 20;
    const auto parsed = hokku::ChatTemplate::parse(hokku::testing::text_of(data, size), limits);
    if (!parsed.ok()) {
        check_error(parsed.error());
        return 0;
    }
    static const hokku::TemplateInput input = conversation();
    const auto text = parsed->render(input);
    const auto parts = parsed->render_parts(input);
    must(text.ok() == parts.ok(), "a rendering and its parts agree");
    if (!text.ok()) {
        check_error(text.error());
        return 0;
    }
    std::string joined;
    for (const hokku::PromptPart& part : *parts) joined += part.text;
    must(joined == *text, "the parts are the whole text", *text);
    must(hokku::is_valid_utf8(*text), "a rendering is valid UTF-8", *text);
    must(text->size() <= limits.max_output_bytes, "the output stays within its limit");
    return 0;
}
