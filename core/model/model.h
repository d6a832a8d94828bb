// SPDX-License-Identifier: Apache-2.0
// Model: a GGUF file understood as a model: its ModelSpec and its Weights (views into the file).
// No compute and no KV.
#pragma once

#include <memory>

#include "gguf/gguf_file.h"
#include "hokku/result.h"
#include "model/model_spec.h"
#include "model/weights.h"

namespace hokku {

/// Threads: immutable after load; safe from any thread.
class Model {
  public:
    /// Builds spec and weights. `file` is shared with the tokenizer's owner.
    /// Errors : unsupported (architecture, tensor type), bad_format (missing tensor, wrong shape:
    ///          tensor, expected, found).
    static Result<Model> load(std::shared_ptr<const GgufFile> file);

    /// A model of the layers [begin, end) alone. Without the first it has no embedding, without the
    /// last no final norm and head.
    /// Needs  : begin < end <= the number of layers, and this is a whole model.
    [[nodiscard]] Model layers(uint32_t begin, uint32_t end) const;
    /// Something else that is made of the same file: a shard.
    [[nodiscard]] Model with(ModelSpec spec, Weights weights) const;

    [[nodiscard]] const ModelSpec& spec() const { return spec_; }
    [[nodiscard]] const Weights& weights() const { return weights_; }
    [[nodiscard]] const GgufFile& file() const { return *file_; }

  private:
    Model(std::shared_ptr<const GgufFile> file, ModelSpec spec, Weights weights);

    std::shared_ptr<const GgufFile> file_;
    ModelSpec spec_;
    Weights weights_;
};

}  // namespace hokku
