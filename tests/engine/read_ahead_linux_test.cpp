// SPDX-License-Identifier: Apache-2.0
// What becomes of small pages on Linux once a model is in use.
#include <chrono>
#include <string>
#include <thread>

#include "base/mapped_file.h"
#include "engine/read_ahead.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/huge_pages_linux.h"

using namespace hokku;
using hokku::testing::facts_of;
using hokku::testing::kHugeBytes;

TEST_CASE("ReadAhead: small pages become huge ones once all was needed, and not before",
          "[engine][quick]") {
    if (!testing::system_collapses())
        return testing::report_skip("hardware: this system collapses no pages");
    const testing::SmallPagesFile small(std::string(4 * kHugeBytes, 'x'));
    const auto file = MappedFile::open(small.path()).value();
    const std::span<const std::byte> bytes = file->bytes();
    const auto huge_bytes = [&] { return facts_of(bytes.data()).huge_bytes; };
    // The parts meet within the second huge page, so that this one stays.
    const size_t cut = kHugeBytes + 4096;
    ReadAhead reading({bytes.first(cut), bytes.subspan(cut)});
    reading.wait_for(4 * kHugeBytes - 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    CHECK(huge_bytes() == 0);
    reading.wait_for(4 * kHugeBytes);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (huge_bytes() < 3 * kHugeBytes && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(huge_bytes() == 3 * kHugeBytes);
}

TEST_CASE("ReadAhead: its end does not wait for small pages", "[engine][quick]") {
    if (!testing::system_collapses())
        return testing::report_skip("hardware: this system collapses no pages");
    const testing::SmallPagesFile small(std::string(4 * kHugeBytes, 'x'));
    const auto file = MappedFile::open(small.path()).value();
    std::chrono::steady_clock::time_point end;
    {
        ReadAhead reading({file->bytes()});
        reading.wait_for(4 * kHugeBytes);
        end = std::chrono::steady_clock::now();
    }
    // It would begin after a second.
    CHECK(std::chrono::steady_clock::now() - end < std::chrono::milliseconds(800));
    CHECK(facts_of(file->bytes().data()).huge_bytes == 0);
}
