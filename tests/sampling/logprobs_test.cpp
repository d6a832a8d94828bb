// SPDX-License-Identifier: Apache-2.0
#include "sampling/logprobs.h"

#include <cmath>

#include "support/catch.h"

TEST_CASE("LogprobReader: logarithms of the softmax, best alternatives first",
          "[sampling][quick]") {
    const std::vector<float> logits{3.0f + std::log(0.2f), 3.0f + std::log(0.5f),
                                    3.0f + std::log(0.3f)};
    hokku::LogprobReader reader(3);
    std::vector<std::pair<hokku::TokenId, float>> top;
    CHECK(reader.read(logits, 0, 2, top) == Approx(std::log(0.2f)));
    REQUIRE(top.size() == 2);
    CHECK(top[0].first == 1);
    CHECK(top[0].second == Approx(std::log(0.5f)));
    CHECK(top[1].first == 2);

    CHECK(reader.read(logits, 1, 0, top) == Approx(std::log(0.5f)));
    CHECK(top.empty());
    reader.read(logits, 1, 50, top);
    CHECK(top.size() == 3);
}
