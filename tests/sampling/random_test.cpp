// SPDX-License-Identifier: Apache-2.0
#include "sampling/random.h"

#include "support/catch.h"

using hokku::RandomSource;

TEST_CASE("RandomSource: SplitMix64 gives the published numbers", "[sampling][quick]") {
    // Rosetta Code, "Pseudo-random numbers/Splitmix64", seed 1234567.
    uint64_t state = 1234567;
    CHECK(hokku::split_mix(state) == 6457827717110365317u);
    CHECK(hokku::split_mix(state) == 3203168211198807973u);
    CHECK(hokku::split_mix(state) == 9817491932198370423u);
    CHECK(hokku::split_mix(state) == 4593380528125082431u);
    CHECK(hokku::split_mix(state) == 16408922859458223821u);
}

TEST_CASE("RandomSource: xoshiro256** gives the reference's numbers", "[sampling][quick]") {
    // The C reference of the authors with state 1, 2, 3, 4.
    RandomSource source(std::array<uint64_t, 4>{1, 2, 3, 4});
    for (const uint64_t expected :
         {uint64_t{11520}, uint64_t{0}, uint64_t{1509978240}, uint64_t{1215971899390074240}})
        CHECK(source.next() == expected);
}

TEST_CASE("RandomSource: units lie in [0, 1) and follow from the seed", "[sampling][quick]") {
    RandomSource first(7), again(7), other(8);
    double sum = 0;
    bool differs = false;
    for (int i = 0; i < 10000; ++i) {
        const double unit = first.next_unit();
        REQUIRE((unit >= 0.0 && unit < 1.0));
        REQUIRE(unit == again.next_unit());
        differs = differs || unit != other.next_unit();
        sum += unit;
    }
    CHECK(differs);
    CHECK(sum / 10000 == Approx(0.5).margin(0.015));  // five standard deviations
}
