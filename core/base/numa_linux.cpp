// SPDX-License-Identifier: Apache-2.0
// Source: Linux, set_mempolicy(2), mbind(2), sched_setaffinity(2). The calls are made without
// libnuma, which not every machine has.
#include "base/numa.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace hokku {

namespace {

// Of linux/mempolicy.h, which not every build machine has.
constexpr int kDefault = 0, kPreferred = 1, kInterleave = 3;

/// A set as the kernel takes it.
template <size_t kBits>
struct BitSet {
    std::array<unsigned long, kBits / (8 * sizeof(unsigned long))> words{};

    bool insert(std::span<const uint32_t> members) {
        for (const uint32_t member : members) {
            if (member >= kBits) return false;
            words[member / kWordBits] |= 1ul << member % kWordBits;
        }
        return !members.empty();
    }

  private:
    static constexpr size_t kWordBits = 8 * sizeof(unsigned long);
};

constexpr size_t kMaxNodes = 1024;
using NodeSet = BitSet<kMaxNodes>;

}  // namespace

ThreadBinding::ThreadBinding(std::span<const uint32_t> cpus) {
    BitSet<kMaxCpus> wanted;
    if (!wanted.insert(cpus)) return;
    // 0: the calling thread. What is read is what is put back: fewer bytes than there is room for.
    if (syscall(SYS_sched_getaffinity, 0, sizeof before_, before_) < 0) return;
    is_bound_ = syscall(SYS_sched_setaffinity, 0, sizeof wanted.words, wanted.words.data()) == 0;
}

ThreadBinding::~ThreadBinding() {
    if (is_bound_) syscall(SYS_sched_setaffinity, 0, sizeof before_, before_);
}

bool place_memory(std::span<std::byte> memory, std::span<const uint32_t> nodes) {
    NodeSet set;
    if (!set.insert(nodes)) return false;
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<uintptr_t>(memory.data());
    const uintptr_t begin = (first + page - 1) / page * page;  // a page of others stays as it is
    const uintptr_t end = (first + memory.size()) / page * page;
    if (begin >= end) return true;
    return syscall(SYS_mbind, begin, end - begin, nodes.size() == 1 ? kPreferred : kInterleave,
                   set.words.data(), kMaxNodes, 0) == 0;
}

InterleavedPages::InterleavedPages(std::span<const uint32_t> nodes) {
    NodeSet set;
    if (!set.insert(nodes)) return;
    int policy = -1;
    if (syscall(SYS_get_mempolicy, &policy, nullptr, 0, nullptr, 0) != 0 || policy != kDefault)
        return;
    is_on_ = syscall(SYS_set_mempolicy, kInterleave, set.words.data(), kMaxNodes) == 0;
}

InterleavedPages::~InterleavedPages() {
    if (is_on_) syscall(SYS_set_mempolicy, kDefault, nullptr, 0);
}

}  // namespace hokku
