// SPDX-License-Identifier: Apache-2.0
#include "kv/block_allocator.h"

#include "support/catch.h"

using hokku::BlockAllocator;

TEST_CASE("BlockAllocator: a shared block raises the count, not the use", "[kv][quick]") {
    BlockAllocator allocator(3);
    const uint32_t block = allocator.allocate().value();
    CHECK(allocator.num_free() == 2);
    allocator.retain(block);
    CHECK(allocator.ref_count(block) == 2);
    CHECK(allocator.num_free() == 2);
    allocator.release(block);
    CHECK(allocator.num_free() == 2);
    allocator.release(block);
    CHECK(allocator.num_free() == 3);
    CHECK(allocator.check_invariants().ok());
}

TEST_CASE("BlockAllocator: an empty pool gives nothing, not a wrong block", "[kv][quick]") {
    BlockAllocator none(0);
    CHECK_FALSE(none.allocate().has_value());

    BlockAllocator allocator(2);
    const uint32_t first = allocator.allocate().value();
    const uint32_t second = allocator.allocate().value();
    CHECK(first != second);
    CHECK_FALSE(allocator.allocate().has_value());
    allocator.release(first);
    CHECK(allocator.allocate() == first);
    CHECK(allocator.check_invariants().ok());
}
