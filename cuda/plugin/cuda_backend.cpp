// SPDX-License-Identifier: Apache-2.0
#include "plugin/cuda_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/check_step.h"
#include "backend/dequantize.h"
#include "base/try.h"

namespace hokku::cuda {

namespace {

/// What the driver takes for kernels, graphs and their launches, beside what is asked for.
constexpr uint64_t kDriverBytes = uint64_t{192} << 20;

uint32_t bucket_of(uint32_t num_rows) {
    uint32_t bucket = 0;
    while (1u << bucket < num_rows) ++bucket;
    return bucket;
}

bool has_nonfinite(std::span<const float> values) {
    uint32_t bad = 0;
    for (const float& value : values) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
    }
    return bad != 0;
}

uint64_t rope_bytes_of_block(const ModelSpec& spec) {
    uint64_t bytes = 0;
    for (const RopeSpec& rope : spec.ropes) {
        bytes += uint64_t{kKvBlockTokens} * rope.num_dims * sizeof(float);
    }
    return bytes;
}

}  // namespace

// ---- before anything is there ------------------------------------------------------------------

Result<void> check_cuda_features(const ModelSpec& spec, KvType kv_type) {
    const auto refuse = [&](const std::string& feature) {
        return Error{ErrorCode::unsupported, "GPUs do not compute " + feature,
                     "architecture " + spec.architecture, ""};
    };
    if (kv_type == KvType::q8_0) return refuse("with a q8_0 context yet");
    if (spec.per_layer_input) return refuse("per-layer embeddings");
    if (spec.altup) return refuse("alternating updates");
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec* attention = layer.attention();
        if (attention == nullptr) return refuse("mixers other than softmax attention");
        if (attention->has_output_gate) return refuse("gated attention outputs");
        if (attention->value_norm) return refuse("norms of values");
        if (attention->keys_are_values) return refuse("keys that are values");
        if (attention->kv_from_layer >= 0) return refuse("KV shared between layers");
        const uint32_t largest = std::max(attention->key_dim, attention->value_dim);
        if (largest > 256 || (attention->key_dim | attention->value_dim) % 8 != 0) {
            return refuse(
                fmt::format("heads of {} and {} values", attention->key_dim, attention->value_dim));
        }
        if (layer.has_output_scale) return refuse("scaled layer outputs");
        if (layer.ffn.experts) return refuse("experts yet");
        if (layer.ffn.sparsity != 0) return refuse("sparse activations");
        if (layer.ffn.activation == hokku::Activation::swiglu_clamped ||
            layer.ffn.activation == hokku::Activation::xielu) {
            return refuse("this activation function");
        }
    }
    return {};
}

Result<CudaPlan> plan_cuda(const Gpu& gpu, const Model& model, KvType kv_type) {
    const ModelSpec& spec = model.spec();
    HOKKU_CHECK(check_cuda_features(spec, kv_type));
    HOKKU_CHECK(gpu.make_current());
    HOKKU_TRY(const GpuWeightPlan weights, plan_weights(model, gpu, 0));
    HOKKU_TRY(const GpuMemoryInfo memory, gpu.memory_info());
    CudaPlan plan;
    plan.free_bytes = memory.free_bytes;
    plan.total_bytes = memory.total_bytes;
    plan.weight_bytes = weights.weights.bytes;
    GpuLayout layout;
    GpuBuffers::lay_out(layout, spec);
    for (uint32_t bucket = 0; bucket < kNumBuckets; ++bucket) {
        StepInput::lay_out(layout, 1u << bucket, 1, spec.dim);
    }
    plan.fixed_bytes = layout.used_bytes() + kDriverBytes;
    // A spare block is made of the room that is left beside.
    plan.kv_block_bytes = KvMemory::block_bytes(spec, kv_type) + rope_bytes_of_block(spec) +
                          (2 * kMaxRows - 1) * sizeof(uint32_t);
    plan.fixed_bytes += plan.kv_block_bytes;
    return plan;
}

// ---- creation ----------------------------------------------------------------------------------

Result<std::unique_ptr<CudaBackend>> CudaBackend::create(
    const Gpu& gpu, const Model& model, const BackendOptions& options,
    const std::function<Result<void>(double)>& report) {
    HOKKU_CHECK(check_cuda_features(model.spec(), options.kv_type));
    if (options.exact) {
        return Error{ErrorCode::unsupported, "the exact mode is the CPU's", "GPU", ""};
    }
    if (options.num_ranks != 1) {
        return Error{ErrorCode::unsupported, "a model is not split over GPUs yet",
                     fmt::format("{} ranks", options.num_ranks), "1"};
    }
    if (options.num_kv_blocks == 0 || options.max_step_tokens == 0) {
        return Error{ErrorCode::bad_argument, "the backend is given no KV blocks or no rows",
                     "CUDA backend", "at least one of each"};
    }
    std::unique_ptr<CudaBackend> backend(new CudaBackend(gpu, model, options));
    HOKKU_CHECK(backend->start(report));
    return backend;
}

