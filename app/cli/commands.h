// SPDX-License-Identifier: Apache-2.0
// The subcommands of `hokku`, one file each. Each add_ function declares its options and, when its
// subcommand is the one that was called, leaves in `chosen` what is to be run.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace hokku::cli {

/// Exit codes that scripts rely on.
inline constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;

using Action = std::function<int()>;

void add_bench(CLI::App& app, Action& chosen);
void add_chat(CLI::App& app, Action& chosen);
void add_detokenize(CLI::App& app, Action& chosen);
void add_devices(CLI::App& app, Action& chosen);
void add_inspect(CLI::App& app, Action& chosen);
void add_logits(CLI::App& app, Action& chosen);
void add_perplexity(CLI::App& app, Action& chosen);
void add_render(CLI::App& app, Action& chosen);
void add_run(CLI::App& app, Action& chosen);
void add_sample(CLI::App& app, Action& chosen);
void add_tokenize(CLI::App& app, Action& chosen);

}  // namespace hokku::cli
