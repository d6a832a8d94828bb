// SPDX-License-Identifier: Apache-2.0
// PreTokenizer: splits text into the pieces inside which a BPE vocabulary may merge, by the
// patterns of its family. Knows no tokens.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/result.h"
#include "text/tokenizer/pre_tokenizer_families.h"

namespace hokku {

/// Takes the pieces of a text in their order.
class PieceSink {
  public:
    /// False: no more pieces are wanted.
    virtual bool on_piece(std::string_view piece) = 0;

  protected:
    ~PieceSink() = default;
};

/// Threads: split() is safe from any thread, each with its own Scratch.
class PreTokenizer {
  public:
    /// Errors : unsupported: a pattern that PCRE2 refuses.
    static Result<PreTokenizer> create(const PreTokenizerFamily& family);
    PreTokenizer(PreTokenizer&&) noexcept;
    PreTokenizer& operator=(PreTokenizer&&) noexcept;
    ~PreTokenizer();

    /// Match memory of one thread, reused from call to call.
    class Scratch {
      public:
        explicit Scratch(const PreTokenizer& owner);
        ~Scratch();
        Scratch(const Scratch&) = delete;
        Scratch& operator=(const Scratch&) = delete;

      private:
        friend class PreTokenizer;
        struct Impl;
        std::unique_ptr<Impl> impl_;
    };

    /// Concatenating the pieces gives the text. Ends early where the sink wants no more.
    ///
    /// Needs  : text is well-formed UTF-8.
    /// Errors : limit_exceeded when a pattern needs more backtracking than PCRE2 allows.
    /// Cost   : linear for every pattern of the table; constant stack.
    Result<void> split(std::string_view text, Scratch& scratch, PieceSink& sink) const;

  private:
    struct Pattern;
    PreTokenizer();
    /// False: the sink wants no more.
    Result<bool> split_from(size_t level, std::string_view text, Scratch& scratch,
                            PieceSink& sink) const;
    Result<bool> split_threes(size_t level, std::string_view text, Scratch& scratch,
                              PieceSink& sink) const;
    std::vector<Pattern> patterns_;
};

/// A pattern of the table in plain PCRE2 syntax.
std::string expand_pattern(std::string_view pattern);

}  // namespace hokku
