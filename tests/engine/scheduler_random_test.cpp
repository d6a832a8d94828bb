// SPDX-License-Identifier: Apache-2.0
// Random use of the scheduler against a plain model that knows neither blocks nor steps: what each
// generation reads in its blocks must be its own tokens, and its text must be the one it has alone.
#include <algorithm>
#include <random>
#include <string>

#include "engine/fake_model.h"
#include "engine/scheduler.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

using Tokens = std::vector<TokenId>;

/// The tokens that a request gives, worked out one by one from the whole text.
Tokens plain_generation(const GenerationRequest& request, size_t count, const Script& script) {
    Tokens history = *request.tokens, generated;
    Sampler sampler = Sampler::create(request.sampling, fake_token::num_vocab, 10'000).value();
    for (const TokenId token : history) sampler.accept(token);
    std::vector<float> logits(fake_token::num_vocab);
    while (generated.size() < count) {
        script(history, logits);
        generated.push_back(sampler.sample(logits).value());
        sampler.accept(generated.back());
        history.push_back(generated.back());
    }
    return generated;
}

struct Counts {
    uint64_t grown = 0;
    uint64_t cancelled = 0, failed = 0, whole = 0, forward = 0, cached = 0, followers = 0;
    uint64_t guessed = 0, right = 0;
};

class RandomRun {
  public:
    RandomRun(std::shared_ptr<FakeControl> control, uint32_t seed)
        : random_(seed),
          control_(std::move(control)),
          session_(load_fake_model(control_)),
          scheduler_(session_) {
        control_->on_sequence = [this](std::span<const int32_t> history) { check_read(history); };
        control_->before_step = [this](const Step&) -> Result<void> {
            const uint32_t chance = below(400);
            // Somebody is cancelled within the step.
            if (chance > 394 && !jobs_.empty()) jobs_[below(jobs_.size())]->stop.request_stop();
            if (chance > 1) return {};
            return Error{chance == 0 ? ErrorCode::numeric : ErrorCode::device, "injected", "", ""};
        };
    }
    ~RandomRun() { control_->on_sequence = nullptr; }

    void run(int num_operations) {
        for (int i = 0; i < num_operations; ++i) {
            const uint32_t choice = below(100);
            if (choice < 6 && scheduler_.num_waiting() < 6) {
                submit();
            } else if (choice < 8) {
                if (!jobs_.empty()) jobs_[below(jobs_.size())]->stop.request_stop();
            } else if (choice < 10) {
                scheduler_.preempt_newest();
            } else {
                scheduler_.step();
            }
            check();
        }
        for (int i = 0; !scheduler_.is_idle(); ++i) {
            REQUIRE(i < 100'000);  // everything ends
            scheduler_.step();
            check();
        }
        REQUIRE(jobs_.empty());
        REQUIRE(control_->num_faults == 0);
    }

    Counts counts;
    bool has_grown() const {
        return session_.loaded.info.context_tokens > control_->context_tokens;
    }
    uint64_t num_preemptions() const { return scheduler_.num_preemptions(); }

  private:
    struct Job {
        GenerationRequest request;
        Tokens history;  ///< The prompt and what has been drawn.
        std::stop_source stop;
    };

    uint32_t below(size_t limit) {
        return std::uniform_int_distribution<uint32_t>(0,
                                                       static_cast<uint32_t>(limit) - 1)(random_);
    }

    // Beginnings of earlier texts, so that prefixes are shared; few kinds of tokens.
    Tokens draw_prompt() {
        Tokens prompt;
        if (!texts_.empty() && below(4) > 0) {
            prompt = texts_[below(texts_.size())];
            if (below(3) > 0) prompt.resize(below(prompt.size()) + 1);  // a branch
        }
        const uint32_t num_new = prompt.empty() || below(2) > 0 ? 1 + below(120) : 0;
        for (uint32_t i = 0; i < num_new; ++i)
            prompt.push_back(static_cast<TokenId>('a' + below(2)));
        prompt.resize(std::min<size_t>(prompt.size(), control_->context_tokens - 20));
        return prompt;
    }

    void submit() {
        GenerationRequest request;
        request.tokens = draw_prompt();
        request.max_tokens = below(8) == 0 ? 0 : 1 + below(150);
        if (below(6) == 0) request.overflow = Overflow::grow;
        request.ignore_end = true;
        request.sampling.temperature = below(2) == 0 ? 0.0f : 1.0f;
        request.sampling.seed = below(1'000'000);
        request.reuse_cached_prefix = below(8) > 0;
        const uint32_t count = below(4) == 0 ? 2 + below(4) : 1;
        counts.followers += count - 1;
        std::vector<GenerationJob> group;
        for (uint32_t i = 0; i < count; ++i) {
            if (i > 0) request.sampling.seed = *request.sampling.seed + 1;
            group.push_back(make_job(request));
        }
        if (texts_.size() > 40) texts_.erase(texts_.begin());
        texts_.push_back(*request.tokens);
        scheduler_.submit_group(std::move(group));
    }

    GenerationJob make_job(const GenerationRequest& request) {
        auto job = std::make_shared<Job>(Job{request, *request.tokens, {}});
        jobs_.push_back(job);
        GenerationEvents events;
        events.on_token = [job](const TokenLogprob& token) { job->history.push_back(token.id); };
        return {.request = request,
                .events = std::move(events),
                .stop = job->stop.get_token(),
                .submitted = Generation::Clock::now(),
                .on_done = [this, job](GenerationResult result) { finish(job, result); }};
    }

    void finish(const std::shared_ptr<Job>& job, const GenerationResult& result) {
        const auto found = std::find(jobs_.begin(), jobs_.end(), job);
        REQUIRE(found != jobs_.end());  // once
        jobs_.erase(found);
        const size_t count = result.tokens.size(), prompt = job->request.tokens->size();
        REQUIRE(result.tokens == plain_generation(job->request, count, control_->script));
        switch (result.reason) {
            case StopReason::cancelled:
                REQUIRE(job->stop.stop_requested());
                ++counts.cancelled;
                break;
            case StopReason::failed:
                REQUIRE(result.error->what == "injected");
                ++counts.failed;
                break;
            case StopReason::max_tokens:
                REQUIRE(count == job->request.max_tokens);
                ++counts.whole;
                break;
            default:
                REQUIRE(result.reason == StopReason::context_full);
                // Contexts may have grown since.
                REQUIRE(prompt + count >= control_->context_tokens + 1);
                REQUIRE(prompt + count <= session_.loaded.info.context_tokens + 1);
                ++counts.whole;
        }
        counts.forward += result.stats.forward_tokens;
        counts.cached += result.stats.cached_tokens;
        counts.guessed += result.stats.guessed_tokens;
        counts.right += result.stats.right_guesses;
        texts_.push_back(job->history);
    }

    // What a row attends to is the start of the text of one of the generations, and guesses.
    void check_read(std::span<const int32_t> history) {
        const bool is_known = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
            const size_t known = std::min(history.size(), job->history.size());
            return history.size() <= job->history.size() + control_->max_guesses &&
                   std::equal(history.begin(), history.begin() + static_cast<ptrdiff_t>(known),
                              job->history.begin());
        });
        REQUIRE(is_known);
    }

    void check() {
        const auto checked = scheduler_.check_invariants();
        if (!checked.ok()) FAIL(checked.error().message());
    }

    std::mt19937 random_;
    std::shared_ptr<FakeControl> control_;
    std::vector<std::shared_ptr<Job>> jobs_;  ///< Not finished yet.
    std::vector<Tokens> texts_;
    ModelSession session_;
    Scheduler scheduler_;
};

