// SPDX-License-Identifier: Apache-2.0
#include "engine/model_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>

#include "backend/cpu/thread_team.h"
#include "backend/plugin/gpu_plugin.h"
#include "base/path_text.h"
#include "base/try.h"
#include "engine/arriving_weights.h"
#include "engine/draft_model.h"
#include "engine/early_reading.h"
#include "engine/gpu_parts.h"
#include "engine/memory_plan.h"
#include "engine/prompt.h"
#include "engine/sampling_defaults.h"
#include "model/shard.h"
#include "text/tokenizer/tokenizer_factory.h"

namespace hokku {
namespace {

constexpr uint32_t kMaxStepLogits = 32;
/// Of a GPU, which takes them in milliseconds.
constexpr uint32_t kGpuStepTokens = 512;

constexpr uint32_t kLeastPrefillRows = 12;
static_assert(kLeastPrefillRows > kDecodeRows, "a prompt's pieces round otherwise than decoding");

/// Weights that a token meets in the largest layer.
uint64_t largest_layer_weights(const GgufFile& file, const ModelSpec& spec) {
    std::vector<uint64_t> weights(spec.num_layers, 0);
    for (const GgufTensor& tensor : file.tensors()) {
        constexpr std::string_view kPrefix = "blk.";
        if (tensor.name.substr(0, kPrefix.size()) != kPrefix) continue;
        const std::string_view digits = tensor.name.substr(kPrefix.size());
        uint32_t layer = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), layer);
        if (layer >= weights.size()) continue;
        const auto& experts = spec.layers[layer].ffn.experts;
        const uint64_t num_used = experts && tensor.ne[2] > 1 ? experts->num_used : tensor.ne[2];
        weights[layer] += tensor.ne[0] * tensor.ne[1] * num_used;
    }
    return weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
}

