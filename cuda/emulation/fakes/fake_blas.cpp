// SPDX-License-Identifier: Apache-2.0
#include "emulation/fakes/fake_blas.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "emulation/fakes/fake_state.h"
#include "emulation/runtime.h"

namespace hokku::emulation {

namespace {

using cuda::BlasCompute;
using cuda::BlasHandle;
using cuda::BlasOperation;
using cuda::BlasStatus;
using cuda::BlasType;

struct FakeBlas {
    cuda::StreamHandle stream = nullptr;
};

/// A column-major matrix after its operation.
struct Matrix {
    const std::byte* elements;
    BlasType type;
    int64_t ld;
    bool is_transposed;
    /// Of `count` rows or, of the right one, columns: k values each, one behind the other.
    [[nodiscard]] std::vector<double> vectors(bool are_columns, int64_t count, int64_t k) const {
        const bool is_contiguous = are_columns != is_transposed;
        std::vector<double> out;
        out.reserve(static_cast<size_t>(count * k));
        for (int64_t v = 0; v < count; ++v) {
            for (int64_t i = 0; i < k; ++i)
                out.push_back(read(elements, type, is_contiguous ? i + v * ld : v + i * ld));
        }
        return out;
    }
    static double read(const std::byte* elements, BlasType type, int64_t i) {
        switch (type) {
            case BlasType::f32: {
                float value;
                std::memcpy(&value, elements + 4 * i, 4);
                return double{value};
            }
            case BlasType::i32: {
                int32_t value;
                std::memcpy(&value, elements + 4 * i, 4);
                return value;
            }
            case BlasType::i8:
                return static_cast<int8_t>(elements[i]);
            case BlasType::f16:
            case BlasType::bf16: {
                uint16_t bits;
                std::memcpy(&bits, elements + 2 * i, 2);
                if (type == BlasType::f16) return double{half_bits_to_float(bits)};
                return double{std::bit_cast<float>(static_cast<uint32_t>(bits) << 16)};
            }
        }
        return 0;
    }
};

void write(std::byte* elements, BlasType type, int64_t i, double value) {
    const auto as_float = static_cast<float>(value);
    if (type == BlasType::f32) std::memcpy(elements + 4 * i, &as_float, 4);
    if (type == BlasType::i32) {
        const auto whole = static_cast<int32_t>(value);
        std::memcpy(elements + 4 * i, &whole, 4);
    }
    const uint16_t bits =
        type == BlasType::f16 ? float_to_half_bits(as_float) : float_to_bfloat_bits(as_float);
    if (type == BlasType::f16 || type == BlasType::bf16) std::memcpy(elements + 2 * i, &bits, 2);
}

double read_scalar(const void* scalar, BlasCompute compute) {
    return Matrix::read(static_cast<const std::byte*>(scalar),
                        compute == BlasCompute::i32 ? BlasType::i32 : BlasType::f32, 0);
}

/// The combinations that the library documents for int8: sums of 32 bits, and K and the leading
/// dimensions multiples of four.
bool is_supported(BlasType in, BlasType out, BlasCompute compute, int32_t k, int32_t lda,
                  int32_t ldb) {
    if (in != BlasType::i8) return compute == BlasCompute::f32 && out != BlasType::i32;
    return compute == BlasCompute::i32 && out == BlasType::i32 && k % 4 == 0 && lda % 4 == 0 &&
           ldb % 4 == 0;
}

}  // namespace

namespace fake_blas {
using namespace cuda;

BlasStatus create(BlasHandle* handle) {
    *handle = reinterpret_cast<BlasHandle>(new FakeBlas);
    return BlasStatus::success;
}

BlasStatus destroy(BlasHandle handle) {
    delete reinterpret_cast<FakeBlas*>(handle);
    return BlasStatus::success;
}

BlasStatus set_stream(BlasHandle handle, StreamHandle stream) {
    reinterpret_cast<FakeBlas*>(handle)->stream = stream;
    return BlasStatus::success;
}

BlasStatus set_workspace(BlasHandle, void*, size_t) {
    return BlasStatus::success;
}

BlasStatus gemm(BlasHandle handle, BlasOperation op_a, BlasOperation op_b, int32_t m, int32_t n,
                int32_t k, const void* alpha, const void* a, BlasType a_type, int32_t lda,
                const void* b, BlasType b_type, int32_t ldb, const void* beta, void* c,
                BlasType c_type, int32_t ldc, BlasCompute compute, int32_t) {
    FakeState& state = fake_state();
    const std::lock_guard lock(state.mutex);
    const bool is_a_transposed = op_a == BlasOperation::transpose;
    const bool is_b_transposed = op_b == BlasOperation::transpose;
    if (m < 0 || n < 0 || k < 0 || lda < std::max(1, is_a_transposed ? k : m) ||
        ldb < std::max(1, is_b_transposed ? n : k) || ldc < std::max(1, m)) {
        return BlasStatus::invalid_value;
    }
    if (a_type != b_type || !is_supported(a_type, c_type, compute, k, lda, ldb)) {
        return BlasStatus::not_supported;
    }
    const auto stream = find_stream(state, reinterpret_cast<FakeBlas*>(handle)->stream);
    if (!stream) return BlasStatus::not_initialized;
    const Matrix left{static_cast<const std::byte*>(a), a_type, lda, is_a_transposed};
    const Matrix right{static_cast<const std::byte*>(b), b_type, ldb, is_b_transposed};
    const double scale = read_scalar(alpha, compute), keep = read_scalar(beta, compute);
    const auto run = [=] {
        auto* out = static_cast<std::byte*>(c);
        const std::vector<double> rows = left.vectors(false, m, k);
        const std::vector<double> columns = right.vectors(true, n, k);
        for (int64_t column = 0; column < n; ++column) {
            for (int64_t row = 0; row < m; ++row) {
                double sum = 0;
                const double *x = rows.data() + row * k, *y = columns.data() + column * k;
                for (int64_t i = 0; i < k; ++i) sum += x[i] * y[i];
                const int64_t place = row + column * ldc;
                // Where nothing is kept, what is there is not read: it may be no number.
                const double before = keep != 0 ? keep * Matrix::read(out, c_type, place) : 0.0;
                write(out, c_type, place, scale * sum + before);
            }
        }
        return DriverResult::success;
    };
    issue(state, *stream, {.run = run});
    return BlasStatus::success;
}

}  // namespace fake_blas

void* FakeBlasSymbols::find(const char* name) const {
    if (missing == name) return nullptr;
#define HOKKU_FIND(member, symbol, parameters) \
    if (std::strcmp(name, symbol) == 0) return reinterpret_cast<void*>(&fake_blas::member);
    HOKKU_BLAS_FUNCTIONS(HOKKU_FIND)
#undef HOKKU_FIND
    return nullptr;
}

}  // namespace hokku::emulation
