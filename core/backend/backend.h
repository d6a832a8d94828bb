// SPDX-License-Identifier: Apache-2.0
// Backend: runs model steps on one device. Cut at the model step, not at the op, so that a
// backend may fuse, capture or run one persistent kernel. It knows tokens, positions and KV
// blocks; it knows nothing of text, chats or sampling.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "hokku/kv_type.h"
#include "hokku/result.h"

namespace hokku {

class Model;
struct ModelSpec;

/// Tokens per KV block. One block holds, for every layer, the keys and values of this many
/// consecutive positions of one sequence (KV heads only, never repeated for GQA).
inline constexpr uint32_t kKvBlockTokens = 64;

/// Ranks that a model may be split over.
inline constexpr uint32_t kMaxRanks = 64;

struct BackendOptions {
    uint32_t num_threads = 0;        ///< Of all ranks; 0: chosen from the machine.
    uint32_t num_ranks = 1;          ///< Tensor parallel: threads are shared, at least one each.
    bool exact = false;              ///< Scalar float32 reference.
    uint32_t num_kv_blocks = 0;      ///< Size of the KV pool.
    KvType kv_type = KvType::f32;    ///< How keys and values are stored in it.
    uint32_t max_step_tokens = 512;  ///< Rows that one step may have.
    uint32_t max_step_logits = 8;    ///< Rows of logits that one step may return.
    /// On the CPU, where it may pay: steps that want only the best few logits (Step::num_best)
    /// leave out the tokens that cannot be among them, found with a copy of the output head in four
    /// bits.
    bool screen_head = false;
    /// Longest sequence that will be run; above the original context LongRoPE takes its long
    /// factors, at every length. 0: as many tokens as the pool holds.
    uint32_t context_tokens = 0;
    /// On the CPU each thread calls it before it reads the weights of a layer, and with the number
    /// of layers before those of the head: where they are still on their way, it waits. May be
    /// empty.
    std::function<void(uint32_t layer)> before_layer = {};
};

/// Slices of at most this many rows are computed as those of a single row are, whatever else is in
/// their step, if only such slices are before them: decoding several tokens at once rounds as
/// decoding them one by one. A row of a longer slice does not depend on other sequences either.
inline constexpr uint32_t kDecodeRows = 8;

/// One sequence's share of a step. Positions are absolute and follow from the cache: row r of the
/// slice has position num_cached + r.
struct StepSequence {
    uint32_t first_row = 0, num_rows = 0;
    uint32_t num_cached = 0;           ///< Tokens of this sequence whose KV is stored already.
    std::span<const uint32_t> blocks;  ///< Block table covering num_cached + num_rows tokens.
};

/// Inner values of the last row of a step, for comparison with references. Called in order of
/// computation. Names as in tests: "embed", "layer3", "final_norm", "layer3.q_rope".
struct StepTrace {
    bool stages = false;  ///< Inner stages of each layer too, not only residuals.
    std::function<void(const std::string& name, std::span<const float> values)> on_values;
};

struct Step {
    std::span<const int32_t> tokens;          ///< [num_rows] of all sequences, concatenated.
    std::span<const StepSequence> sequences;  ///< Those of few rows (kDecodeRows) first.
    std::span<const uint32_t> logit_rows;     ///< Rows whose logits are wanted, ascending.
    /// Of each of these so many best ones are needed at most, and of equals the first; 0: all. What
    /// is behind them may be given as -infinity.
    uint32_t num_best = 0;
    StepTrace* trace = nullptr;
    std::stop_token stop = {};  ///< Checked at every layer.
    /// [num_rows][dim]: what the layers before gave, of a model without its first ones.
    std::span<const float> hidden = {};
};

struct BackendInfo {
    std::string device;   ///< "CPU avx512, 2 threads".
    std::string kernels;  ///< "reference", "avx2", "avxvnni", "avx512", "neon" ..: kernel_names().
    uint32_t num_threads = 0;
    uint64_t kv_bytes = 0, scratch_bytes = 0;
    uint64_t bytes_per_token = 0;  ///< Weight bytes read to decode one token, by all ranks.
    bool screens_head = false;     ///< BackendOptions::screen_head, and it may pay.
    std::vector<uint64_t> rank_weight_bytes;  ///< Bound by each rank.
};

/// Errors : run: cancelled, numeric (naming the layer where it can), bad_argument (token ids, rows
///          or blocks out of range), limit_exceeded (learned positions), device.
/// Threads: owning thread only (the one that runs the first step; another gets an error). Nothing
///          is allocated after creation, but for traces and errors.
class Backend {
  public:
    virtual ~Backend() = default;
    /// Runs one step. Afterwards the KV of all its rows is stored.
    /// Returns logits [logit_rows.size(), num_vocab] f32, valid until the next call; of a model
    /// without its last layers the residual stream of all rows, [num_rows, dim].
    virtual Result<std::span<const float>> run(const Step& step) = 0;
    /// Copies one KV block over another (copy on write).
    virtual void copy_block(uint32_t from, uint32_t to) = 0;
    /// Bytes of one KV block as read_block() gives it: layer by layer the keys of all KV heads,
    /// then the values, each as docs/formats.md has it. 0: blocks cannot be read.
    [[nodiscard]] virtual uint64_t kv_block_bytes() const { return 0; }
    /// Copies a block out, [kv_block_bytes()]; positions from num_tokens on read as zeros, as
    /// their memory may hold those of another text.
    virtual void read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const;
    /// More blocks; what those there hold stays. After an error all is as it was.
    /// Errors : unsupported, out_of_memory.
    virtual Result<void> grow_kv(uint32_t num_blocks);
    /// How many blocks there is memory for in a pool beside the present one, if `machine_bytes` of
    /// the machine's may be taken; nullopt: nothing but the machine's memory counts.
    [[nodiscard]] virtual std::optional<uint64_t> growth_blocks(uint64_t machine_bytes) const;
    /// Copies a block in.
    virtual void write_block(uint32_t block, std::span<const std::byte> bytes);
    [[nodiscard]] virtual const BackendInfo& info() const = 0;
};

/// Bytes of KV pool that one block takes on the CPU for a model, or for a rank's shard of it.
uint64_t cpu_kv_block_bytes(const ModelSpec& spec, KvType type);
/// Bytes that BackendOptions::screen_head comes to take; 0: the head is not screened.
uint64_t cpu_head_screen_bytes(const Model& model, const BackendOptions& options);
/// Whether the backend would take the plain kernels, an order of magnitude slower than the rest.
bool cpu_kernels_are_reference();

/// The CPU backend. `model` must outlive it.
/// Errors : unsupported (features, a split over num_ranks: see plan_shards), bad_argument,
///          out_of_memory, device (fewer threads than ranks).
Result<std::unique_ptr<Backend>> make_cpu_backend(const Model& model,
                                                  const BackendOptions& options);

}  // namespace hokku
