// SPDX-License-Identifier: Apache-2.0
#include "support/malformed_files.h"

#include <iterator>
#include <utility>

namespace hokku::testing {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> split_causes(std::string_view causes) {
    std::vector<std::string> out;
    while (true) {
        const size_t bar = causes.find('|');
        out.emplace_back(causes.substr(0, bar));
        if (bar == std::string_view::npos) return out;
        causes.remove_prefix(bar + 1);
    }
}

}  // namespace

void MalformedList::add_made(const std::string& id, std::string_view causes,
                             std::function<fs::path(const ScratchFolder&)> make) {
    files.push_back({id, refused_by_, split_causes(causes), std::move(make)});
}

void MalformedList::add(const std::string& id, std::string_view causes, std::string bytes) {
    add_made(id, causes, [id, bytes = std::move(bytes)](const ScratchFolder& folder) {
        write_file(folder / (id + ".gguf"), bytes);
        return folder / (id + ".gguf");
    });
}

void MalformedList::add(const std::string& id, std::string_view causes, const GgufWriter& writer) {
    add_made(id, causes, [id, writer](const ScratchFolder& folder) {
        writer.write(folder / (id + ".gguf"));
        return folder / (id + ".gguf");
    });
}

void MalformedList::add_change(const std::string& id, std::string_view causes, GgufWriter (*base)(),
                               std::function<void(GgufWriter&)> change) {
    add_made(id, causes, [id, base, change = std::move(change)](const ScratchFolder& folder) {
        GgufWriter writer = base();
        change(writer);
        writer.write(folder / (id + ".gguf"));
        return folder / (id + ".gguf");
    });
}

std::vector<MalformedFile> malformed_files() {
    std::vector<MalformedFile> all;
    for (auto group : {malformed_headers, malformed_metadata, malformed_tensors, malformed_places,
                       malformed_models, malformed_vocabularies}) {
        std::vector<MalformedFile> files = group();
        std::move(files.begin(), files.end(), std::back_inserter(all));
    }
    return all;
}

GgufWriter make_good_file() {
    GgufWriter writer;
    writer.set_string("general.architecture", "test");
    writer.set("test.u8", uint8_t{8}).set("test.i8", int8_t{-8});
    writer.set("test.u16", uint16_t{16}).set("test.i16", int16_t{-16});
    writer.set("test.u32", uint32_t{32}).set("test.i32", int32_t{-32});
    writer.set("test.u64", uint64_t{64}).set("test.i64", int64_t{-64});
    writer.set("test.f32", 0.5f).set("test.f64", 0.25).set("test.bool", true);
    writer.set_strings("test.strings", {"one", "", "three"});
    writer.set_numbers("test.numbers", std::vector<int32_t>{1, 2, 3});
    writer.add_f32("a", {2, 3}, {1, 2, 3, 4, 5, 6});
    writer.add_tensor({"b", 2, {32}, std::string(18, '\1'), {}, {}});
    writer.add_f32("c", {1}, {7});
    return writer;
}

}  // namespace hokku::testing
