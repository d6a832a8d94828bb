// SPDX-License-Identifier: Apache-2.0
// Small pieces of JSON text: checking, strings, and following brackets byte by byte.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hokku::reply {

/// Deeper values are refused: chat templates do not render them, and much of what is done with
/// JSON takes stack for each level.
inline constexpr size_t kMaxJsonDepth = 100;

/// Well-formed JSON of any kind, of at most kMaxJsonDepth levels. Needs no stack per level.
bool is_json(std::string_view text);
/// The text of a JSON string with its quotes; nullopt if it is not one.
std::optional<std::string> decode_json_string(std::string_view text);
/// Needs  : valid UTF-8.
void append_json_string(std::string& out, std::string_view text);

/// Follows strings and brackets; does not check what stands between them.
class BracketScanner {
  public:
    enum class Step { more, done, broken };
    /// One byte of a value that begins with a bracket; done after the bracket that closes it.
    Step push(char c);
    [[nodiscard]] size_t depth() const { return brackets_.size(); }
    [[nodiscard]] bool is_in_string() const { return is_in_string_; }
    void reset();

  private:
    std::vector<char> brackets_;  ///< The closing ones that are due.
    bool is_in_string_ = false, is_escaped_ = false;
};

}  // namespace hokku::reply
