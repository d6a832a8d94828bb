// SPDX-License-Identifier: Apache-2.0
#include "engine/read_bandwidth.h"

#include "support/catch.h"

TEST_CASE("read bandwidth: a plausible figure for any division of the bytes", "[engine][quick]") {
    const std::vector<std::byte> bytes(5'000'011, std::byte{1});
    const std::vector<std::span<const std::byte>> parts{
        std::span(bytes).first(1), std::span(bytes).subspan(1, 0), std::span(bytes).subspan(1)};
    for (const uint32_t num_threads : {1u, 2u, 7u}) {
        const double speed = hokku::measure_read_bandwidth(parts, num_threads);
        CHECK(speed > 0.05);
        CHECK(speed < 10'000);
    }
    CHECK(hokku::measure_read_bandwidth({}, 2) == 0);
    CHECK(hokku::measure_read_bandwidth(parts, 0) == 0);
}
