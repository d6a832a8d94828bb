// SPDX-License-Identifier: Apache-2.0
// CallReader: reads the tool calls of one block in one syntax, as far as the text goes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/reply/call_builder.h"
#include "text/reply/reply_buffer.h"
#include "text/reply/reply_format.h"
#include "text/reply/tool_list.h"

namespace hokku::reply {

enum class Reading {
    more,    ///< All that is there has been understood; the block goes on.
    done,    ///< The block has ended and has been read.
    broken,  ///< This cannot be a call; problem() says why. Nothing of the call has been read.
};

/// The unread text begins with the call (or the block) that is being read; a reader takes it out of
/// the buffer when the call is complete.
///
/// Threads: one thread at a time.
class CallReader {
  public:
    CallReader(const CallFormat& format, const ToolList& tools) : format_(format), tools_(tools) {}
    virtual ~CallReader() = default;

    /// Whether a block can begin with what stands at `place`, behind the open marker.
    [[nodiscard]] virtual Fit begins(const ReplyBuffer& in, size_t place) const = 0;
    /// A block begins; the text up to `place` is its open marker.
    void start(size_t place) {
        place_ = place;
        call_end_ = 0;
        is_resumed_ = false;
        reset();
    }
    virtual Reading read(ReplyBuffer& in, CallBuilder& out) = 0;
    /// A broken call has been taken out up to its end: goes on with the next one.
    void resume() {
        place_ = call_end_ = 0;
        is_resumed_ = true;
        reset();
    }

    [[nodiscard]] const CallFormat& format() const { return format_; }
    [[nodiscard]] std::string_view problem() const { return problem_; }

  protected:
    virtual void reset() = 0;
    Reading fail(std::string_view problem) {
        problem_ = problem;
        return Reading::broken;
    }
    Reading finish_block(ReplyBuffer& in, size_t place) {
        in.read(place);
        return Reading::done;
    }
    /// The call ends at `place`, and its text perhaps later: with what closes the block.
    void end_call(size_t place) { place_ = call_end_ = place; }
    [[nodiscard]] bool has_ended_call() const { return call_end_ > 0; }
    /// Hands on the call that has ended; its text goes up to `place`.
    void finish_call(ReplyBuffer& in, CallBuilder& out, size_t place) {
        out.finish(in.unread().substr(0, place));
        in.read(place);
        place_ = call_end_ = 0;
    }
    /// The block ends without a marker: the call that has ended, if any, ends there too.
    Reading leave_block(ReplyBuffer& in, CallBuilder& out) {
        if (has_ended_call()) finish_call(in, out, call_end_);
        return finish_block(in, 0);
    }
    /// The block ends at `place`, behind its close marker.
    Reading close_block(ReplyBuffer& in, CallBuilder& out, size_t place) {
        if (!has_ended_call()) return finish_block(in, place);
        finish_call(in, out, place);
        return Reading::done;
    }

    const CallFormat& format_;  // of the parser's format, which outlives the readers
    const ToolList& tools_;     // likewise
    bool is_resumed_ = false;   ///< Not behind the open marker.
    size_t place_ = 0;          ///< Everything before it has been understood.
    size_t call_end_ = 0;       ///< Of a call that is not handed on yet; 0: there is none.
    std::string_view problem_;  ///< A literal.
};

/// A reader of calls that have named parts, one stage for each.
class StagedReader : public CallReader {
  public:
    using CallReader::CallReader;

    Reading read(ReplyBuffer& in, CallBuilder& out) final {
        Reading reading = Reading::more;
        do {
            has_advanced_ = false;
            reading = read_stage(in, out);
        } while (has_advanced_);
        return reading;
    }

  protected:
    static constexpr size_t kLongestName = 256;

    /// Reads the present stage as far as the text goes; ends with advance() where another follows.
    virtual Reading read_stage(ReplyBuffer& in, CallBuilder& out) = 0;
    Reading advance() {
        has_advanced_ = true;
        return Reading::more;
    }
    /// Not all that the stage needs is there.
    Reading wait(const ReplyBuffer& in) {
        return in.is_closed() ? fail("the reply ends within it") : Reading::more;
    }
    /// A format need not have this marker.
    static Fit fits_marker(const ReplyBuffer& in, size_t place, std::string_view marker) {
        return marker.empty() ? Fit::no : in.fits(place, marker);
    }

  private:
    bool has_advanced_ = false;
};

std::unique_ptr<CallReader> make_call_reader(const CallFormat& format, const ToolList& tools);

// One for each syntax; in the file of that name.
std::unique_ptr<CallReader> make_json_reader(const CallFormat& format, const ToolList& tools);
std::unique_ptr<CallReader> make_named_reader(const CallFormat& format, const ToolList& tools);
std::unique_ptr<CallReader> make_tag_reader(const CallFormat& format, const ToolList& tools);
std::unique_ptr<CallReader> make_gemma_reader(const CallFormat& format, const ToolList& tools);
std::unique_ptr<CallReader> make_python_reader(const CallFormat& format, const ToolList& tools);

}  // namespace hokku::reply
