// SPDX-License-Identifier: Apache-2.0
// `hokku sample`: llama.cpp's samplers on given logits, to compare token by token.
#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "console.h"
#include "hokku/llama_sampling.h"

namespace hokku::cli {

namespace {

using Json = nlohmann::ordered_json;

Error wrong_input(std::string what, const std::string& where, std::string expected) {
    return {ErrorCode::bad_argument, std::move(what), where, std::move(expected)};
}

/// The arguments of one chain entry, read in order. The first wrong one is kept as the error.
class Arguments {
  public:
    explicit Arguments(const Json& entry) : entry_(entry), name_(entry.at(0).get<std::string>()) {}

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] bool has_more() const { return next_ < entry_.size(); }

    float number() {
        const Json* value = take("a number");
        if (value == nullptr) return 0;
        if (!value->is_number()) return refuse("not a number", "a number"), 0.0f;
        return value->get<float>();
    }
    int32_t integer() {
        return static_cast<int32_t>(whole(std::numeric_limits<int32_t>::min(), "32 bits"));
    }
    /// May be left away: then 0.
    uint64_t min_keep() { return has_more() ? static_cast<uint64_t>(whole(0, "from 0")) : 0; }
    /// A list, or absent.
    const Json* list() {
        if (!has_more()) return nullptr;
        const Json* value = take("a list");
        if (!value->is_array()) return refuse("not a list", "a list"), nullptr;
        return value;
    }
    void refuse(std::string what, std::string expected) {
        if (!error_) error_ = wrong_input(std::move(what), "chain: " + name_, std::move(expected));
    }
    [[nodiscard]] Result<void> finish() {
        if (has_more()) refuse("too many arguments", std::to_string(next_ - 1));
        if (error_) return *error_;
        return {};
    }

  private:
    const Json* take(const char* expected) {
        if (has_more()) return &entry_[next_++];
        refuse("an argument is missing", expected);
        return nullptr;
    }
    int64_t whole(int64_t least, const char* range) {
        const Json* value = take("a whole number");
        if (value == nullptr) return 0;
        constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
        const bool fits = value->is_number_integer() &&
                          !(value->is_number_unsigned() && value->get<uint64_t>() > kMost) &&
                          value->get<int64_t>() >= least && value->get<int64_t>() <= kMost;
        if (!fits) return refuse("not a whole number", std::string("a whole number, ") + range), 0;
        return value->get<int64_t>();
    }