Result<void> CudaBackend::start(const std::function<Result<void>(double)>& report) {
    const ModelSpec& spec = model_.spec();
    HOKKU_CHECK(gpu_.make_current());
    HOKKU_TRY(GpuWeightPlan plan, plan_weights(model_, gpu_, 0));
    HOKKU_TRY(weight_memory_, gpu_.allocate(plan.weights.bytes, "weights"));
    HOKKU_TRY(plan, plan_weights(model_, gpu_, weight_memory_.address()));
    HOKKU_CHECK(upload_weights(gpu_, plan, report));
    weights_ = std::move(plan.weights);

    GpuLayout sizes;
    GpuBuffers::lay_out(sizes, spec);
    HOKKU_TRY(buffer_memory_, gpu_.allocate(sizes.used_bytes(), "buffers"));
    GpuLayout layout(buffer_memory_.address());
    buffers_ = GpuBuffers::lay_out(layout, spec);
    HOKKU_TRY(logits_, gpu_.allocate_pinned(std::max<size_t>(options_.max_step_logits, 1) *
                                                spec.num_vocab * sizeof(float),
                                            "logits"));
    forward_.emplace(gpu_, spec, weights_);
    HOKKU_CHECK(forward_->find_kernels(options_.kv_type));

    info_.device = fmt::format("GPU {}", gpu_.info().name);
    info_.kernels = fmt::format("cuda sm_{}", gpu_.info().architecture);
    info_.num_threads = 1;
    info_.bytes_per_token = weights_.bytes + model_.weights().embedding.row_bytes();
    info_.rank_weight_bytes = {weight_bytes(model_.weights())};
    HOKKU_TRY(ContextMemory context, make_context(options_.num_kv_blocks));
    return use_context(std::move(context));
}

CudaBackend::~CudaBackend() {
    if (!gpu_.make_current().ok()) return;
    gpu_.api().stream_synchronize(gpu_.stream());
    destroy_graphs(graphs_);
}

Result<CudaBackend::ContextMemory> CudaBackend::make_context(uint32_t num_blocks) const {
    const ModelSpec& spec = model_.spec();
    ContextMemory context;
    HOKKU_TRY(context.kv, KvMemory::create(gpu_, spec, options_.kv_type, num_blocks));
    const auto lay_out = [&](DevicePointer base, StepInput* inputs, bool has_tables) {
        GpuLayout layout(base);
        for (uint32_t bucket = 0; bucket < kNumBuckets; ++bucket) {
            const size_t before = layout.used_bytes();
            inputs[bucket] = StepInput::lay_out(layout, 1u << bucket, num_blocks, spec.dim);
            context.input_bytes[bucket] = layout.used_bytes() - before;
        }
        if (has_tables) {
            context.rope_tables.clear();
            for (const RopeSpec& rope : spec.ropes) {
                context.rope_tables.push_back(
                    layout.take<float>(size_t{num_blocks} * kKvBlockTokens * rope.num_dims));
            }
        }
        return layout.used_bytes();
    };
    HOKKU_TRY(context.memory, gpu_.allocate(lay_out(0, context.inputs, true), "step inputs"));
    HOKKU_TRY(context.staging,
              gpu_.allocate_pinned(lay_out(0, context.host_inputs, false), "step inputs"));
    lay_out(context.staging.address(), context.host_inputs, false);
    lay_out(context.memory.address(), context.inputs, true);
    HOKKU_CHECK(fill_rope_tables(context, num_blocks));
    return context;
}

