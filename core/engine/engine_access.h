// SPDX-License-Identifier: Apache-2.0
// EngineAccess: makes an Engine with a loader of the caller's, for tests.
#pragma once

#include <memory>

#include "engine/loaded_model.h"
#include "hokku/engine.h"

namespace hokku {

struct EngineAccess {
    static Result<std::unique_ptr<Engine>> create(std::unique_ptr<ModelLoader> loader);
};

}  // namespace hokku
