// SPDX-License-Identifier: Apache-2.0
// ByteReader: the only way to read bytes of a file's header. A cursor over a span that hands out
// little-endian numbers and sub-spans, or nothing where fewer bytes are left.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace hokku {

/// Makes bytes present before they are read. For files that are read in pieces.
class ByteLoader {
  public:
    virtual ~ByteLoader() = default;
    /// True when the bytes [begin, end) are there now.
    virtual bool load(size_t begin, size_t end) = 0;
};

/// Threads: one thread at a time.
class ByteReader {
  public:
    /// `loader` may be null: then all bytes are there.
    explicit ByteReader(std::span<const std::byte> bytes, ByteLoader* loader = nullptr)
        : bytes_(bytes), loader_(loader) {}

    [[nodiscard]] size_t position() const { return position_; }
    [[nodiscard]] size_t remaining() const { return bytes_.size() - position_; }

    /// The next `count` bytes, for reading.
    [[nodiscard]] std::optional<std::span<const std::byte>> take(uint64_t count) {
        if (count > remaining()) return std::nullopt;
        const auto size = static_cast<size_t>(count);
        if (loader_ != nullptr && !loader_->load(position_, position_ + size)) return std::nullopt;
        return advance(size);
    }

    /// The next `count` bytes, which nobody looks at before the whole file is loaded.
    [[nodiscard]] std::optional<std::span<const std::byte>> take_unread(uint64_t count) {
        if (count > remaining()) return std::nullopt;
        return advance(static_cast<size_t>(count));
    }

    /// A little-endian number of type T.
    template <class T>
    [[nodiscard]] std::optional<T> read() {
        const auto bytes = take(sizeof(T));
        if (!bytes) return std::nullopt;
        return load_le<T>(bytes->data());
    }

    /// A little-endian number of type T at `from`, aligned or not.
    template <class T>
    [[nodiscard]] static T load_le(const std::byte* from) {
        static_assert(std::is_arithmetic_v<T> && std::endian::native == std::endian::little);
        T value;
        std::memcpy(&value, from, sizeof(T));
        return value;
    }

  private:
    std::span<const std::byte> advance(size_t count) {
        const auto taken = bytes_.subspan(position_, count);
        position_ += count;
        return taken;
    }

    std::span<const std::byte> bytes_;
    ByteLoader* loader_;
    size_t position_ = 0;
};

}  // namespace hokku
