// SPDX-License-Identifier: Apache-2.0
// Scheduler: runs several generations on one model, one backend step after another. Each step has
// the next token of every sequence that decodes and a piece of a prompt beside them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/generation.h"
#include "engine/model_session.h"
#include "hokku/engine.h"

namespace hokku {

/// One request and who wants to know of it.
struct GenerationJob {
    GenerationRequest request;
    GenerationEvents events;
    std::stop_token stop;
    Generation::Clock::time_point submitted{};
    /// Called once, when the events and what they hold are gone.
    std::function<void(GenerationResult)> on_done;
};

/// Active generations hold blocks and take part in steps; waiting ones hold none. Both lists are
/// in the order of arrival, and who came first is served first: when blocks run out, the newest
/// active generation gives its own back and waits to be resumed.
///
/// Threads: the inference thread only. step() allocates only when a generation starts, is resumed
///          or ends.
class Scheduler {
  public:
    /// `session` must outlive it.
    explicit Scheduler(ModelSession& session);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    /// Takes the job in; its start, its end and all in between happen in step().
    void submit(GenerationJob job);
    /// Continuations of one prompt, which is evaluated once: the requests must be alike but for
    /// their seeds.
    void submit_group(std::vector<GenerationJob> jobs);

    [[nodiscard]] bool is_idle() const { return active_.empty() && waiting_.empty(); }
    /// One step of the backend, and all that follows from it.
    void step();
    /// Makes the newest active generation wait, as if blocks had run out.
    void preempt_newest();

    [[nodiscard]] uint32_t num_active() const { return static_cast<uint32_t>(active_.size()); }
    [[nodiscard]] uint32_t num_waiting() const { return static_cast<uint32_t>(waiting_.size()); }
    [[nodiscard]] uint64_t num_preemptions() const { return num_preemptions_; }
    /// Order and number of the lists; each active sequence's blocks hold its own tokens; every
    /// reference to a block has its owner.
    [[nodiscard]] Result<void> check_invariants() const;

  private:
    struct Entry;
    using EntryList = std::vector<std::unique_ptr<Entry>>;

    // The parts of a step, in their order.
    void end_cancelled();
    void admit();
    void plan();
    void run();

    bool start(Entry& entry);
    [[nodiscard]] bool has_room_for(Entry& entry);
    void give_rows();
    [[nodiscard]] uint32_t mixed_rows() const;
    void make_room(Entry& entry);
    void take_logits(std::span<Entry* const> entries, std::span<const float> logits);
    void start_followers(Entry& leader, std::span<const float> logits);
    void suspend_newest();
    bool recover(const Error& lost);
    void fail_all();
    [[nodiscard]] bool has_guesses() const;
    void run_without_guesses();
    void run_one_by_one();
    template <class Work>
    void attempt(Entry& entry, Work&& work);

    void sweep();
    void end(std::unique_ptr<Entry> entry);
    void pass_on_followers(Entry& leader);
    void watch_stop(Entry& entry);
    static void insert_by_arrival(EntryList& list, std::unique_ptr<Entry> entry);

    ModelSession& session_;
    uint32_t max_sequences_;
    uint64_t num_arrived_ = 0, num_preemptions_ = 0;
    EntryList active_, waiting_;
    bool is_full_ = false;  ///< The first waiting one did not fit; nothing has changed since.
    std::vector<Entry*> planned_;
    std::vector<StepSlice> slices_;
    std::stop_source step_stop_;  ///< Ends the step in work: one of its generations is cancelled.
};

}  // namespace hokku
