// SPDX-License-Identifier: Apache-2.0
// Sound files that are no sound model: each broken hyper-parameter, missing tensor, wrong shape
// and wrong type is refused by name.
#include <memory>
#include <string>
#include <utility>

#include "model/model.h"
#include "support/catch.h"
#include "support/malformed_check.h"
#include "support/tiny_model.h"

using hokku::GgufFile;
using hokku::Model;
using hokku::testing::RefusedBy;
using hokku::testing::ScratchFolder;

namespace {

std::string load(const std::filesystem::path& path) {
    auto opened = GgufFile::open(path);
    if (!opened.ok()) return opened.error().message();
    const auto loaded = Model::load(std::make_shared<const GgufFile>(std::move(opened).value()));
    return loaded.ok() ? "loaded" : loaded.error().message();
}

}  // namespace

TEST_CASE("Model: the tiny model loads, tied too", "[model-layer][quick]") {
    const ScratchFolder folder;
    auto writer = hokku::testing::make_tiny_llama();
    writer.write(folder / "tiny.gguf");
    CHECK(load(folder / "tiny.gguf") == "loaded");
    writer.remove_tensor("output.weight").write(folder / "tied.gguf");
    CHECK(load(folder / "tied.gguf") == "loaded");
}

TEST_CASE("Model: every malformed model is refused with its cause", "[model-layer][quick]") {
    hokku::testing::check_malformed_files(
        {.is_wanted = [](RefusedBy layer) { return layer == RefusedBy::model; },
         .min_num_files = 180,
         .attempt = hokku::testing::in_child(load)});
}
