// SPDX-License-Identifier: Apache-2.0
// Layers over devices, with sizes made up: every division against all that there are.
#include "engine/layer_division.h"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/forward_checks.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

using Ends = std::vector<uint32_t>;

/// Devices with so much room; a layer takes its own bytes and 2 for each block of the context, a
/// device 5 by itself, the last layer 7 more for the head.
struct Machine {
    std::vector<uint64_t> rooms, layers;
    uint32_t num_asked = 0;

    [[nodiscard]] uint64_t bytes(uint32_t begin, uint32_t end, uint64_t num_blocks) const {
        uint64_t sum = 5;
        for (uint32_t i = begin; i < end; ++i) sum += layers[i] + 2 * num_blocks;
        return end == layers.size() ? sum + 7 : sum;
    }
    [[nodiscard]] uint32_t num_layers() const { return static_cast<uint32_t>(layers.size()); }
    LayerDivision division() {
        return {
            num_layers(),
            [this](uint32_t device, uint32_t begin, uint32_t end) -> Result<LayerNeeds> {
                ++num_asked;
                return LayerNeeds{rooms[device], bytes(begin, end, 0), 2 * uint64_t{end - begin}};
            }};
    }
    /// The largest share of a device's room that is filled.
    [[nodiscard]] double share_of(const std::vector<uint32_t>& devices, uint32_t first,
                                  const Ends& ends, uint64_t num_blocks) const {
        double most = 0;
        uint32_t begin = first;
        for (size_t i = 0; i < ends.size(); ++i) {
            if (ends[i] <= begin) return 1e9;
            most = std::max(most, static_cast<double>(bytes(begin, ends[i], num_blocks)) /
                                      static_cast<double>(rooms[devices[i]]));
            begin = ends[i];
        }
        return most;
    }
    /// Of all divisions the least that there is.
    [[nodiscard]] double least_share(const std::vector<uint32_t>& devices, uint32_t first,
                                     uint64_t num_blocks, Ends before = {}) const {
        if (before.size() + 1 == devices.size()) {
            before.push_back(num_layers());
            return share_of(devices, first, before, num_blocks);
        }
        double least = 1e9;
        for (uint32_t end = first + 1; end < num_layers(); ++end) {
            Ends ends = before;
            ends.push_back(end);
            least = std::min(least, least_share(devices, first, num_blocks, ends));
        }
        return least;
    }
};

}  // namespace

TEST_CASE("LayerDivision: devices are filled to the same share of their room", "[engine][quick]") {
    // 5 + 6 * 10 of 130 and 5 + 3 * 10 + 7 of 84: half of each.
    Machine machine{.rooms = {130, 84}, .layers = std::vector<uint64_t>(9, 10)};
    CHECK(value_of(machine.division().divide({0, 1}, 0, 0)) == Ends{6, 9});
    // In the other order, with three layers less.
    CHECK(value_of(machine.division().divide({1, 0}, 3, 0)) == Ends{5, 9});
    CHECK(value_of(machine.division().divide({0}, 0, 0)) == Ends{9});
    CHECK(value_of(machine.division().divide({1}, 0, 0)).empty());
}

TEST_CASE("LayerDivision: of all divisions the one that fills the fullest device least",
          "[engine][quick]") {
    uint64_t state = 7;
    const auto random = [&state](uint64_t below) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % below;
    };
    uint32_t num_fitting = 0, num_not = 0;
    for (int round = 0; round < 200; ++round) {
        Machine machine;
        const uint64_t num_devices = 1 + random(3);
        for (uint64_t i = 0; i < num_devices; ++i) machine.rooms.push_back(30 + random(150));
        machine.layers.assign(num_devices + random(7), 1 + random(40));
        std::vector<uint32_t> devices(num_devices);
        for (uint32_t i = 0; i < num_devices; ++i) devices[i] = i;
        const uint64_t num_blocks = random(4);
        LayerDivision division = machine.division();
        const Ends ends = value_of(division.divide(devices, 0, num_blocks));
        const double least = machine.least_share(devices, 0, num_blocks);
        INFO("round " << round);
        REQUIRE(ends.empty() == (least > 1.0));
        (ends.empty() ? num_not : num_fitting) += 1;
        if (!ends.empty() && num_devices > 1)
            CHECK(machine.share_of(devices, 0, ends, num_blocks) <= least + 1e-6);
        // The first layer with which they fit, by looking at each.
        std::optional<uint32_t> expected;
        for (uint32_t first = machine.num_layers(); first-- > 0;)
            if (machine.least_share(devices, first, num_blocks) <= 1.0) expected = first;
        CHECK(value_of(division.first_that_fits(devices, num_blocks)) == expected);
    }
    CHECK(num_fitting > 40);
    CHECK(num_not > 40);
}

TEST_CASE("LayerDivision: each device gets a layer, or it does not fit", "[engine][quick]") {
    Machine machine{.rooms = {1000, 1000, 12}, .layers = {10, 10, 10, 10}};
    CHECK(value_of(machine.division().divide({0, 1}, 0, 0)).size() == 2);
    CHECK(value_of(machine.division().divide({0, 1, 2}, 0, 0)).empty());
    CHECK_FALSE(value_of(machine.division().first_that_fits({0, 2, 1}, 0)));
    CHECK(value_of(machine.division().divide({0, 1}, 3, 0)).empty());
    CHECK_FALSE(value_of(Machine{{1000, 1000}, {10}}.division().first_that_fits({0, 1}, 0)));
}

TEST_CASE("LayerDivision: of many layers few are asked for, and errors are passed on",
          "[engine][quick]") {
    Machine machine{.rooms = std::vector<uint64_t>(8, 400),
                    .layers = std::vector<uint64_t>(120, 9)};
    LayerDivision division = machine.division();
    CHECK(value_of(division.divide({0, 1, 2, 3, 4, 5, 6, 7}, 0, 1)).size() == 8);
    CHECK(machine.num_asked < 600);
    LayerDivision broken(4, [](uint32_t, uint32_t, uint32_t) -> Result<LayerNeeds> {
        return Error{ErrorCode::device, "it is gone", "", ""};
    });
    CHECK(broken.divide({0, 1}, 0, 0).error().what == "it is gone");
    CHECK(broken.first_that_fits({0}, 0).error().what == "it is gone");
}
