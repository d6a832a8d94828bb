// SPDX-License-Identifier: Apache-2.0
// What the host passes to kernels: plain structs of fixed-width types, the same for nvcc, g++ and
// mingw. Pointers are addresses on the device.
#pragma once

#include <cstdint>

namespace hokku::cuda {

/// Values that share a scale of activations, and one step of a GEMV lane.
inline constexpr uint32_t kGroup = 32;

/// Scale of 32 codes and the sums of each half of them. Sums of 16 codes are at most 2032, so that
/// nothing here can overflow, whatever the activations are.
struct alignas(8) GroupScale {
    float scale;
    int16_t sums[2];
};

/// Vectors as int8: value i = codes[i] * scales[i / 32].scale. Each has `groups` groups; the
/// values behind the last one are zero.
struct QuantizedVectors {
    int8_t* codes;  ///< [num_vectors][groups][32], 16-byte aligned; as output null: not wanted.
    GroupScale* scales;  ///< [num_vectors][groups]
    uint32_t groups;
    uint32_t num_vectors;
    /// [num_vectors][groups][32], as output what was quantised, for weights that are not; or null.
    float* values = nullptr;
};

/// A repacked weight matrix (weights/repack.h); what a format does not have is null.
struct WeightPlanes {
    const uint8_t* codes;    ///< [rows][groups][16 or 32]
    const uint32_t* high;    ///< [rows][groups][1 or 2]
    const void* scales;      ///< [rows][groups]
    const uint32_t* supers;  ///< [rows][groups / 8]
    uint32_t rows;
    uint32_t groups;              ///< Of a row.
    const void* table = nullptr;  ///< The codebook.
};

struct GemvParams {
    WeightPlanes weight;
    QuantizedVectors x;
    const float* bias;  ///< [rows] or null.
    /// Added to the result, or null; may be out itself.
    const float* residual;
    float* out;  ///< [num_vectors][out_stride]
    uint32_t out_stride;
    uint32_t warps_per_row;  ///< 1, 2, 4 or 8, at most those of a block.
};

/// As GemvParams, for many vectors: gemm_<type>, 256 threads. block_x counts vectors in tiles of
/// kGemmVectors, block_y rows in tiles of kGemmRows.
struct GemmParams {
    WeightPlanes weight;
    QuantizedVectors x;
    const float* bias;      ///< [rows] or null.
    const float* residual;  ///< [num_vectors][out_stride] or null; may be out itself.
    float* out;             ///< [num_vectors][out_stride]
    uint32_t out_stride;
};
inline constexpr uint32_t kGemmRows = 128, kGemmVectors = 64;

/// expert_<format>, 256 threads: one product for each output, with the rows of the expert that was
/// chosen for it. block_x counts rows as for gemv, block_y outputs: experts_of_vector for each
/// vector. weight.rows and bias are those of all experts, rows_of_expert each.
struct ExpertGemvParams {
    GemvParams gemv;      ///< out: [num_outputs][out_stride]
    const uint32_t* ids;  ///< [num_outputs]
    uint32_t rows_of_expert;
    uint32_t outputs_of_vector;  ///< Output i is of vector i / this.
};

/// expert_gemm_<format>, 256 threads: the same for many outputs, sorted by their experts. block_x
/// counts tiles of kGemmVectors outputs of one expert, block_y tiles of kGemmRows of its rows,
/// block_z experts; blocks behind the last output of an expert do nothing.
struct ExpertGemmParams {
    GemmParams gemm;          ///< out: [num_outputs][out_stride]
    const uint32_t* outputs;  ///< [num_outputs], as sort_experts has sorted them.
    const uint32_t* bounds;   ///< [num_experts + 1]
    uint32_t rows_of_expert;
    uint32_t outputs_of_vector;
};

/// sort_experts, one block of 512 threads: outputs by the expert that was chosen for them.
struct SortExpertsParams {
    const uint32_t* ids;  ///< [num_outputs]
    uint32_t* outputs;    ///< [num_outputs]: those of expert 0, of expert 1, .., ascending.
    uint32_t* bounds;     ///< [num_experts + 1]: where those of each expert begin.
    uint32_t num_outputs, num_experts;
};

enum Gating : uint32_t { kGatingSoftmax = 0, kGatingSigmoid = 1, kGatingSoftmaxChosen = 2 };

/// route_experts, 32 threads, block_x rows: the experts of each row and their weights, as
/// ExpertSpec of the core names the choices. At most kMaxExperts.
struct RouteParams {
    const float* logits;          ///< [num_rows][num_experts]
    const float* selection_bias;  ///< [num_experts] or null: added for choosing only.
    uint32_t* ids;                ///< [num_rows][num_used], best first; of equals the lower one.
    float* weights;               ///< The same.
    uint32_t num_experts, num_used;
    uint32_t num_groups, num_groups_used;
    uint32_t gating;  ///< Gating
    uint32_t renormalise;
    float min_weight_sum;
    float weight_scale;
};
inline constexpr uint32_t kMaxExperts = 512;

/// combine_experts, 256 threads, block_y rows: out = residual + sum of weights[i] y[i] + shared,
/// which is multiplied by sigmoid(shared_gate) where there is one.
struct CombineExpertsParams {
    const float* y;         ///< [num_rows][num_used][n]
    const float* weights;   ///< [num_rows][num_used]
    const float* residual;  ///< [num_rows][n] or null; may be out itself.
    float* out;             ///< [num_rows][n]
    uint32_t n, num_used;
    const float* shared = nullptr;       ///< [num_rows][n] or null.
    const float* shared_gate = nullptr;  ///< [num_rows] or null.
};

/// Gate and up rows of the same index give one value of the output, which is quantised.
struct GatedGemvParams {
    WeightPlanes gate, up;
    QuantizedVectors x;
    const float* gate_bias;
    const float* up_bias;
    QuantizedVectors out;
    uint32_t activation;  ///< Activation
};

enum Activation : uint32_t {
    kSilu = 0,
    kGeluTanh = 1,
    kGeluErf = 2,
    kReluSquared = 3,
    // Of activate_quantize alone:
    kSwigluClamped = 4,
    kXielu = 5,
};

/// As XieluSpec of the core.
struct XieluParams {
    float alpha_n, alpha_p, beta, eps;
};

enum NormKind : uint32_t { kNoNorm = 0, kRmsNorm = 1, kLayerNorm = 2 };

struct NormParams {
    float* x;             ///< [num_vectors][n], the residual stream; delta is added to it first.
    const float* delta;   ///< [num_vectors][n] or null.
    const float* weight;  ///< [n] or null.
    QuantizedVectors out;
    uint32_t n;
    float eps;
    const float* bias = nullptr;  ///< [n] or null.
    uint32_t kind = kRmsNorm;     ///< NormKind
};

/// x += norm(y) * scale, or x = norm(y) * scale, where y may be x.
struct NormAddParams {
    float* x;             ///< [num_vectors][x_stride]
    const float* y;       ///< [num_vectors][y_stride]
    const float* weight;  ///< [n] or null.
    const float* bias;    ///< [n] or null.
    uint32_t n;
    uint32_t x_stride, y_stride;
    uint32_t kind;         ///< NormKind
    uint32_t is_addition;  ///< Else x is replaced.
    float eps;
    float scale;
};

inline constexpr uint32_t kMaxExchangeRanks = 8, kMaxExchangeRows = 8;

/// How several GPUs tell each other what each gives for a few vectors of n values. All that others
/// write to lies on the device that reads it.
struct ExchangeParams {
    float* slots[kMaxExchangeRanks];  ///< Of each rank: [2][num_ranks][kMaxExchangeRows][n]
    /// Of each rank: [kMaxExchangeRows][kMaxExchangeRanks]: the call that a rank has come to.
    uint32_t* arrivals[kMaxExchangeRanks];
    uint32_t* num_calls;   ///< [kMaxExchangeRows]: this rank's, of each vector.
    const uint32_t* stop;  ///< The host's memory; where it is not zero nobody is waited for.
    uint32_t rank, num_ranks;
};

/// all_reduce_norm, 256 threads, block_x vectors: `values` becomes the sum of all ranks' values;
/// then norm_add, and norm_quantize where that is wanted. add.y is `values`.
struct AllReduceNormParams {
    ExchangeParams exchange;
    float* values;  ///< [num_vectors][add.n]
    NormAddParams add;
    NormParams norm;
    uint32_t has_norm;
};

struct QuantizeParams {
    const float* x;  ///< [num_vectors][x_stride]
    QuantizedVectors out;
    uint32_t n;
    uint32_t x_stride;
};

enum KvFormat : uint32_t { kKvF32 = 0, kKvF16 = 1, kKvQ8_0 = 2 };

/// Keys and values of one layer in blocks of 64 positions: keys [block][kv_head][64][key_dim],
/// values [block][kv_head][64][value_dim]. Of q8_0 behind the codes of each head in a block are
/// its scales, f16 [ceil(dim / 32)][64]. Sizes of heads are multiples of 8.
struct KvPool {
    void* keys;
    void* values;
    const uint32_t* tables;  ///< [num_rows][max_blocks]: the blocks of each row's sequence.
    uint32_t max_blocks;
    uint32_t num_kv_heads;
    uint32_t key_dim, value_dim;
    uint32_t format;  ///< KvFormat
};
inline constexpr uint32_t kKvPositions = 64;

/// Bytes of the keys or the values of one head in one block.
constexpr uint64_t kv_head_bytes(uint32_t format, uint32_t dim) {
    if (format == kKvQ8_0) return kKvPositions * uint64_t{dim + (dim + kGroup - 1) / kGroup * 2};
    return kKvPositions * uint64_t{dim} * (format == kKvF16 ? 2 : 4);
}

/// Rotates queries and keys and stores keys and values.
struct RopeParams {
    /// [num_rows][num_heads * key_dim | num_kv_heads * key_dim | num_kv_heads * value_dim]; the
    /// queries are rotated in place.
    float* qkv;
    const uint32_t* positions;  ///< [num_rows]
    const float* cos_sin;       ///< [positions][num_dims]: cosines, then sines of each position.
    const float* q_norm;        ///< [key_dim] or null: RMSNorm of each head before the rotation.
    const float* k_norm;
    KvPool kv;
    uint32_t num_heads;
    uint32_t num_dims;        ///< That are rotated; 0: none.
    uint32_t is_interleaved;  ///< Pairs (2 i, 2 i + 1) instead of (i, i + num_dims / 2).
    float eps;
    const float* q_norm_bias = nullptr;  ///< As the weights, or null.
    const float* k_norm_bias = nullptr;
    uint32_t norm_stride = 0;       ///< From one head's weights to the next one's.
    uint32_t norm_kind = kRmsNorm;  ///< NormKind
    uint32_t is_norm_last = 0;      ///< After the rotation.
    /// Queries times 1 + temperature * ln(1 + position / temperature_span); span 0: no.
    uint32_t temperature_span = 0;
    float temperature = 0;
};

/// qkv_<format>, 256 threads: the product of some of q, k and v - whole heads - for one vector, and
/// rope_append of each head by the block that computes its last row. gemv.out is rope.qkv +
/// first_row.
struct QkvParams {
    GemvParams gemv;
    RopeParams rope;
    uint32_t first_row;  ///< Of the weight's first row in q, k, v.
    uint32_t* counters;  ///< [num_heads + 2 num_kv_heads], zero between launches.
};

/// gemv_norm_<format>, 256 threads: a product for one vector, and by the block that comes last
/// norm_add where that is wanted, and norm_quantize. gemv.out is norm.x, norm.delta or add.y.
struct GemvNormParams {
    GemvParams gemv;
    NormParams norm;
    uint32_t* counter;  ///< Zero between launches.
    uint32_t has_add = 0;
    NormAddParams add = {};
};

/// Weights that a later launch begins with, which this one asks into the L2 cache meanwhile.
struct NextWeights {
    const uint8_t* planes[2] = {};  ///< The second may be null.
    uint32_t num_lines = 0;         ///< Of 128 bytes, of each plane; 0: none.
};

struct AttentionParams {
    const float* q;             ///< [num_rows][q_stride]
    const uint32_t* positions;  ///< [num_rows]; row r sees positions up to its own.
    KvPool kv;
    float* sums;     ///< [num_rows][num_heads][num_splits][value_dim]
    float* maxima;   ///< [num_rows][num_heads][num_splits]
    float* weights;  ///< The same; 0: this split saw nothing.
    uint32_t q_stride;
    uint32_t num_heads;
    uint32_t split_positions;  ///< Positions of a split, a multiple of 64.
    uint32_t window;           ///< 0: all.
    float scale;
    float softcap;  ///< 0: none.
    NextWeights next = {};
};

/// Attention of many rows: flash_<f16, q8_0>_<64, 128, 256>, of which the last is the larger of
/// both sizes of heads. block_x counts tiles of 16 num_warps query rows, of which a KV head has
/// num_heads / num_kv_heads for each row; block_y KV heads; block_z sequences. Blocks behind the
/// end of a sequence do nothing. Launched with flash_shared_bytes().
struct FlashParams {
    const float* q;  ///< [num_rows][q_stride]
    /// [num_rows], ascending within a sequence; row r sees positions up to its own.
    const uint32_t* positions;
    /// [num_sequences + 1]: where the rows of each begin. All rows of one use its first's table.
    const uint32_t* row_bounds;
    KvPool kv;
    const float* sinks;  ///< [num_heads] or null.
    float* out;          ///< [num_rows][out_stride]
    uint32_t q_stride, out_stride;
    uint32_t num_heads;
    uint32_t window;  ///< 0: all.
    float scale;
    float softcap;  ///< 0: none.
};
inline constexpr uint32_t kFlashMaxWarps = 4;

/// Positions that a block looks at together.
constexpr uint32_t flash_positions(uint32_t max_dim) {
    return max_dim <= 128 ? 64 : 32;
}
/// Halves from one row in shared memory to the next: whole fragments, on other banks.
constexpr uint32_t flash_pitch(uint32_t dim) {
    return (dim + 15) / 16 * 16 + 8;
}
constexpr uint32_t flash_shared_bytes(uint32_t key_dim, uint32_t value_dim, uint32_t num_warps) {
    const uint32_t positions = flash_positions(key_dim > value_dim ? key_dim : value_dim);
    const uint32_t queries = 2 * 16 * num_warps * flash_pitch(key_dim);
    const uint32_t scales = 2 * positions * (256 / kGroup);
    return 2 * (queries + positions * (flash_pitch(key_dim) + flash_pitch(value_dim)) + scales);
}

struct CombineParams {
    const float* sums;
    const float* maxima;
    const float* weights;
    const float* sinks;  ///< [num_heads] or null.
    QuantizedVectors out;
    uint32_t num_heads, num_splits, value_dim;
};

struct ActivateParams {
    const float* gate;  ///< [num_vectors][stride]
    const float* up;    ///< The same, or null.
    QuantizedVectors out;
    uint32_t n;
    uint32_t stride;
    uint32_t activation;  ///< Activation
    XieluParams xielu = {};
};

enum FloatType : uint32_t { kFloat32 = 0, kFloat16 = 1, kBfloat16 = 2 };

struct EmbedParams {
    const void* table;       ///< [num_vocab][n]
    const uint32_t* tokens;  ///< [num_rows]
    float* out;              ///< [num_rows][n]
    uint32_t n;
    uint32_t type;  ///< FloatType
    float scale;
};

/// dequantize_<format>, 128 threads: a repacked matrix as halves. block_x counts rows, block_y
/// groups.
struct DequantizeParams {
    WeightPlanes weight;
    uint16_t* out;  ///< [rows][groups * 32]
};

/// split_rows_<f16, bf16>, 256 threads, block_x rows: x as the sum of two halves, for products with
/// halves. Of f16 a row is divided by a power of two first, so that nothing overflows, and `low` is
/// kLowFactor times as large.
struct SplitRowsParams {
    const float* x;  ///< [num_rows][x_stride]
    uint16_t* high;  ///< [num_rows][n]
    uint16_t* low;   ///< The same, or null.
    float* scales;   ///< [num_rows] of f16; not a number where a value of the row is not finite.
    uint32_t n;
    uint32_t x_stride;
};
inline constexpr float kLowFactor = 2048.0f;

/// finish_rows, 256 threads, block_y rows: out = y * scale + bias + residual.
struct FinishRowsParams {
    const float* y;         ///< [num_rows][y_stride]; may be out.
    const float* scales;    ///< [num_rows] or null.
    const float* bias;      ///< [n] or null.
    const float* residual;  ///< [num_rows][out_stride] or null; may be out itself.
    float* out;             ///< [num_rows][out_stride]
    uint32_t n;
    uint32_t y_stride, out_stride;
};

/// scale_logits, 256 threads, block_y rows: x = softcap tanh(scale x / softcap).
struct ScaleLogitsParams {
    float* x;  ///< [num_rows][stride]
    uint32_t n;
    uint32_t stride;
    float scale;
    float softcap;  ///< 0: none.
};

/// top_k, at most 1024 threads: block_x counts chunks of a row's values, block_y rows. A second
/// launch, whose values and ids are what the first has written and whose chunk is all of them,
/// gives the best of the row: best first, of equals the lower id. A value that is not a number
/// comes before all others, so that it is not missed.
struct TopKParams {
    const float* values;  ///< [num_rows][stride]
    const uint32_t* ids;  ///< The same; null: their places.
    float* out_values;    ///< [num_rows][grid_x][k]; -infinity where there are fewer.
    uint32_t* out_ids;    ///< The same; 0xffffffff where there are fewer.
    uint32_t n, stride;
    uint32_t chunk;
    uint32_t k;  ///< At most kMaxTopK.
};
inline constexpr uint32_t kMaxTopK = 1024;

/// Weights as they are: f32, f16 or bf16.
struct FloatGemvParams {
    const void* weight;  ///< [rows][cols], 16-byte aligned rows; cols is a multiple of 8.
    const float* x;      ///< [num_vectors][x_stride], 16-byte aligned.
    const float* bias;
    const float* residual;
    float* out;
    uint32_t rows, cols;
    uint32_t x_stride, out_stride;
    uint32_t num_vectors;
    uint32_t warps_per_row;
};

/// expert_<f32, f16, bf16>, 256 threads: as ExpertGemvParams. gemv.rows are those of each expert.
struct FloatExpertParams {
    FloatGemvParams gemv;  ///< out: [num_outputs][out_stride]
    const uint32_t* ids;   ///< [num_outputs]
    uint32_t outputs_of_vector;
};

/// What a persistent kernel does between two barriers of the grid.
enum PersistentKind : uint32_t {
    kPersistentNorm = 0,       ///< NormParams: norm_quantize.
    kPersistentQkv = 1,        ///< QkvParams: qkv_<format>.
    kPersistentAttention = 2,  ///< AttentionParams: attention_f16_<4>.
    kPersistentCombine = 3,    ///< CombineParams: attention_combine.
    kPersistentGemv = 4,       ///< GemvParams: gemv_<format>_1.
    kPersistentGemvNorm = 5,   ///< GemvNormParams: gemv_norm_<format>.
    kPersistentGated = 6,      ///< GatedGemvParams: gated_gemv_<format>_1.
};
enum PersistentFormat : uint32_t {
    kPersistentQ4K = 0,
    kPersistentQ6K = 1,
    kPersistentQ8_0 = 2,
    kPersistentQ4_0 = 3,
    kPersistentQ5_0 = 4,
};
inline constexpr uint32_t kPersistentHeads = 4;  ///< Of attention: query heads of a piece.

/// A launch of kPersistentThreads as part of a persistent kernel.
struct PersistentOp {
    uint32_t kind;          ///< PersistentKind
    uint32_t format;        ///< PersistentFormat
    uint32_t num_x, num_y;  ///< Blocks of the launch that it stands for.
    const void* params;     ///< On the device.
    NextWeights next = {};
};

/// persistent_step, a cooperative launch of kPersistentThreads: one row through many operations.
struct PersistentParams {
    const PersistentOp* ops;  ///< [num_ops]
    uint32_t* barrier;        ///< One word, zero before the first launch.
    uint32_t num_ops;
};
inline constexpr uint32_t kPersistentThreads = 128;

}  // namespace hokku::cuda
