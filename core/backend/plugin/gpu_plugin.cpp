// SPDX-License-Identifier: Apache-2.0
#include "backend/plugin/gpu_plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "backend/plugin/plugin_api.h"
#include "base/environment.h"
#include "base/executable_path.h"
#include "base/path_text.h"
#include "base/shared_library.h"
#include "base/try.h"
#include "model/model_spec.h"

namespace hokku {

namespace {

namespace fs = std::filesystem;

template <size_t kSize>
std::string text_of(const char (&text)[kSize]) {
    size_t size = 0;
    while (size < kSize && text[size] != '\0') ++size;
    return {text, size};
}

Error error_of(const PluginError& error) {
    ErrorCode code = ErrorCode::device;
    if (error.code >= 0 && error.code <= static_cast<int32_t>(ErrorCode::device)) {
        code = static_cast<ErrorCode>(error.code);
    }
    return {code, text_of(error.what), text_of(error.where), text_of(error.expected)};
}

/// Where a plug-in may lie; the first that exists is taken.
Result<fs::path> plugin_path() {
    if (const auto named = environment_path("HOKKU_CUDA")) {
        if (*named == "off") {
            return Error{ErrorCode::unsupported, "GPUs are switched off", "HOKKU_CUDA=off", ""};
        }
        return *named;
    }
    const std::string name = SharedLibrary::file_name("hokku_cuda");
    if (const auto program = executable_path()) {
        const fs::path folder = program->parent_path();
        for (const fs::path& place :
             {folder / name, folder.parent_path() / "lib" / "hokku" / name}) {
            std::error_code ignored;
            if (fs::is_regular_file(place, ignored)) return place;
        }
    }
    return Error{ErrorCode::unsupported, "the plug-in for NVIDIA GPUs is not installed", name, ""};
}

Result<const PluginTable*> open_plugin() {
    HOKKU_TRY(const fs::path path, plugin_path());
    const auto library = SharedLibrary::open(path);
    if (!library.ok())
        return Error{ErrorCode::io, "the plug-in for GPUs cannot be opened", library.error().where,
                     ""};
    const auto entry = reinterpret_cast<PluginEntry>(library->find(kPluginEntryName));
    const PluginTable* table = entry != nullptr ? entry(kPluginVersion) : nullptr;
    if (table == nullptr || table->version != kPluginVersion ||
        table->table_bytes != sizeof(PluginTable)) {
        return Error{ErrorCode::bad_format, "the plug-in for GPUs is of another version",
                     path_text(path), "that which came with this program"};
    }
    return table;
}

}  // namespace

Result<const PluginTable*> find_gpu_plugin() {
    static const Result<const PluginTable*> plugin = open_plugin();
    return plugin;
}

Result<std::vector<GpuDevice>> list_gpu_devices(const PluginTable& plugin) {
    std::array<PluginDevice, 16> found = {};
    uint32_t count = 0;
    PluginError error = {};
    if (plugin.list_devices(found.data(), found.size(), &count, &error) != 0)
        return error_of(error);
    std::vector<GpuDevice> devices;
    for (uint32_t i = 0; i < count && i < found.size(); ++i) {
        const PluginDevice& device = found[i];
        devices.push_back({.name = text_of(device.name),
                           .total_bytes = device.total_bytes,
                           .architecture = fmt::format("{}.{}", device.architecture / 10,
                                                       device.architecture % 10),
                           .driver_version = fmt::format("CUDA {}.{}", device.driver_version / 1000,
                                                         device.driver_version % 1000 / 10)});
    }
    return devices;
}

// ---- a model -----------------------------------------------------------------------------------

Result<std::unique_ptr<GpuModel>> GpuModel::open(const PluginTable& plugin, uint32_t device,
                                                 const GgufFile& file, uint32_t num_ranks) {
    std::vector<std::string> paths;
    for (const fs::path& path : file.shard_paths()) paths.push_back(path_utf8(path));
    std::vector<PluginFile> files;
    for (size_t i = 0; i < paths.size(); ++i) {
        const auto bytes = file.shard_bytes(static_cast<uint32_t>(i));
        files.push_back({paths[i].c_str(), bytes.data(), bytes.size()});
    }
    PluginModel* model = nullptr;
    PluginError error = {};
    if (plugin.open_model(device, num_ranks, files.data(), static_cast<uint32_t>(files.size()),
                          &model, &error) != 0)
        return error_of(error);
    return std::unique_ptr<GpuModel>(new GpuModel(plugin, model));
}

GpuModel::~GpuModel() {
    plugin_.close_model(model_);
}

Result<GpuPlan> GpuModel::plan(KvType kv_type, uint32_t begin, uint32_t end) {
    PluginPlan plan = {};
    PluginError error = {};
    if (plugin_.plan(model_, static_cast<uint32_t>(kv_type), begin, end, &plan, &error) != 0)
        return error_of(error);
    return GpuPlan{plan.free_bytes, plan.total_bytes, plan.weight_bytes, plan.fixed_bytes,
                   plan.kv_block_bytes};
}

// ---- the backend -------------------------------------------------------------------------------

/// Passes every call on.
class GpuBackend final : public Backend {
  public:
    GpuBackend(std::unique_ptr<GpuModel> model, const ModelSpec& part)
        : owner_(std::move(model)),
          plugin_(owner_->plugin_),
          model_(owner_->model_),
          is_last_(part.part.is_last),
          row_values_(is_last_ ? part.num_vocab : part.dim) {
        read_info();
    }

