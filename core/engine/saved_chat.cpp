// SPDX-License-Identifier: Apache-2.0
#include "engine/saved_chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/cancelled.h"
#include "base/hash64.h"
#include "base/mapped_file.h"
#include "base/path_text.h"
#include "base/try.h"
#include "engine/context_growth.h"
#include "engine/prompt.h"
#include "engine/system_memory.h"

namespace hokku {
namespace {

/// Of everything before the tensor data, and of the start of each tensor: two models that were
/// made by the same program from the same recipe differ there at least.
uint64_t hash_model(const GgufFile& file) {
    constexpr size_t kSampleBytes = 256;
    std::vector<size_t> header_bytes(file.shard_paths().size());
    for (uint32_t i = 0; i < header_bytes.size(); ++i) header_bytes[i] = file.shard_bytes(i).size();
    uint64_t hash = 0;
    for (const GgufTensor& tensor : file.tensors()) {
        size_t& header = header_bytes[tensor.shard_index];
        header = std::min(header, static_cast<size_t>(tensor.file_offset));
        hash = hash64(tensor.data.first(std::min(tensor.data.size(), kSampleBytes)), hash);
    }
    for (uint32_t i = 0; i < header_bytes.size(); ++i)
        hash = hash64(file.shard_bytes(i).first(header_bytes[i]), hash);
    return hash;
}

Result<void> check_stop(const std::stop_token& stop) {
    if (!stop.stop_requested()) return {};
    return cancelled();
}

Result<void> check_backend(const LoadedModel& loaded) {
    if (loaded.backend->kv_block_bytes() > 0) return {};
    return Error{ErrorCode::unsupported, "this device cannot save or restore chats",
                 loaded.info.device, ""};
}

/// Brings the blocks that are not cached yet into the pool. Nothing is to be found in the cache
/// before all of them are right.
Result<void> restore_blocks(ModelSession& session, const KvFileView& file,
                            const std::vector<TokenId>& tokens, const MappedFile& mapping,
                            const std::stop_token& stop) {
    KvCache& kv = session.kv;
    const uint32_t block_tokens = kv.block_tokens();
    const auto total = static_cast<uint32_t>(tokens.size());
    const uint32_t present = kv.num_cached(tokens) / block_tokens * block_tokens;
    if (present == total) return {};
    Sequence sequence = kv.open(tokens, total - present);
    HOKKU_CHECK(kv.reserve(sequence, total - sequence.length()));
    for (uint32_t i = sequence.length() / block_tokens; i < file.num_blocks(); ++i) {
        HOKKU_CHECK(check_stop(stop));
        HOKKU_CHECK(file.check_block(i));
        session.loaded.backend->write_block(sequence.blocks()[i], file.block(i));
    }
    if (mapping.has_read_fault())
        return Error{ErrorCode::io, "the file has shrunk or its medium failed", "saved context",
                     "the file as it was when it was opened"};
    kv.append(sequence, std::span(tokens).subspan(sequence.length()));
    return {};
}

/// Where the saved chat has more tokens than the context holds.
Result<void> make_room_for(ModelSession& session, uint32_t num_tokens,
                           const std::filesystem::path& path, Overflow overflow) {
    const uint32_t context = session.loaded.info.context_tokens;
    if (num_tokens <= context) return {};
    std::string why;
    if (overflow == Overflow::grow) {
        const auto grown = grow_context(session, num_tokens, read_system_memory());
        if (grown.ok()) return {};
        why = ": " + grown.error().what;
    }
    return Error{ErrorCode::limit_exceeded,
                 fmt::format("the saved context has {} tokens and the context holds {}{}",
                             num_tokens, context, why),
                 path_text(path), "a longer context"};
}

}  // namespace

KvFileModel describe_kv(const LoadedModel& loaded) {
    KvFileModel model;
    model.kv_type = loaded.info.kv_type;
    model.block_tokens = kKvBlockTokens;
    model.block_bytes = loaded.backend->kv_block_bytes();
    model.is_exact = loaded.is_exact;
    model.kernels = loaded.info.kernels;
    model.num_ranks =
        static_cast<uint32_t>(std::max<size_t>(1, loaded.info.rank_weight_bytes.size()));
    if (loaded.file != nullptr) {
        model.hash = hash_model(*loaded.file);
        model.file_bytes = loaded.file->file_bytes();
    }
    if (loaded.model == nullptr) {  // in tests
        model.layers.emplace_back();
        return model;
    }
    const ModelSpec& spec = loaded.model->spec();
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec* attention = layer.attention();
        model.layers.push_back(
            attention == nullptr
                ? KvLayerShape{}
                : KvLayerShape{attention->num_kv_heads, attention->key_dim, attention->value_dim});
    }
    for (const RopeSpec& rope : spec.ropes)
        model.uses_long_rope |=
            !rope.long_inv_freq.empty() && loaded.info.context_tokens > rope.long_above_context;
    return model;
}

Result<SavedChat> save_chat(ModelSession& session, const std::filesystem::path& path,
                            std::span<const TokenId> tokens, std::string_view note,
                            const std::stop_token& stop) {
    HOKKU_CHECK(check_backend(session.loaded));
    KvCache& kv = session.kv;
    std::vector<TokenId> cached(tokens.begin(), tokens.end());
    cached.resize(kv.num_cached(tokens));
    if (cached.empty())
        return Error{ErrorCode::bad_argument, "nothing of this chat is in memory", path_text(path),
                     "a chat whose last answer came from this model"};
    cached.push_back(0);  // open() leaves the last one to be evaluated
    const Sequence sequence = kv.open(cached);
    cached.resize(sequence.length());
    const KvFileModel model = describe_kv(session.loaded);
    HOKKU_TRY(KvFileWriter writer, KvFileWriter::create(path, model, cached, note));
    std::vector<std::byte> bytes(model.block_bytes);
    for (uint32_t start = 0; start < cached.size(); start += kv.block_tokens()) {
        HOKKU_CHECK(check_stop(stop));
        const auto count = static_cast<uint32_t>(cached.size()) - start;
        session.loaded.backend->read_block(sequence.blocks()[start / kv.block_tokens()],
                                           std::min(count, kv.block_tokens()), bytes);
        HOKKU_CHECK(writer.add_block(bytes));
    }
    SavedChat saved;
    HOKKU_TRY(saved.file_bytes, writer.finish());
    saved.tokens = std::move(cached);
    saved.note = note;
    return saved;
}

Result<SavedChat> restore_chat(ModelSession& session, const std::filesystem::path& path,
                               Overflow overflow, const std::stop_token& stop) {
    HOKKU_CHECK(check_backend(session.loaded));
    HOKKU_TRY(const std::unique_ptr<MappedFile> mapping, MappedFile::open(path));
    HOKKU_CHECK(mapping->load_all());
    HOKKU_TRY(const KvFileView file, KvFileView::parse(mapping->bytes(), path_text(path)));
    HOKKU_CHECK(file.check_model(describe_kv(session.loaded)));
    SavedChat saved;
    saved.tokens = file.tokens();
    HOKKU_CHECK(validate_tokens(saved.tokens, session.loaded.info.num_vocab));
    HOKKU_CHECK(make_room_for(session, file.num_tokens(), path, overflow));
    HOKKU_CHECK(restore_blocks(session, file, saved.tokens, *mapping, stop));
    saved.file_bytes = mapping->bytes().size();
    saved.note = file.note();
    return saved;
}

}  // namespace hokku
