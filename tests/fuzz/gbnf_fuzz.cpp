// SPDX-License-Identifier: Apache-2.0
#include "fuzz/follow_constraint.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    hokku::ConstraintSpec spec;
    spec.kind = hokku::ConstraintKind::gbnf;
    spec.text = hokku::testing::text_of(data, size);
    hokku::testing::follow_constraint(spec);
    return 0;
}
