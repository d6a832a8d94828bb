// SPDX-License-Identifier: Apache-2.0
#include "sampling_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "console.h"
#include "model_options.h"
#include "typed_names.h"

namespace hokku::cli {

namespace {

/// The first name of a step is ours, others are llama.cpp's.
constexpr std::pair<std::string_view, SamplerStep> kSteps[] = {
    {"penalties", SamplerStep::penalties},
    {"dry", SamplerStep::dry},
    {"top_n_sigma", SamplerStep::top_n_sigma},
    {"top_k", SamplerStep::top_k},
    {"typical", SamplerStep::typical},
    {"top_p", SamplerStep::top_p},
    {"min_p", SamplerStep::min_p},
    {"xtc", SamplerStep::xtc},
    {"temperature", SamplerStep::temperature},
    {"typ_p", SamplerStep::typical},
    {"temp", SamplerStep::temperature},
};
constexpr const char* kStepList =
    "penalties,dry,top_n_sigma,top_k,typical,top_p,min_p,xtc,temperature";

Error wrong(std::string what, std::string_view option, std::string_view value,
            std::string expected) {
    return {ErrorCode::bad_argument, std::move(what), as_given(option, value), std::move(expected)};
}

Result<std::pair<int32_t, float>> parse_bias(std::string_view text) {
    const auto error = [&] {
        return wrong("not a logit bias", "--logit-bias", text,
                     "ID=VALUE such as 15043=-2.5 or 15043=-inf");
    };
    const size_t cut = text.find('=');
    if (cut == std::string_view::npos) return error();
    const std::string_view id_text = text.substr(0, cut), value_text = text.substr(cut + 1);
    int32_t id = 0;
    const auto id_read = std::from_chars(id_text.data(), id_text.data() + id_text.size(), id);
    if (id_read.ec != std::errc() || id_read.ptr != id_text.data() + id_text.size() || id < 0)
        return error();
    float value = 0;
    const auto read =
        std::from_chars(value_text.data(), value_text.data() + value_text.size(), value);
    if (read.ec != std::errc() || read.ptr != value_text.data() + value_text.size()) return error();
    if (std::isnan(value) || value == std::numeric_limits<float>::infinity()) return error();
    return std::pair(id, value);
}

Result<std::vector<SamplerStep>> parse_order(const std::string& given) {
    const auto error = [&](std::string what, std::string expected) {
        return wrong(std::move(what), "--sampler-order", given, std::move(expected));
    };
    std::vector<SamplerStep> order;
    std::string_view text = given;
    while (!text.empty()) {
        std::string name(text.substr(0, text.find_first_of(",;")));
        text.remove_prefix(std::min(text.size(), name.size() + 1));
        std::replace(name.begin(), name.end(), '-', '_');
        const auto* step = std::find_if(std::begin(kSteps), std::end(kSteps),
                                        [&](const auto& known) { return known.first == name; });
        if (step == std::end(kSteps))
            return error("there is no sampler step \"" + name + "\"",
                         std::string("some of ") + kStepList);
        if (std::find(order.begin(), order.end(), step->second) != order.end())
            return error("a sampler step is listed twice", "each step at most once");
        order.push_back(step->second);
    }
    return order;
}

/// Declares options of the group "Sampling".
class Declaration {
  public:
    explicit Declaration(CLI::App* command) : command_(command) {}
    template <class Value>
    void number(const char* name, Value& value, Value least, Value most, const char* help) {
        CLI::Option* option = add(name, value, "N", help)->capture_default_str();
        if constexpr (std::is_integral_v<Value>) {
            option->transform(is_whole(least, static_cast<uint64_t>(most)));
        } else {
            option->check(in_range(least, most));
        }
    }
    template <class Value>
    CLI::Option* add(const char* name, Value& value, const char* type, const std::string& help) {
        return command_->add_option(name, value, help)->type_name(type)->group("Sampling");
    }
    /// One value each time it is given.
    void list(const char* name, std::vector<std::string>& values, const char* type,
              const char* help) {
        add(name, values, type, help)->allow_extra_args(false);
    }

