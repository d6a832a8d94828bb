// SPDX-License-Identifier: Apache-2.0
#include "engine/gpu_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/path_text.h"
#include "base/try.h"

namespace hokku {

// ---- what is wanted ----------------------------------------------------------------------------

namespace {

/// Numbers with commas between them; nullopt: something else.
std::optional<std::vector<uint32_t>> read_numbers(std::string_view text) {
    std::vector<uint32_t> numbers;
    while (true) {
        uint32_t number = 0;
        const char* const end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, number);
        if (read.ec != std::errc()) return std::nullopt;
        numbers.push_back(number);
        if (read.ptr == end) return numbers;
        if (*read.ptr != ',') return std::nullopt;
        text.remove_prefix(static_cast<size_t>(read.ptr - text.data()) + 1);
    }
}

Error bad_options(std::string what, std::string where, std::string expected) {
    return {ErrorCode::bad_argument, std::move(what), std::move(where), std::move(expected)};
}

Error too_many_devices(size_t num_devices, uint32_t num_layers) {
    return bad_options(fmt::format("{} devices share {} layer{}", num_devices, num_layers,
                                   num_layers == 1 ? "" : "s"),
                       "device", "a layer for each at least");
}

}  // namespace

Result<WantedGpus> wanted_gpus(const LoadOptions& options) {
    const std::string& device = options.device;
    WantedGpus wanted;
    wanted.num_ranks = options.num_ranks;
    wanted.kv_type = options.kv_type.value_or(KvType::f16);
    if (device == "cpu") return wanted;
    if (options.gpu_layers == 0u) {
        if (device == "auto") return wanted;
        return bad_options("no layers are wanted on the GPU", "GPU layers",
                           "the device auto or cpu");
    }
    constexpr std::string_view kNumbered = "cuda:";
    if (device == "auto" || device == "cuda") {
        wanted.devices = {0};
        wanted.may_add = device == "auto" && options.num_ranks == 1;
    } else if (const auto numbers = device.starts_with(kNumbered)
                                        ? read_numbers(device.substr(kNumbered.size()))
                                        : std::nullopt) {
        wanted.devices = *numbers;
    } else {
        return bad_options(fmt::format("the device is \"{}\"", device), "device",
                           "auto, cpu, cuda, cuda:N or cuda:N,M");
    }
    if (wanted.devices.size() > 1 && options.num_ranks > 1)
        return bad_options("several devices share the layers, ranks share each of them",
                           "device and ranks",
                           "several devices or several ranks, which begin at the device named");
    std::vector<uint32_t> sorted = wanted.devices;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
        return bad_options(fmt::format("the device cuda:{} is named twice", *twice), "device",
                           "each device once");
    return wanted;
}

// ---- devices -----------------------------------------------------------------------------------

Result<std::unique_ptr<GpuParts>> GpuParts::open(const PluginTable& plugin, const GgufFile& file,
                                                 uint32_t num_layers, const WantedGpus& wanted) {
    std::unique_ptr<GpuParts> parts(new GpuParts(plugin, file, num_layers, wanted));
    if (wanted.devices.size() > num_layers)
        return too_many_devices(wanted.devices.size(), num_layers);
    for (const uint32_t device : wanted.devices) {
        auto opened = parts->open_device(device);
        if (opened.ok()) continue;
        if (!wanted.may_add) return std::move(opened).error();
        HOKKU_TRY(const bool has_other, parts->open_next());
        if (!has_other) return std::move(opened).error();
        parts->warnings_.insert(
            parts->warnings_.begin(),
            fmt::format("GPU {} is not used: {}", device, opened.error().message()));
    }
    return parts;
}

Result<void> GpuParts::open_device(uint32_t device) {
    next_device_ = std::max(next_device_, device + 1);
    HOKKU_TRY(auto model, GpuModel::open(plugin_, device, file_, wanted_.num_ranks));
    // What its kernels do not compute is known now; the memory is looked at again later.
    HOKKU_TRY(const GpuPlan plan, model->plan(wanted_.kv_type, 0, num_layers_));
    static_cast<void>(plan);
    opened_.push_back({device, std::move(model)});
    return {};
}

