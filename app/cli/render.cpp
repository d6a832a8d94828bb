// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.h"
#include "console.h"
#include "hokku/chat_template.h"
#include "hokku/library.h"
#include "hokku/model_file.h"

namespace hokku::cli {

namespace {

using Json = nlohmann::ordered_json;

struct RenderOptions {
    std::string model, template_file, input_file;
    bool jsonl = false;
};

Error wrong_type(const char* key, const char* expected) {
    return {ErrorCode::bad_argument, "wrong type in the input", key, expected};
}

Result<void> take_flag(const Json& input, const char* key, bool& flag) {
    const auto found = input.find(key);
    if (found == input.end() || found->is_null()) return {};
    if (!found->is_boolean()) return wrong_type(key, "true or false");
    flag = found->get<bool>();
    return {};
}

Result<std::optional<std::string>> take_text(const Json& input, const char* key) {
    const auto found = input.find(key);
    if (found == input.end() || found->is_null()) return std::optional<std::string>();
    if (!found->is_string()) return wrong_type(key, "a string");
    return std::optional<std::string>(found->get<std::string>());
}

/// Absent and null tokens stay undefined.
Result<void> take_token(const Json& input, const char* key, bool& is_there, std::string& token) {
    Result<std::optional<std::string>> text = take_text(input, key);
    if (!text) return text.error();
    is_there = text->has_value();
    token = text->value_or("");
    return {};
}

Result<TemplateInput> template_input(const Json& input) {
    if (!input.is_object()) return wrong_type("input", "a JSON object");
    if (!input.contains("messages"))
        return Error{ErrorCode::bad_argument, "there are no messages", "messages",
                     "a list of them"};
    TemplateInput result;
    // Contents pass through untouched; the template sees their types itself.
    if (const auto found = input.find("messages"); found != input.end()) {
        result.messages_json = found->dump();
    }
    if (const auto found = input.find("tools"); found != input.end()) {
        result.tools_json = found->dump();
    }
    if (const auto found = input.find("kwargs"); found != input.end() && !found->is_null()) {
        if (!found->is_object()) return wrong_type("kwargs", "an object");
        result.kwargs_json = found->dump();
    }
    for (const auto& [key, flag] :
         {std::pair{"add_generation_prompt", &result.add_generation_prompt},
          std::pair{"continue_final_message", &result.continue_final_message}}) {
        if (Result<void> taken = take_flag(input, key, *flag); !taken) return taken.error();
    }
    Result<void> bos = take_token(input, "bos_token", result.has_bos_token, result.bos_token);
    if (!bos) return bos.error();
    Result<void> eos = take_token(input, "eos_token", result.has_eos_token, result.eos_token);
    if (!eos) return eos.error();
    Result<std::optional<std::string>> now = take_text(input, "now");
    if (!now) return now.error();
    result.now = now->value_or("");
    return result;
}

Result<std::string> render_one(const ChatTemplate& chat_template, std::string_view json,
                               const std::string& where) {
    Result<Json> input = parse_json(json, where);
    if (!input) return input.error();
    Result<TemplateInput> converted = template_input(*input);
    if (!converted) return converted.error();
    return chat_template.render(*converted);
}

/// The template inside a model file.
Result<std::string> read_chat_template(const std::filesystem::path& path) {
    constexpr const char* kKey = "tokenizer.chat_template";
    Result<ModelFileInfo> info =
        inspect_model_file(path, {.max_string_bytes = std::numeric_limits<uint32_t>::max()});
    if (!info) return info.error();
    const MetadataEntryInfo* entry = info->find(kKey);
    if (entry == nullptr || entry->type != "STRING") {
        return Error{ErrorCode::bad_template, "the model has no chat template", path.string(),
                     std::string("a string under the key ") + kKey};
    }
    return Json::parse(entry->value_json).get<std::string>();
}

Result<ChatTemplate> open_template(const RenderOptions& options) {
    if (!options.template_file.empty()) {
        Result<std::string> source = read_input(options.template_file, "--template");
        if (!source) return source.error();
        return ChatTemplate::parse(*source);
    }
    Result<std::filesystem::path> path = resolve_model(options.model);
    if (!path) return path.error();
    Result<std::string> source = read_chat_template(*path);
    if (!source) return source.error();
    return ChatTemplate::parse(*source);
}

int render(const RenderOptions& options) {
    Result<ChatTemplate> chat_template = open_template(options);
    if (!chat_template) return fail(chat_template.error());
    if (!options.jsonl) {
        Result<std::string> json = read_input(options.input_file, "--input");
        if (!json) return fail(json.error());
        Result<std::string> text = render_one(*chat_template, *json, options.input_file);
        if (!text) return fail(text.error());
        write_result(*text);
        return kDone;
    }
    Result<void> done =
        for_each_stdin_line([&](std::string_view line, size_t number) -> Result<void> {
            Result<std::string> text =
                render_one(*chat_template, line, "line " + std::to_string(number));
            write_json_line(text ? Json{{"text", *text}} : Json{{"error", text.error().message()}});
            return {};
        });
    return done ? kDone : fail(done.error());
}

}  // namespace

void add_render(CLI::App& app, Action& chosen) {
    CLI::App* command =
        app.add_subcommand("render", "Render a conversation into a prompt with a chat template");
    auto options = std::make_shared<RenderOptions>();
    command->add_option("-m,--model", options->model, "Take the template of this model")
        ->type_name("MODEL");
    command->add_option("--template", options->template_file, "... or the one in this file")
        ->type_name("FILE");
    command
        ->add_option("--input", options->input_file,
                     "A JSON object with messages and, if wanted, tools, kwargs, "
                     "add_generation_prompt, continue_final_message, bos_token, eos_token, now; "
                     "- is stdin")
        ->type_name("FILE");
    command->add_flag("--jsonl", options->jsonl,
                      "Read one such object a line from stdin; write one {\"text\"} or {\"error\"} "
                      "a line");
    command->callback([&chosen, options] {
        if (options->model.empty() == options->template_file.empty()) {
            throw CLI::ValidationError("give one of -m and --template");
        }
        const bool is_file = !options->input_file.empty() && options->input_file != "-";
        if (is_file == options->jsonl && (is_file || options->input_file.empty())) {
            throw CLI::ValidationError("give one of --input and --jsonl");
        }
        chosen = [options] { return render(*options); };
    });
}

}  // namespace hokku::cli
