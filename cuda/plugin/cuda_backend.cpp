// SPDX-License-Identifier: Apache-2.0
#include "plugin/cuda_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/check_step.h"
#include "base/try.h"

namespace hokku::cuda {

// ---- creation ----------------------------------------------------------------------------------

Result<std::unique_ptr<CudaBackend>> CudaBackend::create(
    const Gpu& gpu, const Model& model, const BackendOptions& options,
    const std::function<Result<void>(double)>& report, const CudaOptions& own) {
    HOKKU_CHECK(check_cuda_features(model.spec()));
    HOKKU_CHECK(check_cuda_context(options.kv_type));
    if (options.exact) {
        return Error{ErrorCode::unsupported, "the exact mode is the CPU's", "GPU", ""};
    }
    if (options.num_ranks != 1) {
        return Error{ErrorCode::unsupported, "one GPU has one rank",
                     fmt::format("{} ranks", options.num_ranks), "1"};
    }
    if (options.num_kv_blocks == 0 || options.max_step_tokens == 0) {
        return Error{ErrorCode::bad_argument, "the backend is given no KV blocks or no rows",
                     "CUDA backend", "at least one of each"};
    }
    std::unique_ptr<CudaBackend> backend(new CudaBackend(gpu, model, options));
    backend->own_options_ = own;
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

    info_.device = fmt::format("GPU {}", gpu_.info().name);
    HOKKU_CHECK(start_buffers());
    if (spec.part.is_last) {
        HOKKU_TRY(logits_, HostLogits::create(gpu_, options_.max_step_logits, spec.num_vocab));
    } else {
        HOKKU_TRY(hidden_,
                  gpu_.allocate_pinned(size_t{options_.max_step_tokens} * spec.dim * sizeof(float),
                                       "what the layers give"));
    }
    forward_.emplace(gpu_, spec, weights_, blas_.get(), own_options_.products, own_options_.others);
    HOKKU_CHECK(forward_->find_kernels(options_.kv_type));

    info_.num_threads = 1;
    info_.bytes_per_token =
        weights_.bytes + (spec.part.is_first ? model_.weights().embedding.row_bytes() : 0);
    info_.rank_weight_bytes = {weight_bytes(model_.weights())};
    if (GpuCommunicator* others = own_options_.others) {
        HOKKU_CHECK(meet_others(*others));
    }
    HOKKU_TRY(ContextMemory context,
              ContextMemory::create(gpu_, spec, options_, options_.num_kv_blocks));
    return use_context(std::move(context));
}

Result<void> CudaBackend::start_buffers() {
    const BlasApi* api = own_options_.blas;
    const BlasNeeds needs = blas_needs(model_, own_options_.products, api != nullptr);
    GpuLayout sizes;
    const uint32_t max_rows = max_prefill_rows(options_);
    GpuBuffers::lay_out(sizes, model_.spec(), max_rows, needs);
    HOKKU_TRY(buffer_memory_, gpu_.allocate(sizes.used_bytes(), "buffers"));
    GpuLayout layout(buffer_memory_.address());
    buffers_ = GpuBuffers::lay_out(layout, model_.spec(), max_rows, needs);
    if (needs.is_used) {
        HOKKU_TRY(blas_, GpuBlas::create(gpu_, *api,
                                         reinterpret_cast<DevicePointer>(buffers_.blas_workspace)));
    }
    return gpu_.check(
        gpu_.api().fill_bytes_async(reinterpret_cast<DevicePointer>(buffers_.counters), 0,
                                    buffers_.num_counters * sizeof(uint32_t), gpu_.stream()),
        "cuMemsetD8Async");
}

/// Sums of as few and as many rows as steps have and of sizes between: the ways
/// between the devices are found before graphs are captured, and no step waits
/// for others on the host.
Result<void> CudaBackend::meet_others(GpuCommunicator& others) {
    if (!others.meet()) {
        return Error{ErrorCode::device, "another GPU of the model has failed", gpu_.info().name,
                     ""};
    }
    const uint32_t most = max_prefill_rows(options_);
    for (uint32_t rows = 1; rows < 2 * most; rows *= 2) {
        others.all_reduce({buffers_.delta, size_t{std::min(rows, most)} * model_.spec().dim});
    }
    HOKKU_CHECK(gpu_.check(others.take_result(), "ncclAllReduce"));
    return gpu_.synchronize();
}

CudaBackend::~CudaBackend() {
    if (!gpu_.make_current().ok()) return;
    gpu_.api().stream_synchronize(gpu_.stream());
    destroy_graphs(graphs_);
}

void CudaBackend::drop_graphs() {
    if (!error_) {
        error_ =
            Error{ErrorCode::device, "another GPU of the model has failed", gpu_.info().name, ""};
    }
    if (gpu_.make_current().ok()) destroy_graphs(graphs_);
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
    info_.kernels = kernel_names();
    info_.kv_bytes = kv_.bytes();
    info_.scratch_bytes = buffer_memory_.size_bytes() + context_.memory.size_bytes() +
                          logits_.size_bytes() + hidden_.size_bytes();
    return {};
}

// ---- graphs ------------------------------------------------------------------------------------

GpuStep CudaBackend::bucket_step(uint32_t bucket, HeadOutput head) const {
    return {.rows = {.count = 1u << bucket},
            .input = context_.inputs[bucket],
            .buffers = buffers_,
            .kv = kv_,
            .head = head};
}

/// What steps may end with; without the last layers there is no head.
std::span<const HeadOutput> CudaBackend::head_outputs() const {
    static constexpr HeadOutput kAll[] = {HeadOutput::none, HeadOutput::all, HeadOutput::best};
    return std::span(kAll).first(model_.spec().part.is_last ? kNumHeadOutputs : 1);
}

Result<void> CudaBackend::make_programs() {
    if (!own_options_.is_persistent || own_options_.others != nullptr) return {};
    for (const HeadOutput head : head_outputs()) {
        if (head == HeadOutput::best) continue;  // As with all logits.
        HOKKU_TRY(context_.programs[head == HeadOutput::none ? 0 : 1],
                  forward_->make_program(bucket_step(0, head)));
    }
    return {};
}

/// What was captured, and what prompts will be launched as.
std::string CudaBackend::kernel_names() const {
    const PersistentProgram& last = context_.programs[head_outputs().size() > 1 ? 1 : 0];
    std::string names = fmt::format("cuda sm_{}, {} for a token", gpu_.info().architecture,
                                    last ? "one launch" : "a graph");
    names += forward_->prefill_kernels();
    if (own_options_.others != nullptr) {
        names += own_options_.others->exchange() != nullptr ? ", one-shot all-reduce" : ", NCCL";
    }
    return names;
}

Result<void> CudaBackend::capture_graphs() {
    buffers_.rope_tables = context_.rope_tables;
    HOKKU_CHECK(make_programs());
    for (uint32_t bucket = 0; bucket < kNumBuckets; ++bucket) {
        for (const HeadOutput head : head_outputs()) {
            HOKKU_TRY(const Graph graph, capture(bucket, head));
            graphs_.push_back(graph);
        }
    }
    return gpu_.finish_copies();  // Of weights, tables and programs.
}

Result<CudaBackend::Graph> CudaBackend::capture(uint32_t bucket, HeadOutput head) {
    const DriverApi& api = gpu_.api();
    HOKKU_CHECK(gpu_.check(api.stream_begin_capture(gpu_.stream(), CaptureMode::relaxed),
                           "cuStreamBeginCapture_v2"));
    Result<void> issued = context_.copy_bucket(gpu_, bucket);
    if (issued.ok()) {
        const GpuStep step = bucket_step(bucket, head);
        const PersistentProgram& program = context_.programs[head == HeadOutput::none ? 0 : 1];
        issued =
            bucket == 0 && program ? forward_->issue_program(step, program) : forward_->issue(step);
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
    Result<void> done = run_pieces(step, {});
    if (done.ok()) done = finish_logits(step);
    if (!done.ok()) {
        keep_error(done);
        return std::move(done).error();
    }
    if (!model_.spec().part.is_last)
        return std::span<const float>(hidden_.as<float>(), step.tokens.size() * model_.spec().dim);
    return logits_.rows(step.logit_rows.size());
}

/// Scale, check and softcap of the logits.
Result<void> CudaBackend::finish_logits(const Step& step) {
    const ModelSpec& spec = model_.spec();
    if (!spec.part.is_last) {
        const std::span hidden(hidden_.as<float>(), step.tokens.size() * spec.dim);
        return has_nonfinite(hidden) ? describe_nonfinite(step) : Result<void>();
    }
    const size_t num_rows = step.logit_rows.size();
    const bool are_best = output_of(step) == HeadOutput::best;
    if (!logits_.are_finite(num_rows, are_best)) return describe_nonfinite(step);
    std::function<float(float)> change;
    if (spec.logit_scale != 1.0f || spec.final_softcap > 0) {
        change = [&spec](float logit) {
            const float scaled = logit * spec.logit_scale;
            if (spec.final_softcap == 0) return scaled;
            return spec.final_softcap * std::tanh(scaled / spec.final_softcap);
        };
    }
    logits_.complete(num_rows, are_best, change);
    return {};
}

/// Runs the step again and looks for the first layer whose output is not finite.
Error CudaBackend::describe_nonfinite(const Step& step) {
    if (own_options_.others != nullptr) {  // They would have to run it again, too.
        return {ErrorCode::numeric, "the logits are not finite numbers", "a model on several GPUs",
                "finite values"};
    }
    Step again = step;
    again.trace = nullptr;
    again.stop = {};
    stop_ = {};
    uint32_t first = UINT32_MAX;
    const auto note_layer = [&](uint32_t layer) { first = std::min(first, layer); };
    const auto looked = run_pieces(again, note_layer);
    if (!looked.ok()) return looked.error();
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

std::optional<uint64_t> CudaBackend::growth_blocks(uint64_t) const {
    if (!gpu_.make_current().ok()) return 0;
    const auto memory = gpu_.memory_info();
    if (!memory.ok()) return 0;
    // A twentieth stays free, as of the load.
    const uint64_t budget = memory->free_bytes - memory->free_bytes / 20;
    const uint64_t blocks = budget / context_block_bytes(model_.spec(), options_.kv_type);
    return blocks > 0 ? blocks - 1 : 0;  // The spare one.
}

Result<void> CudaBackend::grow_kv(uint32_t num_blocks) {
    if (num_blocks <= kv_.num_blocks()) return {};
    if (error_) return *error_;
    HOKKU_CHECK(gpu_.make_current());
    HOKKU_CHECK(gpu_.synchronize());
    HOKKU_TRY(ContextMemory context,
              ContextMemory::create(gpu_, model_.spec(), options_, num_blocks));
    HOKKU_CHECK(context.kv.take_blocks_of(gpu_, kv_));
    return use_context(std::move(context));
}

}  // namespace hokku::cuda
