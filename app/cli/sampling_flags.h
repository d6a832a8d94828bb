// SPDX-License-Identifier: Apache-2.0
// The sampling options as they are written on the command line.
#pragma once

#include <string>
#include <vector>

#include "hokku/result.h"
#include "hokku/sampling.h"

namespace CLI {
class App;
}

namespace hokku::cli {

struct SamplingFlags {
    SamplingOptions options;
    SamplingDefaults given;         ///< Those of the options that were given.
    std::vector<std::string> bias;  ///< ID=VALUE.
    std::vector<std::string> dry_breakers;
    std::string order;  ///< "penalties,top_k,..."
    std::string mode;   ///< "hokku" or "llama.cpp".
};

void add_sampling_flags(CLI::App* command, SamplingFlags& flags);

/// Notes which options were given, of those that models come with values for.
void note_given_sampling(const CLI::App& command, SamplingFlags& flags);
/// Where nothing was given, what is recommended for the model. Not at temperature 0, with Mirostat
/// and in llama.cpp's mode, which have ways of their own.
void apply_recommended(const SamplingFlags& flags, const SamplingDefaults& recommended,
                       SamplingOptions& options);

/// Warns on stderr of options that were given and change nothing beside the others.
void warn_of_idle_sampling(const CLI::App& command, const SamplingFlags& flags);

/// The options with bias and order read. Errors: bad_argument naming the text at fault.
Result<SamplingOptions> sampling_options(const SamplingFlags& flags, uint32_t num_seeds = 1);
/// What only the model can tell. Errors: bad_argument naming the option.
Result<void> check_bias(const SamplingOptions& options, uint32_t num_vocab);

}  // namespace hokku::cli
