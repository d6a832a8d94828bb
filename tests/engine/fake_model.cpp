// SPDX-License-Identifier: Apache-2.0
#include "engine/fake_model.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace hokku::testing {

namespace {

uint64_t mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

class FakeBackend : public Backend {
  public:
    FakeBackend(std::shared_ptr<FakeControl> control, uint32_t num_blocks)
        : control_(std::move(control)),
          slots_(size_t{num_blocks} * kKvBlockTokens, Slot{-1, 0}),
          logits_(size_t{control_->max_step_logits} * fake_token::num_vocab),
          history_(slots_.size()) {
        info_.device = "fake";
        info_.kernels = "fake";
        info_.num_threads = 1;
        ++control_->num_models;
    }
    ~FakeBackend() override { --control_->num_models; }

    Result<std::span<const float>> run(const Step& step) override {
        if (owner_ == std::thread::id()) owner_ = std::this_thread::get_id();
        if (owner_ != std::this_thread::get_id()) ++control_->num_faults;
        if (control_->on_step) control_->on_step(step);
        if (control_->before_step) {
            const auto allowed = control_->before_step(step);
            if (!allowed.ok()) return allowed.error();
        }
        for (auto waited = std::chrono::milliseconds(0); waited < control_->step_time;
             waited += std::chrono::milliseconds(1)) {
            if (step.stop.stop_requested()) return cancelled();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (step.stop.stop_requested()) return cancelled();
        ++control_->num_steps;
        control_->num_rows += static_cast<uint32_t>(step.tokens.size());
        control_->longest_step =
            std::max<uint32_t>(control_->longest_step, static_cast<uint32_t>(step.tokens.size()));
        for (const StepSequence& sequence : step.sequences) store(step, sequence);
        for (const StepSequence& sequence : step.sequences)
            if (control_->on_sequence)
                control_->on_sequence(
                    read_history(step, sequence.first_row + sequence.num_rows - 1));
        size_t num_done = 0;
        for (const uint32_t row : step.logit_rows) {
            const auto history = read_history(step, row);
            control_->script(history, std::span(logits_).subspan(num_done * fake_token::num_vocab,
                                                                 fake_token::num_vocab));
            ++num_done;
        }
        trace(step);
        return std::span<const float>(logits_).first(num_done * fake_token::num_vocab);
    }

    void copy_block(uint32_t from, uint32_t to) override {
        ++control_->num_copies;
        std::copy_n(slots_.begin() + static_cast<ptrdiff_t>(from * kKvBlockTokens), kKvBlockTokens,
                    slots_.begin() + static_cast<ptrdiff_t>(to * kKvBlockTokens));
    }
    uint64_t kv_block_bytes() const override { return kKvBlockTokens * sizeof(Slot); }
    void read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const override {
        std::fill(out.begin(), out.end(), std::byte{0});
        std::memcpy(out.data(), &slots_[size_t{block} * kKvBlockTokens], num_tokens * sizeof(Slot));
    }
    void write_block(uint32_t block, std::span<const std::byte> bytes) override {
        std::memcpy(&slots_[size_t{block} * kKvBlockTokens], bytes.data(), bytes.size());
    }
    Result<void> grow_kv(uint32_t num_blocks) override {
        if (!control_->can_grow) return Error{ErrorCode::out_of_memory, "no memory", "fake", ""};
        slots_.resize(size_t{num_blocks} * kKvBlockTokens, Slot{-1, 0});
        history_.resize(slots_.size());
        return {};
    }
    const BackendInfo& info() const override { return info_; }

  private:
    struct Slot {
        int32_t token;
        uint32_t position;
    };
    static Error cancelled() { return {ErrorCode::cancelled, "the step was cancelled", "", ""}; }

    Slot& slot(const StepSequence& sequence, uint32_t position) {
        const uint32_t block = sequence.blocks[position / kKvBlockTokens];
        return slots_[size_t{block} * kKvBlockTokens + position % kKvBlockTokens];
    }

    void store(const Step& step, const StepSequence& sequence) {
        const uint32_t length = sequence.num_cached + sequence.num_rows;
        if (sequence.blocks.size() * kKvBlockTokens < length) {
            ++control_->num_faults;
            return;
        }
        for (uint32_t r = 0; r < sequence.num_rows; ++r) {
            const uint32_t position = sequence.num_cached + r;
            slot(sequence, position) = {step.tokens[sequence.first_row + r], position};
        }
    }

    std::span<const int32_t> read_history(const Step& step, uint32_t row) {
        for (const StepSequence& sequence : step.sequences) {
            if (row < sequence.first_row || row >= sequence.first_row + sequence.num_rows) continue;
            const uint32_t length = sequence.num_cached + row - sequence.first_row + 1;
            for (uint32_t position = 0; position < length; ++position) {
                const Slot& stored = slot(sequence, position);
                if (stored.position != position || stored.token < 0) ++control_->num_faults;
                history_[position] = stored.token;
            }
            return std::span<const int32_t>(history_).first(length);
        }
        ++control_->num_faults;
        return {};
    }

    static void trace(const Step& step) {
        if (step.trace == nullptr || !step.trace->on_values) return;
        const float last_token = static_cast<float>(step.tokens.back());
        step.trace->on_values("embed", std::span(&last_token, 1));
        if (step.trace->stages) step.trace->on_values("layer0.q", std::span(&last_token, 1));
    }

    std::shared_ptr<FakeControl> control_;
    std::vector<Slot> slots_;
    std::vector<float> logits_;
    std::vector<int32_t> history_;
    BackendInfo info_;
    std::thread::id owner_;
};

class FakeLoader : public ModelLoader {
  public:
    explicit FakeLoader(std::shared_ptr<FakeControl> control) : control_(std::move(control)) {}

