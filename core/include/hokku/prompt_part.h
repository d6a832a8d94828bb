// SPDX-License-Identifier: Apache-2.0
// PromptPart: one stretch of a rendered prompt, with its origin. What keeps text typed by a user
// from turning into control tokens.
#pragma once

#include <string>

namespace hokku {

/// Text that came from message contents, names, tool arguments and the like is content;
/// everything that the template itself wrote is not.
struct PromptPart {
    std::string text;
    bool is_content = false;
};

}  // namespace hokku
