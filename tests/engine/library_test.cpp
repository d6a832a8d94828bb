// SPDX-License-Identifier: Apache-2.0
#include "hokku/library.h"

#include <fstream>

#include "support/catch.h"
#include "support/scratch_folder.h"
#include "support/system.h"

namespace fs = std::filesystem;
using hokku::ErrorCode;
using hokku::resolve_model;
using hokku::testing::set_environment;
using hokku::testing::unset_environment;

namespace {

/// A library in a scratch folder, for the time of one test.
struct StagedLibrary {
    StagedLibrary() {
        set_environment("HOKKU_HOME", folder.path().string());
        fs::create_directories(models());
    }
    ~StagedLibrary() { unset_environment("HOKKU_HOME"); }
    fs::path models() const { return folder.path() / "models"; }
    fs::path add(const std::string& name) {
        std::ofstream(models() / name) << "x";
        return models() / name;
    }
    hokku::testing::ScratchFolder folder;
};

}  // namespace

TEST_CASE("library: names stand for files in the user's folder", "[engine][quick]") {
    StagedLibrary library;
    CHECK(hokku::library_folder().value() == library.models());
    CHECK(hokku::list_models().value().empty());
    const fs::path starter = library.add(std::string(hokku::kStarterModel));
    const fs::path gemma = library.add("gemma-3-270m-q4_k_m.gguf");
    const fs::path split = library.add("Big-00001-of-00002.gguf");
    library.add("Big-00002-of-00002.gguf");
    library.add("notes.txt");

    CHECK(hokku::list_models().value() == std::vector<fs::path>{split, starter, gemma});
    CHECK(resolve_model("").value() == starter);
    CHECK(resolve_model("gemma-3-270m-q4_k_m.gguf").value() == gemma);
    CHECK(resolve_model("gemma-3-270m-q4_k_m").value() == gemma);
    CHECK(resolve_model("gemma3").value() == gemma);
    CHECK(resolve_model("smollm2").value() == starter);
    CHECK(resolve_model("SMOLLM2 135m").value() == starter);
    CHECK(resolve_model("big").value() == split);
    CHECK(resolve_model(gemma.string()).value() == gemma);
}

TEST_CASE("library: a name without a model is an error that lists what there is",
          "[engine][quick]") {
    StagedLibrary library;
    CHECK(resolve_model("").error().code == ErrorCode::io);
    library.add("llama-a.gguf");
    library.add("llama-b.gguf");
    const auto unknown = resolve_model("qwen");
    REQUIRE_FALSE(unknown.ok());
    CHECK(unknown.error().code == ErrorCode::io);
    CHECK(unknown.error().expected == "one of llama-a.gguf, llama-b.gguf");
    const auto ambiguous = resolve_model("llama");
    REQUIRE_FALSE(ambiguous.ok());
    CHECK(ambiguous.error().code == ErrorCode::bad_argument);
    CHECK(ambiguous.error().expected == "one of llama-a.gguf, llama-b.gguf");
    CHECK_FALSE(resolve_model("---").ok());
    // With a folder in it, it can only be a path; what is wrong with it, its opener says.
    CHECK(resolve_model("/no/such/file.gguf").value() == "/no/such/file.gguf");
}
