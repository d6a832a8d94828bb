// SPDX-License-Identifier: Apache-2.0
// Prints, for each kernel table of this machine, how fast it multiplies with each weight type: one
// row of x (decode) as bytes of weights a second, from memory and from the caches, and 512 rows
// (prefill) as operations a second, each beside Q8_0, which is measured in turn with it.
//   bench_types [--table NAME] [--rounds N] [--vectors N] [--fine] [--cols N] [TYPE...]
// --vectors N: so many rows of x instead of one (up to 8); --fine: their products are fine ones.
// HOKKU_THREADS: number of threads.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backend/available_kernels.h"
#include "backend/cpu/matmul.h"
#include "backend/cpu/matmul_kernels.h"
#include "backend/quant_blocks.h"
#include "base/aligned_buffer.h"

using namespace hokku;
using namespace hokku::cpu;
using hokku::testing::BlockKind;
using hokku::testing::GuardedMatrix;

namespace {

constexpr size_t kMemoryBytes = size_t{160} << 20;  // More than the caches hold.
constexpr size_t kCacheBytes = size_t{384} << 10;   // Of each thread: less than its L2 cache.
constexpr uint32_t kGemmWeights = 1024, kGemmRows = 512;

ThreadTeam& team() {
    static ThreadTeam threads([] {
        const char* text = std::getenv("HOKKU_THREADS");
        return text ? static_cast<uint32_t>(std::atoi(text)) : default_num_threads();
    }());
    return threads;
}

/// Rows of a type in `memory`: a few random ones again and again.
class Weights {
  public:
    Weights(TensorType type, uint32_t cols, AlignedBuffer& memory) {
        const GuardedMatrix few(type, 64, cols, BlockKind::plain, 1);
        weight_ = few.weight();
        weight_.data = memory.data();
        const size_t bytes = few.weight().row_bytes() * few.weight().rows;
        for (size_t done = 0; done + bytes <= kMemoryBytes; done += bytes)
            std::memcpy(memory.data() + done, few.weight().data, bytes);
    }
    [[nodiscard]] WeightMatrix of_bytes(size_t bytes) const {
        return of_rows(static_cast<uint32_t>(bytes / weight_.row_bytes() / 16 * 16));
    }
    [[nodiscard]] WeightMatrix of_rows(uint32_t rows) const {
        WeightMatrix weight = weight_;
        weight.rows = rows;
        return weight;
    }

  private:
    WeightMatrix weight_;
};

/// Products of one weight with random rows.
class Product {
  public:
    Product(const KernelTable& table, const WeightMatrix& weight, uint32_t num_rows,
            Precision precision = Precision::normal)
        : table_(&table),
          weight_(weight),
          num_rows_(num_rows),
          precision_(precision),
          scratch_(*MatmulScratch::create({.num_lanes = team().size(),
                                           .max_rows = num_rows,
                                           .max_in = weight.cols,
                                           .max_fine_in = weight.cols})),
          x_(size_t{num_rows} * weight.cols),
          out_(size_t{num_rows} * weight.rows),
          target_{&weight_, nullptr, out_.data(), weight.rows} {
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        for (float& value : x_) value = normal(random);
    }
    Product(const Product&) = delete;
    Product& operator=(const Product&) = delete;

    /// Seconds of one of `times` products.
    double time(uint32_t times) {
        const auto start = std::chrono::steady_clock::now();
        for (uint32_t i = 0; i < times; ++i)
            team().run([](void* self, Lane lane) { static_cast<Product*>(self)->run(lane); }, this);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        return seconds.count() / times;
    }
    [[nodiscard]] double bytes() const {
        return static_cast<double>(weight_.row_bytes()) * weight_.rows;
    }
    [[nodiscard]] double weights() const { return double{1} * weight_.cols * weight_.rows; }

  private:
    void run(const Lane& lane) {
        matmul(lane, *table_, scratch_,
               {x_.data(), weight_.cols, num_rows_, num_rows_ <= kMaxGemvVectors ? num_rows_ : 0},
               {&target_, 1}, precision_);
    }

