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
    std::vector<std::string> bias;  ///< ID=VALUE.
    std::vector<std::string> dry_breakers;
    std::string order;  ///< "penalties,top_k,..."
    std::string mode;   ///< "hokku" or "llama.cpp".
};

void add_sampling_flags(CLI::App* command, SamplingFlags& flags);

/// Warns on stderr of options that were given and change nothing beside the others.
void warn_of_idle_sampling(const CLI::App& command, const SamplingFlags& flags);

/// The options with bias and order read. Errors: bad_argument naming the text at fault.
Result<SamplingOptions> sampling_options(const SamplingFlags& flags, uint32_t num_seeds = 1);
/// What only the model can tell. Errors: bad_argument naming the option.
Result<void> check_bias(const SamplingOptions& options, uint32_t num_vocab);

}  // namespace hokku::cli
