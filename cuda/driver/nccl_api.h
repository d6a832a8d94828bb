// SPDX-License-Identifier: Apache-2.0
// NcclApi: the part of NCCL that the plug-in uses, as a table that is filled at run time. All
// ranks are devices of one process.
// Source : nccl.h of NCCL 2.28; what is used exists since NCCL 2.0.
#pragma once

#include "driver/driver_types.h"
#include "driver/symbols.h"
#include "hokku/result.h"

namespace hokku::cuda {

using NcclComm = struct NcclCommunicator*;

enum class NcclResult : int32_t {
    success = 0,
    unhandled_cuda_error = 1,
    system_error = 2,
    internal_error = 3,
    invalid_argument = 4,
    invalid_usage = 5,
};
enum class NcclType : int32_t { i8 = 0, i32 = 2, f16 = 6, f32 = 7, bf16 = 9 };
enum class NcclOperation : int32_t { sum = 0, max = 2 };

// X(member, name in the library, parameters)
#define HOKKU_NCCL_FUNCTIONS(X)                                                               \
    X(get_version, "ncclGetVersion", (int32_t * version))                                     \
    X(init_all, "ncclCommInitAll",                                                            \
      (NcclComm * comms, int32_t num_devices, const int32_t* devices))                        \
    X(destroy, "ncclCommDestroy", (NcclComm comm))                                            \
    X(abort, "ncclCommAbort", (NcclComm comm))                                                \
    X(all_reduce, "ncclAllReduce",                                                            \
      (const void* send, void* receive, size_t count, NcclType type, NcclOperation operation, \
       NcclComm comm, StreamHandle stream))                                                   \
    X(all_gather, "ncclAllGather",                                                            \
      (const void* send, void* receive, size_t count, NcclType type, NcclComm comm,           \
       StreamHandle stream))                                                                  \
    X(group_start, "ncclGroupStart", ())                                                      \
    X(group_end, "ncclGroupEnd", ())

struct NcclApi {
#define HOKKU_MEMBER(member, name, parameters) NcclResult(*member) parameters = nullptr;
    HOKKU_NCCL_FUNCTIONS(HOKKU_MEMBER)
#undef HOKKU_MEMBER
};

/// Errors : unsupported, naming the function that the library lacks.
Result<NcclApi> load_nccl_api(const SymbolSource& library);

/// Names of the library on this system; none on Windows.
std::span<const char* const> nccl_library_names();

}  // namespace hokku::cuda
