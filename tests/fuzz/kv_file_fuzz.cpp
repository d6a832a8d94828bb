// SPDX-License-Identifier: Apache-2.0
// Files of saved contexts: as they are, and made whole with checksums that are right, as a hostile
// writer would, so that an input needs nothing behind its tables.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/hash64.h"
#include "fuzz/fuzz.h"
#include "kv/kv_file.h"

using hokku::testing::check_error;
using hokku::testing::must;

namespace {

void read(std::span<const std::byte> bytes) {
    const auto view = hokku::KvFileView::parse(bytes, "fuzz.kv");
    if (!view.ok()) return check_error(view.error());
    if (const auto fits = view->check_model({}); !fits.ok()) check_error(fits.error());
    must(view->num_tokens() * size_t{4} <= bytes.size(), "the tokens lie in the file");
    must(view->tokens().size() == view->num_tokens(), "there are as many tokens as it says");
    if (view->num_tokens() > 0) static_cast<void>(view->token(view->num_tokens() - 1));
    must(view->note().size() <= bytes.size(), "the note lies in the file");
    for (uint32_t i = 0; i < std::min(view->num_blocks(), 64u); ++i) {
        const auto block = view->block(i);
        must(block.data() >= bytes.data() &&
                 block.data() + block.size() <= bytes.data() + bytes.size(),
             "the blocks lie in the file");
        if (const auto right = view->check_block(i); !right.ok()) check_error(right.error());
    }
}

template <class T>
T number_at(std::span<const std::byte> bytes, size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

template <class T>
void put(std::vector<std::byte>& bytes, size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// The file that the header and the tables ask for: with the right place of the data, data of
/// zeros, and checksums. Empty where that would be large, or the tables are not all there.
/// Source: docs/formats.md.
std::vector<std::byte> make_whole(std::vector<std::byte> bytes) {
    constexpr size_t kOffset = 64, kHash = 72, kTables = 80, kAlignment = 4096;
    constexpr uint64_t kMaxDataBytes = 64 << 10;
    if (bytes.size() < kTables) return {};
    const uint64_t num_layers = number_at<uint32_t>(bytes, 32);
    const uint64_t block_tokens = number_at<uint32_t>(bytes, 36);
    const uint64_t num_tokens = number_at<uint32_t>(bytes, 40);
    const uint64_t block_bytes = number_at<uint64_t>(bytes, 48);
    const uint64_t note_bytes = number_at<uint64_t>(bytes, 56);
    const uint64_t room = bytes.size() - kTables;
    if (block_tokens == 0 || note_bytes > room || block_bytes > kMaxDataBytes) return {};
    const uint64_t num_blocks = (num_tokens + block_tokens - 1) / block_tokens;
    const uint64_t hashes = num_layers * 12 + num_tokens * 4;
    const uint64_t tables = hashes + num_blocks * 8 + note_bytes;
    if (tables > room || num_blocks * block_bytes > kMaxDataBytes) return {};
    const uint64_t offset = (kTables + tables + kAlignment - 1) / kAlignment * kAlignment;
    bytes.resize(kTables + tables);
    bytes.resize(offset + num_blocks * block_bytes);
    put(bytes, kOffset, offset);
    const std::span<const std::byte> all(bytes);
    for (uint64_t i = 0; i < num_blocks; ++i)
        put(bytes, kTables + hashes + i * 8,
            hokku::hash64(all.subspan(offset + i * block_bytes, block_bytes)));
    put(bytes, kHash, hokku::hash64(all.subspan(kTables, tables), hokku::hash64(all.first(kHash))));
    return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto* first = reinterpret_cast<const std::byte*>(data);
    const std::vector<std::byte> bytes(first, first + size);
    read(bytes);
    if (const auto whole = make_whole(bytes); !whole.empty()) read(whole);
    return 0;
}