    const Json& entry_;
    std::string name_;
    size_t next_ = 1;
    std::optional<Error> error_;
};

std::vector<TokenId> read_ids(const Json& list, Arguments& arguments) {
    std::vector<TokenId> ids;
    for (const Json& id : list) {
        if (!id.is_number_unsigned() || id.get<uint64_t>() > std::numeric_limits<TokenId>::max()) {
            arguments.refuse("not a token id", "lists of token ids");
            break;
        }
        ids.push_back(id.get<TokenId>());
    }
    return ids;
}

llama_cpp::Dry read_dry(Arguments& a) {
    llama_cpp::Dry dry{a.number(), a.number(), a.integer(), a.integer(), {}};
    if (const Json* breakers = a.list()) {
        for (const Json& breaker : *breakers) {
            if (!breaker.is_array()) {
                a.refuse("a breaker is no list", "breakers as lists of token ids");
                break;
            }
            dry.breakers.push_back(read_ids(breaker, a));
        }
    }
    return dry;
}

llama_cpp::LogitBias read_bias(Arguments& a) {
    llama_cpp::LogitBias result;
    const Json* list = a.list();
    if (list == nullptr) a.refuse("no list", "[[id, bias], ..]");
    for (const Json& pair : list != nullptr ? *list : Json::array()) {
        const bool is_pair = pair.is_array() && pair.size() == 2 && pair[0].is_number_unsigned() &&
                             (pair[1].is_number() || pair[1] == "-inf");
        if (!is_pair || pair[0].get<uint64_t>() > std::numeric_limits<TokenId>::max()) {
            a.refuse("not a bias", "[[id, bias], ..], a bias being a number or \"-inf\"");
            break;
        }
        result.bias.emplace_back(
            pair[0].get<TokenId>(),
            pair[1].is_number() ? pair[1].get<float>() : -std::numeric_limits<float>::infinity());
    }
    return result;
}

// Braces evaluate from left to right, so the arguments are read in their order.
llama_cpp::Element read_element(Arguments& a) {
    using namespace llama_cpp;
    const std::string& name = a.name();
    if (name == "greedy") return Greedy{};
    if (name == "dist") return Dist{};
    if (name == "top_k") return TopK{a.integer()};
    if (name == "top_p") return TopP{a.number(), a.min_keep()};
    if (name == "min_p") return MinP{a.number(), a.min_keep()};
    if (name == "typical") return Typical{a.number(), a.min_keep()};
    if (name == "temp") return Temp{a.number()};
    if (name == "temp_ext") return TempExt{a.number(), a.number(), a.number()};
    if (name == "top_n_sigma") return TopNSigma{a.number()};
    if (name == "xtc") return Xtc{a.number(), a.number(), a.min_keep()};
    if (name == "mirostat") return Mirostat{a.number(), a.number(), a.integer()};
    if (name == "mirostat_v2") return MirostatV2{a.number(), a.number()};
    if (name == "penalties") return Penalties{a.integer(), a.number(), a.number(), a.number()};
    if (name == "dry") return read_dry(a);
    if (name == "logit_bias") return read_bias(a);
    a.refuse("no such sampler",
             "greedy, dist, top_k, top_p, min_p, typical, temp, temp_ext, top_n_sigma, xtc, "
             "mirostat, mirostat_v2, penalties, dry, logit_bias");
    return Greedy{};
}

Result<std::vector<llama_cpp::Element>> read_chain(const Json& chain) {
    std::vector<llama_cpp::Element> elements;
    for (const Json& entry : chain) {
        if (!entry.is_array() || entry.empty() || !entry[0].is_string())
            return wrong_input("an entry of the chain is no list", "chain", "[name, argument, ..]");
        Arguments arguments(entry);
        elements.push_back(read_element(arguments));
        if (Result<void> done = arguments.finish(); !done) return done.error();
    }
    return elements;
}

struct SampleInput {
    std::vector<std::vector<float>> logits;
    std::vector<TokenId> history;
    llama_cpp::ChainOptions options;
};

Result<void> read_logits(const Json& steps, SampleInput& input) {
    for (const Json& step : steps) {
        const bool is_row = step.is_array() && !step.empty() &&
                            (input.logits.empty() || step.size() == input.logits.front().size());
        if (!is_row) {
            return wrong_input("a step without the right number of logits", "logits",
                               "one list for each step, all of the same length");
        }
        std::vector<float>& row = input.logits.emplace_back();
        row.reserve(step.size());
        for (const Json& logit : step) {
            if (!logit.is_number() && logit != "-inf")
                return wrong_input("not a logit", "logits", "numbers or \"-inf\"");
            row.push_back(logit.is_number() ? logit.get<float>()
                                            : -std::numeric_limits<float>::infinity());
        }
    }
    if (input.logits.empty()) return wrong_input("no steps", "logits", "at least one list");
    input.options.num_vocab = static_cast<uint32_t>(input.logits.front().size());
    return {};
}

Result<void> read_history(const Json& history, SampleInput& input) {
    for (const Json& id : history) {
        if (!id.is_number_unsigned() || id.get<uint64_t>() >= input.options.num_vocab)
            return wrong_input("not a token", "history",
                               "ids below " + std::to_string(input.options.num_vocab));
        input.history.push_back(id.get<TokenId>());
    }
    input.options.max_history = static_cast<uint32_t>(input.history.size() + input.logits.size());
    return {};
}

Result<SampleInput> read_input(const Json& value) {
    SampleInput input;
    if (!value.is_object() || !value.contains("logits") || !value["logits"].is_array())
        return wrong_input("no logits", "logits", "one list for each step");
    if (Result<void> done = read_logits(value["logits"], input); !done) return done.error();
    const Json history = value.value("history", Json::array());
    if (!history.is_array()) return wrong_input("not a list", "history", "token ids");
    if (Result<void> done = read_history(history, input); !done) return done.error();
    if (!value.contains("chain") || !value["chain"].is_array())
        return wrong_input("no chain", "chain", "[[name, argument, ..], ..]");
    Result<std::vector<llama_cpp::Element>> elements = read_chain(value["chain"]);
    if (!elements) return elements.error();
    input.options.elements = std::move(*elements);
    const Json seed = value.value("seed", Json(0));
    if (!seed.is_number_unsigned() || seed.get<uint64_t>() > std::numeric_limits<uint32_t>::max())
        return wrong_input("not a seed", "seed", "a whole number of 32 bits");
    input.options.seed = seed.get<uint32_t>();
    const Json lookup = value.value("lookup", Json("unmoved"));
    if (lookup != "unmoved" && lookup != "moved")
        return wrong_input("no such lookup", "lookup", "\"unmoved\" or \"moved\"");
    input.options.looks_up_unmoved = lookup == "unmoved";
    return input;
}

struct Drawn {
    std::vector<TokenId> tokens;
    std::vector<uint32_t> kept;  ///< Candidates left at each draw.
};

Result<Drawn> draw(const Json& value) {
    Result<SampleInput> input = read_input(value);
    if (!input) return input.error();
    Result<llama_cpp::Chain> chain = llama_cpp::Chain::create(input->options);
    if (!chain) return chain.error();
    for (const TokenId token : input->history) chain->accept(token);
    Drawn drawn;
    for (const std::vector<float>& logits : input->logits) {
        Result<TokenId> token = chain->sample(logits);
        if (!token) return token.error();
        chain->accept(*token);
        drawn.tokens.push_back(*token);
        drawn.kept.push_back(chain->num_candidates());
    }
    return drawn;
}

int sample_lines(bool shows_kept) {
    const Result<void> done = for_each_stdin_line([&](std::string_view line, size_t number) {
        Result<Json> value = parse_json(line, "line " + std::to_string(number));
        Result<Drawn> drawn = value ? draw(*value) : Result<Drawn>(value.error());
        Json answer;
        if (!drawn) {
            answer["error"] = drawn.error().message();
        } else {
            answer["tokens"] = drawn->tokens;
            if (shows_kept) answer["kept"] = drawn->kept;
        }
        write_json_line(answer);
        return Result<void>();
    });
    return done ? kDone : fail(done.error());
}

struct SampleOptions {
    bool jsonl = false, kept = false;
};

}  // namespace

void add_sample(CLI::App& app, Action& chosen) {
    CLI::App* command =
        app.add_subcommand("sample", "Draw tokens from given logits as llama.cpp's samplers would");
    auto options = std::make_shared<SampleOptions>();
    command
        ->add_flag(
            "--jsonl", options->jsonl,
            R"(Lines {"logits": [[..], ..], "chain": [["top_k", 40], ..], "seed", "history"} )"
            R"(in, {"tokens": [..]} or {"error"} out)")
        ->required();
    command->add_flag("--kept", options->kept, "Also how many candidates were left at each draw");
    command->callback(
        [&chosen, options] { chosen = [options] { return sample_lines(options->kept); }; });
}

}  // namespace hokku::cli
