// SPDX-License-Identifier: Apache-2.0
#include "hokku/engine.h"

#include <algorithm>
#include <exception>
#include <new>
#include <system_error>

#include "base/try.h"
#include "engine/engine_access.h"
#include "engine/engine_impl.h"
#include "engine/evaluation.h"
#include "engine/model_loader.h"
#include "engine/prompt.h"
#include "engine/read_bandwidth.h"
#include "engine/saved_chat.h"
#include "engine/speed_measurement.h"
#include "sampling/random.h"

namespace hokku {
namespace {

Error no_model() {
    return {ErrorCode::bad_argument, "no model is loaded", "engine", "a loaded model"};
}

Error called_from_callback() {
    return {ErrorCode::bad_argument,
            "a blocking call was made on the inference thread, which would wait for itself",
            "callback", "a call from another thread"};
}

GenerationResult failed_result(Error error) {
    GenerationResult result;
    result.reason = StopReason::failed;
    result.error = std::move(error);
    return result;
}

}  // namespace

std::string_view stop_reason_name(StopReason reason) {
    switch (reason) {
        case StopReason::end_of_generation:
            return "end";
        case StopReason::stop_string:
            return "stop";
        case StopReason::max_tokens:
            return "length";
        case StopReason::context_full:
            return "context_full";
        case StopReason::cancelled:
            return "cancelled";
        case StopReason::failed:
            return "failed";
    }
    return "unknown";
}

std::string_view overflow_name(Overflow overflow) {
    switch (overflow) {
        case Overflow::stop:
            return "stop";
        case Overflow::drop_oldest:
            return "drop_oldest";
        case Overflow::summarise:
            return "summarise";
        case Overflow::grow:
            return "grow";
    }
    return "unknown";
}

Result<void> LoadControl::report(double share) const {
    bool is_wanted = !stop.stop_requested();
    if (is_wanted && progress) {
        std::string thrown;
        try {
            is_wanted = progress(share);
        } catch (const std::exception& exception) {
            thrown = exception.what();
        } catch (...) {
            thrown = "not a std::exception";
        }
        if (!thrown.empty())
            return Error{ErrorCode::bad_argument, "a callback threw an exception: " + thrown,
                         "progress", "callbacks that do not throw"};
    }
    if (is_wanted && !stop.stop_requested()) return {};
    return Error{ErrorCode::cancelled, "the load was cancelled", "", ""};
}

// ---- The inference thread ----

Engine::Impl::Impl(std::unique_ptr<ModelLoader> model_loader)
    : loader(std::move(model_loader)), thread([this] { run_commands(); }) {}

void Engine::Impl::run_commands() {
    while (true) {
        const bool is_idle = !scheduler || scheduler->is_idle();
        if (const auto command = is_idle ? queue.pop() : queue.pop_shared()) {
            command->run();
        } else if (is_idle) {
            break;
        } else {
            scheduler->step();
        }
    }
    scheduler.reset();
    session.reset();
}

Engine::Impl::~Impl() {
    closing.request_stop();
    {
        const std::lock_guard lock(mutex);
        load_stop.request_stop();
        for (const auto& state : live) state->stop.request_stop();
    }
    queue.close();
    thread.join();
}

template <class T>
Result<T> Engine::Impl::run_and_wait(const std::function<Result<T>()>& work) {
    if (std::this_thread::get_id() == thread.get_id()) return called_from_callback();
    std::mutex done_mutex;
    std::condition_variable done;
    std::optional<Result<T>> outcome;
    const auto run = [&] {
        std::optional<Result<T>> value;
        try {
            value.emplace(work());
        } catch (const std::bad_alloc&) {
            value.emplace(Error{ErrorCode::out_of_memory, "the system has no memory left", "", ""});
        } catch (const std::exception& exception) {
            value.emplace(Error{ErrorCode::bad_argument,
                                std::string("a callback threw an exception: ") + exception.what(),
                                "", "callbacks that do not throw"});
        } catch (...) {
            value.emplace(Error{ErrorCode::bad_argument,
                                "a callback threw something that is not a std::exception", "",
                                "callbacks that do not throw"});
        }
        const std::lock_guard lock(done_mutex);
        outcome = std::move(value);
        done.notify_one();  // under the lock: the waiter's condition may be gone right after it
    };
    queue.push({.run = run, .is_exclusive = true});
    std::unique_lock lock(done_mutex);
    done.wait(lock, [&] { return outcome.has_value(); });
    return *std::move(outcome);
}

void Engine::Impl::publish(const LoadedModel* loaded) {
    const std::lock_guard lock(mutex);
    info = loaded != nullptr ? std::optional(loaded->info) : std::nullopt;
    text = loaded != nullptr ? loaded->text : nullptr;
}

Result<ModelInfo> Engine::Impl::load(const LoadOptions& options, const LoadControl& control) {
    const auto start = std::chrono::steady_clock::now();
    HOKKU_CHECK(control.report(0.0));
    HOKKU_TRY(LoadedModel loaded, loader->open(options, control));
    unload();
    HOKKU_CHECK(loader->start(loaded, options, control));
    HOKKU_CHECK(control.report(1.0));
    loaded.info.load_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    session = std::make_unique<ModelSession>(std::move(loaded));
    session->on_info_changed = [this] { publish(&session->loaded); };
    load_options = options;
    session->restart = [this](const Error& lost) {
        return loader->restart(session->loaded, load_options, lost);
    };
    scheduler = std::make_unique<Scheduler>(*session);
    publish(&session->loaded);
    return session->loaded.info;
}

void Engine::Impl::unload() {
    publish(nullptr);
    scheduler.reset();
    session.reset();
}

void Engine::Impl::generate(std::vector<GenerationJob> jobs) {
    if (scheduler) return scheduler->submit_group(std::move(jobs));
    for (GenerationJob& job : jobs) {
        GenerationResult result = failed_result(no_model());
        try {
            if (job.events.on_finished) job.events.on_finished(result);
        } catch (...) {  // there is nobody left to tell
        }
        const auto on_done = std::move(job.on_done);
        job = GenerationJob();  // what the callbacks hold is free before anybody goes on
        on_done(std::move(result));
    }
}

Result<void> Engine::Impl::evaluate(const EvaluateRequest& request) {
    if (!session) return no_model();
    return run_evaluation(*session, request, closing.get_token());
}

Result<Timing> Engine::Impl::measure_speed(const TimingRequest& request) {
    if (!session) return no_model();
    return run_speed_measurement(*session, request, closing.get_token());
}

Result<double> Engine::Impl::measure_bandwidth() {
    if (!session || !session->loaded.file) return no_model();
    std::vector<std::span<const std::byte>> parts;
    for (const GgufTensor& tensor : session->loaded.file->tensors()) parts.push_back(tensor.data);
    return hokku::measure_read_bandwidth(parts, session->loaded.info.num_threads);
}

void Engine::Impl::add_live(const std::shared_ptr<GenerationHandle::State>& state) {
    const std::lock_guard lock(mutex);
    live.push_back(state);
}

void Engine::Impl::remove_live(const std::shared_ptr<GenerationHandle::State>& state) {
    const std::lock_guard lock(mutex);
    live.erase(std::find(live.begin(), live.end(), state));
}

std::stop_token Engine::Impl::begin_load() {
    const std::lock_guard lock(mutex);
    if (num_pending_loads++ == 0 && !closing.stop_requested()) load_stop = std::stop_source();
    return load_stop.get_token();
}

void Engine::Impl::end_load() {
    const std::lock_guard lock(mutex);
    --num_pending_loads;
}

// ---- The facade ----

Result<std::unique_ptr<Engine>> EngineAccess::create(std::unique_ptr<ModelLoader> loader) {
    std::unique_ptr<Engine> engine(new Engine());
    try {
        engine->impl_ = std::make_unique<Engine::Impl>(std::move(loader));
    } catch (const std::system_error& error) {
        return Error{ErrorCode::device, "the inference thread cannot be started", error.what(), ""};
    }
    return engine;
}

Result<std::unique_ptr<Engine>> Engine::create() {
    return EngineAccess::create(make_model_loader());
}

Engine::Engine() = default;
Engine::~Engine() = default;

Result<ModelInfo> Engine::load(const LoadOptions& options, std::function<bool(double)> progress) {
    const LoadControl control{std::move(progress), impl_->begin_load()};
    auto loaded = impl_->run_and_wait<ModelInfo>([&] { return impl_->load(options, control); });
    impl_->end_load();
    return loaded;
}

void Engine::cancel_load() {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->num_pending_loads > 0) impl_->load_stop.request_stop();
}

