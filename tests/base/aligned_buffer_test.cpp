// SPDX-License-Identifier: Apache-2.0
#include "base/aligned_buffer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "support/catch.h"

using hokku::AlignedBuffer;
using hokku::BufferLayout;

TEST_CASE("AlignedBuffer: small and large ones are aligned, zeroed and writable", "[base][quick]") {
    for (const size_t bytes : {size_t{1}, size_t{64}, size_t{5000}, (size_t{2} << 20) - 1,
                               size_t{2} << 20, (size_t{5} << 20) + 3}) {
        INFO(bytes << " bytes");
        AlignedBuffer buffer(bytes);
        REQUIRE(buffer.data() != nullptr);
        CHECK(buffer.size_bytes() == bytes);
        CHECK(reinterpret_cast<uintptr_t>(buffer.data()) % 64 == 0);
        CHECK(std::all_of(buffer.data(), buffer.data() + bytes,
                          [](std::byte b) { return b == std::byte{0}; }));
        std::fill_n(buffer.data(), bytes, std::byte{7});
        AlignedBuffer moved = std::move(buffer);
        CHECK(moved.data()[bytes - 1] == std::byte{7});
    }
}

TEST_CASE("AlignedBuffer: sizes that cannot be had leave it empty", "[base][quick]") {
    CHECK(AlignedBuffer(0).data() == nullptr);
    CHECK(AlignedBuffer(SIZE_MAX).data() == nullptr);
    CHECK(AlignedBuffer(size_t{1} << 60).data() == nullptr);
}

TEST_CASE("BufferLayout: parts are aligned, apart and as many bytes as were asked",
          "[base][quick]") {
    BufferLayout sizes;
    CHECK(sizes.take<float>(3) == nullptr);
    CHECK(sizes.take<char>(65) == nullptr);
    CHECK(sizes.used_bytes() == 64 + 128);
    AlignedBuffer buffer(sizes.used_bytes());
    BufferLayout layout(buffer.data());
    CHECK(reinterpret_cast<std::byte*>(layout.take<float>(3)) == buffer.data());
    CHECK(reinterpret_cast<std::byte*>(layout.take<char>(65)) == buffer.data() + 64);
}
