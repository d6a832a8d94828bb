// SPDX-License-Identifier: Apache-2.0
#include "generation.h"

#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>

#include "console.h"

namespace hokku::cli {

GenerationResult generate_to_stdout(LoadedModel& loaded, GenerationRequest request, bool stream) {
    // The handle exists only once the generation has begun; a reader lost before that is noted.
    struct Shared {
        std::mutex mutex;
        std::optional<GenerationHandle> handle;
        bool is_cancelled = false;
        void cancel() {
            const std::lock_guard lock(mutex);
            is_cancelled = true;
            if (handle) handle->cancel();
        }
    };
    // Shared with callbacks on the inference thread and on the one that waits for signals.
    auto shared = std::make_shared<Shared>();
    GenerationEvents events;
    if (stream) {
        events.on_text = [shared](std::string_view text) {
            if (!write_result(text) || !flush_results()) shared->cancel();
        };
    }
    loaded.interrupts->on_interrupt([shared] { shared->cancel(); });
    GenerationHandle handle = loaded.engine->generate(std::move(request), std::move(events));
    {
        const std::lock_guard lock(shared->mutex);
        shared->handle = std::move(handle);
        if (shared->is_cancelled) shared->handle->cancel();
    }
    GenerationResult result = shared->handle->wait();
    loaded.interrupts->on_interrupt(nullptr);
    return result;
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