/// Rows of one prefill step. More use the weights better; fewer make it stop sooner, as a step can
/// only be stopped between layers: 0.1 s at 150 GFLOP/s, what 2 cores of Zen 4 do (2026-11), and
/// a sixteenth of that in scalar code.
uint32_t choose_step_tokens(uint64_t layer_weights, bool is_exact) {
    constexpr uint64_t kMaxLayerWork = uint64_t{15'000'000'000};
    const uint64_t rows = (is_exact ? kMaxLayerWork / 16 : kMaxLayerWork) /
                          (2 * std::max<uint64_t>(layer_weights, 1));
    return static_cast<uint32_t>(std::clamp<uint64_t>(rows / 32 * 32, 2 * kLeastPrefillRows, 512));
}

/// Scales of q8_0 and q4_0 keys follow the largest of 32 dimensions: above this the others lose
/// digits. Measured on Qwen2.5-Coder-0.5B: docs/performance.md.
constexpr float kLargeKeyBias = 16.0f;

float largest_key_bias(const Model& model) {
    float largest = 0;
    for (const LayerWeights& layer : model.weights().layers)
        for (uint32_t i = 0; layer.bk && i < layer.bk.size; ++i)
            largest = std::max(largest, std::abs(layer.bk.data[i]));
    return largest;
}

uint64_t count_parameters(const GgufFile& file) {
    uint64_t count = 0;
    for (const GgufTensor& tensor : file.tensors())
        count += tensor.ne[0] * tensor.ne[1] * tensor.ne[2] * tensor.ne[3];
    return count;
}

/// The type that most bytes of the file have, "Q4_K": what people call the quantisation.
std::string main_tensor_type(const GgufFile& file) {
    std::vector<std::pair<TensorType, uint64_t>> bytes_of_type;
    for (const GgufTensor& tensor : file.tensors()) {
        auto entry = std::find_if(bytes_of_type.begin(), bytes_of_type.end(),
                                  [&](const auto& one) { return one.first == tensor.type; });
        if (entry == bytes_of_type.end()) entry = bytes_of_type.insert(entry, {tensor.type, 0});
        entry->second += tensor.data.size();
    }
    const auto largest =
        std::max_element(bytes_of_type.begin(), bytes_of_type.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return largest == bytes_of_type.end() ? std::string()
                                          : std::string(traits_of(largest->first).name);
}

std::string text_or(const GgufMetadata& metadata, std::string_view key, std::string fallback) {
    const auto found = metadata.find_string(key);
    return found.ok() && found->has_value() ? std::string(**found) : std::move(fallback);
}

ModelInfo describe(const GgufFile& file, const ModelSpec& spec) {
    ModelInfo info;
    info.path = file.path();
    info.name = text_or(file.metadata(), "general.name", path_text(file.path().stem()));
    info.architecture = spec.architecture;
    info.license = text_or(file.metadata(), "general.license", "");
    info.quantisation = main_tensor_type(file);
    info.file_bytes = file.file_bytes();
    info.num_parameters = count_parameters(file);
    info.trained_context = spec.trained_context;
    info.num_vocab = spec.num_vocab;
    info.num_layers = spec.num_layers;
    info.sampling_defaults = read_sampling_defaults(file.metadata());
    return info;
}

/// Of all ranks: those that share a KV head have it each.
Result<uint64_t> all_kv_block_bytes(const Model& model, const LoadOptions& options,
                                    KvType kv_type) {
    if (options.num_ranks == 0 || options.num_ranks > kMaxRanks)
        return Error{ErrorCode::bad_argument, fmt::format("{} ranks", options.num_ranks), "ranks",
                     fmt::format("1 to {}", kMaxRanks)};
    HOKKU_TRY(const std::vector<ModelShard> shards,
              shard_model(model.spec(), model.weights(), options.num_ranks));
    uint64_t bytes = 0;
    for (const ModelShard& shard : shards) bytes += cpu_kv_block_bytes(shard.spec, kv_type);
    return bytes;
}

/// Where the file cannot be mapped this reads all of it, which can be cancelled too.
Result<GgufFile> open_file(const LoadOptions& options, const LoadControl& control) {
    std::optional<Error> refusal;
    const auto on_read = [&](double share) {
        auto wanted = control.report(0.05 + 0.85 * share);
        if (!wanted.ok()) refusal = std::move(wanted).error();
        return !refusal.has_value();
    };
    auto file =
        GgufFile::open(options.path, {.use_mapping = options.use_mapping, .on_read = on_read});
    if (refusal) return *std::move(refusal);
    return file;
}

Result<std::shared_ptr<const ModelText>> load_text(const GgufMetadata& metadata,
                                                   std::string_view architecture,
                                                   std::vector<std::string>& warnings) {
    auto text = std::make_shared<ModelText>();
    HOKKU_TRY(text->tokenizer, make_tokenizer(metadata));
    if (!text->tokenizer->warning().empty()) warnings.push_back(text->tokenizer->warning());
    HOKKU_TRY(const auto source, metadata.find_string("tokenizer.chat_template"));
    if (!source) {
        warnings.emplace_back("the model has no chat template: it continues text only");
    } else if (auto parsed = ChatTemplate::parse(*source); parsed.ok()) {
        text->chat_template = std::make_shared<const ChatTemplate>(std::move(parsed).value());
    } else {  // raw text still works; a chat gets this error
        warnings.push_back("the chat template is faulty: " + parsed.error().message());
        text->template_error = std::move(parsed).error();
    }
    describe_text(*text, architecture);
    return std::shared_ptr<const ModelText>(std::move(text));
}

/// Threads beyond the CPUs that can run them wait for each other at every step.
uint32_t limit_threads(uint32_t wanted, ModelInfo& info) {
    const uint32_t most = cpu::max_num_threads();
    if (wanted <= most) return wanted;
    std::string warning = fmt::format(
        "{} threads were asked for; {} are used, one for each CPU that this process may use",
        wanted, most);
    // A backend that is made anew does not say it again.
    if (std::find(info.warnings.begin(), info.warnings.end(), warning) == info.warnings.end())
        info.warnings.push_back(std::move(warning));
    return most;
}

class GgufModelLoader : public ModelLoader {
  public:
    GgufModelLoader(FindGpuPlugin find_plugin, ReadMemory read_memory)
        : find_plugin_(std::move(find_plugin)), read_memory_(std::move(read_memory)) {}

    Result<LoadedModel> open(const LoadOptions& options, const LoadControl& control) override {
        auto opened = open_all(options, control);
        if (!opened.ok()) end_opening();
        if (!opened.ok()) gpu_.reset();
        return opened;
    }

    Result<void> start(LoadedModel& loaded, const LoadOptions& options,
                       const LoadControl& control) override {
        auto started = start_all(loaded, options, control);
        end_opening();
        if (!started.ok()) gpu_.reset();
        return started;
    }

    /// First on the same GPUs, once, then on the CPU.
    Result<void> restart(LoadedModel& loaded, const LoadOptions& options,
                         const Error& lost) override {
        loaded.backend.reset();
        const bool may_retry = !loaded.gpu_shares.empty() && loaded.num_restarts++ == 0;
        if (!may_retry || !restart_gpu(loaded, options).ok()) {
            refuse_gpu(loaded, lost);
            HOKKU_CHECK(start_cpu(loaded, options));
        }
        take_info(loaded);
        return {};
    }

  private:
    Result<void> restart_gpu(LoadedModel& loaded, const LoadOptions& options) {
        WantedGpus same{
            .devices = {}, .num_ranks = options.num_ranks, .kv_type = loaded.info.kv_type};
        for (const GpuShare& share : loaded.gpu_shares) same.devices.push_back(share.device);
        HOKKU_CHECK(open_gpu(loaded, options, same));
        gpu_->use_layers(loaded.gpu_shares);
        return start_gpu_backend(loaded, options, {});
    }

    /// Nothing is read any more but for a model on the CPU; of the draft model neither.
    void end_opening() {
        arriving_.reset();
        draft_loader_.reset();
    }

    Result<LoadedModel> open_all(const LoadOptions& options, const LoadControl& control) {
        LoadedModel loaded;
        end_opening();
        std::optional<EarlyReading> early;
        if (options.use_mapping) early.emplace(options.path, read_memory_().available_bytes);
        HOKKU_TRY(GgufFile file, open_file(options, control));
        loaded.file = std::make_shared<const GgufFile>(std::move(file));
        HOKKU_TRY(Model model, Model::load(loaded.file));
        loaded.model = std::make_unique<Model>(std::move(model));
        early.reset();
        // The weights come while the rest is made. Those that do not fit would push each other out.
        if (loaded.file->is_mapped() && loaded.file->file_bytes() < read_memory_().available_bytes)
            arriving_ =
                std::make_shared<ArrivingWeights>(loaded.file, loaded.model->spec().num_layers);
        loaded.info = describe(*loaded.file, loaded.model->spec());
        HOKKU_TRY(loaded.text, load_text(loaded.file->metadata(), loaded.info.architecture,
                                         loaded.info.warnings));
        loaded.info.reply_format = loaded.text->reply_format.info();
        loaded.info.has_chat_template = loaded.text->chat_template != nullptr;
        loaded.has_read_fault = [shared = loaded.file] { return shared->has_read_fault(); };
        HOKKU_CHECK(choose_device(loaded, options));
        if (gpu_) {  // Planned when the model before has left the device.
            HOKKU_CHECK(open_draft(loaded, options, control));
            return loaded;
        }
        if (!plans_at_start_) HOKKU_CHECK(plan(loaded, options));
        HOKKU_CHECK(open_draft(loaded, options, control));
        HOKKU_CHECK(control.report(loaded.file->is_mapped() ? 0.05 : 0.9));
        if (arriving_) HOKKU_CHECK(arriving_->wait_for_most(control, 0.05, 0.9));
        return loaded;
    }

    Result<void> start_all(LoadedModel& loaded, const LoadOptions& options,
                           const LoadControl& control) {
        loaded.max_step_logits = kMaxStepLogits;
        loaded.max_decode_rows = kDecodeRows;
        loaded.max_guesses = kDecodeRows - 1;
        loaded.is_exact = options.exact;
        loaded.least_prefill_rows = kLeastPrefillRows;
        loaded.max_sequences = std::clamp(options.max_sequences, 1u, kMaxStepLogits);
        loaded.info.max_sequences = loaded.max_sequences;
        if (gpu_) {
            auto started = start_gpu(loaded, options, control);
            if (!started.ok()) {
                if (options.device != "auto" || started.error().code == ErrorCode::cancelled)
                    return started;
                refuse_gpu(loaded, started.error());
                HOKKU_CHECK(plan(loaded, options));
            }
        } else if (plans_at_start_) {
            HOKKU_CHECK(plan(loaded, options));
        }
        HOKKU_CHECK(control.report(0.92));
        if (!loaded.backend) HOKKU_CHECK(start_cpu(loaded, options));
        take_info(loaded);
        if (options.screen_head && !loaded.info.screens_head)
            loaded.info.warnings.push_back(describe_unscreened(loaded.info, options));
        return loaded.draft ? start_draft(loaded, options, control) : Result<void>();
    }

    static void take_info(LoadedModel& loaded) {
        const BackendInfo& backend = loaded.backend->info();
        loaded.info.device = backend.device;
        loaded.info.kernels = backend.kernels;
        loaded.info.num_threads = backend.num_threads;
        loaded.info.kv_bytes = backend.kv_bytes;
        loaded.info.scratch_bytes = backend.scratch_bytes;
        loaded.info.screens_head = backend.screens_head;
        loaded.info.bytes_per_token = backend.bytes_per_token;
        loaded.info.rank_weight_bytes = backend.rank_weight_bytes;
    }

    /// The draft model of the options, where the model itself goes.
    Result<void> open_draft(LoadedModel& loaded, const LoadOptions& options,
                            const LoadControl& control) {
        if (options.draft_model.empty()) return {};
        if (options.max_draft_tokens == 0 || options.max_draft_tokens > kMostGuesses)
            return Error{ErrorCode::bad_argument,
                         fmt::format("a draft of {} tokens", options.max_draft_tokens), "draft",
                         fmt::format("1 to {}", kMostGuesses)};
        loaded.max_draft_tokens = options.max_draft_tokens;
        draft_loader_ = std::make_unique<GgufModelLoader>(find_plugin_, read_memory_);
        draft_loader_->plans_at_start_ = gpu_ != nullptr;
        if (!gpu_) {
            HOKKU_TRY(const uint64_t block_bytes,
                      all_kv_block_bytes(*loaded.model, options, loaded.info.kv_type));
            draft_loader_->promised_bytes_ =
                loaded.num_kv_blocks * block_bytes + screen_bytes(loaded, options);
        }
        draft_loader_->may_add_gpus_ = false;
        HOKKU_TRY(LoadedModel draft,
                  draft_loader_->open(draft_options(loaded, options), {{}, control.stop}));
        HOKKU_CHECK(check_draft_vocabulary(*draft.text->tokenizer, *loaded.text->tokenizer));
        loaded.draft = std::make_unique<LoadedModel>(std::move(draft));
        return {};
    }

    Result<void> start_draft(LoadedModel& loaded, const LoadOptions& options,
                             const LoadControl& control) {
        LoadedModel& draft = *loaded.draft;
        LoadOptions own = draft_options(loaded, options);
        own.device = "auto";  // Chosen when it was opened; without room there it is the CPU.
        // The pages of the model's context come when they are first written.
        draft_loader_->promised_bytes_ = cpu_kv_bytes(loaded) + screen_bytes(loaded, options);
        HOKKU_CHECK(draft_loader_->start(draft, own, {{}, control.stop}));
        loaded.info.draft_model = draft.info.name;
        loaded.info.draft_bytes = draft.info.kv_bytes + draft.info.scratch_bytes;
        if (draft.info.context_tokens < loaded.info.context_tokens)
            loaded.info.warnings.push_back(
                fmt::format("the draft model guesses only in the first {} tokens, as long as its "
                            "context is; that of the model has {}",
                            draft.info.context_tokens, loaded.info.context_tokens));
        return {};
    }

    LoadOptions draft_options(const LoadedModel& loaded, const LoadOptions& options) const {
        LoadOptions draft;
        draft.path = options.draft_model;
        draft.context_tokens = options.context_tokens;
        if (loaded.info.context_tokens > 0) draft.context_tokens = loaded.info.context_tokens;
        draft.kv_type = options.kv_type;
        draft.num_threads = options.num_threads;
        if (!gpu_) draft.device = "cpu";
        if (gpu_ && options.device.starts_with("cuda:"))  // Of several devices the first.
            draft.device = options.device.substr(0, options.device.find(','));
        draft.use_mapping = options.use_mapping;
        draft.max_sequences = 1;
        return draft;
    }

    /// gpu_ where the model goes to one or several, else why not.
    Result<void> choose_device(LoadedModel& loaded, const LoadOptions& options) {
        gpu_.reset();
        HOKKU_TRY(WantedGpus wanted, wanted_gpus(options));
        if (wanted.devices.empty()) {
            if (options.gpu_layers.value_or(0) > 0)
                loaded.info.device_note =
                    "layers on a GPU were asked for, and the device is the CPU";
            return {};
        }
        wanted.may_add &= may_add_gpus_;
        auto opened = open_gpu(loaded, options, wanted);
        if (opened.ok()) return {};
        Error error = std::move(opened).error();
        if (options.device != "auto") {
            if (error.expected.empty()) error.expected = "the device auto or cpu";
            return error;
        }
        // No GPU, driver or plug-in is usual; a plug-in that is there and broken is not.
        if (error.code == ErrorCode::io || error.code == ErrorCode::bad_format)
            loaded.info.warnings.push_back("GPUs are not used: " + error.message());
        refuse_gpu(loaded, error);
        return {};
    }

    Result<void> open_gpu(LoadedModel& loaded, const LoadOptions& options,
                          const WantedGpus& wanted) {
        if (options.exact)
            return Error{ErrorCode::unsupported, "exact computation is the CPU's", "device",
                         "the device auto or cpu"};
        HOKKU_TRY(const PluginTable* plugin, find_plugin_ ? find_plugin_() : find_gpu_plugin());
        HOKKU_TRY(gpu_, GpuParts::open(*plugin, *loaded.file, loaded.info.num_layers, wanted));
        return {};
    }

    void refuse_gpu(LoadedModel& loaded, const Error& error) {
        gpu_.reset();
        loaded.gpu_shares.clear();
        loaded.info.device_note = error.message();
    }

    /// Memory is planned from what is free on the devices.
    Result<void> start_gpu(LoadedModel& loaded, const LoadOptions& options,
                           const LoadControl& control) {
        ModelInfo& info = loaded.info;
        info.kv_type = options.kv_type.value_or(KvType::f16);
        HOKKU_CHECK(gpu_->choose_layers({.num_layers = options.gpu_layers,
                                         .num_blocks = wanted_blocks(info, options),
                                         .kv_type = info.kv_type}));
        loaded.gpu_shares = gpu_->shares();
        HOKKU_TRY(ContextPlan context, gpu_->plan_context({.context_tokens = options.context_tokens,
                                                           .trained_context = info.trained_context,
                                                           .block_tokens = kKvBlockTokens},
                                                          info.kv_type));
        info.context_tokens = context.context_tokens;
        loaded.num_kv_blocks = context.num_kv_blocks;
        std::vector<std::string> warnings = gpu_->warnings();
        if (!context.warning.empty()) warnings.push_back(std::move(context.warning));
        if (first_gpu_layer(loaded) > 0) HOKKU_CHECK(prepare_front(loaded, control));
        HOKKU_CHECK(start_gpu_backend(loaded, options, control));
        info.warnings.insert(info.warnings.end(), warnings.begin(), warnings.end());
        warn_of_coarse_keys(loaded);
        return {};
    }

    /// KV blocks of the context that is asked for, else of one of the usual length.
    static uint64_t wanted_blocks(const ModelInfo& info, const LoadOptions& options) {
        const uint32_t limit =
            info.trained_context > 0 ? info.trained_context : kDefaultContextTokens;
        const uint32_t asked = options.context_tokens.value_or(kDefaultContextTokens);
        return num_kv_blocks_for(asked == 0 ? limit : std::min(asked, limit), kKvBlockTokens);
    }

    /// Those before run on the CPU.
    static uint32_t first_gpu_layer(const LoadedModel& loaded) {
        return loaded.gpu_shares.empty() ? 0 : loaded.gpu_shares.front().begin;
    }

    /// Of a model on a GPU: of the context of its layers on the CPU.
    static uint64_t front_kv_bytes(const LoadedModel& loaded) {
        if (first_gpu_layer(loaded) == 0) return 0;
        const Model front = loaded.model->layers(0, first_gpu_layer(loaded));
        return loaded.num_kv_blocks * cpu_kv_block_bytes(front.spec(), loaded.info.kv_type);
    }

    static uint64_t cpu_kv_bytes(const LoadedModel& loaded) {
        return loaded.gpu_shares.empty() ? loaded.info.kv_bytes : front_kv_bytes(loaded);
    }

    /// What the layers on the CPU need.
    Result<void> prepare_front(const LoadedModel& loaded, const LoadControl& control) {
        const SystemMemory memory = read_memory_();
        const uint64_t bytes = front_kv_bytes(loaded);
        if (memory.available_bytes > 0 &&
            bytes + promised_bytes_ > memory_budget(memory.available_bytes))
            return Error{
                ErrorCode::limit_exceeded,
                fmt::format("the context of {} layers takes {} MiB and {} MiB of memory "
                            "are available",
                            first_gpu_layer(loaded), bytes >> 20, memory.available_bytes >> 20),
                path_text(loaded.file->path()), "a shorter context"};
        if (!arriving_) return {};
        return arriving_->wait_for_all({.progress = {}, .stop = control.stop}, 0, 1);
    }

    /// With the layers, the blocks and the context that are planned.
    Result<void> start_gpu_backend(LoadedModel& loaded, const LoadOptions& options,
                                   const LoadControl& control) {
        const uint32_t first = first_gpu_layer(loaded);
        loaded.max_step_tokens = first == 0 ? kGpuStepTokens : cpu_step_tokens(loaded, options);
        BackendOptions wanted = backend_options(loaded, options);
        if (first > 0) {
            wanted.num_threads = limit_threads(options.num_threads, loaded.info);
            wanted.num_ranks = 1;  // Of the layers on the CPU.
        }
        HOKKU_TRY(auto parts,
                  GpuParts::start(std::move(gpu_), *loaded.model, wanted, [&](double share) {
                      return control.report(0.05 + 0.85 * share);
                  }));
        if (first > 0) {
            ModelPart front;
            front.model = std::make_unique<const Model>(loaded.model->layers(0, first));
            HOKKU_TRY(front.backend, make_cpu_backend(*front.model, wanted));
            front.num_layers = first;
            front.is_rest = true;
            parts.insert(parts.begin(), std::move(front));
        }
        loaded.backend = parts.size() == 1 ? std::move(parts.front().backend)
                                           : make_split_backend(std::move(parts));
        return {};
    }

    static uint32_t cpu_step_tokens(const LoadedModel& loaded, const LoadOptions& options) {
        // The kernels are known only once a backend is there, so they are asked for by name.
        return choose_step_tokens(largest_layer_weights(*loaded.file, loaded.model->spec()),
                                  options.exact || cpu_kernels_are_reference());
    }

    /// Which the copy of the head comes to take, where the head is on the CPU.
    uint64_t screen_bytes(const LoadedModel& loaded, const LoadOptions& options) const {
        return gpu_ ? 0 : cpu_head_screen_bytes(*loaded.model, backend_options(loaded, options));
    }

    static std::string describe_unscreened(const ModelInfo& info, const LoadOptions& options) {
        std::string_view why = "with this model or these kernels it would not be faster";
        if (!info.device.starts_with("CPU")) {
            why = "it is on a GPU";
        } else if (options.num_ranks > 1) {
            why = "the model is split over ranks";
        }
        return fmt::format("the output head is not screened: {}", why);
    }

    static BackendOptions backend_options(const LoadedModel& loaded, const LoadOptions& options) {
        return {.num_threads = options.num_threads,
                .num_ranks = options.num_ranks,
                .exact = options.exact,
                .num_kv_blocks = loaded.num_kv_blocks,
                .kv_type = loaded.info.kv_type,
                .max_step_tokens = loaded.max_step_tokens + loaded.max_sequences,
                .max_step_logits = kMaxStepLogits,
                .screen_head = options.screen_head,
                .context_tokens = loaded.info.context_tokens};
    }

    Result<void> start_cpu(LoadedModel& loaded, const LoadOptions& options) {
        loaded.max_step_tokens = cpu_step_tokens(loaded, options);
        BackendOptions wanted = backend_options(loaded, options);
        wanted.num_threads = limit_threads(options.num_threads, loaded.info);
        if (arriving_) loaded.arriving = std::move(arriving_);
        if (loaded.arriving)
            wanted.before_layer = [weights = loaded.arriving.get()](uint32_t layer) {
                weights->wait_for_layer(layer);
            };
        HOKKU_TRY(loaded.backend, make_cpu_backend(*loaded.model, wanted));
        return {};
    }

    static void warn_of_coarse_keys(LoadedModel& loaded) {
        const KvType type = loaded.info.kv_type;
        if (type != KvType::q8_0 && type != KvType::q4_0) return;
        const float bias = largest_key_bias(*loaded.model);
        if (bias <= kLargeKeyBias) return;
        loaded.info.warnings.push_back(fmt::format(
            "this model's key biases reach {:.0f}: a {} context costs it {}, f16 does "
            "not",
            bias, kv_type_name(type), type == KvType::q8_0 ? "accuracy" : "much of its accuracy"));
    }

    Result<void> plan(LoadedModel& loaded, const LoadOptions& options) {
        const SystemMemory memory = read_memory_();
        ModelInfo& info = loaded.info;
        info.kv_type = options.kv_type.value_or(KvType::f32);
        HOKKU_TRY(const uint64_t kv_block_bytes,
                  all_kv_block_bytes(*loaded.model, options, info.kv_type));
        const uint64_t promised = promised_bytes_ + screen_bytes(loaded, options);
        HOKKU_TRY(ContextPlan plan, plan_context({.context_tokens = options.context_tokens,
                                                  .trained_context = info.trained_context,
                                                  .kv_block_bytes = kv_block_bytes,
                                                  .block_tokens = kKvBlockTokens,
                                                  .weight_bytes = info.file_bytes,
                                                  .promised_bytes = promised,
                                                  .is_weights_mapped = loaded.file->is_mapped()},
                                                 memory));
        info.context_tokens = plan.context_tokens;
        loaded.num_kv_blocks = plan.num_kv_blocks;
        if (!plan.warning.empty()) info.warnings.push_back(std::move(plan.warning));
        warn_of_coarse_keys(loaded);
        if (memory.available_bytes > 0 && info.file_bytes > memory.available_bytes)
            info.warnings.emplace_back(
                "the model is larger than the memory that is free: it will be slow");
        return {};
    }

    FindGpuPlugin find_plugin_;
    ReadMemory read_memory_;
    bool plans_at_start_ = false;  ///< A draft whose model's context is planned only then.
    uint64_t promised_bytes_ = 0;  ///< To the context of the model that this one drafts for.
    std::unique_ptr<GgufModelLoader> draft_loader_;
    /// Of the last open(), until start() has made use of them.
    std::shared_ptr<ArrivingWeights> arriving_;
    bool may_add_gpus_ = true;       ///< To those that are wanted.
    std::unique_ptr<GpuParts> gpu_;  ///< Of the last open(), where the model goes to GPUs.
};

}  // namespace

std::unique_ptr<ModelLoader> make_model_loader(FindGpuPlugin find_plugin, ReadMemory read_memory) {
    return std::make_unique<GgufModelLoader>(std::move(find_plugin), std::move(read_memory));
}

}  // namespace hokku
