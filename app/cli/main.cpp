// SPDX-License-Identifier: Apache-2.0
// `hokku`: the command line over the engine library. Parses, runs one subcommand, exits with
// 0 (done), 1 (failed) or 2 (wrong usage).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.h"
#include "console.h"
#include "terminal.h"
#include "typed_names.h"

namespace {

/// CLI11 speaks of arguments that were not expected, and of At Most 1.
std::string in_plain_words(const CLI::App& app, const CLI::ParseError& error) {
    std::string message = error.what();
    // CLI11 has the long name of an option.
    std::string name = message.substr(0, message.find_first_of(": "));
    const std::string typed = hokku::cli::as_typed(name);
    message.replace(0, name.size(), typed);
    name = typed;
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        std::string words;
        for (const std::string& word : app.remaining(true))
            words += (words.empty() ? "" : " ") + word;
        return "no such option or argument: " + words;
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return message;
    const std::string_view kReceived = "but received ";
    const size_t received = message.find(kReceived);
    if (message.find("At Most 1") != std::string::npos && received != std::string::npos)
        return name + " is given " + message.substr(received + kReceived.size()) + " times";
    const bool is_missing = message.find(" missing") != std::string::npos ||
                            message.find(" required") != std::string::npos;
    return is_missing ? name + ": a value is missing" : message;
}

/// What CLI11 throws: the answer to --help and --version, or wrong usage.
int report(const CLI::App& app, const CLI::ParseError& error) {
    std::ostringstream answer, ignored;
    app.exit(error, answer, ignored);
    if (error.get_exit_code() == 0) {
        hokku::cli::write_result(answer.str());
        return hokku::cli::flush_results() ? hokku::cli::kDone : hokku::cli::kFailed;
    }
    std::string command = "hokku", message = in_plain_words(app, error);
    for (const CLI::App* chosen : app.get_subcommands()) command += " " + chosen->get_name();
    if (app.get_subcommands().empty()) {
        const std::vector<std::string> words = app.remaining();
        message = words.empty()             ? "a command is missing"
                  : words[0].front() == '-' ? "no such option: " + words[0]
                                            : "no such command: " + words[0];
    }
    hokku::cli::write_message(message + "\n\"" + command + " --help\" shows what it takes.");
    return hokku::cli::kWrongUsage;
}

/// An empty text is what a script makes of a variable that is not set: it must not mean the same as
/// no option at all.
void refuse_empty_values(CLI::App& app) {
    // These mean something, or have words of their own for it.
    constexpr std::string_view kMayBeEmpty[] = {"--prompt", "--system", "--choice",
                                                "--tokens", "--ids",    "--stop"};
    for (CLI::App* command : app.get_subcommands({})) {
        for (CLI::Option* option : command->get_options()) {
            const std::string name = option->get_name();
            const bool may_be_empty = std::find(std::begin(kMayBeEmpty), std::end(kMayBeEmpty),
                                                name) != std::end(kMayBeEmpty);
            if (may_be_empty || option->get_items_expected_max() == 0) continue;
            option->check(CLI::Validator(
                [](const std::string& text) { return text.empty() ? "the value is empty" : ""; },
                ""));
        }
    }
}

/// "--name=" becomes "--name" with an empty value: CLI11 would take the next argument for it.
std::vector<std::string> with_empty_values(const std::vector<std::string>& arguments) {
    std::vector<std::string> result;
    for (const std::string& argument : arguments) {
        const bool is_empty = argument.size() > 3 && argument.compare(0, 2, "--") == 0 &&
                              argument.find('=') == argument.size() - 1;
        if (is_empty) {
            result.push_back(argument.substr(0, argument.size() - 1));
            result.emplace_back();
        } else {
            result.push_back(argument);
        }
    }
    return result;
}

int run(std::vector<std::string> arguments) {
    CLI::App app{"Private, offline text generation with GGUF models.", "hokku"};
    app.allow_windows_style_options(false);  // "/tmp" is a path there too.
    app.set_version_flag("--version", "hokku " HOKKU_VERSION);
    app.require_subcommand(1);
    app.footer(
        "Results go to stdout, messages to stderr. Exit code: 0 done, 1 failed, 2 wrong "
        "usage.\nMore: hokku COMMAND --help, docs/command-line.md; where it is installed, man "
        "hokku.");

    hokku::cli::Action chosen;
    hokku::cli::add_chat(app, chosen);
    hokku::cli::add_run(app, chosen);
    hokku::cli::add_tokenize(app, chosen);
    hokku::cli::add_detokenize(app, chosen);
    hokku::cli::add_render(app, chosen);
    hokku::cli::add_logits(app, chosen);
    hokku::cli::add_inspect(app, chosen);
    hokku::cli::add_sample(app, chosen);
    hokku::cli::add_bench(app, chosen);
    hokku::cli::add_perplexity(app, chosen);
    hokku::cli::add_devices(app, chosen);
    refuse_empty_values(app);
    try {
        if (!arguments.empty()) arguments.erase(arguments.begin());  // The program's name.
        arguments = with_empty_values(arguments);
        for (const CLI::App* command : app.get_subcommands({}))
            if (!arguments.empty() && command->get_name() == arguments.front())
                hokku::cli::note_typed_names(*command, arguments);
        std::reverse(arguments.begin(), arguments.end());  // As CLI11 takes them.
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
        return report(app, error);
    }
    const int status = chosen();
    return hokku::cli::flush_results() ? status : hokku::cli::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
    hokku::cli::prepare_streams();
    try {
        return run(hokku::cli::utf8_arguments(argc, argv));
    } catch (const std::exception& error) {
        hokku::cli::write_message(error.what());
        return hokku::cli::kFailed;
    }
}