/// Small pools, so that blocks run out all the time.
std::shared_ptr<FakeControl> make_control(uint32_t seed) {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 200 + seed % 5 * 50;
    control->num_kv_blocks = (control->context_tokens - 1) / kKvBlockTokens + 2 + seed % 4;
    control->max_sequences = 1 + seed % 4;
    if (seed % 3 == 0) control->trained_context = 2 * control->context_tokens;
    control->least_prefill_rows = 1 + seed % 3 * 5;
    control->max_decode_rows = 1 + seed % 3 * 2;
    control->max_guesses = control->max_decode_rows - 1;
    control->max_step_logits = std::max(control->max_sequences, control->max_decode_rows);
    if (seed % 2 == 1) control->script = repetitive_logits;
    control->max_step_tokens = 24 + seed % 7 * 16;
    return control;
}

}  // namespace

TEST_CASE("Scheduler: random use of a small pool never mixes generations", "[engine][quick]") {
    Counts counts;
    uint64_t num_preemptions = 0;
    for (uint32_t seed = 0; seed < 24; ++seed) {
        CAPTURE(seed);
        RandomRun run(make_control(seed), seed);
        run.run(150);
        num_preemptions += run.num_preemptions();
        counts.whole += run.counts.whole;
        counts.cached += run.counts.cached;
        counts.guessed += run.counts.guessed;
        counts.right += run.counts.right;
        counts.grown += run.has_grown() ? 1u : 0u;
    }
    CHECK(counts.grown > 0);
    CAPTURE(counts.guessed, counts.right);
    CHECK(counts.right > 100);
    CHECK(counts.guessed > counts.right);
    CHECK(num_preemptions > 20);
    CHECK(counts.whole > 20);
    CHECK(counts.cached > 1000);
}

TEST_CASE("Scheduler: 100,000 random operations", "[engine]") {
    Counts counts;
    uint64_t num_preemptions = 0;
    for (uint32_t seed = 100; seed < 120; ++seed) {
        CAPTURE(seed);
        RandomRun run(make_control(seed), seed);
        run.run(5000);
        num_preemptions += run.num_preemptions();
        counts.whole += run.counts.whole;
        counts.cancelled += run.counts.cancelled;
        counts.failed += run.counts.failed;
        counts.followers += run.counts.followers;
        counts.cached += run.counts.cached;
    }
    CAPTURE(num_preemptions, counts.whole, counts.cancelled, counts.failed, counts.followers,
            counts.cached);
    CHECK(num_preemptions > 2000);
    CHECK(counts.whole > 500);
    CHECK(counts.cancelled > 300);
    CHECK(counts.failed > 100);
    CHECK(counts.followers > 500);
    CHECK(counts.cached > 50'000);
}
