// SPDX-License-Identifier: Apache-2.0
// The plug-in over the fakes of driver, cuBLAS and NCCL, for engines of tests. What it opens it
// keeps, as the real one does: the same for all tests of a program.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

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

/// Of a short context that is kept as the CPU computes, digit by digit.
inline LoadOptions options_for(const std::filesystem::path& path, const std::string& device) {
    LoadOptions options;
    options.path = path;
    options.device = device;
    options.num_threads = 1;
    options.context_tokens = 128;
    options.kv_type = KvType::f32;
    return options;
}

inline std::unique_ptr<Engine> engine_on_emulator() {
    return value_of(EngineAccess::create(make_model_loader(find_emulated_plugin)));
}

}  // namespace hokku::testing