    Result<std::span<const float>> run(const Step& step) override {
        sequences_.clear();
        for (const StepSequence& s : step.sequences) {
            sequences_.push_back({s.first_row, s.num_rows, s.num_cached,
                                  static_cast<uint32_t>(s.blocks.size()), s.blocks.data()});
        }
        PluginStep own = {};
        own.tokens = step.tokens.data();
        own.sequences = sequences_.data();
        own.logit_rows = step.logit_rows.data();
        own.num_tokens = static_cast<uint32_t>(step.tokens.size());
        own.num_sequences = static_cast<uint32_t>(sequences_.size());
        own.num_logit_rows = static_cast<uint32_t>(step.logit_rows.size());
        own.num_best = step.num_best;
        own.hidden = step.hidden.data();
        own.context = const_cast<Step*>(&step);
        own.is_stopped = [](void* context) {
            return static_cast<const Step*>(context)->stop.stop_requested() ? 1 : 0;
        };
        if (step.trace != nullptr) {
            own.has_stages = step.trace->stages ? 1 : 0;
            own.on_values = [](void* context, const char* name, const float* values,
                               uint64_t count) {
                static_cast<const Step*>(context)->trace->on_values(
                    name, {values, static_cast<size_t>(count)});
            };
        }
        const float* logits = nullptr;
        PluginError error = {};
        if (plugin_.run(model_, &own, &logits, &error) != 0) return error_of(error);
        const size_t num_rows = is_last_ ? step.logit_rows.size() : step.tokens.size();
        return std::span<const float>(logits, num_rows * row_values_);
    }
    void copy_block(uint32_t from, uint32_t to) override { plugin_.copy_block(model_, from, to); }
    [[nodiscard]] uint64_t kv_block_bytes() const override {
        return plugin_.kv_block_bytes(model_);
    }
    void read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const override {
        plugin_.read_block(model_, block, num_tokens, out.data());
    }
    void write_block(uint32_t block, std::span<const std::byte> bytes) override {
        plugin_.write_block(model_, block, bytes.data());
    }
    Result<void> grow_kv(uint32_t num_blocks) override {
        PluginError error = {};
        if (plugin_.grow_kv(model_, num_blocks, &error) != 0) return error_of(error);
        read_info();
        return {};
    }
    [[nodiscard]] std::optional<uint64_t> growth_blocks(uint64_t) const override {
        return plugin_.growth_blocks(model_);
    }
    [[nodiscard]] const BackendInfo& info() const override { return info_; }

  private:
    void read_info() {
        PluginInfo info = {};
        plugin_.info(model_, &info);
        info_.device = text_of(info.device);
        info_.kernels = text_of(info.kernels);
        info_.num_threads = 1;
        info_.kv_bytes = info.kv_bytes;
        info_.scratch_bytes = info.scratch_bytes;
        info_.bytes_per_token = info.bytes_per_token;
        const uint32_t num_ranks = std::clamp(info.num_ranks, 1u, kMaxPluginRanks);
        info_.rank_weight_bytes.assign(info.rank_weight_bytes, info.rank_weight_bytes + num_ranks);
    }

    std::unique_ptr<GpuModel> owner_;
    const PluginTable& plugin_;
    PluginModel* model_;
    bool is_last_;
    size_t row_values_;
    BackendInfo info_;
    std::vector<PluginSequence> sequences_;
};

Result<std::unique_ptr<Backend>> GpuModel::start(
    std::unique_ptr<GpuModel> model, const ModelSpec& part, const BackendOptions& options,
    const std::function<Result<void>(double)>& report) {
    const uint32_t first = part.part.first_layer;
    const PluginOptions own = {options.num_kv_blocks,   static_cast<uint32_t>(options.kv_type),
                               options.max_step_tokens, options.max_step_logits,
                               options.context_tokens,  first,
                               first + part.num_layers};
    struct Report {
        const std::function<Result<void>(double)>& report;
        Result<void> result;
    } state{report, {}};
    const auto on_share = [](void* context, double share) {
        auto& own_state = *static_cast<Report*>(context);
        own_state.result = own_state.report(share);
        return own_state.result.ok() ? 0 : 1;
    };
    PluginError error = {};
    if (model->plugin_.start(model->model_, &own, &state, on_share, &error) != 0) {
        if (!state.result.ok()) return std::move(state.result).error();
        return error_of(error);
    }
    return std::unique_ptr<Backend>(std::make_unique<GpuBackend>(std::move(model), part));
}

}  // namespace hokku
