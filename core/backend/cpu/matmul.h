// SPDX-License-Identifier: Apache-2.0
// matmul: y = x W^T + b for weights in any GGUF type, called by all lanes of a team together.
// Chooses GEMV or GEMM and the activation format by type, rows and kernel table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend/cpu/kernels.h"
#include "backend/cpu/thread_team.h"
#include "hokku/result.h"
#include "model/weights.h"

namespace hokku::cpu {

/// The rows that a group of products shares.
struct MatmulInput {
    const float* x = nullptr;  ///< [num_rows, in] f32, row-major.
    size_t stride = 0;         ///< Floats between rows of x.
    uint32_t num_rows = 0;
    /// Rows from the front that are multiplied in place, as in decoding. What comes out of a row
    /// does not depend on the other rows, but on which of the two ways it goes.
    uint32_t num_vector_rows = 0;
};

/// One product of a group that shares its input.
struct MatmulTarget {
    const WeightMatrix* weight = nullptr;  ///< [out, in]
    const float* bias = nullptr;           ///< [out] or null; added in float32.
    float* out = nullptr;                  ///< [num_rows, out]
    size_t out_stride = 0;                 ///< Floats between rows of out.
};

/// Upper bounds of all calls that use one scratch.
struct MatmulLimits {
    uint32_t num_lanes = 1;
    uint32_t max_rows = 0;           ///< Rows of x.
    uint32_t max_in = 0;             ///< in_features.
    uint32_t max_fine_in = 0;        ///< in_features of products with Precision::fine.
    uint32_t max_split_in = max_in;  ///< in_features of weights stored as floats.
};

/// Scratch memory of the products of one backend, sized once at load.
class MatmulScratch {
  public:
    /// Errors : out_of_memory.
    static Result<MatmulScratch> create(const MatmulLimits& limits);
    MatmulScratch(MatmulScratch&&) noexcept;
    MatmulScratch& operator=(MatmulScratch&&) noexcept;
    ~MatmulScratch();
    [[nodiscard]] size_t bytes() const;

    struct State;
    State& state() { return *state_; }

  private:
    explicit MatmulScratch(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// How finely kernels may quantise x. The reference kernels never do.
enum class Precision {
    normal,  ///< int8 with a float32 scale for each 32 values.
    fine,    ///< Twice that: the rest is quantised as well. Prefill takes twice the time, decode,
             ///< which waits for the weights, hardly more.
};

/// The outputs of a target of `num_weights` rows that this lane computes or, in vector products,
/// begins with: lanes that are done go on with what others have left.
Lane::Range vector_share(const Lane& lane, uint32_t num_weights);

/// All lanes call it with equal arguments. x and what it points to must be complete before the
/// call (barrier first); the outputs are complete after the next barrier. Between two calls with
/// other than vector rows there must be a barrier, for they pack rows into the same memory. x may
/// be a copy of each lane's own as long as all hold the same values.
///
/// Threads: by all lanes of one team at once. No allocation.
void matmul(const Lane& lane, const KernelTable& kernels, MatmulScratch& scratch,
            const MatmulInput& input, std::span<const MatmulTarget> targets,
            Precision precision = Precision::normal);

/// Asks for the weights that this lane will read first when matmul() multiplies vector rows with
/// `weight`: before a barrier, whose waiting it fills. Only where kernels read ahead.
void read_ahead(const Lane& lane, const KernelTable& kernels, const WeightMatrix& weight);

/// Some outputs of vector rows alone, with the same bits as matmul() gives them. For a target whose
/// type has a kernel for vectors, and up to as many rows as one of its calls takes.
///
/// Threads: each lane for itself. No allocation.
class ChosenRows {
  public:
    /// Quantises x. What is given must live as long.
    ChosenRows(const Lane& lane, const KernelTable& kernels, MatmulScratch& scratch,
               const MatmulInput& input, const MatmulTarget& target, Precision precision);
    /// The outputs of weight rows [begin, end).
    void multiply(Lane::Range rows) const;

  private:
    const Lane& lane_;
    const KernelTable& kernels_;
    MatmulScratch& scratch_;
    MatmulInput input_;
    const MatmulTarget& target_;
    Precision precision_;
};

}  // namespace hokku::cpu
