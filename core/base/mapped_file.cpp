// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <algorithm>
#include <string>

#include "base/path_text.h"

namespace hokku {

namespace {

/// Reads go in multiples of this, so that a header costs few system calls.
constexpr size_t kReadUnit = size_t{256} << 10;

}  // namespace

std::unique_ptr<MappedFile> MappedFile::view(const std::filesystem::path& path,
                                             std::span<const std::byte> bytes) {
    std::unique_ptr<MappedFile> file(new MappedFile());
    file->path_ = path;
    file->bytes_ = bytes;
    file->is_mapped_ = true;
    file->is_foreign_ = true;
    return file;
}

bool MappedFile::load(size_t begin, size_t end) {
    if (is_mapped_ || file_ == kNoFile || begin == end) return true;
    if (begin >= loaded_begin_ && end <= loaded_end_) return true;
    const bool continues = begin >= loaded_begin_ && begin <= loaded_end_;
    const size_t from = continues ? loaded_end_ : begin;
    const size_t to = std::min(bytes_.size(), (end / kReadUnit + 1) * kReadUnit);
    if (!read_range(from, to)) return false;
    if (!continues) loaded_begin_ = begin;
    loaded_end_ = to;
    return true;
}

Result<void> MappedFile::load_all(const std::function<bool(size_t done)>& on_piece) {
    constexpr size_t kPieceBytes = size_t{8} << 20;
    if (is_mapped_ || file_ == kNoFile) return {};
    bool is_read = true;
    for (size_t begin = 0; is_read && begin < bytes_.size();) {
        if (on_piece && !on_piece(begin))
            return Error{ErrorCode::cancelled, "the reading was cancelled", path_text(path_), {}};
        const size_t end = begin + std::min(kPieceBytes, bytes_.size() - begin);
        is_read = read_range(begin, end);
        begin = end;
    }
    close_file();
    if (!is_read)
        return Error{ErrorCode::io, "the file cannot be read to its end", path_text(path_),
                     std::to_string(bytes_.size()) + " bytes, as when it was opened"};
    protect_bytes();
    return {};
}

bool MappedFile::has_read_fault() const {
    return guard_.has_value() && guard_->has_fault();
}

}  // namespace hokku