/// Angles as the CPU has them.
Result<void> CudaBackend::fill_rope_tables(const ContextMemory& context,
                                           uint32_t num_blocks) const {
    const ModelSpec& spec = model_.spec();
    const uint32_t num_positions = num_blocks * kKvBlockTokens;
    const uint32_t length = options_.context_tokens > 0 ? options_.context_tokens
                                                        : options_.num_kv_blocks * kKvBlockTokens;
    std::vector<float> table;
    for (size_t r = 0; r < spec.ropes.size(); ++r) {
        const RopeSpec& rope = spec.ropes[r];
        const bool is_long = !rope.long_inv_freq.empty() && length > rope.long_above_context;
        const std::vector<float>& inv_freq = is_long ? rope.long_inv_freq : rope.inv_freq;
        const size_t half = rope.num_dims / 2;
        table.resize(size_t{num_positions} * rope.num_dims);
        for (uint32_t position = 0; position < num_positions; ++position) {
            float* row = table.data() + size_t{position} * rope.num_dims;
            for (size_t i = 0; i < half; ++i) {
                const float angle = static_cast<float>(position) * inv_freq[i];
                row[i] = std::cos(angle) * rope.magnitude;
                row[half + i] = std::sin(angle) * rope.magnitude;
            }
        }
        if (table.empty()) continue;
        HOKKU_CHECK(gpu_.check(
            gpu_.api().copy_to_device(reinterpret_cast<DevicePointer>(context.rope_tables[r]),
                                      table.data(), table.size() * sizeof(float)),
            "cuMemcpyHtoD_v2"));
    }
    return {};
}

Result<void> CudaBackend::use_context(ContextMemory context) {
    ContextMemory before = std::move(context_);
    std::vector<Graph> graphs_before = std::move(graphs_);
    context_ = std::move(context);
    graphs_.clear();
    if (auto captured = capture_graphs(); !captured.ok()) {
        destroy_graphs(graphs_);
        graphs_ = std::move(graphs_before);
        context_ = std::move(before);
        buffers_.rope_tables = context_.rope_tables;
        return captured;
    }
    destroy_graphs(graphs_before);
    info_.kv_bytes = kv_.bytes();
    info_.scratch_bytes =
        buffer_memory_.size_bytes() + context_.memory.size_bytes() + logits_.size_bytes();
    return {};
}

// ---- graphs ------------------------------------------------------------------------------------

Result<void> CudaBackend::capture_graphs() {
    buffers_.rope_tables = context_.rope_tables;
    for (uint32_t bucket = 0; bucket < kNumBuckets; ++bucket) {
        for (const bool has_head : {false, true}) {
            HOKKU_TRY(const Graph graph, capture(bucket, has_head));
            graphs_.push_back(graph);
        }
    }
    return {};
}

Result<CudaBackend::Graph> CudaBackend::capture(uint32_t bucket, bool has_head) {
    const DriverApi& api = gpu_.api();
    HOKKU_CHECK(gpu_.check(api.stream_begin_capture(gpu_.stream(), CaptureMode::relaxed),
                           "cuStreamBeginCapture_v2"));
    Result<void> issued = copy_input(bucket);
    if (issued.ok()) {
        issued = forward_->issue(bucket, context_.inputs[bucket], buffers_, kv_, has_head);
    }
    GraphHandle handle = nullptr;
    const DriverResult ended = api.stream_end_capture(gpu_.stream(), &handle);
    Graph graph;
    Result<void> made = std::move(issued);
    if (made.ok()) made = gpu_.check(ended, "cuStreamEndCapture");
    if (made.ok()) {
        made = gpu_.check(api.graph_instantiate(&graph.exec, handle, 0),
                          "cuGraphInstantiateWithFlags");
    }
    if (handle != nullptr) api.graph_destroy(handle);
    HOKKU_CHECK(std::move(made));
    return graph;
}

void CudaBackend::destroy_graphs(std::vector<Graph>& graphs) const {
    for (const Graph& graph : graphs) {
        if (graph.exec != nullptr) gpu_.api().graph_exec_destroy(graph.exec);
    }
    graphs.clear();
}

Result<void> CudaBackend::copy_input(uint32_t bucket) {
    return gpu_.check(
        gpu_.api().copy_to_device_async(
            reinterpret_cast<DevicePointer>(context_.inputs[bucket].positions),
            context_.host_inputs[bucket].positions, context_.input_bytes[bucket], gpu_.stream()),
        "cuMemcpyHtoDAsync_v2");
}

// ---- the step ----------------------------------------------------------------------------------

Result<void> CudaBackend::check_owner() {
    if (owner_ == std::thread::id()) owner_ = std::this_thread::get_id();
    if (owner_ == std::this_thread::get_id()) return {};
    return Error{ErrorCode::bad_argument, "the backend is used from a second thread",
                 "CUDA backend", "the thread that ran its first step"};
}