/// The next one of the machine that takes the model; false: there is none.
Result<bool> GpuParts::open_next() {
    const auto devices = list_gpu_devices(plugin_);
    if (!devices.ok()) {
        warnings_.push_back("further GPUs are not used: " + devices.error().message());
        return false;
    }
    while (next_device_ < devices->size()) {
        const uint32_t device = next_device_;
        const auto opened = open_device(device);
        if (opened.ok()) return true;
        warnings_.push_back(
            fmt::format("GPU {} is not used: {}", device, opened.error().message()));
    }
    return false;
}

// ---- layers ------------------------------------------------------------------------------------

namespace {

uint64_t taken_bytes(const GpuPlan& plan) {
    return plan.weight_bytes + plan.fixed_bytes;
}

}  // namespace

Result<bool> GpuParts::take(LayerDivision& division, const Places& places, uint32_t first,
                            uint64_t num_blocks) {
    HOKKU_TRY(const std::vector<uint32_t> ends, division.divide(places, first, num_blocks));
    if (ends.empty()) return false;
    shares_.clear();
    std::vector<Opened> used;
    for (size_t i = 0; i < ends.size(); ++i) {
        shares_.push_back({opened_[places[i]].device, i == 0 ? first : ends[i - 1], ends[i]});
        used.push_back(std::move(opened_[places[i]]));
    }
    opened_ = std::move(used);
    return true;
}

Result<bool> GpuParts::has_room_for_layer(LayerDivision& division, uint32_t place, uint32_t layer) {
    return division.fits(place, layer, layer + 1, 0, 1.0);
}

/// Devices that were named are used, or refused by name.
Result<void> GpuParts::check_rooms(LayerDivision& division, uint32_t first, KvType kv_type) {
    for (uint32_t place = 0; place < opened_.size(); ++place) {
        const uint32_t layer = place + 1 < opened_.size() ? first : num_layers_ - 1;
        HOKKU_TRY(const bool has_room, has_room_for_layer(division, place, layer));
        if (has_room) continue;
        HOKKU_TRY(const GpuPlan plan, opened_[place].model->plan(kv_type, layer, layer + 1));
        return Error{ErrorCode::limit_exceeded,
                     fmt::format("a layer takes {} MiB on the GPU {} and {} MiB of {} are free",
                                 taken_bytes(plan) >> 20, opened_[place].device,
                                 plan.free_bytes >> 20, plan.total_bytes >> 20),
                     path_text(file_.path()), "the other devices alone"};
    }
    return {};
}

/// On as few devices as will do.
Result<bool> GpuParts::take_with_context(LayerDivision& division, uint32_t first,
                                         uint64_t num_blocks, std::vector<Places>& tried) {
    Places places;
    if (!wanted_.may_add) {
        for (uint32_t place = 0; place < opened_.size(); ++place) places.push_back(place);
        tried.push_back(places);
        return take(division, places, first, num_blocks);
    }
    for (bool has_more = true; has_more;) {
        const auto place = static_cast<uint32_t>(opened_.size()) - 1;
        HOKKU_TRY(const bool has_room, has_room_for_layer(division, place, num_layers_ - 1));
        if (has_room) {
            places.push_back(place);
            tried.push_back(places);
            HOKKU_TRY(const bool is_taken, take(division, places, first, num_blocks));
            if (is_taken) return true;
        }
        if (places.size() == num_layers_ - first) return false;
        HOKKU_TRY(has_more, open_next());
    }
    return false;
}

/// As many as fit, on the devices that take most.
Result<bool> GpuParts::take_last_layers(LayerDivision& division, const std::vector<Places>& tried,
                                        uint64_t num_blocks) {
    const Places* best = nullptr;
    uint32_t least = num_layers_;
    for (const Places& places : tried) {
        HOKKU_TRY(const auto first, division.first_that_fits(places, num_blocks));
        if (!first || *first >= least) continue;
        least = *first;
        best = &places;
    }
    if (best == nullptr) return false;
    return take(division, *best, least, num_blocks);
}

