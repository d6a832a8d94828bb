// SPDX-License-Identifier: Apache-2.0
// A context that grows where the system has no memory left: whichever request for it is refused,
// all is as it was.
#include <new>
#include <optional>

#include "engine/allocation_counter.h"
#include "engine/context_growth.h"
#include "engine/fake_model.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// Whether `work` throws for want of memory when its n-th request for it is refused.
template <class Work>
bool fails_at(uint64_t n, Work&& work) {
    refuse_allocation(n);
    bool has_failed = false;
    try {
        work();
    } catch (const std::bad_alloc&) {
        has_failed = true;
    }
    refuse_allocation(0);
    return has_failed;
}

void check(const KvCache& kv) {
    const auto checked = kv.check_invariants();
    if (!checked.ok()) FAIL(checked.error().message());
}

}  // namespace

TEST_CASE("KvCache: growth without memory changes nothing", "[engine][quick]") {
    if (!can_count_allocations()) return report_skip("the sanitizer replaces the allocator");
    KvCache kv(3, 4, [](uint32_t, uint32_t) {});
    Sequence sequence = kv.open_empty();
    REQUIRE(kv.reserve(sequence, 12).ok());
    kv.append(sequence, std::vector<int32_t>(12, 7));
    uint64_t n = 1;
    while (fails_at(n, [&] { kv.grow(40); })) {
        CAPTURE(n);
        CHECK(kv.num_blocks() == 3);
        CHECK(kv.num_available() == 0);
        check(kv);
        ++n;
    }
    CHECK(n > 3);
    CHECK(kv.num_blocks() == 40);
    // A sequence from before grows into what is there now.
    n = 1;
    bool is_reserved = false;
    while (fails_at(n, [&] { is_reserved = kv.reserve(sequence, 100).ok(); })) {
        CHECK(kv.num_available() == 37);
        ++n;
    }
    CHECK(n > 1);
    CHECK(is_reserved);
    CHECK(sequence.blocks().size() == 28);
    const Sequence* all[] = {&sequence};
    CHECK(kv.check_invariants(all).ok());
}

TEST_CASE("grow_context: growth without memory changes nothing", "[engine][quick]") {
    if (!can_count_allocations()) return report_skip("the sanitizer replaces the allocator");
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 64;
    control->trained_context = 1000;
    uint64_t n = 1;
    for (bool has_grown = false; !has_grown; ++n) {
        CAPTURE(n);
        ModelSession session(load_fake_model(control));
        std::optional<ErrorCode> code;
        const bool has_thrown = fails_at(n, [&] {
            const auto grown = grow_context(session, 0, {});
            has_grown = grown.ok();
            if (!has_grown) code = grown.error().code;
        });
        CHECK_FALSE(has_thrown);
        CHECK(has_grown == !code.has_value());
        if (code) CHECK(*code == ErrorCode::out_of_memory);
        CHECK(session.loaded.info.context_tokens == (has_grown ? 128 : 64));
        CHECK(session.loaded.num_kv_blocks == (has_grown ? 3 : 2));
        CHECK(session.kv.num_blocks() == (has_grown ? 3 : 2));
        check(session.kv);
        REQUIRE(n < 100);
    }
    CHECK(n > 6);  // four lists of the bookkeeping, and the backend's pool
}
