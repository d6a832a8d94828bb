// SPDX-License-Identifier: Apache-2.0
// KvFile: the keys and values of one text on disk, so that a chat goes on without its tokens being
// evaluated again. docs/formats.md has the bytes. It knows nothing of backends and sequences.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_writer.h"
#include "hokku/kv_type.h"
#include "hokku/result.h"

namespace hokku {

/// What one layer stores for a position; zeros where it stores nothing.
struct KvLayerShape {
    uint32_t num_kv_heads = 0, key_dim = 0, value_dim = 0;
    bool operator==(const KvLayerShape&) const = default;
};

/// Everything that must be the same where a file is read for its bytes to mean the same.
struct KvFileModel {
    uint64_t hash = 0;        ///< Of the model's metadata, tensor table and samples of weights.
    uint64_t file_bytes = 0;  ///< Of the model.
    KvType kv_type = KvType::f32;
    bool uses_long_rope = false;  ///< LongRoPE takes other angles in long contexts.
    // How it is computed: each way rounds otherwise.
    bool is_exact = false;
    std::string kernels;  ///< "avx512".
    uint32_t num_ranks = 1;
    std::vector<KvLayerShape> layers;
    uint32_t block_tokens = 0;
    uint64_t block_bytes = 0;
};

namespace kv_file_limits {
inline constexpr uint64_t kMaxLayers = 65'536;
inline constexpr uint64_t kMaxNoteBytes = uint64_t{64} << 20;
}  // namespace kv_file_limits

/// Whether a saved chat may be written under this name: nothing is there, or an earlier one. The
/// same goes for the file beside it that it is written into first.
///
/// Errors : bad_argument naming what is there instead, which stays as it is.
Result<void> check_kv_target(const std::filesystem::path& path);

/// A checked view of a whole file in memory: every part lies within the bytes. The data of the
/// blocks is not looked at before check_block().
///
/// Threads: immutable; safe from any thread.
class KvFileView {
  public:
    /// Allocates nothing but the texts of errors. `name` is used in those.
    /// Errors : bad_format naming the part, the number found and the one expected; unsupported
    ///          (a later version).
    static Result<KvFileView> parse(std::span<const std::byte> bytes, std::string_view name);

    /// Errors : bad_argument naming what differs: model, KV type, arithmetic, layers.
    [[nodiscard]] Result<void> check_model(const KvFileModel& model) const;

    [[nodiscard]] uint32_t num_tokens() const { return num_tokens_; }
    [[nodiscard]] int32_t token(uint32_t index) const;
    [[nodiscard]] std::vector<int32_t> tokens() const;
    [[nodiscard]] uint32_t num_blocks() const { return num_blocks_; }
    [[nodiscard]] std::span<const std::byte> block(uint32_t index) const;
    /// Errors : bad_format when the block is not what was written.
    [[nodiscard]] Result<void> check_block(uint32_t index) const;
    /// What the writer wanted to be kept beside it: not interpreted.
    [[nodiscard]] std::string_view note() const;

  private:
    KvFileView() = default;
    [[nodiscard]] Error wrong(std::string what, std::string expected) const;
    [[nodiscard]] Result<void> check_sizes(uint64_t note_bytes, uint64_t data_offset);

    std::string name_;
    std::span<const std::byte> layers_, tokens_, hashes_, note_, data_;
    uint64_t model_hash_ = 0, model_bytes_ = 0, block_bytes_ = 0;
    uint32_t kv_type_ = 0, flags_ = 0, num_layers_ = 0, block_tokens_ = 0;
    uint32_t num_tokens_ = 0, num_blocks_ = 0;
};

/// Writes one file, block after block.
///
/// Errors : io; those of check_kv_target().
/// Threads: one thread at a time.
class KvFileWriter {
  public:
    /// Needs  : at least one token.
    static Result<KvFileWriter> create(const std::filesystem::path& path, const KvFileModel& model,
                                       std::span<const int32_t> tokens, std::string_view note);
    /// The next block, [block_bytes]. All of them, before finish().
    Result<void> add_block(std::span<const std::byte> bytes);
    /// Puts the file in place. Returns its size.
    Result<uint64_t> finish();

  private:
    KvFileWriter(std::filesystem::path path, FileWriter file)
        : path_(std::move(path)), file_(std::move(file)) {}
    std::filesystem::path path_;
    FileWriter file_;
    std::vector<std::byte> header_;  ///< All before the data.
    size_t next_hash_ = 0;           ///< Where in it the hash of the next block goes.
    size_t tables_end_ = 0;
};

}  // namespace hokku
