// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduler.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/cancelled.h"
#include "base/try.h"

namespace hokku {
namespace {

Error no_memory() {
    return {ErrorCode::out_of_memory, "the system has no memory left for this request", "", ""};
}

}  // namespace

struct Scheduler::Entry {
    Entry(ModelSession& session, GenerationJob given, uint64_t number)
        : job(std::move(given)),
          generation(session, job.request, job.events, job.submitted, job.stop),
          arrival(number) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    /// Whoever waits is told, even of one that is lost for want of memory.
    ~Entry() {
        if (!job.on_done) return;
        GenerationResult lost = generation.take_result();
        lost.reason = StopReason::failed;
        lost.error = no_memory();
        tell(std::move(lost));
    }

    /// Ends it: events and what they hold are gone before anybody who waits goes on.
    void tell(GenerationResult result) {
        try {
            if (job.events.on_finished) job.events.on_finished(result);
        } catch (...) {  // there is nobody left to tell
        }
        on_stop.reset();
        const auto on_done = std::exchange(job.on_done, nullptr);
        job.events = {};
        if (on_done) on_done(std::move(result));
    }

    /// Passes the wish of one generation's owner on to the step in work.
    struct StopStep {
        std::stop_source step;
        void operator()() { step.request_stop(); }
    };

    [[nodiscard]] bool is_decoding() const {
        return !generation.is_prefilling() && generation.num_pending() == 1;
    }

    [[nodiscard]] StepSlice slice() {
        return {&generation.sequence(), next.tokens, next.num_logit_rows, next.num_guessed,
                generation.num_best()};
    }

