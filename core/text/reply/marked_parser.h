// SPDX-License-Identifier: Apache-2.0
// MarkedParser: the ReplyParser for text with markers in it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/reply/call_builder.h"
#include "text/reply/call_reader.h"
#include "text/reply/code_fences.h"
#include "text/reply/reply_buffer.h"
#include "text/reply/reply_parser.h"

namespace hokku::reply {

class MarkedParser final : public ReplyParser {
  public:
    MarkedParser(ReplyFormat format, ReplyOptions options, ReplySink& sink);
    void push(std::string_view text) override;
    void push_control(std::string_view text) override;
    void finish() override;
    [[nodiscard]] bool is_in_thought() const override { return where_ == Where::thought; }
    [[nodiscard]] bool is_in_answer() const override;
    [[nodiscard]] std::vector<std::string_view> openings(bool with_thoughts) const override;
    [[nodiscard]] uint32_t num_departures() const override { return num_departures_; }
    [[nodiscard]] std::string pending_answer() const override;
    [[nodiscard]] bool reaches_answer(std::string_view text) const override;
    [[nodiscard]] std::string_view closing_text() const override;

  private:
    enum class Where { start, thought, answer, call, broken_call };
    enum class Marker { taken, undecided, none };

    void read_prompt(const ReplyOptions& options);
    void take_marker_of_prompt(std::string_view prompt_end);
    void collect_markers();
    // Each reads what it can; false when more text is needed.
    void advance();
    bool read_start();
    bool read_thought();
    bool read_answer();
    bool read_call();
    bool read_broken_call();

    void begin_thought(size_t num_bytes);
    bool end_thought(size_t place, size_t marker_bytes);
    Marker read_marker();
    [[nodiscard]] bool is_behind_call_marker() const;
    [[nodiscard]] bool may_begin_call(std::string_view text) const;
    [[nodiscard]] bool may_close_unopened() const;
    void close_unopened_thought(size_t marker_bytes);
    bool begin_call(size_t reader, size_t place);
    void take(size_t num_bytes);
    void say(std::string_view text);

    ReplyFormat format_;
    ToolList tools_;
    ReplySink& sink_;
    CallBuilder builder_;
    std::vector<std::unique_ptr<CallReader>> readers_;  ///< One for each of format_.calls.
    CallReader* reader_ = nullptr;                      ///< Of the call that is being read.
    std::string first_bytes_, all_markers_;

    ReplyBuffer text_;
    std::string spaces_;  ///< Taken out of the buffer, not said yet.
    CodeFences fences_;   ///< Of the answer.
    Where where_ = Where::start;
    bool is_thought_over_ = false;   ///< There was one, or the prompt closed it.
    bool is_thought_begun_ = false;  ///< The one that is open has text.
    bool has_thought_text_ = false, has_answer_text_ = false, has_calls_ = false;
    bool skips_space_ = false;  ///< White space behind a marker is not said.
    uint32_t num_departures_ = 0;
    size_t search_from_ = 0;  ///< Of the end of a broken call.
};

}  // namespace hokku::reply
