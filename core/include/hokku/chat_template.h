// SPDX-License-Identifier: Apache-2.0
// ChatTemplate: renders a conversation into the prompt text that a model was trained on, by the
// Jinja template of its file. Sees only the data given to it: no files, no environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/prompt_part.h"
#include "hokku/result.h"

namespace hokku {

/// What a template is rendered with. `json` members hold JSON text.
struct TemplateInput {
    std::string messages_json = "[]";  ///< Array of {"role", "content", ...}.
    std::string tools_json = "null";   ///< Array or null.
    std::string kwargs_json = "{}";    ///< Further variables (enable_thinking, ...).
    bool add_generation_prompt = true;
    bool continue_final_message = false;  ///< Leave the last message open, to be continued.
    bool has_bos_token = false, has_eos_token = false;  ///< Absent tokens are undefined, not "".
    std::string bos_token, eos_token;
    std::string now;  ///< "2025-01-15T10:30:00" for strftime_now; empty means the present time.
};

struct TemplateLimits {
    uint64_t max_steps = 20'000'000;  ///< Of about 30 ns.
    size_t max_output_bytes = 16u << 20;
    size_t max_memory_bytes = 32u << 20;  ///< Beyond the input itself.
    size_t max_depth = 200;               ///< Of nesting in the template, and of recursion.
};

/// Errors : bad_template with line and column, or with the template's own raise_exception text;
///          limit_exceeded; cancelled.
/// Threads: immutable after parse; render is re-entrant.
/// Source : Jinja 3.1 as transformers sets it up; docs/architecture.md says where we differ.
class ChatTemplate {
  public:
    static Result<ChatTemplate> parse(std::string_view source, TemplateLimits limits = {});
    ~ChatTemplate();
    ChatTemplate(ChatTemplate&&) noexcept;
    ChatTemplate& operator=(ChatTemplate&&) noexcept;

    /// The prompt to the byte, as transformers renders it.
    [[nodiscard]] Result<std::string> render(const TemplateInput& input) const;
    /// The same text in order, cut where content and template meet.
    [[nodiscard]] Result<std::vector<PromptPart>> render_parts(const TemplateInput& input,
                                                               std::stop_token stop = {}) const;
    /// The same within limits of its own; max_depth stays that of parse().
    [[nodiscard]] Result<std::vector<PromptPart>> render_parts(const TemplateInput& input,
                                                               const TemplateLimits& limits) const;
    [[nodiscard]] const std::string& source() const;

  private:
    struct Program;
    explicit ChatTemplate(std::unique_ptr<Program> program);
    std::unique_ptr<Program> program_;
};

}  // namespace hokku
