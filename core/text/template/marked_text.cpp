// SPDX-License-Identifier: Apache-2.0
#include "text/template/marked_text.h"

#include <algorithm>

namespace hokku::jinja {

size_t Origin::next_cut(size_t position) const {
    if (cuts_.empty()) return 0;
    const auto it =
        std::upper_bound(cuts_.begin(), cuts_.end(), position,
                         [](size_t wanted, uint32_t cut) { return wanted < size_t{cut}; });
    return static_cast<size_t>(it - cuts_.begin());
}

bool Origin::at(size_t position) const {
    return first_ != (next_cut(position) % 2 == 1);
}

void Origin::append(bool is_content, size_t size, size_t count) {
    if (count == 0) return;
    if (size == 0) {
        first_ = is_content;
        cuts_.clear();
    } else if (last() != is_content) {
        cuts_.push_back(static_cast<uint32_t>(size));
    }
}

void Origin::append(const Origin& other, size_t begin, size_t end, size_t size) {
    if (other.is_uniform()) {
        append(other.first_, size, end - begin);
        return;
    }
    other.for_each_run(begin, end, [&](size_t from, size_t to, bool content) {
        append(content, size + (from - begin), to - from);
    });
}

void Origin::truncate(size_t size) {
    while (!cuts_.empty() && cuts_.back() >= size) cuts_.pop_back();
    if (size == 0) first_ = false;
}

void Text::add(std::string_view text, bool is_content) {
    origin.append(is_content, bytes.size(), text.size());
    bytes.append(text);
}

void Text::add(const Text& text, size_t begin, size_t end) {
    if (begin >= end) return;
    origin.append(text.origin, begin, end, bytes.size());
    bytes.append(text.bytes, begin, end - begin);
}

Text Text::slice(size_t begin, size_t end) const {
    Text out;
    out.add(*this, begin, end);
    return out;
}

void Text::truncate(size_t size) {
    origin.truncate(size);
    bytes.resize(size);
}

}  // namespace hokku::jinja
