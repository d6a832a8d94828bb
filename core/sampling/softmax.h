// SPDX-License-Identifier: Apache-2.0
// Exponentials over whole vocabularies, written so that the compiler can use vector instructions.
#pragma once

#include <span>

namespace hokku {

/// out[i] = exp(x[i] - maximum), exactly 0 where that is below 1e-37; returns their sum.
///
/// Shapes : x, out [n].
/// Needs  : x[i] <= maximum, maximum finite; -inf is allowed in x.
/// Cost   : about 1 ns a value; relative error below 2e-7 a value.
double exp_shifted(std::span<const float> x, float maximum, float* out);

/// The largest value; -inf for none. Needs values without NaN.
float max_of(std::span<const float> x);

/// log(sum(exp(x))). Needs max_of(x) finite.
double log_sum_exp(std::span<const float> x);

}  // namespace hokku
