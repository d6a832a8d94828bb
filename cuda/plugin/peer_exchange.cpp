// SPDX-License-Identifier: Apache-2.0
#include "plugin/peer_exchange.h"

#include <atomic>

#include "base/try.h"

namespace hokku::cuda {

namespace {

/// Lets every GPU write to every other one; false where one cannot.
Result<bool> connect(std::span<const Gpu* const> gpus) {
    for (const Gpu* gpu : gpus) {
        for (const Gpu* peer : gpus) {
            if (peer == gpu) continue;
            int32_t can_access = 0;
            HOKKU_CHECK(
                gpu->check(gpu->api().can_access_peer(&can_access, gpu->device(), peer->device()),
                           "cuDeviceCanAccessPeer"));
            if (can_access == 0) return false;
        }
    }
    for (const Gpu* gpu : gpus) {
        HOKKU_CHECK(gpu->make_current());
        for (const Gpu* peer : gpus) {
            if (peer == gpu) continue;
            const DriverResult enabled = gpu->api().enable_peer_access(peer->context(), 0);
            if (enabled == DriverResult::peer_access_already_enabled) continue;
            HOKKU_CHECK(gpu->check(enabled, "cuCtxEnablePeerAccess"));
        }
    }
    return true;
}

struct Places {
    float* slots;
    uint32_t *arrivals, *num_calls;
    static Places lay_out(GpuLayout& layout, size_t num_ranks, uint32_t n) {
        Places out{};
        out.slots = layout.take<float>(2 * num_ranks * kMaxExchangeRows * n);
        out.arrivals = layout.take<uint32_t>(kMaxExchangeRows * kMaxExchangeRanks);
        out.num_calls = layout.take<uint32_t>(kMaxExchangeRows);
        return out;
    }
};

}  // namespace

uint64_t PeerExchange::bytes(size_t num_ranks, uint32_t n) {
    if (num_ranks > kMaxExchangeRanks) return 0;
    GpuLayout sizes;
    Places::lay_out(sizes, num_ranks, n);
    return sizes.used_bytes();
}

Result<std::vector<std::unique_ptr<PeerExchange>>> PeerExchange::create(
    std::span<const Gpu* const> gpus, uint32_t n) {
    std::vector<std::unique_ptr<PeerExchange>> all;
    const uint64_t num_bytes = bytes(gpus.size(), n);
    if (num_bytes == 0) return all;
    HOKKU_TRY(const bool is_connected, connect(gpus));
    if (!is_connected) return all;
    std::vector<Places> places;
    for (const Gpu* gpu : gpus) {
        std::unique_ptr<PeerExchange> one(new PeerExchange);
        HOKKU_CHECK(gpu->make_current());
        HOKKU_TRY(one->memory_, gpu->allocate(num_bytes, "exchange with other GPUs"));
        HOKKU_TRY(one->stop_, gpu->allocate_pinned(sizeof(uint32_t), "exchange with other GPUs"));
        *one->stop_.as<uint32_t>() = 0;
        HOKKU_CHECK(gpu->check(
            gpu->api().fill_bytes_async(one->memory_.address(), 0, num_bytes, gpu->stream()),
            "cuMemsetD8Async"));
        HOKKU_CHECK(gpu->synchronize());  // Before any other rank writes there.
        GpuLayout layout(one->memory_.address());
        places.push_back(Places::lay_out(layout, gpus.size(), n));
        all.push_back(std::move(one));
    }
    for (size_t rank = 0; rank < all.size(); ++rank) {
        ExchangeParams& params = all[rank]->params_;
        for (size_t i = 0; i < places.size(); ++i) {
            params.slots[i] = places[i].slots;
            params.arrivals[i] = places[i].arrivals;
        }
        params.num_calls = places[rank].num_calls;
        params.stop = all[rank]->stop_.as<uint32_t>();
        params.rank = static_cast<uint32_t>(rank);
        params.num_ranks = static_cast<uint32_t>(all.size());
    }
    return all;
}

void PeerExchange::stop() {
    std::atomic_ref<uint32_t>(*stop_.as<uint32_t>()).store(1, std::memory_order_release);
}

}  // namespace hokku::cuda
