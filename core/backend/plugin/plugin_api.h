// SPDX-License-Identifier: Apache-2.0
// What a plug-in for GPUs and the core say to each other: a table of functions and plain structs of
// fixed-width types, so that both may come from different compilers. Names mirror backend.h, which
// says what the functions do. Strings are UTF-8, ended by zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hokku {

/// Grows with every change of anything here; both sides must have the same.
inline constexpr uint32_t kPluginVersion = 5;

/// Name of the one function that a plug-in exports: PluginEntry.
inline constexpr char kPluginEntryName[] = "hokku_plugin_entry";

/// ErrorCode as a number and the three texts of an Error.
struct PluginError {
    int32_t code;
    char what[512];
    char where[512];
    char expected[256];
};

struct PluginDevice {
    char name[256];
    uint64_t total_bytes, free_bytes;  ///< free 0: not known.
    int32_t architecture;              ///< 75, 80, 90.
    int32_t driver_version;            ///< 13000: of CUDA 13.0.
};

/// One file of a model's set; the bytes stay for as long as the model is open.
struct PluginFile {
    const char* path;
    const std::byte* bytes;
    uint64_t num_bytes;
};

/// Bytes on the device; of several on each, where it is the most, and the least that is free.
struct PluginPlan {
    uint64_t free_bytes, total_bytes;
    uint64_t weight_bytes, fixed_bytes, kv_block_bytes;
};

/// As BackendOptions. The layers from end_layer on and those before first_layer are not the
/// plug-in's affair.
struct PluginOptions {
    uint32_t num_kv_blocks, kv_type, max_step_tokens, max_step_logits, context_tokens;
    uint32_t first_layer, end_layer;
};

struct PluginSequence {
    uint32_t first_row, num_rows, num_cached, num_blocks;
    const uint32_t* blocks;
};

/// As Step.
struct PluginStep {
    const int32_t* tokens;
    const PluginSequence* sequences;
    const uint32_t* logit_rows;
    uint32_t num_tokens, num_sequences, num_logit_rows;
    uint32_t num_best;
    uint32_t has_stages;  ///< Of a trace.
    const float* hidden;  ///< [num_tokens][dim] or null.
    void* context;        ///< For the functions.
    /// Null: no trace.
    void (*on_values)(void* context, const char* name, const float* values, uint64_t count);
    int32_t (*is_stopped)(void* context);
};

/// GPUs that a model is split over at most.
inline constexpr uint32_t kMaxPluginRanks = 8;

struct PluginInfo {
    char device[256];
    char kernels[256];
    uint64_t kv_bytes, scratch_bytes, bytes_per_token;
    uint32_t num_ranks, unused;
    uint64_t rank_weight_bytes[kMaxPluginRanks];
};

struct PluginModel;  ///< The plug-in's own.

/// Functions that return int32_t give 0 when all went well, else they fill the error.
struct PluginTable {
    uint32_t version, table_bytes;
    /// Up to max_devices; `num_devices` gets how many there are.
    int32_t (*list_devices)(PluginDevice* devices, uint32_t max_devices, uint32_t* num_devices,
                            PluginError* error);
    /// Reads and checks the model for a device, or for several from that one on.
    int32_t (*open_model)(uint32_t device, uint32_t num_ranks, const PluginFile* files,
                          uint32_t num_files, PluginModel** model, PluginError* error);
    void (*close_model)(PluginModel* model);
    int32_t (*plan)(PluginModel* model, uint32_t kv_type, uint32_t first_layer, uint32_t end_layer,
                    PluginPlan* plan, PluginError* error);
    /// Brings it to the device. `report` gets shares from 0 to 1 and ends it by anything but 0.
    int32_t (*start)(PluginModel* model, const PluginOptions* options, void* context,
                     int32_t (*report)(void* context, double share), PluginError* error);
    // The rest needs a start that went well.
    /// Without the last layers `logits` are the residual stream of all rows.
    int32_t (*run)(PluginModel* model, const PluginStep* step, const float** logits,
                   PluginError* error);
    void (*copy_block)(PluginModel* model, uint32_t from, uint32_t to);
    uint64_t (*kv_block_bytes)(PluginModel* model);
    void (*read_block)(PluginModel* model, uint32_t block, uint32_t num_tokens, std::byte* out);
    void (*write_block)(PluginModel* model, uint32_t block, const std::byte* bytes);
    int32_t (*grow_kv)(PluginModel* model, uint32_t num_blocks, PluginError* error);
    uint64_t (*growth_blocks)(PluginModel* model);
    void (*info)(PluginModel* model, PluginInfo* info);
};

/// The table, or null where the plug-in does not have that version.
using PluginEntry = const PluginTable* (*)(uint32_t version);

}  // namespace hokku