Result<std::span<const float>> CudaBackend::run(const Step& step, const StopCheck& stop) {
    stop_ = stop;
    HOKKU_CHECK(check_owner());
    HOKKU_CHECK(check_step(step, {.spec = &model_.spec(),
                                  .num_kv_blocks = kv_.num_blocks(),
                                  .max_step_tokens = options_.max_step_tokens,
                                  .max_step_logits = options_.max_step_logits}));
    if (error_) return *error_;
    HOKKU_CHECK(gpu_.make_current());
    Result<void> done = run_all_rows(step, step.trace, {});
    if (done.ok()) done = finish_logits(step);
    if (!done.ok()) {
        keep_error(done);
        return std::move(done).error();
    }
    return std::span<const float>(logits_.as<float>(),
                                  step.logit_rows.size() * model_.spec().num_vocab);
}

/// Eight rows at a time. on_nonfinite is called for layers whose output is not finite.
Result<void> CudaBackend::run_all_rows(const Step& step, StepTrace* trace,
                                       const std::function<void(uint32_t)>& on_nonfinite) {
    const auto num_rows = static_cast<uint32_t>(step.tokens.size());
    size_t next_logits = 0;
    for (uint32_t first = 0; first < num_rows; first += kMaxRows) {
        if (step.stop.stop_requested() ||
            (stop_.is_stopped != nullptr && stop_.is_stopped(stop_.context)))
            return Error{ErrorCode::cancelled, "the step was cancelled", "model step", ""};
        const uint32_t count = std::min(kMaxRows, num_rows - first);
        const size_t first_logits = next_logits;
        while (next_logits < step.logit_rows.size() &&
               step.logit_rows[next_logits] < first + count) {
            ++next_logits;
        }
        const bool is_last = first + count == num_rows;
        GpuTrace gpu_trace;
        if (on_nonfinite) {
            gpu_trace.on_values = [&](const std::string& name, std::span<const float> values) {
                uint32_t layer = 0;
                if (name.rfind("layer", 0) != 0 || !has_nonfinite(values)) return;
                layer = static_cast<uint32_t>(std::stoul(name.substr(5)));
                on_nonfinite(layer);
            };
            for (uint32_t row = 0; row < count; ++row) {
                gpu_trace.row = row;
                HOKKU_CHECK(run_rows(step, first, count, first_logits, 0, &gpu_trace));
            }
            continue;
        }
        if (trace != nullptr && is_last) {
            const StepSequence& sequence = step.sequences.back();
            gpu_trace.row = count - 1;
            gpu_trace.position = sequence.num_cached + sequence.num_rows - 1;
            gpu_trace.block = sequence.blocks[gpu_trace.position / kKvBlockTokens];
            gpu_trace.stages = trace->stages;
            gpu_trace.on_values = trace->on_values;
        }
        HOKKU_CHECK(run_rows(step, first, count, first_logits, next_logits - first_logits,
                             gpu_trace.on_values ? &gpu_trace : nullptr));
    }
    return {};
}

Result<void> CudaBackend::run_rows(const Step& step, uint32_t first, uint32_t count,
                                   size_t first_logits, size_t num_logits, const GpuTrace* trace) {
    const DriverApi& api = gpu_.api();
    const uint32_t bucket = bucket_of(count);
    fill_input(step, first, count, bucket);
    if (trace != nullptr) {
        HOKKU_CHECK(copy_input(bucket));
        HOKKU_CHECK(
            forward_->issue(bucket, context_.inputs[bucket], buffers_, kv_, num_logits > 0, trace));
    } else {
        const size_t graph = 2 * size_t{bucket} + (num_logits > 0 ? 1 : 0);
        HOKKU_CHECK(
            gpu_.check(api.graph_launch(graphs_[graph].exec, gpu_.stream()), "cuGraphLaunch"));
    }
    // Neighbouring rows are one copy.
    const size_t num_vocab = model_.spec().num_vocab;
    const auto rows = step.logit_rows.subspan(first_logits, num_logits);
    for (size_t begin = 0; begin < rows.size();) {
        size_t end = begin + 1;
        while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
        const float* from = buffers_.logits + (rows[begin] - first) * num_vocab;
        HOKKU_CHECK(gpu_.check(
            api.copy_to_host_async(logits_.as<float>() + (first_logits + begin) * num_vocab,
                                   reinterpret_cast<DevicePointer>(from),
                                   (end - begin) * num_vocab * sizeof(float), gpu_.stream()),
            "cuMemcpyDtoHAsync_v2"));
        begin = end;
    }
    return gpu_.synchronize();
}

