// SPDX-License-Identifier: Apache-2.0
#include "engine/arriving_weights.h"

#include <string>
#include <vector>

#include "support/catch.h"
#include "support/gguf_writer.h"
#include "support/scratch_folder.h"

using namespace hokku;

namespace {

constexpr uint64_t kTensorBytes = 4096;  // what lies between parts is a page or more

/// A file with tensors of these names, in this order, and nothing else.
std::shared_ptr<const GgufFile> open_with(const std::filesystem::path& path,
                                          const std::vector<std::string>& names) {
    testing::GgufWriter writer;
    for (const std::string& name : names) writer.add_f32(name, {1024}, std::vector<float>(1024));
    writer.write(path);
    return std::make_shared<const GgufFile>(GgufFile::open(path).value());
}

}  // namespace

TEST_CASE("order_of_use: tables, then layer by layer, then the head, wherever they lie",
          "[engine][quick]") {
    const testing::ScratchFolder folder;
    const auto file =
        open_with(folder / "mixed.gguf", {"output.weight", "blk.0.a", "blk.10.a", "blk.1.b",
                                          "blk.1.a", "token_embd.weight", "output_norm.weight"});
    const WeightOrder order = order_of_use(*file, 11);
    const auto data = [&](const char* name) { return file->find_tensor(name)->data; };
    REQUIRE(order.parts.size() == 6);
    CHECK(order.parts[0].data() == data("token_embd.weight").data());
    CHECK(order.parts[1].data() == data("blk.0.a").data());
    CHECK(order.parts[2].data() == data("blk.1.b").data());  // with blk.1.a, which is behind it
    CHECK(order.parts[2].size() == 2 * kTensorBytes);
    CHECK(order.parts[3].data() == data("blk.10.a").data());
    CHECK(order.parts[4].data() == data("output.weight").data());
    CHECK(order.parts[5].data() == data("output_norm.weight").data());
    REQUIRE(order.layer_ends.size() == 11);
    CHECK(order.layer_ends[0] == 2 * kTensorBytes);
    CHECK(order.layer_ends[1] == 4 * kTensorBytes);
    CHECK(order.layer_ends[2] == 4 * kTensorBytes);  // a layer without weights
    CHECK(order.layer_ends[10] == 5 * kTensorBytes);
}

TEST_CASE("ArrivingWeights: every layer and the head can be waited for", "[engine][quick]") {
    const testing::ScratchFolder folder;
    const auto file = open_with(folder / "two.gguf", {"token_embd.weight", "blk.0.a", "blk.1.a"});
    ArrivingWeights weights(file, 2);
    for (const uint32_t layer : {0u, 1u, 2u, 99u}) weights.wait_for_layer(layer);
    std::vector<double> shares;
    LoadControl control;
    control.progress = [&](double share) {
        shares.push_back(share);
        return true;
    };
    CHECK(weights.wait_for_most(control, 0.1, 0.5).ok());
    CHECK(weights.wait_for_all(control, 0.5, 0.9).ok());
    CHECK(shares == std::vector<double>{0.5, 0.9});
}
