// SPDX-License-Identifier: Apache-2.0
// The options by which every command that runs a model chooses and loads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hokku/engine.h"
#include "interrupts.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace hokku::cli {

struct ModelOptions {
    std::string model;
    uint32_t threads = 0;
    uint32_t ranks = 1;
    std::optional<uint32_t> context_tokens;
    std::optional<KvType> kv_type;  ///< Absent: as the device has it best.
    uint32_t max_sequences = 1;     ///< Not an option: commands say how many they run together.
    std::string draft_model;        ///< Empty: none.
    uint32_t draft_max = 7;
    std::string device = "auto";
    std::optional<uint32_t> gpu_layers;  ///< Absent: as many as fit.
    bool exact = false, read = false, screen_head = false;
};

/// Declares -m, --device, --gpu-layers, -t, --tp, -c, --kv-type, --exact and --no-mmap.
void add_model_options(CLI::App* command, ModelOptions& options);

/// Declares --draft-model and --draft-max.
void add_draft_options(CLI::App* command, ModelOptions& options);

/// Declares --overflow.
void add_overflow_option(CLI::App* command, Overflow& overflow);

/// One of these words.
CLI::Validator is_one_of(std::vector<std::string> words);

/// Accepts numbers from least to most, and keeps quiet about it in the help.
CLI::Validator in_range(double least, double most);

/// As in_range, for whole numbers in decimal; CLI11 itself wraps and clamps some, and takes a
/// leading zero for octal. For Option::transform.
CLI::Validator is_whole(int64_t least, uint64_t most);

/// The most that an option of 32 bits takes.
constexpr uint64_t kMostUint32 = UINT32_MAX;

/// As resolve_model; if it is the starter model that is missing, the error says how to get it.
Result<std::filesystem::path> find_model(const std::string& name_or_path);

/// An engine with its model loaded. Ctrl-C cancels the load.
struct LoadedModel {
    std::unique_ptr<Interrupts> interrupts;  // Before the engine: its threads inherit the mask.
    std::unique_ptr<Engine> engine;
    ModelInfo info;
};

/// Resolves, loads and shows the warnings on stderr.
Result<LoadedModel> load_model(const ModelOptions& options);

}  // namespace hokku::cli
