// SPDX-License-Identifier: Apache-2.0
// Files that are no files, files cut off, and split sets with a piece wrong (hazards A9, B8, F6,
// 61).
#include <string>

#include "support/malformed_files.h"
#include "support/tiny_model.h"

namespace hokku::testing {

namespace {

namespace fs = std::filesystem;

void add_cut_files(MalformedList& list) {
    const GgufWriter good = make_good_file();
    const std::string header = good.header();
    for (size_t size = 24; size < header.size(); ++size)
        list.add("A9-cut-at-" + std::to_string(size),
                 "ends within|runs past|announces|end past the file", header.substr(0, size));
    list.add("A9-cut-after-header", "end past the file", header);
    const std::string model = make_tiny_llama().bytes();
    const std::string tail = "end past the file";
    list.add("B8-cut-one-byte", tail, model.substr(0, model.size() - 1));
    list.add("B8-cut-one-page", tail, model.substr(0, model.size() - 4096));
    list.add("B8-cut-half", tail, model.substr(0, model.size() / 2));
}

/// The shards of a set of `count` with one tensor each.
std::vector<GgufWriter> make_shards(uint16_t count) {
    std::vector<GgufWriter> shards;
    for (uint16_t i = 0; i < count; ++i) {
        GgufWriter shard;
        if (i == 0) shard.set_string("general.architecture", "test");
        shard.set("split.no", i).set("split.count", count);
        shard.set("split.tensors.count", int32_t{count});
        shard.add_f32("t" + std::to_string(i), {1}, {static_cast<float>(i)});
        shards.push_back(shard);
    }
    return shards;
}

std::string shard_name(const std::string& id, size_t index, size_t count) {
    const auto five = [](size_t n) {
        const std::string digits = std::to_string(n);
        return std::string(5 - digits.size(), '0') + digits;
    };
    return id + "-" + five(index + 1) + "-of-" + five(count) + ".gguf";
}

using Change = std::function<void(std::vector<GgufWriter>&)>;

/// A set of three, changed, of which shard `opened` is opened.
void add_set(MalformedList& list, const std::string& id, std::string_view causes, size_t opened,
             const Change& change) {
    std::vector<GgufWriter> shards = make_shards(3);
    change(shards);
    list.add_made(id, causes, [id, opened, shards](const ScratchFolder& folder) {
        for (size_t i = 0; i < shards.size(); ++i)
            if (!shards[i].magic.empty()) shards[i].write(folder / shard_name(id, i, 3));
        return folder / shard_name(id, opened, 3);
    });
}

void add_split_sets(MalformedList& list) {
    const auto remove = [](size_t index) {
        return [index](std::vector<GgufWriter>& shards) { shards[index].magic.clear(); };
    };
    add_set(list, "61-missing-2", "missing: 61-missing-2-00002-of-00003.gguf", 0, remove(1));
    add_set(list, "61-missing-1", "missing: 61-missing-1-00001-of-00003.gguf", 2, remove(0));
    add_set(list, "61-missing-both",
            "61-missing-both-00001-of-00003.gguf, 61-missing-both-00003-of-00003.gguf", 1,
            [](std::vector<GgufWriter>& shards) {
                shards[0].magic.clear();
                shards[2].magic.clear();
            });
    add_set(list, "61-tensor-count", "the set holds 3 tensors", 0,
            [](auto& shards) { shards[0].set("split.tensors.count", int32_t{4}); });
    add_set(list, "61-tensor-twice", "duplicate tensor name", 0,
            [](auto& shards) { shards[2].tensors[0].name = "t0"; });
    add_set(list, "61-wrong-number", "says that it is number 2 of 3", 0,
            [](auto& shards) { shards[2].set("split.no", uint16_t{1}); });
    add_set(list, "61-wrong-number-opened", "not named so", 0,
            [](auto& shards) { shards[0].set("split.no", uint16_t{1}); });
    add_set(list, "61-wrong-count", "says that it is number 2 of 4", 0,
            [](auto& shards) { shards[1].set("split.count", uint16_t{4}); });
    add_set(list, "61-unsplit-shard", "says that it is number 1 of 1", 0,
            [](auto& shards) { shards[1].remove("split.count"); });
    add_set(list, "61-number-past-count", "the value is 3", 0,
            [](auto& shards) { shards[0].set("split.no", uint16_t{3}); });
    add_set(list, "61-number-negative", "the value is -1", 0,
            [](auto& shards) { shards[0].set("split.no", int16_t{-1}); });
    add_set(list, "61-number-missing", "the key is missing", 0,
            [](auto& shards) { shards[0].remove("split.no"); });
    add_set(list, "61-number-string", "the value has the type STRING", 0,
            [](auto& shards) { shards[0].set_string("split.no", "0"); });
    add_set(list, "61-count-65535", "the value is 65535", 0,
            [](auto& shards) { shards[0].set("split.count", uint16_t{65535}); });
    add_set(list, "61-count-2e63", "the value is 9223372036854775808", 0,
            [](auto& shards) { shards[0].set("split.count", uint64_t{1} << 63); });
    add_set(list, "61-bad-shard", "does not start with GGUF", 0,
            [](auto& shards) { shards[1].magic = "XXXX"; });
    list.add("61-shard-renamed", "a name that ends in -00001-of-00003.gguf", make_shards(3)[0]);
    list.add_made("61-shard-is-folder", "folder", [](const ScratchFolder& folder) {
        const std::string id = "61-shard-is-folder";
        make_shards(2)[0].write(folder / shard_name(id, 0, 2));
        fs::create_directory(folder / shard_name(id, 1, 2));
        return folder / shard_name(id, 0, 2);
    });
}

}  // namespace

std::vector<MalformedFile> malformed_places() {
    MalformedList list(RefusedBy::reader);
    add_special_files(list);
    list.add("F6-empty", "empty", std::string());
    list.add_made("F6-absent", "no such file",
                  [](const ScratchFolder& folder) { return folder / "F6-absent.gguf"; });
    list.add_made("F6-folder", "folder", [](const ScratchFolder& folder) {
        fs::create_directory(folder / "F6-folder.gguf");
        return folder / "F6-folder.gguf";
    });
    add_cut_files(list);
    add_split_sets(list);
    return std::move(list.files);
}

}  // namespace hokku::testing
