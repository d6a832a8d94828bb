// SPDX-License-Identifier: Apache-2.0
#include "base/byte_reader.h"

#include <array>
#include <vector>

#include "support/catch.h"

using hokku::ByteLoader;
using hokku::ByteReader;

namespace {

constexpr std::array<std::byte, 7> kBytes = {std::byte{0x01}, std::byte{0x02}, std::byte{0x03},
                                             std::byte{0x04}, std::byte{0xFE}, std::byte{0xFF},
                                             std::byte{0x7F}};

/// Records what is asked for; fails from a given byte on.
class RecordingLoader final : public ByteLoader {
  public:
    explicit RecordingLoader(size_t fails_from) : fails_from_(fails_from) {}
    bool load(size_t begin, size_t end) override {
        asked.emplace_back(begin, end);
        return end <= fails_from_;
    }
    std::vector<std::pair<size_t, size_t>> asked;

  private:
    size_t fails_from_;
};

}  // namespace

TEST_CASE("ByteReader: numbers are little-endian and need no alignment", "[base][quick]") {
    ByteReader reader(kBytes);
    CHECK(reader.read<uint8_t>() == 0x01);
    CHECK(reader.read<uint16_t>() == 0x0302);
    CHECK(reader.read<uint8_t>() == 0x04);
    CHECK(reader.read<int16_t>() == -2);
    CHECK(reader.position() == 6);
    CHECK(reader.remaining() == 1);
}

TEST_CASE("ByteReader: a read past the end gives nothing and does not move", "[base][quick]") {
    ByteReader reader(kBytes);
    REQUIRE(reader.take(5).has_value());
    CHECK_FALSE(reader.read<uint32_t>().has_value());
    CHECK_FALSE(reader.take(3).has_value());
    CHECK_FALSE(reader.take(0xFFFF'FFFF'FFFF'FFFF).has_value());
    CHECK_FALSE(reader.take_unread(0xFFFF'FFFF'FFFF'FFFB).has_value());
    CHECK(reader.position() == 5);
    CHECK(reader.take(2)->size() == 2);
    CHECK(reader.take(0)->empty());
    CHECK_FALSE(reader.read<uint8_t>().has_value());
}

TEST_CASE("ByteReader: bytes are loaded before they are read, and only then", "[base][quick]") {
    RecordingLoader loader(6);
    ByteReader reader(kBytes, &loader);
    CHECK(reader.read<uint16_t>() == 0x0201);
    CHECK(reader.take_unread(2).has_value());
    CHECK(reader.read<uint16_t>() == 0xFFFE);
    CHECK_FALSE(reader.read<uint8_t>().has_value());
    CHECK(loader.asked == std::vector<std::pair<size_t, size_t>>{{0, 2}, {4, 6}, {6, 7}});
}
