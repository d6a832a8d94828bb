// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "console.h"
#include "hokku/model_file.h"
#include "hokku/reply.h"
#include "model_options.h"

namespace hokku::cli {

namespace {

using Json = nlohmann::ordered_json;

struct InspectCommand {
    std::string model;
    bool json = false, tensors = false;
};

std::string megabytes(uint64_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
    return text;
}

std::string padded(std::string text, size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

/// Names out of a file, fit for a terminal: no control characters.
std::string printable(std::string text) {
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    return text;
}

/// The first `limit` bytes, not cutting a UTF-8 character.
std::string shortened(std::string text, size_t limit) {
    if (text.size() <= limit) return text;
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
    text.resize(limit);
    return text;
}

std::string dims_text(const TensorInfo& tensor) {
    std::string text;
    for (const uint64_t dim : tensor.dims)
        text += (text.empty() ? "" : " x ") + std::to_string(dim);
    return "[" + text + "]";
}

/// Values as JSON again; those that were shortened say so.
Json value_of(const MetadataEntryInfo& entry) {
    Json json{{"type", entry.type}, {"value", Json::parse(entry.value_json)}};
    if (entry.type.starts_with("ARRAY")) json["count"] = entry.num_elements;
    if (entry.is_shortened) json["shortened"] = true;
    return json;
}

void print_json(const ModelFileInfo& info, const ReplyFormatInfo& reply) {
    Json metadata = Json::object(), tensors = Json::array(), types = Json::array();
    Json shards = Json::array();
    for (const std::filesystem::path& shard : info.shards) shards.push_back(shard.string());
    for (const MetadataEntryInfo& entry : info.metadata) metadata[entry.key] = value_of(entry);
    for (const TensorInfo& tensor : info.tensors) {
        tensors.push_back({{"name", tensor.name},
                           {"type", tensor.type},
                           {"dims", tensor.dims},
                           {"bytes", tensor.num_bytes},
                           {"shard", tensor.shard_index},
                           {"offset", tensor.file_offset}});
    }
    for (const TensorTypeTotal& total : info.type_totals) {
        types.push_back({{"type", total.type},
                         {"tensors", total.num_tensors},
                         {"values", total.num_values},
                         {"bytes", total.num_bytes}});
    }
    write_json_line({{"path", info.path.string()},
                     {"shards", shards},
                     {"version", info.version},
                     {"alignment", info.alignment},
                     {"file_bytes", info.file_bytes},
                     {"parameters", info.num_parameters},
                     {"tensor_bytes", info.tensor_bytes},
                     {"reply_format",
                      {{"name", reply.name},
                       {"evidence", reply.evidence},
                       {"thoughts", reply.has_thoughts},
                       {"tool_calls", reply.has_tool_calls}}},
                     {"metadata", metadata},
                     {"types", types},
                     {"tensors", tensors}});
}

std::string reply_text(const ReplyFormatInfo& reply) {
    std::string text = "Replies: " + reply.name + " (" + printable(reply.evidence) + ")";
    if (reply.has_thoughts) text += ", thoughts";
    if (reply.has_tool_calls) text += ", tool calls";
    return text;
}

void print_text(const ModelFileInfo& info, const ReplyFormatInfo& reply, bool with_tensors) {
    write_result(info.path.string() + "\nGGUF version " + std::to_string(info.version) + ", " +
                 megabytes(info.file_bytes) + ", " + std::to_string(info.num_parameters) +
                 " parameters in " + std::to_string(info.tensors.size()) + " tensors");
    if (info.shards.size() > 1) {
        write_result(", " + std::to_string(info.shards.size()) + " shards");
    }
    write_result("\n" + reply_text(reply) + "\n\nMetadata\n");
    for (const MetadataEntryInfo& entry : info.metadata) {
        constexpr size_t kLongest = 100;
        const std::string value = shortened(entry.value_json, kLongest);
        const bool is_cut = value.size() < entry.value_json.size();
        write_result("  " + padded(printable(entry.key), 44) + " " + padded(entry.type, 14) + " " +
                     value + (is_cut || entry.is_shortened ? " ..." : ""));
        if (entry.is_shortened && entry.type.starts_with("ARRAY")) {
            write_result(" (" + std::to_string(entry.num_elements) + ")");
        }
        write_result("\n");
    }
    write_result("\nTensor types\n");
    for (const TensorTypeTotal& total : info.type_totals) {
        write_result("  " + padded(total.type, 8) + std::to_string(total.num_tensors) +
                     " tensors, " + megabytes(total.num_bytes) + "\n");
    }
    if (!with_tensors) return;
    write_result("\nTensors\n");
    for (const TensorInfo& tensor : info.tensors) {
        write_result("  " + padded(printable(tensor.name), 32) + " " + padded(tensor.type, 8) +
                     " " + dims_text(tensor) + "\n");
    }
}

int inspect(const InspectCommand& command) {
    Result<std::filesystem::path> path = find_model(command.model);
    if (!path) return fail(path.error());
    Result<ModelFileInfo> info = inspect_model_file(*path);
    if (!info) return fail(info.error());
    Result<ReplyFormatInfo> found = inspect_reply_format(*path);
    const ReplyFormatInfo reply =
        found ? *found : ReplyFormatInfo{.name = "unknown", .evidence = found.error().message()};
    command.json ? print_json(*info, reply) : print_text(*info, reply, command.tensors);
    return kDone;
}

}  // namespace

void add_inspect(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("inspect", "Show what a model file holds");
    auto options = std::make_shared<InspectCommand>();
    command
        ->add_option("model", options->model,
                     "Model file, or name of a model in the library; else the starter model")
        ->type_name("MODEL");
    command->add_flag("--json", options->json, "Print a JSON object, tensors included");
    command->add_flag("--tensors", options->tensors, "List every tensor");
    command->callback([&chosen, options] { chosen = [options] { return inspect(*options); }; });
}

}  // namespace hokku::cli
