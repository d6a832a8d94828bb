// SPDX-License-Identifier: Apache-2.0
// Bounds on what a GGUF file may ask for. Each lies well above every real file and keeps the cost
// of a hostile one small (docs/formats.md, "Limits").
#pragma once

#include <cstddef>
#include <cstdint>

namespace hokku::gguf_limits {

inline constexpr uint64_t kMaxEntries = 65'536;
inline constexpr uint64_t kMaxTensors = 131'072;  ///< Over all shards.
inline constexpr uint64_t kMaxShards = 1024;
/// GGUF specification: a key is at most 2^16 - 1 bytes.
inline constexpr uint64_t kMaxKeyBytes = 65'535;
/// ggml.h, GGML_MAX_NAME: 64 with the closing zero.
inline constexpr uint64_t kMaxTensorNameBytes = 63;
/// One string value; tokenizer.json files of 35 MB are found embedded in models.
inline constexpr uint64_t kMaxStringBytes = uint64_t{128} << 20;
/// One string in an array, such as a token's text.
inline constexpr uint64_t kMaxArrayStringBytes = uint64_t{64} << 10;
/// All arrays of strings: their bytes plus what a view of each takes. A vocabulary of 262,144
/// tokens with 514,906 merges (Gemma 4) takes 28 MB.
inline constexpr uint64_t kMaxStringArrayCost = uint64_t{52} << 20;
/// The whole metadata section of one file.
inline constexpr uint64_t kMaxMetadataBytes = uint64_t{256} << 20;
/// Elements of one number array that are copied out (token types, scores, per-layer settings).
inline constexpr uint64_t kMaxCopiedElements = uint64_t{1} << 21;
inline constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
/// Key length, type, one byte of value. An empty key is refused later, with its own message.
inline constexpr uint64_t kMinEntryBytes = 8 + 4 + 1;
/// Name length, number of dimensions, one dimension, type, offset.
inline constexpr uint64_t kMinTensorBytes = 8 + 4 + 8 + 4 + 8;

}  // namespace hokku::gguf_limits
