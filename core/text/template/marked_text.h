// SPDX-License-Identifier: Apache-2.0
// Text: UTF-8 bytes that remember which of them came from content (messages, tools, variables)
// and which the template wrote itself. Every string of the interpreter is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hokku::jinja {

/// Runs of equal origin over a text. A uniform text, the usual case, needs no list.
class Origin {
  public:
    Origin() = default;
    explicit Origin(bool is_content) : first_(is_content) {}

    [[nodiscard]] bool any_content() const { return first_ || !cuts_.empty(); }
    [[nodiscard]] bool is_uniform() const { return cuts_.empty(); }
    /// Origin of the first byte, and of the last; false for an empty text.
    [[nodiscard]] bool first() const { return first_; }
    [[nodiscard]] bool last() const { return first_ != (cuts_.size() % 2 == 1); }
    [[nodiscard]] bool at(size_t position) const;
    /// Bytes that the list of runs takes beyond the object itself.
    [[nodiscard]] size_t extra_bytes() const { return cuts_.capacity() * sizeof(uint32_t); }

    /// Adds a run of `count` bytes to a text of `size` bytes.
    void append(bool is_content, size_t size, size_t count);
    /// Adds the runs of other[begin, end) to a text of `size` bytes.
    void append(const Origin& other, size_t begin, size_t end, size_t size);
    void truncate(size_t size);

    /// Calls visit(begin, end, is_content) for each run in [begin, end), in order.
    template <class Visit>
    void for_each_run(size_t begin, size_t end, Visit visit) const {
        size_t next = next_cut(begin);
        bool content = first_ != (next % 2 == 1);
        while (begin < end) {
            size_t stop = next < cuts_.size() ? cuts_[next] : end;
            if (stop > end) stop = end;
            visit(begin, stop, content);
            begin = stop;
            content = !content;
            ++next;
        }
    }

  private:
    [[nodiscard]] size_t next_cut(size_t position) const;

    bool first_ = false;
    std::vector<uint32_t> cuts_;  // ascending positions where the origin flips
};

struct Text {
    std::string bytes;
    Origin origin;

    Text() = default;
    explicit Text(std::string text, bool is_content = false)
        : bytes(std::move(text)), origin(is_content && !bytes.empty()) {}

    [[nodiscard]] size_t size() const { return bytes.size(); }
    [[nodiscard]] std::string_view view() const { return bytes; }
    void add(std::string_view text, bool is_content = false);
    void add(const Text& text) { add(text, 0, text.size()); }
    void add(const Text& text, size_t begin, size_t end);
    [[nodiscard]] Text slice(size_t begin, size_t end) const;
    void truncate(size_t size);
};

}  // namespace hokku::jinja
