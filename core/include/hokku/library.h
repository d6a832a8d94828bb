// SPDX-License-Identifier: Apache-2.0
// The user's model library: the folder where models are kept, and how a name given on a command
// line or chosen in an app becomes the path of a model file.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "hokku/result.h"

namespace hokku {

/// File name of the model that is used when none is named.
inline constexpr std::string_view kStarterModel = "SmolLM2-135M-Instruct.Q4_1.gguf";

/// $HOKKU_HOME, else $XDG_DATA_HOME/hokku, else ~/.local/share/hokku; on Windows $HOKKU_HOME, else
/// %LOCALAPPDATA%/hokku. Need not exist yet.
/// Errors : io when none of the variables is set.
Result<std::filesystem::path> data_folder();
/// data_folder()/models: where model files are kept. Need not exist yet.
Result<std::filesystem::path> library_folder();
/// Where models lie that came with the program: share/hokku/models beside the folder of the
/// executable, where that exists.
std::optional<std::filesystem::path> installed_models_folder();
/// The model files of the library (of a split set, the first shard) and those that came with the
/// program, unless the library has one of that file name; sorted by file name.
Result<std::vector<std::filesystem::path>> list_models();
/// A path with a folder in it, or of an existing file, stands for itself, whether it can be opened
/// or not; otherwise a file name in the library, with or without
/// ".gguf"; otherwise the one library model whose name starts with `name_or_path`, ignoring case
/// and punctuation ("smollm2"). Empty means the starter model.
/// Errors : io naming the folder and the models in it; bad_argument when several match.
Result<std::filesystem::path> resolve_model(std::string_view name_or_path);
/// Why a model file (of a split set, the first shard) cannot be loaded, as far as its header and
/// table of tensors tell: the format, the architecture, tensors that are missing or of a wrong
/// shape or type. Memory is not looked at.
/// Errors : io, bad_format, unsupported, limit_exceeded, out_of_memory.
/// Threads: re-entrant.
Result<void> check_model(const std::filesystem::path& path);

}  // namespace hokku