/// Rows that the bucket has too many write to the spare block.
void CudaBackend::fill_input(const Step& step, uint32_t first, uint32_t count, uint32_t bucket) {
    const ModelSpec& spec = model_.spec();
    const Weights& weights = model_.weights();
    const StepInput& input = context_.host_inputs[bucket];
    const uint32_t max_blocks = kv_.num_blocks();
    for (uint32_t row = count; row < 1u << bucket; ++row) {
        input.positions[row] = 0;
        input.tables[size_t{row} * max_blocks] = kv_.spare_block();
        std::fill_n(input.x + size_t{row} * spec.dim, spec.dim, 0.0f);
    }
    const StepSequence* sequence = step.sequences.data();
    for (uint32_t row = 0; row < count; ++row) {
        while (first + row >= sequence->first_row + sequence->num_rows) ++sequence;
        const uint32_t position = sequence->num_cached + (first + row - sequence->first_row);
        input.positions[row] = position;
        const size_t num_blocks = std::min<size_t>(position / kKvBlockTokens + 1, max_blocks);
        std::copy_n(sequence->blocks.begin(), num_blocks, input.tables + size_t{row} * max_blocks);
        float* x = input.x + size_t{row} * spec.dim;
        const auto token = static_cast<size_t>(step.tokens[first + row]);
        const WeightMatrix& table = weights.embedding;
        dequantize_row(table.type, table.data + token * table.row_stride, spec.dim, x);
        if (spec.embedding_scale != 1.0f) {
            for (uint32_t i = 0; i < spec.dim; ++i) x[i] *= spec.embedding_scale;
        }
        if (const WeightMatrix& positions = weights.positions) {
            learned_.resize(spec.dim);
            dequantize_row(positions.type, positions.data + position * positions.row_stride,
                           spec.dim, learned_.data());
            for (uint32_t i = 0; i < spec.dim; ++i) x[i] += learned_[i];
        }
    }
}

/// Scale, check and softcap of the logits.
Result<void> CudaBackend::finish_logits(const Step& step) {
    const ModelSpec& spec = model_.spec();
    const std::span<float> logits(logits_.as<float>(), step.logit_rows.size() * spec.num_vocab);
    if (has_nonfinite(logits)) return describe_nonfinite(step);
    if (spec.logit_scale != 1.0f) {
        for (float& logit : logits) logit *= spec.logit_scale;
    }
    if (spec.final_softcap > 0) {
        for (float& logit : logits)
            logit = spec.final_softcap * std::tanh(logit / spec.final_softcap);
    }
    return {};
}

/// Runs the step again and looks for the first layer whose output is not finite.
Error CudaBackend::describe_nonfinite(const Step& step) {
    Step again = step;
    again.trace = nullptr;
    again.stop = {};
    stop_ = {};
    uint32_t first = UINT32_MAX;
    auto looked =
        run_all_rows(again, nullptr, [&](uint32_t layer) { first = std::min(first, layer); });
    if (!looked.ok()) return std::move(looked).error();
    return Error{
        ErrorCode::numeric, "the logits are not finite numbers",
        first == UINT32_MAX ? std::string("output head") : fmt::format("first in layer {}", first),
        "finite values"};
}

/// What a driver reports once it reports for ever.
void CudaBackend::keep_error(Result<void> result) const {
    if (result.ok() || error_ || result.error().code != ErrorCode::device) return;
    error_ = std::move(result).error();
}

// ---- KV blocks ---------------------------------------------------------------------------------

void CudaBackend::copy_block(uint32_t from, uint32_t to) {
    Result<void> done = gpu_.make_current();
    if (done.ok()) done = kv_.copy_block(gpu_, from, to);
    keep_error(std::move(done));
}

void CudaBackend::read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const {
    Result<void> done = gpu_.make_current();
    if (done.ok()) done = kv_.read_block(gpu_, block, num_tokens, out);
    keep_error(std::move(done));
}

void CudaBackend::write_block(uint32_t block, std::span<const std::byte> bytes) {
    Result<void> done = gpu_.make_current();
    if (done.ok()) done = kv_.write_block(gpu_, block, bytes);
    keep_error(std::move(done));
}

Result<void> CudaBackend::grow_kv(uint32_t num_blocks) {
    if (num_blocks <= kv_.num_blocks()) return {};
    if (error_) return *error_;
    HOKKU_CHECK(gpu_.make_current());
    HOKKU_CHECK(gpu_.synchronize());
    HOKKU_TRY(ContextMemory context, make_context(num_blocks));
    HOKKU_CHECK(context.kv.take_blocks_of(gpu_, kv_));
    return use_context(std::move(context));
}

}  // namespace hokku::cuda
