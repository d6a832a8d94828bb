// SPDX-License-Identifier: Apache-2.0
// U+2581, the visible sign that SentencePiece vocabularies write for a space.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace hokku {

inline constexpr std::string_view kSpaceSign = "\xE2\x96\x81";

/// Appends `text` with every space as a sign.
void append_escaped(std::string_view text, std::string& out);

/// Appends `text` with every sign as a space.
void append_unescaped(std::string_view text, std::string& out);

/// Where text may be cut without a change to its tokens: before a sign whose byte before it stands
/// before a sign in no token, so that no merge can go over the cut.
///
/// Threads: find() is safe from any thread once all tokens are added.
class WordCuts {
  public:
    void add_token(std::string_view escaped);
    /// The first such place at or after `from`; npos when there is none. Needs: from > 0.
    [[nodiscard]] size_t find(std::string_view escaped, size_t from) const;

  private:
    std::array<bool, 256> stands_before_sign_{};  // last bytes of what a sign follows in a token
};

}  // namespace hokku
