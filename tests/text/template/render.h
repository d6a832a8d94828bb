// SPDX-License-Identifier: Apache-2.0
// Renders small templates for the tests of this folder.
#pragma once

#include <string>
#include <string_view>

#include "hokku/chat_template.h"

namespace hokku::testing {

/// The text of a template over variables given as a JSON object, or "error: " and what went wrong.
std::string render(std::string_view source, std::string_view variables_json = "{}",
                   TemplateLimits limits = {});
/// The same over an input; parts of content are in « ».
std::string render_marked(std::string_view source, const TemplateInput& input);
/// An input with these messages, a fixed time and no generation prompt.
TemplateInput input_with(std::string_view messages_json);

}  // namespace hokku::testing
