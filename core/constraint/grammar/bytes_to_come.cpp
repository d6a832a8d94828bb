// SPDX-License-Identifier: Apache-2.0
#include "constraint/grammar/bytes_to_come.h"

namespace hokku::constraint {

namespace {

constexpr size_t kMostPositions = 200'000, kMostPasses = 100;

BytesToCome::Bytes bytes_here(const Grammar& grammar, const Position& position,
                              const std::vector<BytesToCome::Bytes>& known) {
    BytesToCome::Bytes bytes;
    switch (position.kind) {
        case PositionKind::split:
            for (uint32_t i = 0; i < position.num; ++i)
                bytes |= known[grammar.targets[position.first + i]];
            break;
        case PositionKind::bytes:
            for (uint32_t i = 0; i < position.num; ++i) {
                const ByteEdge& edge = grammar.edges[position.first + i];
                for (size_t byte = edge.first; byte <= edge.last; ++byte) bytes.set(byte);
                bytes |= known[edge.next];
            }
            break;
        case PositionKind::token:
            bytes.set();
            break;
        case PositionKind::call:
            bytes = known[grammar.rules[position.first].start] | known[position.next];
            break;
        case PositionKind::count:
        case PositionKind::at_least:
            bytes = known[position.next];
            break;
        case PositionKind::dead:
        case PositionKind::end:
            break;
    }
    return bytes;
}

}  // namespace

// What follows a position mostly has a higher number or a lower one throughout, so both directions
// are gone in turn.
BytesToCome::BytesToCome(const Grammar& grammar) {
    const size_t count = grammar.positions.size();
    if (count > kMostPositions) return;
    std::vector<Bytes> bytes(count);
    for (size_t pass = 0; pass < kMostPasses; ++pass) {
        bool has_changed = false;
        for (size_t i = 0; i < count; ++i) {
            const size_t id = pass % 2 == 0 ? count - 1 - i : i;
            const Bytes here = bytes_here(grammar, grammar.positions[id], bytes);
            has_changed = has_changed || here != bytes[id];
            bytes[id] = here;
        }
        if (has_changed) continue;
        bytes_ = std::move(bytes);
        return;
    }
}

}  // namespace hokku::constraint
