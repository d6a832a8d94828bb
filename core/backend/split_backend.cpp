// SPDX-License-Identifier: Apache-2.0
#include "backend/split_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/try.h"

namespace hokku {

namespace {

class SplitBackend final : public Backend {
  public:
    explicit SplitBackend(std::vector<ModelPart> parts)
        : parts_(std::move(parts)), num_blocks_(parts_.size(), 0) {
        info_.device = name_devices();
        uint64_t weight_bytes = 0;
        for (size_t i = parts_.size(); i-- > 0;) {
            const BackendInfo& info = parts_[i].backend->info();
            if (i + 1 == parts_.size()) {
                info_.kernels = info.kernels;
            } else if (info.kernels != parts_[i + 1].backend->info().kernels) {
                info_.kernels += "; " + info.kernels;
            }
            info_.num_threads = std::max(info_.num_threads, info.num_threads);
            info_.bytes_per_token += info.bytes_per_token;
            weight_bytes = std::accumulate(info.rank_weight_bytes.begin(),
                                           info.rank_weight_bytes.end(), weight_bytes);
        }
        info_.rank_weight_bytes = {weight_bytes};
        add_up_bytes();
    }

    Result<std::span<const float>> run(const Step& step) override {
        Step own = step;
        own.logit_rows = {};
        own.num_best = 0;
        for (size_t i = 0; i + 1 < parts_.size(); ++i) {
            HOKKU_TRY(own.hidden, parts_[i].backend->run(own));
        }
        own.logit_rows = step.logit_rows;
        own.num_best = step.num_best;
        return parts_.back().backend->run(own);
    }

    void copy_block(uint32_t from, uint32_t to) override {
        for (ModelPart& part : parts_) part.backend->copy_block(from, to);
    }
    [[nodiscard]] uint64_t kv_block_bytes() const override {
        uint64_t bytes = 0;
        for (const ModelPart& part : parts_) bytes += part.backend->kv_block_bytes();
        return bytes;
    }
    // Layer by layer, as the parts lie.
    void read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const override {
        for (const ModelPart& part : parts_) {
            const uint64_t bytes = part.backend->kv_block_bytes();
            part.backend->read_block(block, num_tokens, out.first(bytes));
            out = out.subspan(bytes);
        }
    }
    void write_block(uint32_t block, std::span<const std::byte> bytes) override {
        for (ModelPart& part : parts_) {
            const uint64_t own = part.backend->kv_block_bytes();
            part.backend->write_block(block, bytes.first(own));
            bytes = bytes.subspan(own);
        }
    }

    /// From the back: the memory of devices is scarcer than the machine's. Where one has none, the
    /// blocks that those behind it have too many are of no use, and of no harm.
    Result<void> grow_kv(uint32_t num_blocks) override {
        for (size_t i = parts_.size(); i-- > 0;) {
            if (num_blocks <= num_blocks_[i]) continue;
            Result<void> grown = parts_[i].backend->grow_kv(num_blocks);
            if (!grown.ok()) {  // Blocks too many in other parts do no harm.
                add_up_bytes();
                return grown;
            }
            num_blocks_[i] = num_blocks;
        }
        add_up_bytes();
        return {};
    }
    [[nodiscard]] std::optional<uint64_t> growth_blocks(uint64_t machine_bytes) const override {
        uint64_t least = UINT64_MAX;
        for (const ModelPart& part : parts_) {
            const uint64_t of_machine =
                machine_bytes / std::max<uint64_t>(part.backend->kv_block_bytes(), 1);
            least =
                std::min(least, part.backend->growth_blocks(machine_bytes).value_or(of_machine));
        }
        return least;
    }
    [[nodiscard]] const BackendInfo& info() const override { return info_; }

  private:
    /// "A, 20 layers; B, 12 layers", "A, 20 of 32 layers; the others on C".
    [[nodiscard]] std::string name_devices() const {
        const auto is_rest = [](const ModelPart& part) { return part.is_rest; };
        const bool has_rest = std::any_of(parts_.begin(), parts_.end(), is_rest);
        uint32_t num_layers = 0;
        for (const ModelPart& part : parts_) num_layers += part.num_layers;
        std::string names, rest;
        for (const ModelPart& part : parts_) {
            const std::string& device = part.backend->info().device;
            if (part.is_rest) {
                rest += "; the others on " + device;
                continue;
            }
            if (!names.empty()) names += "; ";
            names += fmt::format("{}, {}{} layer{}", device, part.num_layers,
                                 has_rest ? fmt::format(" of {}", num_layers) : std::string(),
                                 !has_rest && part.num_layers == 1 ? "" : "s");
        }
        return names + rest;
    }
    void add_up_bytes() {
        info_.kv_bytes = info_.scratch_bytes = 0;
        for (const ModelPart& part : parts_) {
            info_.kv_bytes += part.backend->info().kv_bytes;
            info_.scratch_bytes += part.backend->info().scratch_bytes;
        }
    }

    std::vector<ModelPart> parts_;
    std::vector<uint32_t> num_blocks_;  ///< That grow_kv() has given each of them.
    BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> make_split_backend(std::vector<ModelPart> parts) {
    return std::make_unique<SplitBackend>(std::move(parts));
}

}  // namespace hokku