void Engine::unload() {
    const auto unloaded = impl_->run_and_wait<void>([&]() -> Result<void> {
        impl_->unload();
        return {};
    });
    static_cast<void>(unloaded.ok());  // from a callback it does nothing
}

std::optional<ModelInfo> Engine::model() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->info;
}

std::shared_ptr<const Tokenizer> Engine::tokenizer() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->text ? impl_->text->tokenizer : nullptr;
}

std::shared_ptr<const ChatTemplate> Engine::chat_template() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->text ? impl_->text->chat_template : nullptr;
}

std::vector<GenerationHandle> Engine::Impl::queue_jobs(GenerationRequest request,
                                                       std::vector<GenerationEvents> events) {
    const auto submitted = std::chrono::steady_clock::now();
    // Shared because a std::function must be copyable; only the inference thread uses them.
    const auto jobs = std::make_shared<std::vector<GenerationJob>>();
    std::vector<GenerationHandle> handles(events.size());
    for (size_t i = 0; i < events.size(); ++i) {
        auto state = std::make_shared<GenerationHandle::State>(thread.get_id());
        add_live(state);
        handles[i].state_ = state;
        GenerationJob job{.request = request,
                          .events = std::move(events[i]),
                          .stop = state->stop.get_token(),
                          .submitted = submitted,
                          .on_done = [this, state](GenerationResult result) {
                              remove_live(state);
                              state->finish(std::move(result));
                          }};
        if (request.sampling.seed) job.request.sampling.seed = *request.sampling.seed + i;
        jobs->push_back(std::move(job));
    }
    queue.push({.run = [this, jobs] { generate(std::move(*jobs)); }});
    return handles;
}

