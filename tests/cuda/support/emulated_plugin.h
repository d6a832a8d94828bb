// SPDX-License-Identifier: Apache-2.0
// The plug-in over the fakes of driver, cuBLAS and NCCL, for engines of tests. What it opens it
// keeps, as the real one does: the same for all tests of a program.
#pragma once

#include <memory>

#include "backend/plugin/plugin_api.h"
#include "emulation/fakes/fake_blas.h"
#include "emulation/fakes/fake_driver.h"
#include "emulation/fakes/fake_nccl.h"
#include "engine/engine_access.h"
#include "engine/model_loader.h"
#include "plugin/plugin.h"
#include "support/forward_checks.h"

namespace hokku::testing {

template <class Symbols>
Result<std::unique_ptr<cuda::SymbolSource>> open_fake() {
    return std::unique_ptr<cuda::SymbolSource>(std::make_unique<Symbols>());
}

inline Result<cuda::PluginSource> open_emulated_source() {
    cuda::PluginSource source;
    source.library = std::make_unique<emulation::FakeDriverSymbols>();
    source.images = {emulation::kEmulatedImage};
    source.open_blas = open_fake<emulation::FakeBlasSymbols>;
    source.open_nccl = open_fake<emulation::FakeNcclSymbols>;
    return source;
}

inline Result<const PluginTable*> find_emulated_plugin() {
    cuda::set_plugin_source(open_emulated_source);
    return &cuda::plugin_table();
}

inline std::unique_ptr<Engine> engine_on_emulator() {
    return value_of(EngineAccess::create(make_model_loader(find_emulated_plugin)));
}

}  // namespace hokku::testing
