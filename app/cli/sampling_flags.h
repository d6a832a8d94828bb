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

/// The options with bias and order read. Errors: bad_argument naming the text at fault.
Result<SamplingOptions> sampling_options(const SamplingFlags& flags);

}  // namespace hokku::cli