GenerationHandle Engine::generate(GenerationRequest request, GenerationEvents events) {
    std::vector<GenerationEvents> one;
    one.push_back(std::move(events));
    return std::move(impl_->queue_jobs(std::move(request), std::move(one)).front());
}

std::vector<GenerationHandle> Engine::generate_many(GenerationRequest request,
                                                    std::vector<GenerationEvents> events) {
    if (!request.sampling.seed) request.sampling.seed = draw_seed();
    return impl_->queue_jobs(std::move(request), std::move(events));
}

Result<void> Engine::evaluate(const EvaluateRequest& request) {
    return impl_->run_and_wait<void>([&] { return impl_->evaluate(request); });
}

Result<SavedChat> Engine::save_chat(const std::filesystem::path& path,
                                    std::span<const TokenId> tokens, std::string_view note) {
    return impl_->run_and_wait<SavedChat>([&]() -> Result<SavedChat> {
        if (!impl_->session) return no_model();
        return hokku::save_chat(*impl_->session, path, tokens, note, impl_->closing.get_token());
    });
}

Result<SavedChat> Engine::restore_chat(const std::filesystem::path& path, Overflow overflow) {
    return impl_->run_and_wait<SavedChat>([&]() -> Result<SavedChat> {
        if (!impl_->session) return no_model();
        return hokku::restore_chat(*impl_->session, path, overflow, impl_->closing.get_token());
    });
}

Result<Timing> Engine::measure_speed(const TimingRequest& request) {
    return impl_->run_and_wait<Timing>([&] { return impl_->measure_speed(request); });
}

Result<double> Engine::measure_read_bandwidth() {
    return impl_->run_and_wait<double>([&] { return impl_->measure_bandwidth(); });
}

Result<std::vector<TokenId>> Engine::tokenize_request(const GenerationRequest& request) const try {
    std::unique_lock lock(impl_->mutex);
    const auto text = impl_->text;
    lock.unlock();
    if (!text) return no_model();
    return make_prompt(request, *text);
} catch (const std::exception& exception) {  // std::bad_alloc, std::length_error
    return Error{ErrorCode::out_of_memory, exception.what(), "prompt", ""};
}

GenerationHandle::GenerationHandle() = default;
GenerationHandle::~GenerationHandle() = default;
GenerationHandle::GenerationHandle(GenerationHandle&&) noexcept = default;
GenerationHandle& GenerationHandle::operator=(GenerationHandle&&) noexcept = default;

void GenerationHandle::cancel() {
    if (state_) state_->stop.request_stop();
}

GenerationResult GenerationHandle::wait() {
    if (!state_)
        return failed_result({ErrorCode::bad_argument, "the handle holds no generation", "", ""});
    if (std::this_thread::get_id() == state_->inference_thread)
        return failed_result(called_from_callback());
    return state_->wait();
}

}  // namespace hokku
