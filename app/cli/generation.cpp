// SPDX-License-Identifier: Apache-2.0
#include "generation.h"

#include <cstdio>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "console.h"

namespace hokku::cli {

namespace {

/// Cancels what is generated. The handles exist only once that has begun; a reader lost before is
/// noted.
class Canceller {
  public:
    void cancel() {
        const std::lock_guard lock(mutex_);
        is_cancelled_ = true;
        for (GenerationHandle& handle : handles_) handle.cancel();
    }
    void take(std::vector<GenerationHandle> handles) {
        const std::lock_guard lock(mutex_);
        handles_ = std::move(handles);
        if (!is_cancelled_) return;
        for (GenerationHandle& handle : handles_) handle.cancel();
    }
    GenerationResult wait(size_t index) { return handles_[index].wait(); }

  private:
    std::mutex mutex_;
    std::vector<GenerationHandle> handles_;
    bool is_cancelled_ = false;
};

std::string heading(size_t number, size_t count) {
    return "=== " + std::to_string(number) + " of " + std::to_string(count) + " ===\n";
}

}  // namespace

GenerationResult generate_to_stdout(LoadedModel& loaded, GenerationRequest request, bool stream) {
    return std::move(generate_several_to_stdout(loaded, std::move(request), 1, stream).front());
}

std::vector<GenerationResult> generate_several_to_stdout(LoadedModel& loaded,
                                                         GenerationRequest request, uint32_t count,
                                                         bool stream) {
    // Shared with callbacks on the inference thread and on the one that waits for signals.
    auto canceller = std::make_shared<Canceller>();
    std::vector<GenerationEvents> events(count);
    const auto write = [canceller](std::string_view text) {
        if (!write_result(text) || !flush_results()) canceller->cancel();
    };
    const bool has_headings = stream && count > 1;
    if (has_headings) write(heading(1, count));
    if (stream) events.front().on_text = write;
    loaded.interrupts->on_interrupt([canceller] { canceller->cancel(); });
    canceller->take(loaded.engine->generate_many(std::move(request), std::move(events)));
    std::vector<GenerationResult> results;
    for (uint32_t i = 0; i < count; ++i) {
        results.push_back(canceller->wait(i));
        if (has_headings && i > 0) write("\n" + heading(i + 1, count) + results.back().text);
        if (has_headings) write("\n");
    }
    loaded.interrupts->on_interrupt(nullptr);
    return results;
}

std::string summary_of(const GenerationResult& result) {
    const GenerationStats& stats = result.stats;
    char text[256];
    std::snprintf(text, sizeof text,
                  "%u tokens at %.1f tok/s, first after %.0f ms; seed %llu; stopped: ",
                  stats.generated_tokens, stats.decode_tok_s, stats.ttft_ms,
                  static_cast<unsigned long long>(result.seed));
    return text + std::string(stop_reason_name(result.reason));
}

}  // namespace hokku::cli
