// SPDX-License-Identifier: Apache-2.0
// ModelSession: a loaded model with the KV cache and the runner that belong to it. Owned and used
// by the inference thread alone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/try.h"
#include "engine/draft_model.h"
#include "engine/loaded_model.h"
#include "engine/step_runner.h"
#include "hokku/constraint.h"
#include "kv/kv_cache.h"

namespace hokku {

struct ModelSession {
    explicit ModelSession(LoadedModel model)
        : loaded(std::move(model)),
          kv(loaded.num_kv_blocks, kKvBlockTokens,
             [this](uint32_t from, uint32_t to) { loaded.backend->copy_block(from, to); }),
          runner(*loaded.backend, kv,
                 {.max_tokens = loaded.max_step_tokens + loaded.max_sequences,
                  .max_logits = loaded.max_step_logits,
                  .max_sequences = loaded.max_sequences},
                 loaded.has_read_fault) {
        if (loaded.draft) draft.emplace(*loaded.draft, loaded);
    }

    /// What constraints need of the vocabulary; built when it is first asked for.
    Result<std::shared_ptr<const ConstraintVocabulary>> constraint_vocabulary() {
        if (!vocabulary_) {
            HOKKU_TRY(vocabulary_, ConstraintVocabulary::create(loaded.text->tokenizer,
                                                                loaded.text->end_tokens));
        }
        return vocabulary_;
    }

    /// Goes on with another backend after the device was lost. No sequence may be open; what was
    /// cached is gone.
    /// Errors : those of the restart; every later step fails with them.
    Result<void> recover(const Error& lost);

    LoadedModel loaded;
    KvCache kv;
    StepRunner runner;
    std::optional<DraftModel> draft;
    std::function<void()> on_info_changed;  ///< Of the engine; may be empty.
    /// Makes the backend of `loaded` anew; of the engine; may be empty.
    std::function<Result<void>(const Error& lost)> restart;

  private:
    std::shared_ptr<const ConstraintVocabulary> vocabulary_;  // shared with constraints
};

}  // namespace hokku
