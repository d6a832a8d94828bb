// SPDX-License-Identifier: Apache-2.0
#include "base/file_writer.h"

#include <utility>

namespace hokku {

std::filesystem::path FileWriter::part_of(const std::filesystem::path& path) {
    std::filesystem::path part = path;
    part += ".part";
    return part;
}

FileWriter::FileWriter(std::filesystem::path path, intptr_t file)
    : path_(std::move(path)), part_(part_of(path_)), file_(file) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      part_(std::move(other.part_)),
      file_(std::exchange(other.file_, kNoFile)),
      size_(other.size_) {}

FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
    if (this == &other) return *this;
    discard();
    path_ = std::move(other.path_);
    part_ = std::move(other.part_);
    file_ = std::exchange(other.file_, kNoFile);
    size_ = other.size_;
    return *this;
}

FileWriter::~FileWriter() {
    discard();
}

Result<void> FileWriter::append(std::span<const std::byte> bytes) {
    auto written = write_at(size_, bytes);
    if (written.ok()) size_ += bytes.size();
    return written;
}

}  // namespace hokku
