// SPDX-License-Identifier: Apache-2.0
// The one place that knows which Catch2 is installed (version 2 or 3).
#pragma once

#ifdef HOKKU_CATCH2_V3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
