// SPDX-License-Identifier: Apache-2.0
// The corpus of malformed model files: what advisories, fuzzers and bug reports of the field have
// found, each made by code, each with the cause that the error must name.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/gguf_writer.h"

namespace hokku::testing {

/// The first layer that must refuse the file.
enum class RefusedBy { reader, model, tokenizer };

struct MalformedFile {
    std::string id;  ///< Unique; also a file name. Starts with the row of the hazard table: "A3-".
    RefusedBy refused_by = RefusedBy::reader;
    std::vector<std::string> causes;  ///< The message must hold one of them.
    /// Makes the file in the folder and gives its path.
    std::function<std::filesystem::path(const ScratchFolder&)> make;
};

/// The whole corpus, in a fixed order.
std::vector<MalformedFile> malformed_files();

/// Collects malformed files. `causes` are alternatives divided by '|'.
class MalformedList {
  public:
    explicit MalformedList(RefusedBy refused_by) : refused_by_(refused_by) {}
    void add(const std::string& id, std::string_view causes, std::string bytes);
    void add(const std::string& id, std::string_view causes, const GgufWriter& writer);
    /// The file of `base`, changed. Made when it is needed: hundreds of models would weigh.
    void add_change(const std::string& id, std::string_view causes, GgufWriter (*base)(),
                    std::function<void(GgufWriter&)> change);
    void add_made(const std::string& id, std::string_view causes,
                  std::function<std::filesystem::path(const ScratchFolder&)> make);
    std::vector<MalformedFile> files;

  private:
    RefusedBy refused_by_;
};

// The groups.
std::vector<MalformedFile> malformed_headers();
std::vector<MalformedFile> malformed_metadata();
std::vector<MalformedFile> malformed_tensors();
std::vector<MalformedFile> malformed_places();  ///< Special files, split sets, cut-off files.
void add_special_files(MalformedList& list);    ///< Those that this system has.
std::vector<MalformedFile> malformed_models();
std::vector<MalformedFile> malformed_vocabularies();

/// A small good file with every metadata type and three tensors.
GgufWriter make_good_file();

}  // namespace hokku::testing
