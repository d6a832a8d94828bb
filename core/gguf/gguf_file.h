// SPDX-License-Identifier: Apache-2.0
// GgufFile: a read-only, fully validated view of a model file or of a set of split files. Once
// open() has succeeded every string, array and tensor lies within the mapping, so readers need no
// further bounds checks. It knows nothing of models.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gguf/tensor_type.h"
#include "hokku/result.h"

namespace hokku {

/// Raw ids of the GGUF specification, "gguf_metadata_value_type".
enum class GgufValueType : uint32_t {
    u8 = 0,
    i8 = 1,
    u16 = 2,
    i16 = 3,
    u32 = 4,
    i32 = 5,
    f32 = 6,
    boolean = 7,
    string = 8,
    array = 9,
    u64 = 10,
    i64 = 11,
    f64 = 12,
};

/// An array of fixed-size numbers as it lies in the file (not aligned) ...
struct GgufNumberArray {
    GgufValueType element_type;
    std::span<const std::byte> bytes;
    size_t count;
};
/// ... or of strings. Views into the mapping.
using GgufStringArray = std::vector<std::string_view>;

using GgufValue = std::variant<uint64_t, int64_t, double, bool, std::string_view, GgufNumberArray,
                               GgufStringArray>;

struct GgufEntry {
    std::string_view key;
    GgufValueType type;  ///< Of the value as declared in the file.
    GgufValue value;     ///< Unsigned integers as uint64_t, signed as int64_t, floats as double.
};

/// The key-value section. Typed access only: a key that is there with another type or out of
/// range is an error that names file, key, found and expected; an absent key is nullopt.
///
/// Threads: immutable after open; safe from any thread.
class GgufMetadata {
  public:
    [[nodiscard]] std::span<const GgufEntry> entries() const { return entries_; }
    [[nodiscard]] const GgufEntry* find(std::string_view key) const;

    /// Any integer type is accepted as long as the value is within [min, max].
    [[nodiscard]] Result<std::optional<uint64_t>> find_uint(std::string_view key, uint64_t min,
                                                            uint64_t max) const;
    /// f32 or f64; must be finite.
    [[nodiscard]] Result<std::optional<double>> find_float(std::string_view key) const;
    [[nodiscard]] Result<std::optional<bool>> find_bool(std::string_view key) const;
    [[nodiscard]] Result<std::optional<std::string_view>> find_string(std::string_view key) const;
    /// nullptr when absent.
    [[nodiscard]] Result<const GgufStringArray*> find_strings(std::string_view key) const;
    /// Copies an array of f32 or f64 (finite or not: callers check what they need).
    [[nodiscard]] Result<std::optional<std::vector<float>>> find_floats(std::string_view key) const;
    /// Copies an array of any integer (or bool) type whose values lie in [min, max].
    [[nodiscard]] Result<std::optional<std::vector<int64_t>>> find_ints(std::string_view key,
                                                                        int64_t min,
                                                                        int64_t max) const;
    /// As the find_ functions, but an absent key is an error too.
    [[nodiscard]] Result<uint64_t> require_uint(std::string_view key, uint64_t min,
                                                uint64_t max) const;
    [[nodiscard]] Result<double> require_float(std::string_view key) const;
    [[nodiscard]] Result<std::string_view> require_string(std::string_view key) const;

    /// File name for error texts.
    [[nodiscard]] const std::string& file_name() const { return file_name_; }

  private:
    friend class GgufReader;
    std::vector<GgufEntry> entries_;
    std::vector<uint32_t> by_key_;  ///< Indices of entries_, sorted by key.
    std::string file_name_;
};

struct GgufTensor {
    std::string_view name;
    TensorType type = TensorType::f32;
    uint32_t num_dims = 0;
    /// ne[0] is the contiguous dimension: a weight has ne[1] rows (out_features) of ne[0] values
    /// (in_features). Absent dimensions are 1.
    std::array<uint64_t, 4> ne{1, 1, 1, 1};
    std::span<const std::byte> data;  ///< View into the mapping of its shard.
    uint32_t shard_index = 0;
    uint64_t file_offset = 0;  ///< Absolute offset within the shard's file.
};

struct GgufOpenOptions {
    bool use_mapping = true;  ///< false reads the file into memory instead of mapping it.
    /// Called before each 8 MiB that are read where there is no mapping, with the share that is
    /// done; false ends open() with the error `cancelled`.
    std::function<bool(double share)> on_read = {};
};

class MappedFile;

/// Errors : io (not a regular file, cannot be mapped or read), bad_format, unsupported (version,
///          big-endian), cancelled, all naming the file and the key or tensor at fault.
/// Threads: immutable after open; safe from any thread.
class GgufFile {
  public:
    /// Opens `path`; when it is one shard of a split set, opens the whole set.
    static Result<GgufFile> open(const std::filesystem::path& path, GgufOpenOptions options = {});

    GgufFile(GgufFile&&) noexcept;
    GgufFile& operator=(GgufFile&&) noexcept;
    ~GgufFile();

    [[nodiscard]] const GgufMetadata& metadata() const { return metadata_; }
    [[nodiscard]] std::span<const GgufTensor> tensors() const { return tensors_; }
    [[nodiscard]] const GgufTensor* find_tensor(std::string_view name) const;

    [[nodiscard]] uint32_t version() const { return version_; }
    [[nodiscard]] uint64_t alignment() const { return alignment_; }
    [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }  ///< All shards.
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::span<const std::filesystem::path> shard_paths() const { return shards_; }
    [[nodiscard]] bool is_mapped() const;
    /// All bytes of one file of the set.
    [[nodiscard]] std::span<const std::byte> shard_bytes(uint32_t shard_index) const;

    /// A page of the mapping could not be read because the file shrank or the medium failed. The
    /// page reads as zeros from then on, so this stays true until the file is opened again, and
    /// nothing computed from the file may be used.
    [[nodiscard]] bool has_read_fault() const;

  private:
    friend class GgufReader;
    GgufFile();
    GgufMetadata metadata_;
    std::vector<GgufTensor> tensors_;
    std::vector<uint32_t> by_name_;
    std::vector<std::unique_ptr<MappedFile>> mappings_;
    std::vector<std::filesystem::path> shards_;
    std::filesystem::path path_;
    uint32_t version_ = 0;
    uint64_t alignment_ = 32;
    uint64_t file_bytes_ = 0;
};

}  // namespace hokku
