// SPDX-License-Identifier: Apache-2.0
// One generation on the command line: streamed to stdout, stopped by Ctrl-C or by a reader that
// went away, summed up in a line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hokku/engine.h"
#include "model_options.h"

namespace hokku::cli {

/// Runs to its end. `stream`: text goes to stdout as it comes, after `before`.
GenerationResult generate_to_stdout(LoadedModel& loaded, GenerationRequest request, bool stream,
                                    const std::string& before = {});

/// Several continuations of one prompt. `stream`: their texts go to stdout one after another, each
/// below a line with its number; that of the first as it comes.
std::vector<GenerationResult> generate_several_to_stdout(LoadedModel& loaded,
                                                         GenerationRequest request, uint32_t count,
                                                         bool stream,
                                                         const std::string& before = {});

/// False for what was interrupted before its first word.
bool has_text(const GenerationResult& result);

/// "12 tokens at 80.1 tok/s, first after 31 ms; seed 7", and why it stopped if not by itself.
std::string summary_of(const GenerationResult& result);

}  // namespace hokku::cli
