// SPDX-License-Identifier: Apache-2.0
#include "kv/kv_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/hash64.h"
#include "base/path_text.h"
#include "base/try.h"

namespace hokku {

namespace {

constexpr std::string_view kMagic("HOKKUKV\0", 8);
/// What a file that is not finished begins with; what both begin with.
constexpr std::string_view kUnfinishedMagic("HOKKUKV~", 8), kAnyMagic("HOKKUKV", 7);
constexpr uint32_t kVersion = 2;
constexpr uint32_t kFlagLongRope = 1, kFlagExact = 2;
constexpr uint32_t kKernelsShift = 8, kRanksShift = 16;
/// In the file they are numbers: their place in this list.
constexpr std::array<std::string_view, 9> kKernels = {
    "reference", "avx2", "avx512", "neon", "i8mm", "asimd", "avxvnni", "amx", "amxbf16"};
constexpr uint32_t kOtherKernels = 255;
constexpr size_t kHashOffset = 72, kTablesOffset = 80;  // The header hash; what follows it.
constexpr uint64_t kDataAlignment = 4096;
constexpr uint64_t kLayerBytes = 12;

uint64_t num_blocks_of(uint64_t num_tokens, uint64_t block_tokens) {
    return (num_tokens + block_tokens - 1) / block_tokens;
}

/// Of all but itself and the padding.
uint64_t header_hash(std::span<const std::byte> header, size_t tables_end) {
    const uint64_t start = hash64(header.first(kHashOffset));
    return hash64(header.subspan(kTablesOffset, tables_end - kTablesOffset), start);
}

uint32_t flags_of(const KvFileModel& model) {
    const auto* at = std::find(kKernels.begin(), kKernels.end(), model.kernels);
    const auto index = static_cast<uint32_t>(at - kKernels.begin());
    const uint32_t kernels = at == kKernels.end() ? kOtherKernels : index;
    return (model.uses_long_rope ? kFlagLongRope : 0) | (model.is_exact ? kFlagExact : 0) |
           kernels << kKernelsShift | std::min(model.num_ranks, 255u) << kRanksShift;
}

/// "exactly, reference kernels, 1 rank".
std::string arithmetic_text(uint32_t flags) {
    const uint32_t kernels = (flags >> kKernelsShift) & 255u, ranks = (flags >> kRanksShift) & 255u;
    return fmt::format("{}{} kernels, {} rank{}", (flags & kFlagExact) != 0 ? "exactly, " : "",
                       kernels < kKernels.size() ? kKernels[kernels] : "other", ranks,
                       ranks == 1 ? "" : "s");
}

/// What is there must be a file of ours, or nothing.
Result<void> check_replaceable(const std::filesystem::path& path, bool may_be_empty) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (!fs::exists(status)) return {};
    const auto refuse = [&](const char* what) {
        return Error{ErrorCode::bad_argument, fmt::format("{}: it is left as it is", what),
                     path_text(path), "a new file or a saved context"};
    };
    if (fs::is_directory(status)) return refuse("this is a folder");
    if (fs::is_symlink(status)) return refuse("this is a link");
    if (!fs::is_regular_file(status)) return refuse("this is not a regular file");
    std::ifstream file(path, std::ios::binary);
    // What writes the part file says why it cannot, where that is so.
    if (may_be_empty && !file.is_open()) return {};
    std::array<char, kAnyMagic.size()> start{};
    file.read(start.data(), start.size());
    if (may_be_empty && file.gcount() == 0 && file.eof()) return {};
    const std::string_view found(start.data(), static_cast<size_t>(file.gcount()));
    return found == kAnyMagic ? Result<void>() : refuse("this is not a saved context");
}

template <class T>
void put(std::vector<std::byte>& bytes, size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

}  // namespace

Result<void> check_kv_target(const std::filesystem::path& path) {
    HOKKU_CHECK(check_replaceable(path, false));
    std::filesystem::path part = path;
    part += ".part";
    return check_replaceable(part, true);
}

// ---- reading -----------------------------------------------------------------------------------

Error KvFileView::wrong(std::string what, std::string expected) const {
    return {ErrorCode::bad_format, std::move(what), name_, std::move(expected)};
}

Result<KvFileView> KvFileView::parse(std::span<const std::byte> bytes, std::string_view name) {
    KvFileView view;
    view.name_ = name;
    if (bytes.size() < kTablesOffset)
        return view.wrong(fmt::format("the file has {} bytes", bytes.size()),
                          fmt::format("at least {}", kTablesOffset));
    if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
        return view.wrong("this is not a saved context", "HOKKUKV at the start");
    const auto u32 = [&](size_t at) { return ByteReader::load_le<uint32_t>(bytes.data() + at); };
    const auto u64 = [&](size_t at) { return ByteReader::load_le<uint64_t>(bytes.data() + at); };
    if (u32(8) != kVersion)
        return Error{ErrorCode::unsupported,
                     fmt::format("the saved context has version {}", u32(8)), view.name_,
                     fmt::format("version {}", kVersion)};
    view.kv_type_ = u32(12);
    view.model_hash_ = u64(16);
    view.model_bytes_ = u64(24);
    view.num_layers_ = u32(32);
    view.block_tokens_ = u32(36);
    view.num_tokens_ = u32(40);
    view.flags_ = u32(44);
    view.block_bytes_ = u64(48);
    view.data_ = bytes;
    HOKKU_CHECK(view.check_sizes(u64(56), u64(64)));
    const auto tables_end =
        static_cast<size_t>(view.note_.data() + view.note_.size() - bytes.data());
    if (header_hash(bytes, tables_end) != u64(kHashOffset))
        return view.wrong("the header is damaged", "the checksum that was written with it");
    return view;
}

// From here on nothing is added or multiplied without a check: the numbers are anybody's.
Result<void> KvFileView::check_sizes(uint64_t note_bytes, uint64_t data_offset) {
    const std::span<const std::byte> bytes = data_;
    if (kv_type_ > static_cast<uint32_t>(KvType::q4_0))
        return wrong(fmt::format("the KV type is {}", kv_type_), "0 to 3");
    if (num_layers_ == 0 || num_layers_ > kv_file_limits::kMaxLayers)
        return wrong(fmt::format("there are {} layers", num_layers_),
                     fmt::format("1 to {}", kv_file_limits::kMaxLayers));
    if (num_tokens_ == 0 || num_tokens_ > INT32_MAX)
        return wrong(fmt::format("there are {} tokens", num_tokens_),
                     fmt::format("1 to {}", INT32_MAX));
    if (block_tokens_ == 0 || block_bytes_ == 0)
        return wrong(fmt::format("a block has {} tokens and {} bytes", block_tokens_, block_bytes_),
                     "more than none");
    if (note_bytes > kv_file_limits::kMaxNoteBytes)
        return wrong(fmt::format("the note has {} bytes", note_bytes),
                     fmt::format("at most {}", kv_file_limits::kMaxNoteBytes));
    num_blocks_ = static_cast<uint32_t>(num_blocks_of(num_tokens_, block_tokens_));
    // Below 2^36: each factor is bounded above.
    const uint64_t tables_end = kTablesOffset + num_layers_ * kLayerBytes +
                                uint64_t{num_tokens_} * sizeof(int32_t) +
                                uint64_t{num_blocks_} * sizeof(uint64_t) + note_bytes;
    const uint64_t wanted_offset = *checked_pad(tables_end, kDataAlignment);
    if (data_offset != wanted_offset)
        return wrong(fmt::format("the data begins at {}", data_offset),
                     std::to_string(wanted_offset));
    const auto data_bytes = checked_mul(num_blocks_, block_bytes_);
    const auto file_bytes = data_bytes ? checked_add(wanted_offset, *data_bytes) : std::nullopt;
    if (!file_bytes || *file_bytes != bytes.size())
        return wrong(fmt::format("the file has {} bytes", bytes.size()),
                     fmt::format("{} for {} blocks of {} bytes",
                                 file_bytes ? std::to_string(*file_bytes) : "more than 2^64",
                                 num_blocks_, block_bytes_));
    ByteReader reader(bytes.subspan(kTablesOffset));
    layers_ = *reader.take(num_layers_ * kLayerBytes);
    tokens_ = *reader.take(uint64_t{num_tokens_} * sizeof(int32_t));
    hashes_ = *reader.take(uint64_t{num_blocks_} * sizeof(uint64_t));
    note_ = *reader.take(note_bytes);
    data_ = bytes.subspan(static_cast<size_t>(wanted_offset));
    return {};
}

Result<void> KvFileView::check_model(const KvFileModel& model) const {
    const auto differs = [&](std::string what, std::string expected) {
        return Error{ErrorCode::bad_argument, std::move(what), name_, std::move(expected)};
    };
    if (model_hash_ != model.hash || model_bytes_ != model.file_bytes)
        return differs("the chat was saved with another model", "the model that is loaded");
    const auto type = static_cast<KvType>(kv_type_);
    if (type != model.kv_type)
        return differs(
            fmt::format("the chat was saved with a context of type {}", kv_type_name(type)),
            fmt::format("{}, as the model is loaded", kv_type_name(model.kv_type)));
    const uint32_t flags = flags_of(model);
    if ((flags_ & kFlagLongRope) != (flags & kFlagLongRope))
        return differs("it was saved with a context of another length class",
                       "LongRoPE factors as the model is loaded");
    if (flags_ != flags)
        return differs(
            fmt::format("the context was computed otherwise ({})", arithmetic_text(flags_)),
            fmt::format("{}, as the model is loaded", arithmetic_text(flags)));
    bool is_same = num_layers_ == model.layers.size() && block_tokens_ == model.block_tokens &&
                   block_bytes_ == model.block_bytes;
    for (size_t i = 0; is_same && i < model.layers.size(); ++i) {
        const std::byte* at = layers_.data() + i * kLayerBytes;
        const KvLayerShape shape{ByteReader::load_le<uint32_t>(at),
                                 ByteReader::load_le<uint32_t>(at + 4),
                                 ByteReader::load_le<uint32_t>(at + 8)};
        is_same = shape == model.layers[i];
    }
    if (!is_same) return differs("the saved layers have other shapes", "those of the model");
    return {};
}

int32_t KvFileView::token(uint32_t index) const {
    assert(index < num_tokens_);
    return ByteReader::load_le<int32_t>(tokens_.data() + size_t{index} * sizeof(int32_t));
}

std::vector<int32_t> KvFileView::tokens() const {
    std::vector<int32_t> tokens(num_tokens_);
    std::memcpy(tokens.data(), tokens_.data(), tokens_.size());
    return tokens;
}

std::span<const std::byte> KvFileView::block(uint32_t index) const {
    assert(index < num_blocks_);
    const auto size = static_cast<size_t>(block_bytes_);
    return data_.subspan(index * size, size);
}

Result<void> KvFileView::check_block(uint32_t index) const {
    const auto expected =
        ByteReader::load_le<uint64_t>(hashes_.data() + size_t{index} * sizeof(uint64_t));
    if (hash64(block(index)) == expected) return {};
    return wrong(fmt::format("block {} of {} is damaged", index + 1, num_blocks_),
                 "the checksum that was written with it");
}

std::string_view KvFileView::note() const {
    return {reinterpret_cast<const char*>(note_.data()), note_.size()};
}

// ---- writing -----------------------------------------------------------------------------------

Result<KvFileWriter> KvFileWriter::create(const std::filesystem::path& path,
                                          const KvFileModel& model, std::span<const int32_t> tokens,
                                          std::string_view note) {
    if (tokens.empty() || tokens.size() > INT32_MAX || note.size() > kv_file_limits::kMaxNoteBytes)
        return Error{ErrorCode::bad_argument,
                     fmt::format("{} tokens and a note of {} bytes are to be saved", tokens.size(),
                                 note.size()),
                     "saved context",
                     fmt::format("at least one token and a note of at most {} bytes",
                                 kv_file_limits::kMaxNoteBytes)};
    HOKKU_CHECK(check_kv_target(path));
    HOKKU_TRY(FileWriter file, FileWriter::create(path));
    KvFileWriter writer(path, std::move(file));
    const uint64_t num_blocks = num_blocks_of(tokens.size(), model.block_tokens);
    const size_t tokens_offset = kTablesOffset + model.layers.size() * kLayerBytes;
    writer.next_hash_ = tokens_offset + tokens.size_bytes();
    const size_t note_offset = writer.next_hash_ + num_blocks * sizeof(uint64_t);
    writer.tables_end_ = note_offset + note.size();
    std::vector<std::byte>& header = writer.header_;
    header.resize(*checked_pad(writer.tables_end_, kDataAlignment));
    std::memcpy(header.data(), kMagic.data(), kMagic.size());
    put(header, 8, kVersion);
    put(header, 12, static_cast<uint32_t>(model.kv_type));
    put(header, 16, model.hash);
    put(header, 24, model.file_bytes);
    put(header, 32, static_cast<uint32_t>(model.layers.size()));
    put(header, 36, model.block_tokens);
    put(header, 40, static_cast<uint32_t>(tokens.size()));
    put(header, 44, flags_of(model));
    put(header, 48, model.block_bytes);
    put(header, 56, uint64_t{note.size()});
    put(header, 64, uint64_t{header.size()});
    for (size_t i = 0; i < model.layers.size(); ++i) {
        const KvLayerShape& shape = model.layers[i];
        const size_t at = kTablesOffset + i * kLayerBytes;
        put(header, at, shape.num_kv_heads);
        put(header, at + 4, shape.key_dim);
        put(header, at + 8, shape.value_dim);
    }
    std::memcpy(header.data() + tokens_offset, tokens.data(), tokens.size_bytes());
    if (!note.empty()) std::memcpy(header.data() + note_offset, note.data(), note.size());
    // Room only, with a magic that tells what it is when this process is ended.
    std::vector<std::byte> room(header.size());
    std::memcpy(room.data(), kUnfinishedMagic.data(), kUnfinishedMagic.size());
    HOKKU_CHECK(writer.file_.append(room));
    return writer;
}

Result<void> KvFileWriter::add_block(std::span<const std::byte> bytes) {
    put(header_, next_hash_, hash64(bytes));
    next_hash_ += sizeof(uint64_t);
    return file_.append(bytes);
}

Result<uint64_t> KvFileWriter::finish() {
    put(header_, kHashOffset, header_hash(header_, tables_end_));
    HOKKU_CHECK(file_.write_at(0, header_));
    const uint64_t size = file_.size_bytes();
    HOKKU_CHECK(check_replaceable(path_, false));  // it may have come meanwhile
    HOKKU_CHECK(file_.commit());
    return size;
}

}  // namespace hokku