    const KernelTable* table_;
    WeightMatrix weight_;
    uint32_t num_rows_;
    Precision precision_;
    MatmulScratch scratch_;
    std::vector<float> x_, out_;
    MatmulTarget target_;
};

struct Rate {
    double per_second = 0;  ///< Work a second.
    double ratio = 0;       ///< To that of Q8_0.
};

/// Both in turn, each at its best: what else runs on the machine only takes away. Most likely is
/// an undisturbed time when it is short.
Rate measure(Product& product, double work, Product& q8, double q8_work, uint32_t rounds) {
    const auto times_of = [](Product& p) {
        return static_cast<uint32_t>(std::clamp(0.0002 / p.time(1), 1.0, 1000.0));
    };
    if (product.time(1) < 0.001) rounds *= 10;
    const uint32_t times = times_of(product), q8_times = times_of(q8);
    double rate = 0, q8_rate = 0;
    for (uint32_t round = 0; round < rounds; ++round) {
        rate = std::max(rate, work / product.time(times));
        q8_rate = std::max(q8_rate, q8_work / q8.time(q8_times));
    }
    return {rate, rate / q8_rate};
}

struct Choice {
    std::string table;
    uint32_t rounds = 9, num_vectors = 1;
    uint32_t cols = 4096;  ///< A multiple of every block size.
    Precision precision = Precision::normal;
    std::vector<std::string> types;
};

void print_row(const KernelTable& table, TensorType type, const Weights& weights,
               const Weights& q8_weights, const Choice& choice) {
    const uint32_t rounds = choice.rounds;
    const auto gemv = [&](size_t bytes) {
        Product product(table, weights.of_bytes(bytes), choice.num_vectors, choice.precision);
        Product q8(table, q8_weights.of_bytes(bytes), choice.num_vectors, choice.precision);
        const Rate rate = measure(product, product.bytes(), q8, q8.bytes(), rounds);
        return std::pair(rate, rate.per_second / product.bytes() * product.weights());
    };
    const auto [memory, weights_per_second] = gemv(kMemoryBytes);
    const auto [cache, cached_weights_per_second] = gemv(kCacheBytes * team().size());
    Product product(table, weights.of_rows(kGemmWeights), kGemmRows);
    Product q8(table, q8_weights.of_rows(kGemmWeights), kGemmRows);
    const double work = 2 * product.weights() * kGemmRows;
    const Rate gemm = measure(product, work, q8, work, (rounds + 2) / 3);
    fmt::print(
        "| {} | {:.1f} | {:.0f} % | {:.1f} | {:.1f} | {:.0f} % | {:.1f} | {:.0f} | {:.0f} % |\n",
        traits_of(type).name, memory.per_second * 1e-9, memory.ratio * 100,
        weights_per_second * 1e-9, cache.per_second * 1e-9, cache.ratio * 100,
        cached_weights_per_second * 1e-9, gemm.per_second * 1e-9, gemm.ratio * 100);
    std::fflush(stdout);
}

void print_tables(const Choice& choice) {
    AlignedBuffer memory(kMemoryBytes), q8_memory(kMemoryBytes);
    if (!memory.data() || !q8_memory.data()) return fmt::print("no memory\n");
    const Weights q8_weights(TensorType::q8_0, choice.cols, q8_memory);
    for (const KernelTable* table : hokku::testing::available_tables()) {
        const std::string name = table->name;
        if (choice.table.empty() ? name == "reference" : name != choice.table) continue;
        fmt::print("\n{}, {} threads\n\n", name, team().size());
        fmt::print(
            "| type | GB/s | of Q8_0 | Gweights/s | GB/s cached | of Q8_0 | Gweights/s | "
            "GEMM GOPS | of Q8_0 |\n|---|---|---|---|---|---|---|---|---|\n");
        for (const TensorType type : hokku::testing::weight_types()) {
            const std::string type_name(traits_of(type).name);
            if (!choice.types.empty() && std::find(choice.types.begin(), choice.types.end(),
                                                   type_name) == choice.types.end())
                continue;
            if (choice.cols % traits_of(type).block_values != 0) continue;
            const Weights weights(type, choice.cols, memory);
            print_row(*table, type, weights, q8_weights, choice);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    Choice choice;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--table" && i + 1 < argc) {
            choice.table = argv[++i];
        } else if (argument == "--rounds" && i + 1 < argc) {
            choice.rounds = static_cast<uint32_t>(std::max(1, std::atoi(argv[++i])));
        } else if (argument == "--vectors" && i + 1 < argc) {
            choice.num_vectors = static_cast<uint32_t>(
                std::clamp(std::atoi(argv[++i]), 1, static_cast<int>(kMaxGemvVectors)));
        } else if (argument == "--cols" && i + 1 < argc) {
            choice.cols =
                static_cast<uint32_t>(std::clamp(std::atoi(argv[++i]) / 32 * 32, 32, 65536));
        } else if (argument == "--fine") {
            choice.precision = Precision::fine;
        } else {
            choice.types.push_back(argument);
        }
    }
    print_tables(choice);
}
