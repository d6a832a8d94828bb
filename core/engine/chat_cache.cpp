// SPDX-License-Identifier: Apache-2.0
#include "hokku/chat_cache.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <vector>

#include "base/path_text.h"
#include "base/try.h"
#include "base/utf8.h"
#include "kv/kv_file.h"

namespace hokku {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCacheExtension = ".kv";
constexpr const char* kPartExtension = ".part";
/// Nobody writes a file for so long.
constexpr auto kDeadAfter = std::chrono::hours(1);

std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

/// Names that Windows keeps for devices, whatever follows the first dot.
bool is_device(std::string_view name) {
    const std::string stem = lower_case(name.substr(0, name.find('.')));
    if (stem == "con" || stem == "prn" || stem == "aux" || stem == "nul") return true;
    const bool has_number = stem.size() == 4 && stem[3] >= '0' && stem[3] <= '9';
    return has_number && (stem.compare(0, 3, "com") == 0 || stem.compare(0, 3, "lpt") == 0);
}

Error bad_name(const char* what, std::string_view name) {
    return {ErrorCode::bad_argument, what, to_printable(name), "another name for the chat"};
}

struct CachedFile {
    fs::path path;
    fs::file_time_type used;
    uint64_t bytes;
};

/// The saved chats; leftovers that nobody writes any more are removed on the way.
std::vector<CachedFile> list_files(const fs::path& folder) {
    std::vector<CachedFile> files;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code failed;  // the file may be gone by now: then it is not counted
        if (!at->is_regular_file(failed) || at->is_symlink(failed)) continue;
        const fs::file_time_type used = at->last_write_time(failed);
        const uint64_t bytes = at->file_size(failed);
        if (failed) continue;
        const fs::path extension = at->path().extension();
        if (extension == kCacheExtension) files.push_back({at->path(), used, bytes});
        const bool is_dead = fs::file_time_type::clock::now() - used > kDeadAfter;
        if (extension == kPartExtension && is_dead) fs::remove(at->path(), failed);
    }
    return files;
}

}  // namespace

Result<void> check_chat_name(std::string_view name) {
    constexpr size_t kMostBytes = 100;
    if (name.empty()) return bad_name("the name is empty", name);
    if (name.size() > kMostBytes) return bad_name("the name is longer than 100 bytes", name);
    if (!is_valid_utf8(name)) return bad_name("the name is not valid UTF-8", name);
    if (name.find_first_of("/\\:*?\"<>|") != std::string_view::npos)
        return bad_name("the name has a character that file names must not have", name);
    for (const char c : name)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            return bad_name("the name has a control character", name);
    if (name.front() == '.' || name.back() == '.' || name.front() == ' ' || name.back() == ' ')
        return bad_name("the name begins or ends with a dot or a space", name);
    if (is_device(name)) return bad_name("the name is that of a device", name);
    return {};
}

Result<void> check_chat_target(const fs::path& file) {
    return check_kv_target(file);
}

Result<ChatCache> ChatCache::open(const fs::path& folder, uint64_t limit_bytes) {
    std::error_code error;
    const bool is_new = fs::create_directories(folder, error);
    if (!error && is_new) fs::permissions(folder, fs::perms::owner_all, error);
    if (error || !fs::is_directory(folder, error))
        return Error{ErrorCode::io, "the folder for saved chats cannot be made: " + error.message(),
                     path_text(folder), ""};
    return ChatCache(folder, limit_bytes);
}

Result<ChatCache> ChatCache::open_default(uint64_t limit_bytes) {
    HOKKU_TRY(const fs::path folder, cache_folder());
    return open(folder / "chats", limit_bytes);
}

Result<fs::path> ChatCache::path_of(std::string_view name) const {
    HOKKU_CHECK(check_chat_name(name));
    return folder_ / (path_from_utf8(name) += kCacheExtension);
}

void ChatCache::touch(const fs::path& file) const {
    std::error_code ignored;  // it may have been removed: then there is nothing to note
    fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

uint64_t ChatCache::trim() const {
    std::vector<CachedFile> files = list_files(folder_);
    std::sort(files.begin(), files.end(),
              [](const CachedFile& a, const CachedFile& b) { return a.used < b.used; });
    uint64_t total = 0;
    for (const CachedFile& file : files) total += file.bytes;
    for (const CachedFile& file : files) {
        if (total <= limit_bytes_) break;
        std::error_code failed;
        if (fs::remove(file.path, failed)) total -= file.bytes;
    }
    return total;
}

}  // namespace hokku
