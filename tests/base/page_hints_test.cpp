// SPDX-License-Identifier: Apache-2.0
#include "base/page_hints.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/mapped_file.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

using namespace hokku;

TEST_CASE("populate_pages: a mapped file reads as before, whatever part is named",
          "[base][quick]") {
    const testing::ScratchFolder folder;
    const auto path = folder / "bytes";
    constexpr size_t kBytes = 100'003;
    std::string text(kBytes, '\0');
    for (size_t i = 0; i < kBytes; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
    std::ofstream(path, std::ios::binary) << text;
    const auto file = MappedFile::open(path).value();
    const std::span<const std::byte> bytes = file->bytes();
    for (const auto part : {bytes, bytes.subspan(5000, 1), bytes.subspan(4095, 8194), bytes.last(3),
                            bytes.first(0)}) {
        populate_pages(part);
    }
    CHECK(populate_pages({}));
    CHECK(std::equal(bytes.begin(), bytes.end(), text.begin(), text.end(),
                     [](std::byte a, char b) { return a == static_cast<std::byte>(b); }));
    CHECK_FALSE(file->has_read_fault());
}