  private:
    CLI::App* command_;
};

constexpr float kMost = 1e6f;
constexpr int32_t kMostTokens = std::numeric_limits<int32_t>::max();

void add_temperature(Declaration& declare, SamplingOptions& options) {
    declare.number("--temp,--temperature", options.temperature, 0.0f, kMost,
                   "0 always takes the likeliest token; unless given, what is recommended for the "
                   "model, where that is known");
    declare.number("--dynatemp-range", options.dynatemp_range, 0.0f, kMost,
                   "The temperature follows the entropy within N of it; 0: it does not");
    declare.number("--dynatemp-exp", options.dynatemp_exponent, 0.0f, kMost, "How it follows");
    declare.add("--seed", options.seed, "N", "Repeats a run; else drawn at random and shown")
        ->transform(is_whole(0, std::numeric_limits<uint64_t>::max()));
}

/// What drops candidates.
void add_filters(Declaration& declare, SamplingOptions& options) {
    declare.number("--top-k", options.top_k, 0, kMostTokens, "Keep the N likeliest; 0: all");
    declare.number("--top-p", options.top_p, 0.0f, 1.0f,
                   "Keep the smallest set with this mass; 1: all");
    declare.number("--min-p", options.min_p, 0.0f, 1.0f,
                   "Drop what is below this share of the best; 0: none");
    declare.number("--typical,--typical-p", options.typical_p, 0.0f, 1.0f,
                   "Keep the most typical with this mass; 1: all");
    declare.number("--top-n-sigma,--top-nsigma", options.top_n_sigma, 0.0f, kMost,
                   "Keep what is within N standard deviations of the best; 0: all");
    declare.number("--xtc-probability", options.xtc_probability, 0.0f, 1.0f,
                   "How often all likely tokens but the last are dropped; 0: never");
    declare.number("--xtc-threshold", options.xtc_threshold, 0.0f, 1.0f,
                   "What is likely, for that");
}

/// What is against repetition.
void add_penalties(Declaration& declare, SamplingFlags& flags) {
    SamplingOptions& options = flags.options;
    // Set from it: absent is a value of its own.
    declare
        .add("--repeat-penalty", options.repeat_penalty, "N",
             "1: none; if not given 1.1, or none at --temp 0")
        ->check(in_range(1e-3f, kMost));
    declare.number("--frequency-penalty", options.frequency_penalty, -kMost, kMost, "0: none");
    declare.number("--presence-penalty", options.presence_penalty, -kMost, kMost, "0: none");
    declare.number("--penalty-last-n,--repeat-last-n", options.penalty_last_n, -1, kMostTokens,
                   "Tokens that the penalties look back; -1: all");
    declare.number("--dry-multiplier", options.dry_multiplier, 0.0f, kMost,
                   "Against repeated sequences of tokens; 0: off");
    declare.number("--dry-base", options.dry_base, 1.0f, kMost,
                   "Grows with their length to this base");
    declare.number("--dry-allowed-length", options.dry_allowed_length, 0, kMostTokens,
                   "Repeated sequences shorter than this cost nothing");
    declare.number("--dry-last-n,--dry-penalty-last-n", options.dry_last_n, -1, kMostTokens,
                   "Tokens that DRY looks back; -1: all");
    declare.list("--dry-breaker,--dry-sequence-breaker", flags.dry_breakers, "TEXT",
                 "No sequence reaches across TEXT; may be repeated, replaces the default of "
                 "newline, colon, quote and asterisk; none: no breakers");
}

}  // namespace

void add_sampling_flags(CLI::App* command, SamplingFlags& flags) {
    Declaration declare(command);
    SamplingOptions& options = flags.options;
    add_temperature(declare, options);
    add_filters(declare, options);
    add_penalties(declare, flags);
    declare.number("--mirostat", options.mirostat, 0, 2,
                   "Its version, instead of dropping tokens; 0: off");
    declare.number("--mirostat-tau,--mirostat-ent", options.mirostat_tau, 0.0f, kMost,
                   "The surprise that it aims at, in bits");
    declare.number("--mirostat-eta,--mirostat-lr", options.mirostat_eta, 0.0f, kMost,
                   "How fast it learns");
    declare.list("--logit-bias", flags.bias, "ID=N",
                 "ID=N adds N to the logit of ID; may be repeated");
    declare.add("--sampler-order,--samplers", flags.order, "STEPS",
                std::string("The steps in order: ") + kStepList);
    declare
        .add("--sampler-mode", flags.mode, "hokku|llama.cpp",
             "llama.cpp: to its letter, with its random numbers and without a repeat penalty "
             "unless given")
        ->check(is_one_of({"hokku", "llama.cpp"}));
}

void note_given_sampling(const CLI::App& command, SamplingFlags& flags) {
    const auto is_given = [&](const char* name) { return command.get_option(name)->count() > 0; };
    const SamplingOptions& options = flags.options;
    if (is_given("--temp")) flags.given.temperature = options.temperature;
    if (is_given("--top-p")) flags.given.top_p = options.top_p;
    if (is_given("--min-p")) flags.given.min_p = options.min_p;
    if (is_given("--top-k")) flags.given.top_k = options.top_k;
    flags.given.repeat_penalty = options.repeat_penalty;
}

void apply_recommended(const SamplingFlags& flags, const SamplingDefaults& recommended,
                       SamplingOptions& options) {
    const bool is_greedy = flags.given.temperature == 0.0f;
    if (is_greedy || options.mirostat != 0 || options.mode == SamplerMode::llama_cpp) return;
    recommended.apply_to(options);
    flags.given.apply_to(options);
}

void warn_of_idle_sampling(const CLI::App& command, const SamplingFlags& flags) {
    const SamplingOptions& options = flags.options;
    const auto warn = [&](const char* option, bool is_idle, const std::string& why) {
        if (is_idle && command.get_option(option)->count() > 0)
            write_message("warning: " + as_typed(option) + " has no effect " + why);
    };
    warn("--dynatemp-exp", options.dynatemp_range == 0.0f, "without --dynatemp-range");
    warn("--xtc-threshold", options.xtc_probability == 0.0f, "without --xtc-probability");
    warn("--xtc-probability", options.xtc_threshold > 0.5f, "with --xtc-threshold above 0.5");
    for (const char* option :
         {"--dry-base", "--dry-allowed-length", "--dry-last-n", "--dry-breaker"})
        warn(option, options.dry_multiplier == 0.0f, "without --dry-multiplier");
    for (const char* option : {"--mirostat-tau", "--mirostat-eta"})
        warn(option, options.mirostat == 0, "without --mirostat");
    for (const char* option :
         {"--top-k", "--top-p", "--min-p", "--typical", "--top-n-sigma", "--xtc-probability"})
        warn(option, options.mirostat != 0, "with --mirostat");
    warn("--mirostat", options.mirostat != 0 && options.temperature == 0.0f,
         "with " + as_typed("--temp") + " 0");
    if (flags.order.empty()) return;
    const Result<std::vector<SamplerStep>> order = parse_order(flags.order);
    if (!order) return;  // which is told where the options are read
    for (const auto& [option, step] :
         {std::pair("--top-k", SamplerStep::top_k), std::pair("--top-p", SamplerStep::top_p),
          std::pair("--min-p", SamplerStep::min_p), std::pair("--typical", SamplerStep::typical),
          std::pair("--top-n-sigma", SamplerStep::top_n_sigma),
          std::pair("--xtc-probability", SamplerStep::xtc),
          std::pair("--dry-multiplier", SamplerStep::dry),
          std::pair("--repeat-penalty", SamplerStep::penalties),
          std::pair("--frequency-penalty", SamplerStep::penalties),
          std::pair("--presence-penalty", SamplerStep::penalties),
          std::pair("--temp", SamplerStep::temperature),
          std::pair("--dynatemp-range", SamplerStep::temperature)})
        warn(option, std::find(order->begin(), order->end(), step) == order->end(),
             "as " + as_typed("--sampler-order") + " leaves its step out");
}

Result<void> check_bias(const SamplingOptions& options, uint32_t num_vocab) {
    for (const auto& [id, bias] : options.logit_bias) {
        if (static_cast<uint32_t>(id) >= num_vocab)
            return Error{ErrorCode::bad_argument, "there is no token " + std::to_string(id),
                         "--logit-bias", "an id below " + std::to_string(num_vocab)};
    }
    return {};
}

namespace {

/// Those of a run follow one another; all are looked at before any text is written.
Result<void> check_seeds(const SamplingOptions& options, uint32_t num_seeds) {
    // Above, llama.cpp draws one.
    const bool is_llama_cpp = options.mode == SamplerMode::llama_cpp;
    const uint64_t last = is_llama_cpp ? 0xfffffffe : std::numeric_limits<uint64_t>::max();
    const uint64_t most = last - (num_seeds - 1);
    if (!options.seed || *options.seed <= most) return {};
    std::string what = num_seeds > 1 ? "the last of " + counted(num_seeds, "seed") : "the seed";
    return Error{ErrorCode::bad_argument,
                 what + " is too large" + (is_llama_cpp ? " for llama.cpp's mode" : ""),
                 "--seed " + std::to_string(*options.seed), "at most " + std::to_string(most)};
}

}  // namespace

Result<SamplingOptions> sampling_options(const SamplingFlags& flags, uint32_t num_seeds) {
    SamplingOptions options = flags.options;
    for (const std::string& text : flags.bias) {
        Result<std::pair<int32_t, float>> bias = parse_bias(text);
        if (!bias) return bias.error();
        options.logit_bias.push_back(*bias);
    }
    if (flags.mode == "llama.cpp") options.mode = SamplerMode::llama_cpp;
    if (Result<void> checked = check_seeds(options, num_seeds); !checked) return checked.error();
    if (!flags.dry_breakers.empty()) {
        options.dry_breakers = flags.dry_breakers;
        for (const std::string& text : flags.dry_breakers) {
            if (text.size() > kMostDryBreakerBytes)
                return wrong("a breaker of " + std::to_string(text.size()) + " bytes",
                             "--dry-breaker", text,
                             "at most " + std::to_string(kMostDryBreakerBytes) + " bytes");
        }
        if (flags.dry_breakers == std::vector<std::string>{"none"}) options.dry_breakers.clear();
    }
    if (!flags.order.empty()) {
        Result<std::vector<SamplerStep>> order = parse_order(flags.order);
        if (!order) return order.error();
        options.order = std::move(*order);
    }
    return options;
}

}  // namespace hokku::cli
