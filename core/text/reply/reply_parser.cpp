// SPDX-License-Identifier: Apache-2.0
#include "text/reply/reply_parser.h"

#include "text/reply/harmony_parser.h"
#include "text/reply/marked_parser.h"

namespace hokku::reply {
namespace {

/// All is answer.
class PlainParser final : public ReplyParser {
  public:
    explicit PlainParser(ReplySink& sink) : sink_(sink) {}
    void push(std::string_view text) override {
        if (!text.empty()) sink_.on_answer(text);
    }
    void push_control(std::string_view) override {}
    void finish() override {}
    [[nodiscard]] bool is_in_thought() const override { return false; }
    [[nodiscard]] bool is_in_answer() const override { return true; }
    [[nodiscard]] std::string_view closing_text() const override { return {}; }

  private:
    ReplySink& sink_;
};

}  // namespace

std::unique_ptr<ReplyParser> make_reply_parser(ReplyFormat format, ReplyOptions options,
                                               ReplySink& sink) {
    if (format.framing == Framing::harmony)
        return std::make_unique<HarmonyParser>(options, format.has_control_tokens, sink);
    const bool has_calls = !format.calls.empty() && !options.tools.empty();
    if (format.thoughts.empty() && format.silent.empty() && !has_calls)
        return std::make_unique<PlainParser>(sink);
    return std::make_unique<MarkedParser>(std::move(format), std::move(options), sink);
}

}  // namespace hokku::reply