    Result<LoadedModel> open(const LoadOptions& options, const LoadControl& control) override {
        for (auto waited = std::chrono::milliseconds(0); waited < control_->load_time;
             waited += std::chrono::milliseconds(1)) {
            const double share = static_cast<double>(waited.count()) /
                                 static_cast<double>(control_->load_time.count());
            if (auto wanted = control.report(share); !wanted.ok()) return wanted.error();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (control_->on_open) control_->on_open(options);
        if (control_->fail_open > 0)
            return Error{ErrorCode::bad_format, "the file is broken", options.path.string(), ""};
        if (control_->refuses_draft && !options.draft_model.empty())
            return Error{ErrorCode::unsupported,
                         "the draft model does not fit the model: token 7 is \"a\"", "draft model",
                         "\"b\""};
        LoadedModel loaded;
        auto text = std::make_shared<ModelText>();
        text->tokenizer = make_fake_tokenizer(control_->add_bos);
        if (!control_->chat_template.empty()) {
            auto parsed = ChatTemplate::parse(control_->chat_template);
            if (!parsed.ok()) return parsed.error();
            text->chat_template = std::make_shared<const ChatTemplate>(std::move(parsed).value());
        }
        describe_text(*text, "fake");
        const auto ends = text->end_tokens.size();
        text->end_tokens.insert(text->end_tokens.end(), control_->more_end_tokens.begin(),
                                control_->more_end_tokens.end());
        std::inplace_merge(text->end_tokens.begin(),
                           text->end_tokens.begin() + static_cast<ptrdiff_t>(ends),
                           text->end_tokens.end());
        loaded.info.reply_format = text->reply_format.info();
        loaded.text = std::move(text);
        loaded.info.name = "fake";
        loaded.info.path = options.path;
        loaded.info.num_vocab = control_->num_vocab;
        loaded.info.context_tokens = control_->context_tokens;
        loaded.info.trained_context = control_->trained_context;
        loaded.info.sampling_defaults = control_->sampling_defaults;
        loaded.num_kv_blocks = control_->num_kv_blocks;
        if (loaded.num_kv_blocks == 0)
            loaded.num_kv_blocks = (control_->context_tokens - 1) / kKvBlockTokens + 2;
        loaded.has_read_fault = [control = control_] { return control->read_fault.load(); };
        return loaded;
    }

    Result<void> start(LoadedModel& loaded, const LoadOptions& options,
                       const LoadControl& control) override {
        if (control_->fail_start > 0)
            return Error{ErrorCode::out_of_memory, "no memory for the cache", "", ""};
        loaded.max_step_tokens = control_->max_step_tokens;
        loaded.max_step_logits = control_->max_step_logits;
        loaded.least_prefill_rows = control_->least_prefill_rows;
        loaded.max_decode_rows = control_->max_decode_rows;
        loaded.max_guesses = control_->max_guesses;
        loaded.are_guesses_timed = false;
        loaded.max_sequences = control_->max_sequences;
        loaded.backend = std::make_unique<FakeBackend>(control_, loaded.num_kv_blocks);
        if (control_->draft) {
            FakeLoader loader(control_->draft);
            loaded.draft = std::make_unique<LoadedModel>(loader.open(options, control).value());
            loaded.max_draft_tokens = options.max_draft_tokens;
            return loader.start(*loaded.draft, options, control);
        }
        return {};
    }

    Result<void> restart(LoadedModel& loaded, const LoadOptions&, const Error& lost) override {
        loaded.backend.reset();
        if (control_->num_restarts-- <= 0) return lost;
        loaded.backend = std::make_unique<FakeBackend>(control_, loaded.num_kv_blocks);
        return {};
    }

  private:
    std::shared_ptr<FakeControl> control_;
};

}  // namespace

void repetitive_logits(std::span<const int32_t> history, std::span<float> logits) {
    std::fill(logits.begin(), logits.end(), -20.0f);
    const int32_t last = history.empty() ? 0 : history.back();
    const int32_t before = history.size() < 2 ? 0 : history[history.size() - 2];
    logits[static_cast<size_t>('a' + (last * 7 + before) % 9)] = 5.0f;
    logits[static_cast<size_t>('a' + (last + 3) % 9)] = 3.0f;
    logits[static_cast<size_t>('a' + (before + 5) % 9)] += 1.0f;
}

void fake_logits(std::span<const int32_t> history, std::span<float> logits) {
    uint64_t state = 0x1234567u;
    for (const int32_t token : history) state = mix(state * 31 + static_cast<uint64_t>(token) + 7);
    for (size_t id = 0; id < logits.size(); ++id) {
        const uint64_t random = mix(state + id * 0x632be59bd9b4e019u);
        logits[id] = static_cast<float>(random >> 40) * 0x1.0p-24f * 8.0f;
    }
    for (TokenId id = 0x80; id < 0x100; ++id) logits[static_cast<size_t>(id)] -= 20.0f;
    for (TokenId id = fake_token::bos; id < fake_token::first_long; ++id)
        logits[static_cast<size_t>(id)] -= 20.0f;
    for (TokenId id = fake_token::first_long + 5; id < fake_token::first_long + 8; ++id)
        logits[static_cast<size_t>(id)] -= 20.0f;  // parts of characters
    for (size_t id = fake_token::first_long + fake_long_tokens().size(); id < logits.size(); ++id)
        logits[id] -= 20.0f;
}

std::vector<TokenId> expected_greedy(std::vector<TokenId> history, size_t count) {
    std::vector<TokenId> generated;
    std::vector<float> logits(fake_token::num_vocab);
    while (generated.size() < count) {
        fake_logits(history, logits);
        const auto best = std::max_element(logits.begin(), logits.end());
        generated.push_back(static_cast<TokenId>(best - logits.begin()));
        history.push_back(generated.back());
    }
    return generated;
}

Script answering(std::string text) {
    return [text = std::move(text)](std::span<const int32_t> history, std::span<float> logits) {
        const auto start = std::find(history.rbegin(), history.rend(), fake_token::assistant);
        const auto num_answered = static_cast<size_t>(start - history.rbegin());
        std::fill(logits.begin(), logits.end(), 0.0f);
        const TokenId next = num_answered < text.size()
                                 ? static_cast<unsigned char>(text[num_answered])
                                 : fake_token::end;
        logits[static_cast<size_t>(next)] = 100.0f;
    };
}

std::unique_ptr<ModelLoader> make_fake_loader(std::shared_ptr<FakeControl> control) {
    return std::make_unique<FakeLoader>(std::move(control));
}

LoadedModel load_fake_model(std::shared_ptr<FakeControl> control) {
    FakeLoader loader(std::move(control));
    LoadedModel loaded = loader.open({.path = "fake.gguf"}, {}).value();
    static_cast<void>(loader.start(loaded, {}, {}).ok());
    return loaded;
}

std::unique_ptr<Engine> make_fake_engine(std::shared_ptr<FakeControl> control) {
    return EngineAccess::create(make_fake_loader(std::move(control))).value();
}

std::unique_ptr<Engine> make_loaded_fake_engine(std::shared_ptr<FakeControl> control) {
    std::unique_ptr<Engine> engine = make_fake_engine(std::move(control));
    if (!engine->load({.path = "fake.gguf"}).ok()) return nullptr;
    return engine;
}

}  // namespace hokku::testing
