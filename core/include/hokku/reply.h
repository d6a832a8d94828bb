// SPDX-License-Identifier: Apache-2.0
// Reply: what a model's answer consists of besides its text: tool calls, and the format in which
// the model marks them and its thoughts. Plain data.
#pragma once

#include <filesystem>
#include <string>

#include "hokku/result.h"

namespace hokku {

/// A call of a tool that a model made. What the model wrote is never lost: a call that cannot be
/// understood has a problem, and its text.
struct ToolCall {
    std::string id;    ///< The model's own, or one of 9 letters and digits made for it.
    std::string name;  ///< May be empty where there is a problem.
    /// A JSON object, valid unless there is a problem.
    std::string arguments_json = {};
    std::string text = {};     ///< The call as the model wrote it, with markers of its own.
    std::string problem = {};  ///< Empty, or why the call must not be carried out.

    [[nodiscard]] bool is_valid() const { return problem.empty(); }
};

/// How a model marks thoughts and tool calls, and where that was read.
struct ReplyFormatInfo {
    std::string name;      ///< "hermes", "deepseek", ..; "plain" where nothing is marked.
    std::string evidence;  ///< The markers found, and where: never empty.
    bool has_thoughts = false, has_tool_calls = false;
};

/// The reply format of a model file, by its chat template and architecture.
///
/// Errors : those of the file; bad_format: metadata of the wrong type, with its key.
Result<ReplyFormatInfo> inspect_reply_format(const std::filesystem::path& path);

}  // namespace hokku
