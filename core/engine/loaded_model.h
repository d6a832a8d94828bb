// SPDX-License-Identifier: Apache-2.0
// LoadedModel: everything that belongs to one model in memory. What a ModelLoader makes and what
// the engine runs on; tests make their own.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "backend/backend.h"
#include "engine/prompt.h"
#include "gguf/gguf_file.h"
#include "hokku/engine.h"
#include "hokku/result.h"
#include "model/model.h"

namespace hokku {

class ArrivingWeights;

/// Layers [begin, end) of a model on a GPU.
struct GpuShare {
    uint32_t device = 0, begin = 0, end = 0;
};

struct LoadedModel {
    std::shared_ptr<const GgufFile> file;   // shared with the model; absent in tests
    std::unique_ptr<Model> model;           ///< Outlives the backend.
    std::shared_ptr<const ModelText> text;  // shared with tokenize_request()
    /// Of a model on the CPU, which its backend waits for. Null: they are there, or come as they
    /// are touched.
    std::shared_ptr<ArrivingWeights> arriving;
    std::unique_ptr<Backend> backend;
    uint32_t num_kv_blocks = 0;
    uint32_t max_step_tokens = 0;  ///< Of one prefill; the backend takes max_sequences more.
    uint32_t max_step_logits = 0;  ///< At least max_sequences.
    uint32_t max_sequences = 1;    ///< Generations that run together.
    /// A prompt is evaluated in steps of at least so many rows where it is long enough. A backend
    /// may compute fewer rows by other kernels, which round otherwise: what is drawn from a seed
    /// would then depend on how much of the prompt was cached. max_step_tokens is at least twice
    /// as many.
    uint32_t least_prefill_rows = 1;
    /// Up to so many rows of one sequence round as single rows do. Less than least_prefill_rows,
    /// or 1.
    uint32_t max_decode_rows = 1;
    /// Tokens that a step may guess ahead. Less than max_decode_rows and max_step_logits.
    uint32_t max_guesses = 0;
    /// How many guesses pay is judged by the time that steps take; else by a rule of thumb, so that
    /// the same steps can be taken again.
    bool are_guesses_timed = true;
    bool is_exact = false;  ///< Loaded so.
    /// Whether a page of the weights could not be read: every step fails then. May be empty.
    std::function<bool()> has_read_fault;
    /// Guesses tokens ahead; opened and started with the model. Null: there is none.
    std::unique_ptr<LoadedModel> draft;
    uint32_t max_draft_tokens = 0;  ///< Of a step.
    uint32_t num_restarts = 0;      ///< Of the backend, whose device was lost.
    /// On GPUs, in the order of the layers: those before the first run on the CPU.
    std::vector<GpuShare> gpu_shares;
    ModelInfo info;
};

/// What a loader tells the caller of a load, and how the caller stops it.
struct LoadControl {
    std::function<bool(double)> progress;
    std::stop_token stop;

    /// Errors : cancelled.
    [[nodiscard]] Result<void> report(double share) const;
};

/// Threads: the inference thread only.
class ModelLoader {
  public:
    virtual ~ModelLoader() = default;
    /// Opens and checks everything that needs little memory: all but the backend.
    virtual Result<LoadedModel> open(const LoadOptions& options, const LoadControl& control) = 0;
    /// Makes the backend. The model before has been given up by then.
    virtual Result<void> start(LoadedModel& loaded, const LoadOptions& options,
                               const LoadControl& control) = 0;
    /// Makes the backend anew after its device was lost, with as many KV blocks, which are empty.
    /// Errors : unsupported: it can make none.
    virtual Result<void> restart(LoadedModel& loaded, const LoadOptions& options,
                                 const Error& lost);
};

}  // namespace hokku
