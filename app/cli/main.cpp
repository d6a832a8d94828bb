// SPDX-License-Identifier: Apache-2.0
// `hokku`: the command line over the engine library. Parses, runs one subcommand, exits with
// 0 (done), 1 (failed) or 2 (wrong usage).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "console.h"
#include "terminal.h"

namespace {

/// What CLI11 throws: the answer to --help and --version, or wrong usage.
int report(const CLI::App& app, const CLI::ParseError& error) {
    std::ostringstream answer, ignored;
    app.exit(error, answer, ignored);
    if (error.get_exit_code() == 0) {
        hokku::cli::write_result(answer.str());
        return hokku::cli::flush_results() ? hokku::cli::kDone : hokku::cli::kFailed;
    }
    std::string command = "hokku", message = error.what();
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
    try {
        if (!arguments.empty()) arguments.erase(arguments.begin());  // The program's name.
        std::reverse(arguments.begin(), arguments.end());            // As CLI11 takes them.
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
