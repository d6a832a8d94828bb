// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "fuzz/follow_constraint.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    hokku::ConstraintSpec spec;
    spec.kind = hokku::ConstraintKind::json_schema;
    spec.text = hokku::testing::text_of(data, size);
    hokku::testing::follow_constraint(spec, [](std::string_view text) {
        hokku::testing::must(nlohmann::json::accept(text), "a whole text is JSON", text);
    });
    return 0;
}
