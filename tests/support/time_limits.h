// SPDX-License-Identifier: Apache-2.0
// How much longer than on a plain build a test may wait or take. Tests that measure time are also
// tagged [serial], so that no other test runs beside them.
#pragma once

namespace hokku::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif
#else
constexpr bool kIsSanitized = false;
#endif

/// Sanitizers make everything several times slower.
constexpr int kTimeFactor = kIsSanitized ? 20 : 1;

}  // namespace hokku::testing
