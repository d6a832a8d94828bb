// SPDX-License-Identifier: Apache-2.0
// ContextMemory: what depends on the number of KV blocks: the blocks, the inputs of steps with
// their block tables, and the angles of all positions.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "model/model_spec.h"
#include "plugin/gpu.h"
#include "plugin/gpu_buffers.h"
#include "plugin/gpu_persistent.h"
#include "plugin/gpu_weights.h"
#include "plugin/kv_memory.h"

namespace hokku::cuda {

/// Of each bucket of decoding, and the last one of prefill.
inline constexpr uint32_t kPrefillInput = kNumBuckets, kNumInputs = kNumBuckets + 1;

/// Rows that a step of a prompt may have at once.
uint32_t max_prefill_rows(const BackendOptions& options);

struct ContextMemory {
    KvMemory kv;
    GpuMemory memory;
    PinnedMemory staging;
    StepInput inputs[kNumInputs];       ///< On the device ...
    StepInput host_inputs[kNumInputs];  ///< ... and where they are put together.
    size_t input_bytes[kNumInputs] = {};
    std::vector<float*> rope_tables;
    PersistentProgram programs[2];  ///< Without and with the head; empty: graphs do without.

    /// Errors : out_of_memory, device.
    static Result<ContextMemory> create(const Gpu& gpu, const ModelSpec& spec,
                                        const BackendOptions& options, uint32_t num_blocks);
    /// Brings the input of a bucket to the device.
    Result<void> copy_bucket(const Gpu& gpu, uint32_t bucket) const;
    /// The same of the first rows of a prefill, of so many sequences.
    Result<void> copy_prefill(const Gpu& gpu, uint32_t num_rows, uint32_t num_sequences,
                              uint32_t dim) const;

  private:
    size_t lay_out(DevicePointer base, StepInput* to, const ModelSpec& spec,
                   const BackendOptions& options, bool has_tables);
    Result<void> fill_rope_tables(const Gpu& gpu, const ModelSpec& spec,
                                  const BackendOptions& options) const;
};

}  // namespace hokku::cuda
