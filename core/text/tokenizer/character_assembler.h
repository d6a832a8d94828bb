// SPDX-License-Identifier: Apache-2.0
// CharacterAssembler: bytes in, whole characters out. Holds an incomplete character back until its
// last byte comes or it is known to be broken; what comes out is always valid UTF-8.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace hokku {

/// How many U+FFFD stand for broken bytes.
enum class BrokenBytes {
    one_per_subpart,  ///< Byte-level BPE: Unicode's maximal subparts, as most decoders.
    one_per_byte,     ///< SentencePiece's rule for runs of byte tokens.
};

/// Threads: one thread at a time.
class CharacterAssembler {
  public:
    explicit CharacterAssembler(BrokenBytes rule) : rule_(rule) {}

    /// Appends to `out` every character that `bytes` complete.
    void append(std::string_view bytes, std::string& out);
    /// Ends the text: what is held back becomes U+FFFD.
    void flush(std::string& out);

  private:
    size_t consume(std::string_view bytes, std::string& out) const;

    BrokenBytes rule_;
    std::array<char, 4> held_{};  // the first num_held_ bytes are a cut character
    size_t num_held_ = 0;         // at most 3 between calls
};

}  // namespace hokku
