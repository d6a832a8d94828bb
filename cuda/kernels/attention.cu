// SPDX-License-Identifier: Apache-2.0
// Attention of a few rows, for every format of KV and number of query heads of a KV head.
#include "kernels/attention.h"

namespace hokku::cuda {

#define HOKKU_ATTENTION(heads)                                                             \
    HOKKU_KERNEL_RESIDENT(attention_f32_##heads, AttentionParams, kAttentionThreads, 3) {  \
        attention_split<FloatReader, heads>(p);                                            \
    }                                                                                      \
    HOKKU_KERNEL_RESIDENT(attention_f16_##heads, AttentionParams, kAttentionThreads, 3) {  \
        attention_split<HalfReader, heads>(p);                                             \
    }                                                                                      \
    HOKKU_KERNEL_RESIDENT(attention_q8_0_##heads, AttentionParams, kAttentionThreads, 2) { \
        attention_split<Q8Reader, heads>(p);                                               \
    }

HOKKU_ATTENTION(1)
HOKKU_ATTENTION(2)
HOKKU_ATTENTION(3)
HOKKU_ATTENTION(4)
HOKKU_ATTENTION(5)
HOKKU_ATTENTION(6)
HOKKU_ATTENTION(7)
HOKKU_ATTENTION(8)

HOKKU_KERNEL(attention_combine, CombineParams, 128) {
    combine_splits(p);
}

}  // namespace hokku::cuda
