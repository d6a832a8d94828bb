// SPDX-License-Identifier: Apache-2.0
#include "plugin/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/path_text.h"
#include "base/try.h"
#include "gguf/gguf_view.h"
#include "hokku/paths.h"
#include "plugin/cuda_backend.h"
#include "plugin/ranks_backend.h"

namespace hokku {

/// A model as the core holds it.
struct PluginModel {
    std::vector<std::unique_ptr<cuda::Gpu>> gpus;  ///< One for each rank.
    std::unique_ptr<Model> model;
    std::unique_ptr<Model> part;         ///< The layers that are on the devices.
    std::vector<cuda::GpuShard> shards;  ///< Of these, where there are several ranks.
    std::unique_ptr<Backend> backend;
    cuda::CudaBackend* single = nullptr;  ///< The backend where there is one rank.
    std::vector<StepSequence> sequences;
};

}  // namespace hokku

namespace hokku::cuda {

namespace {

template <size_t kSize>
void copy_text(const std::string& text, char (&out)[kSize]) {
    // Cut between characters.
    size_t size = std::min(text.size(), kSize - 1);
    while (size > 0 && size < text.size() && (static_cast<uint8_t>(text[size]) & 0xc0u) == 0x80u) {
        --size;
    }
    std::memcpy(out, text.data(), size);
    out[size] = '\0';
}

int32_t answer(const Result<void>& result, PluginError* error) {
    if (result.ok()) return 0;
    const Error& e = result.error();
    error->code = static_cast<int32_t>(e.code);
    copy_text(e.what, error->what);
    copy_text(e.where, error->where);
    copy_text(e.expected, error->expected);
    return 1;
}

/// What is opened once and never closed.
struct Driver {
    PluginSource source;
    DriverApi api;
    bool is_blas_looked_for = false;
    std::unique_ptr<SymbolSource> blas_library;
    std::optional<BlasApi> blas;
    std::unique_ptr<SymbolSource> nccl_library;
    std::optional<NcclApi> nccl;
};

OpenPluginSource& opener() {
    static OpenPluginSource open = nullptr;
    return open;
}

Result<Driver*> find_driver() {
    static std::mutex mutex;
    static std::optional<Driver> driver;
    const std::lock_guard lock(mutex);
    if (!driver) {
        HOKKU_TRY(PluginSource source, opener()());
        HOKKU_TRY(const DriverApi api, load_driver_api(*source.library));
        driver.emplace();
        driver->source = std::move(source);
        driver->api = api;
    }
    return &*driver;
}

/// cuBLAS where the model has a use for it and the system has it: hundreds of megabytes, opened
/// when they are needed first.
const BlasApi* find_blas(const Model& model, PrefillProducts products) {
    static std::mutex mutex;
    if (!blas_needs(model, products, true).is_used) return nullptr;
    const auto found = find_driver();
    if (!found.ok()) return nullptr;
    Driver& driver = **found;
    const std::lock_guard lock(mutex);
    if (!std::exchange(driver.is_blas_looked_for, true) && driver.source.open_blas != nullptr) {
        if (auto library = driver.source.open_blas(); library.ok()) {
            driver.blas_library = std::move(library).value();
            if (auto api = load_blas_api(*driver.blas_library); api.ok()) driver.blas = *api;
        }
    }
    return driver.blas ? &*driver.blas : nullptr;
}

/// Errors : unsupported: the system has no NCCL.
Result<const NcclApi*> find_nccl() {
    static std::mutex mutex;
    HOKKU_TRY(Driver* const driver, find_driver());
    const std::lock_guard lock(mutex);
    if (driver->nccl) return &*driver->nccl;
    if (driver->source.open_nccl == nullptr) {
        return Error{ErrorCode::unsupported, "several GPUs need NCCL", "this system", ""};
    }
    HOKKU_TRY(driver->nccl_library, driver->source.open_nccl());
    HOKKU_TRY(driver->nccl, load_nccl_api(*driver->nccl_library));
    return &*driver->nccl;
}

/// Which of the two words the variable holds, from 1; 0: it is not set.
Result<uint32_t> read_choice(const char* name, std::string_view first, std::string_view second) {
    const auto value = environment_path(name);
    if (!value) return 0u;
    const std::string text = path_utf8(*value);
    if (text == first) return 1u;
    if (text == second) return 2u;
    return Error{ErrorCode::bad_argument, fmt::format("{} is \"{}\"", name, path_text(*value)),
                 "environment", fmt::format("{} or {}", first, second)};
}

/// What docs/gpu.md says of the environment.
Result<CudaOptions> options_for(const Model& model) {
    CudaOptions options;
    // Until it has been measured on cards.
    HOKKU_TRY(const uint32_t persistent, read_choice("HOKKU_CUDA_PERSISTENT", "0", "1"));
    options.is_persistent = persistent == 2;
    HOKKU_TRY(const uint32_t prefill, read_choice("HOKKU_CUDA_PREFILL", "own", "cublas"));
    if (prefill == 2) options.products = PrefillProducts::reference;
    HOKKU_TRY(const uint32_t all_reduce, read_choice("HOKKU_CUDA_ALL_REDUCE", "nccl", "one_shot"));
    if (all_reduce == 1) options.all_reduce = AllReduce::nccl;
    if (all_reduce == 2) options.all_reduce = AllReduce::one_shot;
    options.blas = find_blas(model, options.products);
    return options;
}

Result<void> list(PluginDevice* devices, uint32_t max_devices, uint32_t* num_devices) {
    *num_devices = 0;
    HOKKU_TRY(const Driver* const driver, find_driver());
    HOKKU_TRY(const std::vector<GpuInfo> gpus, list_gpus(driver->api));
    *num_devices = static_cast<uint32_t>(gpus.size());
    for (uint32_t i = 0; i < std::min<size_t>(gpus.size(), max_devices); ++i) {
        devices[i] = {};
        copy_text(gpus[i].name, devices[i].name);
        devices[i].total_bytes = gpus[i].total_bytes;
        devices[i].architecture = gpus[i].architecture;
        devices[i].driver_version = gpus[i].driver_version;
    }
    return {};
}

Result<void> open(uint32_t device, uint32_t num_ranks, std::span<const PluginFile> files,
                  PluginModel** out) {
    HOKKU_TRY(const Driver* const driver, find_driver());
    HOKKU_TRY(const std::vector<GpuInfo> gpus, list_gpus(driver->api));
    if (device < gpus.size() && num_ranks > gpus.size() - device) {
        return Error{ErrorCode::unsupported, "there are fewer GPUs than ranks",
                     std::to_string(num_ranks) + " ranks",
                     std::to_string(gpus.size() - device) + " or fewer"};
    }
    if (device >= gpus.size() || num_ranks == 0) {
        return Error{ErrorCode::bad_argument, "there is no such GPU", std::to_string(device),
                     "below " + std::to_string(gpus.size())};
    }
    std::vector<GgufBytes> bytes;
    for (const PluginFile& file : files) {
        bytes.push_back({path_from_utf8(file.path), {file.bytes, file.num_bytes}});
    }
    auto model = std::make_unique<PluginModel>();
    HOKKU_TRY(GgufFile file, view_gguf(bytes));
    HOKKU_TRY(Model loaded, Model::load(std::make_shared<const GgufFile>(std::move(file))));
    model->model = std::make_unique<Model>(std::move(loaded));
    if (num_ranks > 1) HOKKU_CHECK(find_nccl());
    for (uint32_t rank = 0; rank < num_ranks; ++rank) {
        HOKKU_TRY(auto gpu, Gpu::open(driver->api, static_cast<int32_t>(device + rank),
                                      driver->source.images));
        model->gpus.push_back(std::move(gpu));
    }
    *out = model.release();
    return {};
}

// ---- the table ---------------------------------------------------------------------------------

int32_t list_devices(PluginDevice* devices, uint32_t max_devices, uint32_t* num_devices,
                     PluginError* error) {
    return answer(list(devices, max_devices, num_devices), error);
}

int32_t open_model(uint32_t device, uint32_t num_ranks, const PluginFile* files, uint32_t num_files,
                   PluginModel** model, PluginError* error) {
    return answer(open(device, num_ranks, {files, num_files}, model), error);
}

void close_model(PluginModel* model) {
    if (model == nullptr) return;
    model->backend.reset();
    model->gpus.clear();
    delete model;
}

Result<Model> layers_of(const Model& model, uint32_t begin, uint32_t end) {
    const uint32_t num_layers = model.spec().num_layers;
    if (begin < end && end <= num_layers) return model.layers(begin, end);
    return Error{ErrorCode::bad_argument, "there are no such layers",
                 std::to_string(begin) + " to " + std::to_string(end),
                 "of " + std::to_string(num_layers)};
}

/// What NCCL takes of each device.
constexpr uint64_t kNcclBytes = uint64_t{256} << 20;

Result<CudaPlan> plan_part(PluginModel& model, KvType kv_type, uint32_t begin, uint32_t end) {
    HOKKU_TRY(const Model part, layers_of(*model.model, begin, end));
    HOKKU_TRY(const CudaOptions own, options_for(part));
    const auto plan_of = [&](const Gpu& gpu, const Model& own_model) {
        return plan_cuda(gpu, own_model, kv_type,
                         blas_needs(own_model, own.products, own.blas != nullptr));
    };
    if (model.gpus.size() == 1) return plan_of(*model.gpus.front(), part);
    HOKKU_TRY(const std::vector<GpuShard> shards,
              shard_for_gpus(part, static_cast<uint32_t>(model.gpus.size())));
    // Whether GPUs reach each other is seen later.
    const uint64_t exchange_bytes =
        own.all_reduce == AllReduce::nccl ? 0 : PeerExchange::bytes(shards.size(), part.spec().dim);
    CudaPlan all{.free_bytes = UINT64_MAX, .total_bytes = UINT64_MAX};
    for (size_t i = 0; i < shards.size(); ++i) {
        HOKKU_TRY(const CudaPlan plan, plan_of(*model.gpus[i], shards[i].model));
        all.free_bytes = std::min(all.free_bytes, plan.free_bytes);
        all.total_bytes = std::min(all.total_bytes, plan.total_bytes);
        all.weight_bytes = std::max(all.weight_bytes, plan.weight_bytes);
        all.fixed_bytes = std::max(all.fixed_bytes, plan.fixed_bytes + kNcclBytes + exchange_bytes);
        all.kv_block_bytes = std::max(all.kv_block_bytes, plan.kv_block_bytes);
    }
    return all;
}

int32_t plan(PluginModel* model, uint32_t kv_type, uint32_t first_layer, uint32_t end_layer,
             PluginPlan* out, PluginError* error) {
    const auto plan = plan_part(*model, static_cast<KvType>(kv_type), first_layer, end_layer);
    if (!plan.ok()) return answer(plan.error(), error);
    *out = {plan->free_bytes, plan->total_bytes, plan->weight_bytes, plan->fixed_bytes,
            plan->kv_block_bytes};
    return 0;
}

/// Brings model.part to its devices.
Result<void> start_part(PluginModel& model, const BackendOptions& options,
                        const std::function<Result<void>(double)>& report) {
    HOKKU_TRY(const CudaOptions own, options_for(*model.part));
    if (model.gpus.size() == 1) {
        HOKKU_TRY(auto backend,
                  CudaBackend::create(*model.gpus.front(), *model.part, options, report, own));
        model.single = backend.get();
        model.backend = std::move(backend);
        return {};
    }
    HOKKU_TRY(const NcclApi* const nccl, find_nccl());
    HOKKU_TRY(model.shards, shard_for_gpus(*model.part, static_cast<uint32_t>(model.gpus.size())));
    std::vector<const Gpu*> gpus;
    for (const auto& gpu : model.gpus) gpus.push_back(gpu.get());
    HOKKU_TRY(model.backend,
              RanksBackend::create(gpus, *model.part, model.shards, options, *nccl, own, report));
    return {};
}

int32_t start(PluginModel* model, const PluginOptions* options, void* context,
              int32_t (*report)(void* context, double share), PluginError* error) {
    const BackendOptions wanted{.num_kv_blocks = options->num_kv_blocks,
                                .kv_type = static_cast<KvType>(options->kv_type),
                                .max_step_tokens = options->max_step_tokens,
                                .max_step_logits = options->max_step_logits,
                                .context_tokens = options->context_tokens};
    const auto on_share = [&](double share) -> Result<void> {
        if (report == nullptr || report(context, share) == 0) return {};
        return Error{ErrorCode::cancelled, "the load was cancelled", "", ""};
    };
    auto part = layers_of(*model->model, options->first_layer, options->end_layer);
    if (!part.ok()) return answer(std::move(part).error(), error);
    model->part = std::make_unique<Model>(std::move(part).value());
    return answer(start_part(*model, wanted, on_share), error);
}

int32_t run(PluginModel* model, const PluginStep* step, const float** logits, PluginError* error) {
    model->sequences.clear();
    for (uint32_t i = 0; i < step->num_sequences; ++i) {
        const PluginSequence& s = step->sequences[i];
        model->sequences.push_back(
            {s.first_row, s.num_rows, s.num_cached, std::span(s.blocks, s.num_blocks)});
    }
    StepTrace trace;
    if (step->on_values != nullptr) {
        trace.stages = step->has_stages != 0;
        trace.on_values = [step](const std::string& name, std::span<const float> values) {
            step->on_values(step->context, name.c_str(), values.data(), values.size());
        };
    }
    const ModelSpec& spec = model->part->spec();
    Step own{.tokens = {step->tokens, step->num_tokens},
             .sequences = model->sequences,
             .logit_rows = {step->logit_rows, step->num_logit_rows},
             .num_best = step->num_best,
             .trace = step->on_values != nullptr ? &trace : nullptr};
    if (step->hidden != nullptr) own.hidden = {step->hidden, size_t{step->num_tokens} * spec.dim};
    const auto is_stopped = [](const void* context) {
        const auto* wanted = static_cast<const PluginStep*>(context);
        return wanted->is_stopped != nullptr && wanted->is_stopped(wanted->context) != 0;
    };
    if (model->single == nullptr && is_stopped(step)) {
        return answer(Error{ErrorCode::cancelled, "the step was cancelled", "model step", ""},
                      error);
    }
    const auto result = model->single != nullptr ? model->single->run(own, {is_stopped, step})
                                                 : model->backend->run(own);
    if (!result.ok()) return answer(result.error(), error);
    *logits = result->data();
    return 0;
}

void copy_block(PluginModel* model, uint32_t from, uint32_t to) {
    model->backend->copy_block(from, to);
}

uint64_t kv_block_bytes(PluginModel* model) {
    return model->backend->kv_block_bytes();
}

void read_block(PluginModel* model, uint32_t block, uint32_t num_tokens, std::byte* out) {
    model->backend->read_block(block, num_tokens, {out, model->backend->kv_block_bytes()});
}

void write_block(PluginModel* model, uint32_t block, const std::byte* bytes) {
    model->backend->write_block(block, {bytes, model->backend->kv_block_bytes()});
}

int32_t grow_kv(PluginModel* model, uint32_t num_blocks, PluginError* error) {
    return answer(model->backend->grow_kv(num_blocks), error);
}

uint64_t growth_blocks(PluginModel* model) {
    return model->backend->growth_blocks(0).value_or(0);
}

void info(PluginModel* model, PluginInfo* out) {
    const BackendInfo& info = model->backend->info();
    *out = {};
    copy_text(info.device, out->device);
    copy_text(info.kernels, out->kernels);
    out->kv_bytes = info.kv_bytes;
    out->scratch_bytes = info.scratch_bytes;
    out->bytes_per_token = info.bytes_per_token;
    out->num_ranks =
        static_cast<uint32_t>(std::min<size_t>(info.rank_weight_bytes.size(), kMaxPluginRanks));
    std::copy_n(info.rank_weight_bytes.begin(), out->num_ranks, out->rank_weight_bytes);
}

}  // namespace

void set_plugin_source(OpenPluginSource open) {
    opener() = open;
}

const PluginTable& plugin_table() {
    static constexpr PluginTable kTable = {.version = kPluginVersion,
                                           .table_bytes = sizeof(PluginTable),
                                           .list_devices = list_devices,
                                           .open_model = open_model,
                                           .close_model = close_model,
                                           .plan = plan,
                                           .start = start,
                                           .run = run,
                                           .copy_block = copy_block,
                                           .kv_block_bytes = kv_block_bytes,
                                           .read_block = read_block,
                                           .write_block = write_block,
                                           .grow_kv = grow_kv,
                                           .growth_blocks = growth_blocks,
                                           .info = info};
    return kTable;
}

}  // namespace hokku::cuda