    GenerationJob job;
    Generation generation;
    uint64_t arrival;
    bool has_begun = false;
    EntryList followers;    ///< Wait for the end of this one's prompt to go on from there.
    uint32_t num_rows = 0;  ///< In the step that is being planned; 0: not in it.
    Generation::Next next;
    std::optional<std::stop_callback<StopStep>> on_stop;
};

Scheduler::Scheduler(ModelSession& session)
    : session_(session), max_sequences_(session.loaded.max_sequences) {
    active_.reserve(max_sequences_);
    planned_.reserve(max_sequences_);
    slices_.reserve(max_sequences_);
}

Scheduler::~Scheduler() = default;

void Scheduler::submit(GenerationJob job) {
    waiting_.push_back(std::make_unique<Entry>(session_, std::move(job), num_arrived_++));
}

void Scheduler::submit_group(std::vector<GenerationJob> jobs) {
    if (jobs.empty()) return;
    auto leader = std::make_unique<Entry>(session_, std::move(jobs.front()), num_arrived_++);
    for (size_t i = 1; i < jobs.size(); ++i)
        leader->followers.push_back(
            std::make_unique<Entry>(session_, std::move(jobs[i]), num_arrived_++));
    waiting_.push_back(std::move(leader));
}

void Scheduler::step() {
    try {
        end_cancelled();
        admit();
        plan();
        if (!planned_.empty()) run();
        sweep();
    } catch (const std::exception&) {  // no memory for the lists themselves
        fail_all();
    }
}

void Scheduler::fail_all() {
    planned_.clear();
    slices_.clear();
    EntryList lost;
    for (EntryList* list : {&active_, &waiting_}) {
        std::swap(lost, *list);
        lost.clear();  // each tells its owner
    }
}

/// Whatever goes wrong in the work for one generation ends that one alone.
template <class Work>
void Scheduler::attempt(Entry& entry, Work&& work) {
    try {
        Result<void> done = work();
        if (!done.ok()) entry.generation.fail(std::move(done).error());
    } catch (const std::exception&) {  // std::bad_alloc, std::length_error
        entry.generation.fail(no_memory());
    }
}

// ---- who takes part ----------------------------------------------------------------------------

void Scheduler::end_cancelled() {
    const auto cancel = [&](Entry& entry) {
        if (entry.job.stop.stop_requested() && !entry.generation.is_finished())
            entry.generation.fail(cancelled());
    };
    for (EntryList* list : {&active_, &waiting_}) {
        for (auto& entry : *list) {
            cancel(*entry);
            for (auto& follower : entry->followers) cancel(*follower);
        }
    }
    sweep();
    if (!step_stop_.stop_requested()) return;
    step_stop_ = std::stop_source();
    for (auto& entry : active_) watch_stop(*entry);
}

void Scheduler::watch_stop(Entry& entry) {
    entry.on_stop.reset();
    entry.on_stop.emplace(entry.job.stop, Entry::StopStep{step_stop_});
}

void Scheduler::admit() {
    if (active_.empty()) is_full_ = false;
    while (!waiting_.empty() && active_.size() < max_sequences_ && !is_full_) {
        Entry& entry = *waiting_.front();
        if (!start(entry)) {
            sweep();
            continue;
        }
        if (!has_room_for(entry)) {
            entry.generation.suspend();
            is_full_ = true;
            return;
        }
        watch_stop(entry);
        insert_by_arrival(active_, std::move(waiting_.front()));
        waiting_.erase(waiting_.begin());
    }
}

void Scheduler::insert_by_arrival(EntryList& list, std::unique_ptr<Entry> entry) {
    const auto place = std::find_if(list.begin(), list.end(), [&](const auto& other) {
        return other != nullptr && other->arrival > entry->arrival;
    });
    list.insert(place, std::move(entry));
}

/// False: it has ended.
bool Scheduler::start(Entry& entry) {
    attempt(entry, [&]() -> Result<void> {
        if (!entry.has_begun) HOKKU_CHECK(entry.generation.begin());
        entry.has_begun = true;
        return entry.generation.open();
    });
    return !entry.generation.is_finished();
}

// Room for what the active sequences are yet to evaluate, one more block each at least, or the next
// few tokens would push it out again. A generation alone always gets what there is.
bool Scheduler::has_room_for(Entry& entry) {
    if (active_.empty()) return true;
    const uint32_t block = session_.kv.block_tokens();
    size_t num_blocks = 0;
    for (const auto& other : active_) {
        const Sequence& sequence = other->generation.sequence();
        const size_t wanted =
            (sequence.length() + size_t{other->generation.num_pending()} + block - 1) / block;
        const size_t held = sequence.blocks().size();
        num_blocks += std::max<size_t>(wanted, held + 1) - held;
    }
    return session_.kv.can_append(
        entry.generation.sequence(),
        entry.generation.num_pending() + static_cast<uint32_t>(num_blocks) * block);
}

// ---- what a step consists of -------------------------------------------------------------------

void Scheduler::plan() {
    give_rows();
    // Who is preempted to make room has come later than who needs it: its turn is yet to come.
    for (size_t i = 0; i < active_.size(); ++i)
        if (active_[i]->num_rows > 0) make_room(*active_[i]);
    planned_.clear();
    slices_.clear();
    const uint32_t few = session_.loaded.max_decode_rows;
    for (const bool is_few : {true, false}) {  // slices of few rows come first (Step)
        for (const auto& entry : active_) {
            if (entry->num_rows == 0 || (entry->num_rows <= few) != is_few) continue;
            planned_.push_back(entry.get());
            slices_.push_back(entry->slice());
        }
    }
}

/// Rows of prompts in a step that decodes too. With a few of them it takes several times as long as
/// without, but a prompt takes the longer the smaller its pieces are.
uint32_t Scheduler::mixed_rows() const {
    const LoadedModel& loaded = session_.loaded;
    return std::min(loaded.max_step_tokens,
                    std::max(loaded.max_step_tokens / 8, 2 * loaded.least_prefill_rows));
}

// One row of each sequence that goes on after its prompt; the budget is for all beyond that.
void Scheduler::give_rows() {
    const bool has_decoding = std::any_of(active_.begin(), active_.end(),
                                          [](const auto& entry) { return entry->is_decoding(); });
    uint32_t budget = has_decoding ? mixed_rows() : session_.loaded.max_step_tokens;
    for (auto& entry : active_) {
        Generation& generation = entry->generation;
        const bool is_prefilling = generation.is_prefilling();
        const uint32_t free_rows = is_prefilling ? 0 : 1;
        const uint32_t most = budget + free_rows;
        // Too little for a piece of a prompt.
        const bool must_wait = is_prefilling && generation.num_pending() > most &&
                               most < 2 * session_.loaded.least_prefill_rows;
        entry->next = must_wait ? Generation::Next{} : generation.next(most, active_.size() == 1);
        entry->num_rows = static_cast<uint32_t>(entry->next.tokens.size());
        budget -= entry->num_rows - std::min(entry->num_rows, free_rows);
    }
}

void Scheduler::make_room(Entry& entry) {
    while (true) {
        auto reserved = session_.kv.reserve(entry.generation.sequence(), entry.num_rows);
        if (reserved.ok()) return;
        is_full_ = true;
        if (active_.size() == 1) {
            entry.num_rows = 0;
            return attempt(entry, [&] { return reserved; });
        }
        const bool is_itself = active_.back().get() == &entry;
        preempt_newest();
        if (is_itself) return;
    }
}

void Scheduler::preempt_newest() {
    if (active_.empty()) return;
    suspend_newest();
    ++num_preemptions_;
}

/// It gives its blocks back and waits.
void Scheduler::suspend_newest() {
    std::unique_ptr<Entry> entry = std::move(active_.back());
    active_.pop_back();
    entry->on_stop.reset();
    entry->generation.suspend();
    insert_by_arrival(waiting_, std::move(entry));
}

// ---- what comes out of it ----------------------------------------------------------------------

void Scheduler::run() {
    std::optional<Error> error;
    try {
        const auto logits = session_.runner.run_several(slices_, step_stop_.get_token());
        if (logits.ok()) return take_logits(planned_, *logits);
        error = logits.error();
    } catch (const std::bad_alloc&) {
        error = no_memory();
    }
    if (error->code == ErrorCode::cancelled && step_stop_.stop_requested()) return;
    if (error->code == ErrorCode::device && recover(*error)) return;
    if (error->code == ErrorCode::numeric && has_guesses()) return run_without_guesses();
    if (error->code == ErrorCode::numeric && planned_.size() > 1) return run_one_by_one();
    for (Entry* entry : planned_) attempt(*entry, [&]() -> Result<void> { return *error; });
}

/// After the device was lost: all go on where they were, once what they held is evaluated again.
/// False: nothing can be done.
bool Scheduler::recover(const Error& lost) {
    if (!session_.restart) return false;
    planned_.clear();
    slices_.clear();
    is_full_ = false;
    while (!active_.empty()) suspend_newest();
    const Result<void> recovered = session_.recover(lost);
    if (recovered.ok()) return true;
    for (auto& entry : waiting_) {
        attempt(*entry, [&] { return recovered; });
        for (auto& follower : entry->followers) attempt(*follower, [&] { return recovered; });
    }
    return true;
}

bool Scheduler::has_guesses() const {
    return std::any_of(planned_.begin(), planned_.end(),
                       [](const Entry* entry) { return entry->next.num_guessed > 0; });
}

/// What would not have been drawn must not end a text.
void Scheduler::run_without_guesses() {
    for (size_t i = 0; i < planned_.size(); ++i) {
        Entry& entry = *planned_[i];
        if (entry.next.num_guessed == 0) continue;
        entry.next = entry.generation.next(1);
        entry.num_rows = 1;
        slices_[i] = entry.slice();
    }
    run();
}

/// Finds out which sequence a step has failed for.
void Scheduler::run_one_by_one() {
    bool is_stopped = false;
    for (size_t i = 0; i < planned_.size(); ++i) {
        attempt(*planned_[i], [&]() -> Result<void> {
            const auto logits = session_.runner.run_several(std::span(slices_).subspan(i, 1),
                                                            step_stop_.get_token());
            if (logits.ok()) {
                take_logits(std::span(planned_).subspan(i, 1), *logits);
                return {};
            }
            is_stopped = logits.error().code == ErrorCode::cancelled && step_stop_.stop_requested();
            return is_stopped ? Result<void>() : logits.error();
        });
        if (is_stopped) return;  // the rest is for the next step
    }
}

void Scheduler::take_logits(std::span<Entry* const> entries, std::span<const float> logits) {
    const size_t num_vocab = session_.loaded.info.num_vocab;
    for (Entry* entry : entries) {
        const size_t count = entry->next.num_logit_rows * num_vocab;
        const auto own = logits.first(count);
        logits = logits.subspan(count);
        // Before the leader goes on, which may change its prompt. A summary comes before the prompt
        // that they share.
        if (count > 0 && !entry->followers.empty() && entry->generation.is_at_prompt_end())
            start_followers(*entry, own);
        const size_t num_held = entry->generation.sequence().blocks().size();
        const uint32_t num_blocks = session_.kv.num_blocks();
        attempt(*entry, [&] { return entry->generation.accept(entry->num_rows, own); });
        // It has dropped turns, or its context has grown: others may fit now.
        if (entry->generation.sequence().blocks().size() < num_held ||
            session_.kv.num_blocks() > num_blocks)
            is_full_ = false;
    }
}

void Scheduler::start_followers(Entry& leader, std::span<const float> logits) {
    for (auto& follower : std::exchange(leader.followers, {})) {
        follower->has_begun = true;
        attempt(*follower, [&] { return follower->generation.join(leader.generation, logits); });
        const bool has_blocks = follower->generation.sequence().length() > 0;
        const bool goes_on = has_blocks && active_.size() < max_sequences_;
        if (goes_on) {
            watch_stop(*follower);
        } else {
            follower->generation.suspend();
        }
        insert_by_arrival(goes_on ? active_ : waiting_, std::move(follower));
    }
}

// ---- ends --------------------------------------------------------------------------------------

void Scheduler::sweep() {
    EntryList ended;
    const auto take_ended = [&](EntryList& list) {
        const auto first = std::stable_partition(list.begin(), list.end(), [](const auto& entry) {
            return !entry->generation.is_finished();
        });
        std::move(first, list.end(), std::back_inserter(ended));
        list.erase(first, list.end());
    };
    const auto has_ended = [](const EntryList& list) {
        return std::any_of(list.begin(), list.end(),
                           [](const auto& entry) { return entry->generation.is_finished(); });
    };
    for (EntryList* list : {&active_, &waiting_}) {
        for (auto& entry : *list)
            if (has_ended(entry->followers)) take_ended(entry->followers);
        if (has_ended(*list)) take_ended(*list);
    }
    if (!ended.empty()) is_full_ = false;
    for (auto& entry : ended) pass_on_followers(*entry);
    for (auto& entry : ended) end(std::move(entry));
}

/// They need a new leader when theirs has ended before its prompt did.
void Scheduler::pass_on_followers(Entry& leader) {
    if (leader.followers.empty()) return;
    EntryList followers = std::exchange(leader.followers, {});
    std::unique_ptr<Entry> next = std::move(followers.front());
    followers.erase(followers.begin());
    next->followers = std::move(followers);
    insert_by_arrival(waiting_, std::move(next));
}

void Scheduler::end(std::unique_ptr<Entry> entry) {
    GenerationResult result = entry->generation.take_result();
    entry->tell(std::move(result));
}

// ---- invariants --------------------------------------------------------------------------------

Result<void> Scheduler::check_invariants() const {
    const auto broken = [](const char* what) {
        return Error{ErrorCode::device, what, "scheduler", ""};
    };
    const auto by_arrival = [](const auto& a, const auto& b) { return a->arrival < b->arrival; };
    if (active_.size() > max_sequences_) return broken("too many generations are active");
    if (!std::is_sorted(active_.begin(), active_.end(), by_arrival) ||
        !std::is_sorted(waiting_.begin(), waiting_.end(), by_arrival))
        return broken("the generations are not in the order of their arrival");
    std::vector<const Sequence*> sequences;
    for (const auto& entry : active_) {
        if (!entry->followers.empty() && entry->generation.has_tokens())
            return broken("followers wait for a prompt that has been evaluated");
        const std::vector<TokenId> history = entry->generation.history();
        HOKKU_CHECK(session_.kv.check_contents(entry->generation.sequence(), history));
        if (entry->generation.sequence().length() == history.size())
            return broken("a generation has nothing to go on with");
        sequences.push_back(&entry->generation.sequence());
    }
    for (const auto& entry : waiting_)
        if (!entry->generation.sequence().blocks().empty())
            return broken("a waiting generation holds blocks");
    return session_.kv.check_invariants(sequences);
}

}  // namespace hokku
