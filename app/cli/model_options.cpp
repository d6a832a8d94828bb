// SPDX-License-Identifier: Apache-2.0
#include "model_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>
#include <sstream>

#include "console.h"
#include "hokku/library.h"

namespace hokku::cli {

namespace {

/// The names in resources/models/manifest.json.
constexpr std::string_view kFetched[] = {"smollm2", "gemma3", "qwen2"};

}  // namespace

CLI::Validator in_range(double least, double most) {
    const auto check = [=](std::string& text) -> std::string {
        double value = 0;
        // Written so that not-a-number is out of range.
        if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
        std::ostringstream expected;
        expected.precision(7);  // as many as a float has
        expected << "\"" << text << "\" is not a number from " << least << " to " << most;
        return expected.str();
    };
    return CLI::Validator(check, "");
}

CLI::Validator is_one_of(std::vector<std::string> words) {
    const auto check = [words = std::move(words)](const std::string& text) -> std::string {
        std::string expected;
        for (const std::string& word : words) {
            if (word == text) return {};
            expected += (expected.empty() ? "" : ", ") + word;
        }
        return "\"" + text + "\" is none of " + expected;
    };
    return CLI::Validator(check, "");
}

CLI::Validator is_whole(int64_t least, uint64_t most) {
    const auto check = [=](std::string& text) -> std::string {
        const char* const end = text.data() + text.size();
        const auto read_whole = [&](auto& value) {
            const auto read = std::from_chars(text.data(), end, value);
            return read.ec == std::errc() && read.ptr == end;
        };
        int64_t negative = 0;
        uint64_t value = 0;
        const bool is_negative = text.starts_with('-');
        const bool is_good = is_negative
                                 ? read_whole(negative) && negative >= least
                                 : read_whole(value) && value <= most &&
                                       (least <= 0 || value >= static_cast<uint64_t>(least));
        if (!is_good) {
            return "\"" + text + "\" is not a whole number from " + std::to_string(least) + " to " +
                   std::to_string(most);
        }
        // CLI11 takes a leading zero for octal.
        text = is_negative ? std::to_string(negative) : std::to_string(value);
        return {};
    };
    return CLI::Validator(check, "");
}

namespace {

CLI::Validator is_device() {
    const auto check = [](const std::string& text) -> std::string {
        constexpr std::string_view kNumbered = "cuda:";
        if (text == "auto" || text == "cpu" || text == "cuda") return {};
        if (text.starts_with(kNumbered)) {
            std::string_view rest = std::string_view(text).substr(kNumbered.size());
            while (true) {
                const std::string_view number = rest.substr(0, rest.find(','));
                if (number.empty() || number.size() > 3 ||
                    number.find_first_not_of("0123456789") != std::string_view::npos)
                    break;
                if (number.size() == rest.size()) return {};
                rest.remove_prefix(number.size() + 1);
            }
        }
        return "\"" + text + "\" is none of auto, cpu, cuda, cuda:0, cuda:1, .., cuda:0,1";
    };
    return CLI::Validator(check, "");
}

}  // namespace

void add_model_options(CLI::App* command, ModelOptions& options) {
    command
        ->add_option("-m,--model", options.model,
                     "Model file, or name of a model in the library; else the starter model")
        ->type_name("MODEL");
    command
        ->add_option(
            "--device", options.device,
            "Where the model runs: auto, cpu, cuda, cuda:N (hokku devices), or cuda:N,M: the "
            "layers go over these GPUs in this order")
        ->type_name("DEVICE")
        ->check(is_device());
    command
        ->add_option("--gpu-layers", options.gpu_layers,
                     "Layers on GPUs, the others run on the CPU; else as many as fit")
        ->type_name("N")
        ->transform(is_whole(0, 100000));
    command->add_option("-t,--threads", options.threads, "Threads; 0: one for each physical core")
        ->type_name("N")
        ->transform(is_whole(0, 1024));
    command
        ->add_option(
            "--tp", options.ranks,
            "Tensor parallel: split the model over N ranks, which share the threads or have "
            "a GPU each")
        ->type_name("N")
        ->transform(is_whole(1, 64));
    command
        ->add_option("-c,--context", options.context_tokens,
                     "Tokens of context; 0: as many as the model was trained with")
        ->type_name("N")
        ->transform(is_whole(0, kMostUint32));
    command
        ->add_option_function<std::string>(
            "--kv-type",
            [&options](const std::string& name) { options.kv_type = find_kv_type(name); },
            "How the context is kept: f32, f16 (half the memory), q8_0 (27 %) or, on the CPU, q4_0 "
            "(14 %, at a loss of accuracy that is great with models like Qwen2, whose keys have "
            "large biases); f32 on the CPU and f16 on a GPU unless given")
        ->type_name("TYPE")
        ->check(is_one_of({"f32", "f16", "q8_0", "q4_0"}));
    command->add_flag("--screen-head", options.screen_head,
                      "Compute only the logits of tokens that could be drawn, on the CPU; same "
                      "text, sooner at --temp 0 with small models of many tokens, for memory of "
                      "0.6 to 0.8 times the output head");
    command->add_flag("--exact", options.exact,
                      "Compute in float32 as the definition says; slow, for comparisons");
    command->add_flag("--no-mmap", options.read, "Read the file into memory instead of mapping it");
}

void add_draft_options(CLI::App* command, ModelOptions& options) {
    CLI::Option* const draft =
        command
            ->add_option("--draft-model", options.draft_model,
                         "A small model with the same tokens that guesses ahead; the answer is the "
                         "same, sooner where it guesses well")
            ->type_name("MODEL");
    CLI::Option* const most = command
                                  ->add_option("--draft-max", options.draft_max,
                                               "Tokens that it guesses at once, at most")
                                  ->type_name("N")
                                  ->capture_default_str()
                                  ->transform(is_whole(1, 7));
    command->parse_complete_callback([draft, most] {
        if (most->count() > 0 && draft->count() == 0)
            throw CLI::ValidationError("--draft-max is for --draft-model");
    });
}

void add_overflow_option(CLI::App* command, Overflow& overflow) {
    static const std::map<std::string, Overflow> kNames = {
        {"stop", Overflow::stop},
        {"drop_oldest", Overflow::drop_oldest},
        {"summarise", Overflow::summarise},
        {"grow", Overflow::grow},
    };
    command
        ->add_option_function<std::string>(
            "--overflow", [&overflow](const std::string& name) { overflow = kNames.at(name); },
            "What to do when the context is full: stop, drop_oldest (messages), summarise (them) "
            "or grow (the context)")
        ->type_name("HOW")
        ->default_str(std::string(overflow_name(overflow)))
        ->check(is_one_of({"stop", "drop_oldest", "summarise", "grow"}));
}

Result<std::filesystem::path> find_model(const std::string& name_or_path) {
    Result<std::filesystem::path> path = resolve_model(name_or_path);
    if (path || path.error().code != ErrorCode::io) return path;
    Error error = path.error();
    if (name_or_path.empty()) {
        error.expected =
            "the starter model, which resources/models/fetch --library smollm2 puts there, or "
            "another one given by -m PATH";
    }
    for (const std::string_view name : kFetched) {
        if (name_or_path == name)
            error.expected += "; resources/models/fetch --library " + name_or_path + " gets it";
    }
    return error;
}

Result<LoadedModel> load_model(const ModelOptions& options) {
    Result<std::filesystem::path> path = find_model(options.model);
    if (!path) return path.error();
    std::filesystem::path draft;
    if (!options.draft_model.empty()) {
        Result<std::filesystem::path> found = find_model(options.draft_model);
        if (!found) return found.error();
        draft = std::move(*found);
    }
    LoadedModel loaded;
    loaded.interrupts = std::make_unique<Interrupts>();
    Result<std::unique_ptr<Engine>> engine = Engine::create();
    if (!engine) return engine.error();
    loaded.engine = std::move(*engine);
    loaded.interrupts->on_interrupt([&engine = *loaded.engine] { engine.cancel_load(); });
    Result<ModelInfo> info = loaded.engine->load({.path = *path,
                                                  .context_tokens = options.context_tokens,
                                                  .kv_type = options.kv_type,
                                                  .num_threads = options.threads,
                                                  .num_ranks = options.ranks,
                                                  .device = options.device,
                                                  .gpu_layers = options.gpu_layers,
                                                  .screen_head = options.screen_head,
                                                  .exact = options.exact,
                                                  .use_mapping = !options.read,
                                                  .draft_model = std::move(draft),
                                                  .max_draft_tokens = options.draft_max,
                                                  .max_sequences = options.max_sequences});
    loaded.interrupts->on_interrupt(nullptr);
    if (!info) return info.error();
    loaded.info = std::move(*info);
    for (const std::string& warning : loaded.info.warnings) write_message("warning: " + warning);
    if (options.gpu_layers.value_or(0) > 0 && !loaded.info.device_note.empty())
        write_message("warning: --gpu-layers has no effect: " + loaded.info.device_note);
    return loaded;
}

}  // namespace hokku::cli
