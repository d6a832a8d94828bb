// SPDX-License-Identifier: Apache-2.0
#include "hokku/library.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/executable_path.h"
#include "base/path_text.h"
#include "base/try.h"
#include "gguf/gguf_file.h"
#include "model/model.h"

namespace hokku {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kExtension = ".gguf";

/// "SmolLM2-135M.Q4_1" and "smollm2 135m q4_1" are the same name to people.
std::string plain_name(std::string_view name) {
    std::string plain;
    for (const char c : name) {
        const bool is_upper = c >= 'A' && c <= 'Z';
        const bool is_punctuation = c == '-' || c == '_' || c == '.' || c == ' ';
        if (!is_punctuation) plain += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return plain;
}

bool has_model_extension(const std::string& name) {
    return name.size() > kExtension.size() &&
           name.compare(name.size() - kExtension.size(), kExtension.size(), kExtension) == 0;
}

/// "-00002-of-00003.gguf" and so on: part of a set that its first shard stands for.
bool is_later_shard(const std::string& name) {
    constexpr size_t kSuffix = sizeof("-00002-of-00003.gguf") - 1;
    if (name.size() <= kSuffix) return false;
    const std::string suffix = name.substr(name.size() - kSuffix);
    for (size_t i = 0; i < kSuffix; ++i) {
        const bool must_be_digit = (i >= 1 && i <= 5) || (i >= 10 && i <= 14);
        const bool is_digit = suffix[i] >= '0' && suffix[i] <= '9';
        if (must_be_digit ? !is_digit : suffix[i] != "-00002-of-00003.gguf"[i]) return false;
    }
    return suffix.substr(1, 5) != "00001";
}

std::string listing_of(const std::vector<fs::path>& models) {
    std::string text;
    for (const fs::path& model : models) {
        if (!text.empty()) text += ", ";
        text += file_name_text(model);
    }
    return text;
}

/// The model files in a folder, which need not exist.
Result<std::vector<fs::path>> models_in(const fs::path& folder) {
    std::vector<fs::path> models;
    std::error_code error;
    if (!fs::exists(folder, error)) return models;
    fs::directory_iterator entry(folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
        const std::string name = path_utf8(entry->path().filename());
        std::error_code ignored;
        if (has_model_extension(name) && !is_later_shard(name) && entry->is_regular_file(ignored))
            models.push_back(entry->path());
    }
    if (error)
        return Error{ErrorCode::io, "the folder cannot be read: " + error.message(),
                     path_text(folder), ""};
    return models;
}

}  // namespace

Result<fs::path> library_folder() {
    HOKKU_TRY(const fs::path data, data_folder());
    return data / "models";
}

std::optional<fs::path> installed_models_folder() {
    const auto program = executable_path();
    if (!program) return std::nullopt;
    fs::path folder = program->parent_path().parent_path() / "share" / "hokku" / "models";
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) return std::nullopt;
    return folder;
}

Result<std::vector<fs::path>> list_models() {
    HOKKU_TRY(const fs::path folder, library_folder());
    HOKKU_TRY(std::vector<fs::path> models, models_in(folder));
    std::vector<fs::path> installed;
    if (const auto place = installed_models_folder()) {
        HOKKU_TRY(installed, models_in(*place));
    }
    const size_t num_own = models.size();
    for (const fs::path& model : installed) {
        const auto own_end = models.begin() + static_cast<std::ptrdiff_t>(num_own);
        const bool is_replaced = std::any_of(models.begin(), own_end, [&](const fs::path& own) {
            return own.filename() == model.filename();
        });
        if (!is_replaced) models.push_back(model);
    }
    std::sort(models.begin(), models.end(),
              [](const fs::path& a, const fs::path& b) { return a.filename() < b.filename(); });
    return models;
}

Result<fs::path> resolve_model(std::string_view name_or_path) {
    const std::string name(name_or_path.empty() ? kStarterModel : name_or_path);
    std::error_code ignored;
    const fs::path path = path_from_utf8(name);
    // Whoever opens a path says best what is wrong with it: a folder, a pipe, a dangling link.
    if (!name_or_path.empty() && (path.has_parent_path() || fs::is_regular_file(path, ignored)))
        return path;

    HOKKU_TRY(const std::vector<fs::path> models, list_models());
    for (const fs::path& model : models) {
        const std::string file_name = path_utf8(model.filename());
        if (file_name == name || file_name == name + std::string(kExtension)) return model;
    }
    std::vector<fs::path> matches;
    const std::string wanted = plain_name(name);
    for (const fs::path& model : models) {
        if (!wanted.empty() && plain_name(path_utf8(model.filename())).rfind(wanted, 0) == 0)
            matches.push_back(model);
    }
    if (matches.size() == 1) return matches.front();
    if (matches.size() > 1)
        return Error{ErrorCode::bad_argument, "several models have names that start so", name,
                     "one of " + listing_of(matches)};
    if (fs::exists(fs::symlink_status(path, ignored))) return path;
    HOKKU_TRY(const fs::path folder, library_folder());
    return Error{ErrorCode::io, "there is no such file and no such model in " + path_text(folder),
                 name, models.empty() ? "a path to a .gguf file" : "one of " + listing_of(models)};
}

Result<void> check_model(const std::filesystem::path& path) {
    HOKKU_TRY(GgufFile file, GgufFile::open(path));
    auto shared = std::make_shared<const GgufFile>(std::move(file));
    HOKKU_TRY(const Model model, Model::load(std::move(shared)));
    static_cast<void>(model);
    return {};
}

}  // namespace hokku
