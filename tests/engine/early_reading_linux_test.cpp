// SPDX-License-Identifier: Apache-2.0
#include "engine/early_reading.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/page_hints.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/scratch_folder.h"

using namespace hokku;

namespace {

constexpr size_t kFileBytes = size_t{24} << 20;

/// Bytes of the file that are in memory.
size_t resident_bytes(const std::filesystem::path& path) {
    const auto file = MappedFile::open(path).value();
    constexpr size_t kPage = 4096;
    std::vector<unsigned char> pages(kFileBytes / kPage);
    if (mincore(const_cast<std::byte*>(file->bytes().data()), kFileBytes, pages.data()) != 0)
        return 0;
    return kPage * static_cast<size_t>(
                       std::count_if(pages.begin(), pages.end(), [](auto p) { return p & 1; }));
}

void sleep() {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace

TEST_CASE("EarlyReading: the file comes into memory while it lives, if it fits",
          "[engine][quick]") {
    const testing::ScratchFolder folder;
    const auto path = folder / "model";
    std::ofstream(path, std::ios::binary) << std::string(kFileBytes, 'x');
    drop_written_pages(path);
    if (resident_bytes(path) > 0)
        return testing::report_skip("hardware: this file system keeps its files in memory");
    {
        const EarlyReading too_large(path, kFileBytes);
        sleep();
    }
    CHECK(resident_bytes(path) == 0);
    const EarlyReading reading(path, kFileBytes + 1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (resident_bytes(path) < kFileBytes && std::chrono::steady_clock::now() < end) sleep();
    CHECK(resident_bytes(path) == kFileBytes);
}

TEST_CASE("EarlyReading: what cannot be opened is no matter", "[engine][quick]") {
    const testing::ScratchFolder folder;
    const EarlyReading absent(folder / "absent", kFileBytes);
    const EarlyReading of_folder(folder.path(), kFileBytes);
    CHECK_FALSE(std::filesystem::exists(folder / "absent"));
}
