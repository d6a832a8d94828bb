// SPDX-License-Identifier: Apache-2.0
#include "text/template/render.h"

namespace hokku::testing {

TemplateInput input_with(std::string_view messages_json) {
    TemplateInput input;
    input.messages_json = messages_json;
    input.add_generation_prompt = false;
    input.now = "2025-01-15T10:30:00";
    return input;
}

std::string render(std::string_view source, std::string_view variables_json,
                   TemplateLimits limits) {
    const auto chat_template = ChatTemplate::parse(source, limits);
    if (!chat_template.ok()) return "error: " + chat_template.error().what;
    TemplateInput input = input_with("[]");
    input.kwargs_json = variables_json;
    const auto text = chat_template->render(input);
    return text.ok() ? *text : "error: " + text.error().what;
}

std::string render_marked(std::string_view source, const TemplateInput& input) {
    const auto chat_template = ChatTemplate::parse(source);
    if (!chat_template.ok()) return "error: " + chat_template.error().what;
    const auto parts = chat_template->render_parts(input);
    if (!parts.ok()) return "error: " + parts.error().what;
    std::string marked;
    for (const PromptPart& part : *parts) {
        marked += part.is_content ? "«" + part.text + "»" : part.text;
    }
    return marked;
}

}  // namespace hokku::testing
