// SPDX-License-Identifier: Apache-2.0
// Engine::Impl: the inference thread, its queue, and what the two sides share.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "engine/command_queue.h"
#include "engine/generation_state.h"
#include "engine/loaded_model.h"
#include "engine/model_session.h"
#include "engine/scheduler.h"
#include "hokku/engine.h"

namespace hokku {

struct Engine::Impl {
    explicit Impl(std::unique_ptr<ModelLoader> model_loader);
    ~Impl();

    /// Runs `work` on the inference thread and waits for what it returns.
    /// Errors : bad_argument on that thread itself; out_of_memory.
    template <class T>
    Result<T> run_and_wait(const std::function<Result<T>()>& work);

    Result<ModelInfo> load(const LoadOptions& options, const LoadControl& control);
    void unload();
    void generate(std::vector<GenerationJob> jobs);
    Result<void> evaluate(const EvaluateRequest& request);
    Result<Timing> measure_speed(const TimingRequest& request);
    Result<double> measure_bandwidth();
    /// What the inference thread does until the queue is closed.
    void run_commands();
    /// Has the jobs of one prompt done, and whoever waits for their handles told.
    std::vector<GenerationHandle> queue_jobs(GenerationRequest request,
                                             std::vector<GenerationEvents> events);

    void publish(const LoadedModel* loaded);
    void add_live(const std::shared_ptr<GenerationHandle::State>& state);
    void remove_live(const std::shared_ptr<GenerationHandle::State>& state);
    /// A token that cancel_load() and the end of the engine trigger.
    std::stop_token begin_load();
    void end_load();

    // Of the inference thread.
    std::unique_ptr<ModelLoader> loader;
    std::unique_ptr<ModelSession> session;
    LoadOptions load_options;              ///< Of the session.
    std::unique_ptr<Scheduler> scheduler;  ///< There whenever the session is.

    // Shared, under the mutex.
    mutable std::mutex mutex;
    std::optional<ModelInfo> info;
    std::shared_ptr<const ModelText> text;                       // shared with the loaded model
    std::vector<std::shared_ptr<GenerationHandle::State>> live;  // not finished yet
    std::stop_source load_stop;
    uint32_t num_pending_loads = 0;

    std::stop_source closing;  ///< Triggered when the engine ends.
    CommandQueue queue;
    std::thread thread;  ///< Last: it uses all of the above.
};

}  // namespace hokku