Result<void> GpuParts::choose_layers(const LayerWish& wish) {
    const uint32_t first =
        num_layers_ - std::min(wish.num_layers.value_or(num_layers_), num_layers_);
    LayerDivision division(
        num_layers_, [&](uint32_t place, uint32_t begin, uint32_t end) -> Result<LayerNeeds> {
            HOKKU_TRY(const GpuPlan plan, opened_[place].model->plan(wish.kv_type, begin, end));
            return LayerNeeds{memory_budget(plan.free_bytes), taken_bytes(plan),
                              plan.kv_block_bytes};
        });
    if (opened_.size() > num_layers_ - first)
        return too_many_devices(opened_.size(), num_layers_ - first);
    if (opened_.size() > 1) HOKKU_CHECK(check_rooms(division, first, wish.kv_type));
    std::vector<Places> tried;
    HOKKU_TRY(bool is_taken, take_with_context(division, first, wish.num_blocks, tried));
    // The most memory first, as the context takes what is left.
    for (auto places = tried.rbegin(); !is_taken && places != tried.rend(); ++places) {
        HOKKU_TRY(is_taken, take(division, *places, first, 0));
    }
    if (!is_taken && !wish.num_layers) {
        HOKKU_TRY(is_taken, take_last_layers(division, tried, wish.num_blocks));
    }
    return is_taken ? Result<void>() : refuse(wish, first);
}

Result<void> GpuParts::refuse(const LayerWish& wish, uint32_t first) {
    HOKKU_TRY(const GpuPlan plan, opened_.front().model->plan(wish.kv_type, first, num_layers_));
    std::string room;
    for (const Opened& opened : opened_) {
        HOKKU_TRY(const GpuPlan own, opened.model->plan(wish.kv_type, first, num_layers_));
        room += fmt::format("{}{} MiB of {}", room.empty() ? "" : " and ", own.free_bytes >> 20,
                            own.total_bytes >> 20);
    }
    const std::string what =
        wish.num_layers ? fmt::format("{} of {} layers take", num_layers_ - first, num_layers_)
                        : std::string("the model takes");
    return Error{ErrorCode::limit_exceeded,
                 fmt::format("{} {} MiB on the GPU{} and {} are free", what,
                             taken_bytes(plan) >> 20, opened_.size() > 1 ? "s" : "", room),
                 path_text(file_.path()), "a smaller model, or the CPU"};
}

// ---- the way there -----------------------------------------------------------------------------

Result<ContextPlan> GpuParts::plan_context(ContextRequest request, KvType kv_type) {
    std::optional<ContextPlan> shortest;
    for (size_t i = 0; i < shares_.size(); ++i) {
        HOKKU_TRY(const GpuPlan plan,
                  opened_[i].model->plan(kv_type, shares_[i].begin, shares_[i].end));
        request.kv_block_bytes = plan.kv_block_bytes;
        request.weight_bytes = taken_bytes(plan);
        request.is_weights_mapped = false;
        HOKKU_TRY(ContextPlan own,
                  hokku::plan_context(request, {plan.total_bytes, plan.free_bytes}));
        if (!shortest || own.context_tokens < shortest->context_tokens) shortest = std::move(own);
    }
    return *std::move(shortest);
}

Result<std::vector<ModelPart>> GpuParts::start(std::unique_ptr<GpuParts> parts, const Model& model,
                                               const BackendOptions& options,
                                               const std::function<Result<void>(double)>& report) {
    const std::vector<GpuShare>& shares = parts->shares_;
    const double num_layers = shares.back().end - shares.front().begin;
    std::vector<ModelPart> out;
    for (size_t i = 0; i < shares.size(); ++i) {
        const GpuShare& share = shares[i];
        const double before = share.begin - shares.front().begin;
        const double own = share.end - share.begin;
        ModelPart part;
        part.num_layers = share.end - share.begin;
        HOKKU_TRY(
            part.backend,
            GpuModel::start(
                std::move(parts->opened_[i].model), model.layers(share.begin, share.end).spec(),
                options, [&](double done) { return report((before + done * own) / num_layers); }));
        out.push_back(std::move(part));
    }
    return out;
}

}  // namespace hokku
