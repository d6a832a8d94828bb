// SPDX-License-Identifier: Apache-2.0
// The tensor table: names, dimensions, types, sizes and offsets (hazards B1 to B10, recipes R1 to
// R4).
#include <string>

#include "support/malformed_files.h"

namespace hokku::testing {

namespace {

constexpr uint64_t kMax = 0xFFFF'FFFF'FFFF'FFFF;
constexpr uint32_t kF32 = 0, kI8 = 24;

GgufWriter with_tensor(uint32_t type_id, std::vector<uint64_t> dims, size_t num_bytes = 64) {
    GgufWriter writer = make_good_file();
    writer.tensors.clear();
    writer.add_tensor({"t", type_id, std::move(dims), std::string(num_bytes, '\0'), {}, {}});
    return writer;
}

void add_names(MalformedList& list) {
    const auto named = [](const std::string& name) {
        GgufWriter writer = make_good_file();
        writer.tensors[1].name = name;
        return writer;
    };
    list.add("B10-name-twice", "duplicate tensor name", named("a"));
    list.add("B10-name-64-bytes", "is too long", named(std::string(64, 'n')));
    list.add("B10-name-65535-bytes", "is too long", named(std::string(65'535, 'n')));
    list.add("name-empty", "empty tensor name", named(""));
    list.add("name-control", "not plain text", named("a\x1B[31m"));
    list.add("name-nul", "not plain text", named(std::string("a\0", 2)));
    list.add("name-invalid-utf8", "not plain text", named("\xC3"));
}

void add_dimensions(MalformedList& list) {
    for (const uint32_t num_dims : {0u, 5u, 255u, 1u << 31, 0xFFFF'FFFFu}) {
        GgufWriter writer = make_good_file();
        writer.tensors[0].num_dims = num_dims;
        list.add("B1-dims-" + std::to_string(num_dims),
                 "has " + std::to_string(num_dims) + " dimensions", writer);
    }
    GgufWriter five = with_tensor(kF32, {1, 1, 1, 1, 1});
    list.add("B1-five-dims", "has 5 dimensions", five);
    struct Case {
        const char* name;
        std::vector<uint64_t> dims;
    };
    const std::vector<Case> overflowing = {
        {"2e63", {uint64_t{1} << 63}},
        {"max", {kMax}},
        {"4-2e63", {4, uint64_t{1} << 63}},
        {"0-2e63", {0, uint64_t{1} << 63}},
        {"2e32-2e32", {uint64_t{1} << 32, uint64_t{1} << 32}},
        {"2e31-2e31-2", {uint64_t{1} << 31, uint64_t{1} << 31, 2}},
        {"2e16x4", {65536, 65536, 65536, 65536}},
        {"2e62-0-2e62", {uint64_t{1} << 62, 0, uint64_t{1} << 62}},
        {"1-1-1-max", {1, 1, 1, kMax}},
    };
    for (const Case& c : overflowing)
        list.add(std::string("B9-dims-") + c.name, "number of values overflows",
                 with_tensor(kF32, c.dims));
    // R3: the product of the dimensions fits, the bytes are 2^64 + 16.
    list.add("B4-R3-bytes-wrap-to-16", "size of the tensor overflows",
             with_tensor(kF32, {4, (uint64_t{1} << 60) + 1}));
    list.add("B4-f64-bytes-wrap-to-0", "size of the tensor overflows",
             with_tensor(28, {uint64_t{1} << 61}));
    // One value too many for the file.
    list.add("B4-one-value-more", "end past the file", with_tensor(kF32, {17}));
}

void add_types(MalformedList& list) {
    for (const uint32_t type :
         {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 255u, 1u << 31, 0xFFFF'FFFFu})
        list.add("A12-tensor-type-" + std::to_string(type),
                 "removed tensor type " + std::to_string(type), with_tensor(type, {32}));
    struct Case {
        const char* name;
        uint32_t type_id;
        uint64_t row;
    };
    const Case cases[] = {
        {"Q4_0", 2, 31},     {"Q4_1", 3, 33},     {"Q5_0", 6, 1},     {"Q5_1", 7, 16},
        {"Q8_0", 8, 48},     {"Q8_1", 9, 31},     {"Q2_K", 10, 255},  {"Q3_K", 11, 128},
        {"Q4_K", 12, 255},   {"Q5_K", 13, 32},    {"Q6_K", 14, 384},  {"Q8_K", 15, 257},
        {"IQ2_XXS", 16, 64}, {"IQ2_XS", 17, 255}, {"IQ3_XXS", 18, 1}, {"IQ1_S", 19, 128},
        {"IQ4_NL", 20, 31},  {"IQ3_S", 21, 255},  {"IQ2_S", 22, 300}, {"IQ4_XS", 23, 32},
        {"IQ1_M", 29, 255},  {"TQ1_0", 34, 128},  {"TQ2_0", 35, 255}, {"MXFP4", 39, 16},
        {"NVFP4", 40, 32},   {"Q1_0", 41, 64},    {"Q2_0", 42, 32}};
    for (const Case& c : cases)
        list.add(std::string("B10-row-of-") + c.name, std::string("whole number of ") + c.name,
                 with_tensor(c.type_id, {c.row, 2}, 4096));
}

void add_sizes(MalformedList& list) {
    const auto with_sizes = [](std::vector<uint64_t> sizes) {
        GgufWriter writer = make_good_file();
        writer.tensors.clear();
        uint64_t offset = 0;
        for (const uint64_t size : sizes) {
            writer.add_tensor({"t" + std::to_string(writer.tensors.size()),
                               kI8,
                               {size},
                               std::string(64, '\0'),
                               {},
                               offset});
            offset += size;
        }
        return writer;
    };
    // R1: the sum of the sizes wraps to 0.
    list.add("B2-R1-sum-wraps", "end past the file",
             with_sizes({(uint64_t{1} << 63) - 32, (uint64_t{1} << 63) - 32, 64}));
    // R2: the sum and the table's overhead wrap together.
    list.add("B3-R2-overhead-wraps", "end past the file",
             with_sizes({0x7FFF'FFFF'FFFF'FFC0, 0x7FFF'FFFF'FFFF'FFC0}));
    // R4: padding the size wraps.
    list.add("B5-R4-pad-wraps", "number of values overflows|end past the file",
             with_sizes({kMax, 32}));
    list.add("B5-R4-pad-wraps-2e63", "end past the file", with_sizes({(uint64_t{1} << 63) - 1}));
}

void add_offsets(MalformedList& list) {
    const auto with_offset = [](size_t index, uint64_t offset) {
        GgufWriter writer = make_good_file();
        writer.tensors[index].offset = offset;
        return writer;
    };
    list.add("B10-two-at-0", "lies within an earlier tensor", with_offset(1, 0));
    list.add("B10-out-of-order", "lies within an earlier tensor|end past the file",
             with_offset(0, 64));
    for (const uint64_t offset : {uint64_t{1}, uint64_t{31}, uint64_t{33}, kMax})
        list.add("B10-offset-" + std::to_string(offset), "is not aligned", with_offset(1, offset));
    for (const uint64_t offset : {kMax - 31, uint64_t{1} << 63, uint64_t{1} << 32, uint64_t{96}})
        list.add("B6-offset-" + std::to_string(offset), "end past the file",
                 with_offset(2, offset));
    GgufWriter big = with_tensor(kI8, {4096}, 4096);
    big.pad_end = false;
    big.tensors.back().data.pop_back();
    list.add("B6-one-byte-short", "end past the file", big);
    GgufWriter overlapping = make_good_file();
    overlapping.tensors.clear();
    overlapping.add_tensor({"first", kI8, {64}, std::string(64, '\0'), {}, {}});
    overlapping.add_tensor({"second", kI8, {64}, std::string(64, '\0'), {}, 32});
    list.add("B10-overlap-by-32", "lies within an earlier tensor", overlapping);
    // Allowed by the alignment of the file, but not readable as floats in place.
    GgufWriter odd = make_good_file();
    odd.set("general.alignment", uint32_t{1});
    odd.alignment = 1;
    odd.tensors.clear();
    odd.add_tensor({"bytes", kI8, {1}, "x", {}, {}});
    odd.add_f32("floats", {1}, {1});
    odd.add_tensor({"bytes2", kI8, {1}, "x", {}, {}});
    odd.add_f32("floats2", {1}, {1});
    list.add("B10-floats-at-odd-byte", "data at byte", odd);
    GgufWriter empty_far = make_good_file();
    empty_far.tensors[2].dims = {0};
    empty_far.tensors[2].data.clear();
    empty_far.tensors[2].offset = uint64_t{1} << 62;
    list.add("B9-empty-tensor-far-away", "end past the file", empty_far);
}

}  // namespace

std::vector<MalformedFile> malformed_tensors() {
    MalformedList list(RefusedBy::reader);
    add_names(list);
    add_dimensions(list);
    add_types(list);
    add_sizes(list);
    add_offsets(list);
    return std::move(list.files);
}

}  // namespace hokku::testing
