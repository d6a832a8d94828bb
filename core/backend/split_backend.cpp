// SPDX-License-Identifier: Apache-2.0
#include "backend/split_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"

namespace hokku {

namespace {

class SplitBackend final : public Backend {
  public:
    SplitBackend(ModelPart front, ModelPart back, uint32_t num_front, uint32_t num_layers)
        : front_part_(std::move(front)),
          back_part_(std::move(back)),
          front_(*front_part_.backend),
          back_(*back_part_.backend) {
        info_ = back_.info();
        info_.device = fmt::format("{}, {} of {} layers; the others on {}", back_.info().device,
                                   num_layers - num_front, num_layers, front_.info().device);
        info_.kernels = fmt::format("{}; {}", back_.info().kernels, front_.info().kernels);
        info_.num_threads = front_.info().num_threads;
        info_.bytes_per_token += front_.info().bytes_per_token;
        info_.rank_weight_bytes = {sum_of(front_.info().rank_weight_bytes) +
                                   sum_of(back_.info().rank_weight_bytes)};
        add_up_bytes();
    }

    Result<std::span<const float>> run(const Step& step) override {
        Step front = step;
        front.logit_rows = {};
        front.num_best = 0;
        HOKKU_TRY(const std::span<const float> hidden, front_.run(front));
        Step back = step;
        back.hidden = hidden;
        return back_.run(back);
    }

    void copy_block(uint32_t from, uint32_t to) override {
        front_.copy_block(from, to);
        back_.copy_block(from, to);
    }
    [[nodiscard]] uint64_t kv_block_bytes() const override {
        return front_.kv_block_bytes() + back_.kv_block_bytes();
    }
    // Layer by layer, so that those of the front come first.
    void read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const override {
        front_.read_block(block, num_tokens, out.first(front_.kv_block_bytes()));
        back_.read_block(block, num_tokens, out.subspan(front_.kv_block_bytes()));
    }
    void write_block(uint32_t block, std::span<const std::byte> bytes) override {
        front_.write_block(block, bytes.first(front_.kv_block_bytes()));
        back_.write_block(block, bytes.subspan(front_.kv_block_bytes()));
    }

    /// The back first: the memory of a device is the scarcer one. Where the front has none, the
    /// blocks that the back has too many are of no use, and of no harm.
    Result<void> grow_kv(uint32_t num_blocks) override {
        if (num_blocks > num_back_blocks_) HOKKU_CHECK(back_.grow_kv(num_blocks));
        num_back_blocks_ = std::max(num_back_blocks_, num_blocks);
        HOKKU_CHECK(front_.grow_kv(num_blocks));
        add_up_bytes();
        return {};
    }
    [[nodiscard]] std::optional<uint64_t> growth_blocks(uint64_t machine_bytes) const override {
        const uint64_t front =
            front_.growth_blocks(machine_bytes)
                .value_or(machine_bytes / std::max<uint64_t>(front_.kv_block_bytes(), 1));
        return std::min(front, back_.growth_blocks(machine_bytes).value_or(front));
    }
    [[nodiscard]] const BackendInfo& info() const override { return info_; }

  private:
    static uint64_t sum_of(const std::vector<uint64_t>& values) {
        uint64_t sum = 0;
        for (const uint64_t value : values) sum += value;
        return sum;
    }
    void add_up_bytes() {
        info_.kv_bytes = front_.info().kv_bytes + back_.info().kv_bytes;
        info_.scratch_bytes = front_.info().scratch_bytes + back_.info().scratch_bytes;
    }

    ModelPart front_part_, back_part_;
    Backend &front_, &back_;
    BackendInfo info_;
    uint32_t num_back_blocks_ = 0;  ///< That grow_kv() has given it.
};

}  // namespace

std::unique_ptr<Backend> make_split_backend(ModelPart front, ModelPart back, uint32_t num_front,
                                            uint32_t num_layers) {
    return std::make_unique<SplitBackend>(std::move(front), std::move(back), num_front, num_layers);
}

}  // namespace hokku
