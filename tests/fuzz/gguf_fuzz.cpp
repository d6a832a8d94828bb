// SPDX-License-Identifier: Apache-2.0
// Whole model files: listing, model, tokenizer and chat template. Where only tensor data is missing
// they are read once more with zeros behind them, so that a short input can be a whole model.
#include <filesystem>
#include <memory>
#include <string>

#include "fuzz/fuzz.h"
#include "gguf/gguf_file.h"
#include "hokku/chat_template.h"
#include "hokku/model_file.h"
#include "model/model.h"
#include "support/gguf_writer.h"
#include "text/tokenizer/tokenizer_factory.h"

using hokku::testing::check_error;
using hokku::testing::must;

namespace {

void read_tokenizer(const hokku::GgufMetadata& metadata) {
    const auto tokenizer = hokku::make_tokenizer(metadata);
    if (!tokenizer.ok()) return check_error(tokenizer.error());
    const auto ids = (*tokenizer)->encode("Hello 俳句\n<s> 123", {.parse_special = true});
    if (!ids.ok()) return check_error(ids.error());
    must(hokku::is_valid_utf8((*tokenizer)->decode(*ids, true)), "decoded text is valid UTF-8");
}

void read_template(const hokku::GgufMetadata& metadata) {
    const auto source = metadata.find_string("tokenizer.chat_template");
    if (!source.ok()) return check_error(source.error());
    if (!*source) return;
    const auto parsed = hokku::ChatTemplate::parse(**source);
    if (!parsed.ok()) check_error(parsed.error());
}

/// False: the tensors end past the file.
bool read_file(const std::filesystem::path& path, bool use_mapping) {
    auto opened = hokku::GgufFile::open(path, {use_mapping});
    if (!opened.ok()) {
        check_error(opened.error());
        return opened.error().what.find("past the file") == std::string::npos;
    }
    const auto file = std::make_shared<const hokku::GgufFile>(std::move(*opened));
    for (const hokku::GgufTensor& tensor : file->tensors()) {
        must(tensor.data.size() <= file->file_bytes(), "a tensor lies in the file");
        if (!tensor.data.empty()) static_cast<void>(std::to_integer<int>(tensor.data.back()));
    }
    read_tokenizer(file->metadata());
    read_template(file->metadata());
    const auto model = hokku::Model::load(file);
    if (!model.ok()) check_error(model.error());
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const hokku::testing::ScratchFolder folder;
    const std::filesystem::path path = folder / "input.gguf";
    hokku::testing::write_file(path, hokku::testing::text_of(data, size));
    const auto listed = hokku::inspect_model_file(path);
    if (!listed.ok()) check_error(listed.error());
    if (!read_file(path, size % 2 == 0)) {
        constexpr uintmax_t kNumZeros = 256 << 10;
        std::filesystem::resize_file(path, size + kNumZeros);
        static_cast<void>(read_file(path, true));
    }
    return 0;
}
