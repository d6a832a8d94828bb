// SPDX-License-Identifier: Apache-2.0
// CpuBackend: the Backend on CPU threads. Checks a step, runs it through Forward on all lanes of
// all ranks and turns what went wrong into errors.
#pragma once

#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/forward.h"
#include "backend/cpu/rank.h"
#include "backend/cpu/thread_communicator.h"
#include "backend/cpu/thread_team.h"
#include "base/aligned_buffer.h"
#include "model/model.h"

namespace hokku::cpu {

class CpuBackend final : public Backend {
  public:
    static Result<std::unique_ptr<Backend>> create(const Model& model,
                                                   const BackendOptions& options);

    Result<std::span<const float>> run(const Step& step) override;
    void copy_block(uint32_t from, uint32_t to) override;
    [[nodiscard]] uint64_t kv_block_bytes() const override;
    void read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const override;
    Result<void> grow_kv(uint32_t num_blocks) override;
    void write_block(uint32_t block, std::span<const std::byte> bytes) override;
    [[nodiscard]] const BackendInfo& info() const override { return info_; }

  private:
    using Ranks = std::vector<std::unique_ptr<Rank>>;
    CpuBackend(const Model& model, const KernelTable& kernels, const BackendOptions& options,
               std::unique_ptr<ThreadTeam> team, Ranks ranks, AlignedBuffer all_logits);
    void count_vector_rows(const Step& step);
    void run_lanes();
    /// visit(pool, layer, keys, values) for each rank's heads in a block as read_block() gives it.
    template <class Bytes, class Visit>
    void for_each_part(Bytes* block, Visit visit) const;
    [[nodiscard]] Error describe_nonfinite();
    [[nodiscard]] uint32_t num_kv_blocks() const { return ranks_.front()->memory.kv.num_blocks(); }

    const Model& model_;
    const KernelTable& kernels_;
    BackendOptions options_;
    std::unique_ptr<ThreadTeam> team_;
    Ranks ranks_;
    uint32_t num_lanes_;                  // of each rank
    std::unique_ptr<ThreadGroup> group_;  // null with one rank
    AlignedBuffer all_logits_;            // gathered from the ranks; empty with one
    StepState state_;
    BackendInfo info_;
    std::thread::id owner_;  // the first thread that ran a step
};

}  // namespace hokku::cpu
