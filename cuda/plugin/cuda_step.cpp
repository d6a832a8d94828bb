// SPDX-License-Identifier: Apache-2.0
// How a step of any size becomes launches: rows of few go through graphs, kMaxRows at a time, those
// of prompts through prefill.
#include <algorithm>
#include <string>

#include "base/try.h"
#include "plugin/cuda_backend.h"
#include "plugin/host_embedding.h"

namespace hokku::cuda {

namespace {

/// Rows of the sequences of few rows in front, which decoding computes.
uint32_t num_decode_rows(const Step& step) {
    for (const StepSequence& sequence : step.sequences) {
        if (sequence.num_rows > kDecodeRows) return sequence.first_row;
    }
    return static_cast<uint32_t>(step.tokens.size());
}

/// What finds the layers whose output is not finite.
GpuTrace nonfinite_trace(uint32_t num_rows, const std::function<void(uint32_t)>& on_nonfinite) {
    GpuTrace trace;
    trace.num_rows = num_rows;
    trace.on_values = [&on_nonfinite](const std::string& name, std::span<const float> values) {
        if (name.rfind("layer", 0) != 0 || !has_nonfinite(values)) return;
        on_nonfinite(static_cast<uint32_t>(std::stoul(name.substr(5))));
    };
    return trace;
}

/// Of the last row of a step, which is the last one of its piece.
GpuTrace last_row_trace(const Step& step, uint32_t num_rows) {
    const StepSequence& sequence = step.sequences.back();
    GpuTrace trace;
    trace.row = num_rows - 1;
    trace.position = sequence.num_cached + sequence.num_rows - 1;
    trace.block = sequence.blocks[trace.position / kKvBlockTokens];
    trace.stages = step.trace->stages;
    trace.on_values = step.trace->on_values;
    return trace;
}

}  // namespace

/// on_nonfinite is called for layers whose output is not finite.
Result<void> CudaBackend::run_pieces(const Step& step,
                                     const std::function<void(uint32_t)>& on_nonfinite) {
    const auto num_rows = static_cast<uint32_t>(step.tokens.size());
    const uint32_t num_few = num_decode_rows(step);
    Piece piece;
    for (uint32_t first = 0; first < num_rows; first += piece.count) {
        if (step.stop.stop_requested() ||
            (stop_.is_stopped != nullptr && stop_.is_stopped(stop_.context)))
            return Error{ErrorCode::cancelled, "the step was cancelled", "model step", ""};
        piece.first = first;
        piece.is_prefill = first >= num_few;
        piece.count = piece.is_prefill ? std::min(max_prefill_rows(options_), num_rows - first)
                                       : std::min(kMaxRows, num_few - first);
        piece.first_logits += piece.num_logits;
        piece.num_logits = 0;
        for (const uint32_t row : step.logit_rows.subspan(piece.first_logits)) {
            if (row < first + piece.count) ++piece.num_logits;
        }
        GpuTrace trace;
        if (on_nonfinite) {
            trace = nonfinite_trace(piece.count, on_nonfinite);
        } else if (step.trace != nullptr && first + piece.count == num_rows) {
            trace = last_row_trace(step, piece.count);
        }
        HOKKU_CHECK(run_piece(step, piece, trace.on_values ? &trace : nullptr));
    }
    return {};
}

Result<void> CudaBackend::run_piece(const Step& step, const Piece& piece, const GpuTrace* trace) {
    Result<void> issued =
        piece.is_prefill ? prefill(step, piece, trace) : decode(step, piece, trace);
    // After an error too: what is under way reads inputs that the next step writes over.
    Result<void> waited = gpu_.synchronize();
    return issued.ok() ? std::move(waited) : std::move(issued);
}

/// Rows that the graph has too many write to the spare block.
Result<void> CudaBackend::decode(const Step& step, const Piece& piece, const GpuTrace* trace) {
    const uint32_t bucket = bucket_of(piece.count);
    const StepInput& input = context_.host_inputs[bucket];
    const uint32_t dim = model_.spec().dim;
    fill_rows(step, piece, input);
    for (uint32_t row = piece.count; row < 1u << bucket; ++row) {
        input.positions[row] = 0;
        input.tables[size_t{row} * kv_.num_blocks()] = kv_.spare_block();
        std::fill_n(input.x + size_t{row} * dim, dim, 0.0f);
    }
    const bool has_logits = piece.num_logits > 0 && model_.spec().part.is_last;
    const HeadOutput head = has_logits ? output_of(step) : HeadOutput::none;
    if (trace != nullptr) {
        HOKKU_CHECK(context_.copy_bucket(gpu_, bucket));
        HOKKU_CHECK(forward_->issue({.rows = {.count = 1u << bucket},
                                     .input = context_.inputs[bucket],
                                     .buffers = buffers_,
                                     .kv = kv_,
                                     .head = head,
                                     .trace = trace}));
    } else {
        const Graph& graph = graphs_[head_outputs().size() * bucket + static_cast<size_t>(head)];
        HOKKU_CHECK(
            gpu_.check(gpu_.api().graph_launch(graph.exec, gpu_.stream()), "cuGraphLaunch"));
    }
    if (!model_.spec().part.is_last) return copy_hidden(piece, context_.inputs[bucket]);
    return for_logit_runs(step, piece, [&](uint32_t row, uint32_t count, size_t place) {
        return copy_logits(head, row, count, place);
    });
}

Result<void> CudaBackend::prefill(const Step& step, const Piece& piece, const GpuTrace* trace) {
    const StepInput& input = context_.host_inputs[kPrefillInput];
    fill_rows(step, piece, input);
    GpuRows rows{.count = piece.count};
    for (const StepSequence& sequence : step.sequences) {
        const uint32_t begin = std::max(sequence.first_row, piece.first);
        const uint32_t end =
            std::min(sequence.first_row + sequence.num_rows, piece.first + piece.count);
        if (begin >= end) continue;
        input.row_bounds[rows.num_sequences++] = begin - piece.first;
        rows.longest = std::max(rows.longest, end - begin);
    }
    input.row_bounds[rows.num_sequences] = piece.count;
    HOKKU_CHECK(context_.copy_prefill(gpu_, piece.count, rows.num_sequences, model_.spec().dim));
    const GpuStep work{.rows = rows,
                       .input = context_.inputs[kPrefillInput],
                       .buffers = buffers_,
                       .kv = kv_,
                       .trace = trace};
    HOKKU_CHECK(forward_->issue(work));
    if (!model_.spec().part.is_last) return copy_hidden(piece, work.input);
    GpuStep head = work;
    head.trace = nullptr;
    head.head = output_of(step);
    return for_logit_runs(step, piece,
                          [&](uint32_t row, uint32_t count, size_t place) -> Result<void> {
                              HOKKU_CHECK(forward_->issue_head(head, row, count));
                              return copy_logits(head.head, 0, count, place);
                          });
}

/// Calls use(row of the piece, count, place among the step's logits) for neighbouring rows, at most
/// kMaxRows.
Result<void> CudaBackend::for_logit_runs(
    const Step& step, const Piece& piece,
    const std::function<Result<void>(uint32_t, uint32_t, size_t)>& use) const {
    const auto rows = step.logit_rows.subspan(piece.first_logits, piece.num_logits);
    for (size_t begin = 0; begin < rows.size();) {
        size_t end = begin + 1;
        while (end < rows.size() && end - begin < kMaxRows && rows[end] == rows[end - 1] + 1) ++end;
        HOKKU_CHECK(use(rows[begin] - piece.first, static_cast<uint32_t>(end - begin),
                        piece.first_logits + begin));
        begin = end;
    }
    return {};
}

/// From rows of the device's logits, or of their best, to a place among the step's.
Result<void> CudaBackend::copy_logits(HeadOutput head, uint32_t row, uint32_t count, size_t place) {
    if (head == HeadOutput::best) {
        const size_t first = size_t{row} * kNumBest;
        return logits_.copy_best(gpu_, buffers_.best_values + first, buffers_.best_ids + first,
                                 count, place);
    }
    const float* from = buffers_.logits + size_t{row} * model_.spec().num_vocab;
    return logits_.copy_all(gpu_, from, count, place);
}

/// The residual stream of the rows of a piece to their places among the step's.
Result<void> CudaBackend::copy_hidden(const Piece& piece, const StepInput& input) {
    const size_t dim = model_.spec().dim;
    return gpu_.check(
        gpu_.api().copy_to_host_async(hidden_.as<float>() + piece.first * dim,
                                      reinterpret_cast<DevicePointer>(input.x),
                                      piece.count * dim * sizeof(float), gpu_.stream()),
        "cuMemcpyDtoHAsync_v2");
}

/// The few best where they are enough and what is done to logits keeps their order.
HeadOutput CudaBackend::output_of(const Step& step) const {
    const bool are_enough = step.num_best > 0 && step.num_best <= kNumBest &&
                            model_.spec().num_vocab > kNumBest && model_.spec().logit_scale > 0;
    return are_enough ? HeadOutput::best : HeadOutput::all;
}

/// Positions, block tables, and embeddings or what the layers before gave.
void CudaBackend::fill_rows(const Step& step, const Piece& piece, const StepInput& input) {
    const ModelSpec& spec = model_.spec();
    const uint32_t max_blocks = kv_.num_blocks();
    const StepSequence* sequence = step.sequences.data();
    for (uint32_t row = 0; row < piece.count; ++row) {
        const uint32_t step_row = piece.first + row;
        while (step_row >= sequence->first_row + sequence->num_rows) ++sequence;
        const uint32_t position = sequence->num_cached + (step_row - sequence->first_row);
        input.positions[row] = position;
        // Of the whole sequence: all of its rows look into the table of the first.
        const uint32_t last = sequence->num_cached + sequence->num_rows - 1;
        const size_t num_blocks = std::min<size_t>(last / kKvBlockTokens + 1, max_blocks);
        std::copy_n(sequence->blocks.begin(), num_blocks, input.tables + size_t{row} * max_blocks);
        float* x = input.x + size_t{row} * spec.dim;
        if (!spec.part.is_first) {
            std::copy_n(step.hidden.begin() + static_cast<ptrdiff_t>(size_t{step_row} * spec.dim),
                        spec.dim, x);
        } else {
            look_up_row(model_, step.tokens[step_row], position, {x, spec.dim}, learned_);
        }
    }
}

}  // namespace hokku::cuda
