// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "console.h"
#include "hokku/tokenizer.h"
#include "model_options.h"
#include "token_list.h"

namespace hokku::cli {

namespace {

using Json = nlohmann::ordered_json;

struct TokenizeOptions {
    std::string model;
    bool parse_special = false, add_special = false, jsonl = false, skip_special = false;
};

Result<std::shared_ptr<const Tokenizer>> open(const std::string& model) {
    Result<std::filesystem::path> path = find_model(model);
    if (!path) return path.error();
    auto tokenizer = open_tokenizer(*path);
    if (tokenizer && !(*tokenizer)->warning().empty()) {
        write_message("warning: " + (*tokenizer)->warning());
    }
    return tokenizer;
}

Error wrong_line(size_t number, const std::string& expected) {
    return {ErrorCode::bad_argument, "wrong type", "line " + std::to_string(number), expected};
}

int tokenize(const TokenizeOptions& options) {
    auto tokenizer = open(options.model);
    if (!tokenizer) return fail(tokenizer.error());
    const EncodeOptions encode{.parse_special = options.parse_special,
                               .add_special = options.add_special};
    if (!options.jsonl) {
        Result<std::string> text = read_stdin();
        if (!text) return fail(text.error());
        Result<std::vector<TokenId>> ids = (*tokenizer)->encode(*text, encode);
        if (!ids) return fail(ids.error());
        write_result(format_token_list(*ids) + "\n");
        return kDone;
    }
    Result<void> done =
        for_each_stdin_line([&](std::string_view line, size_t number) -> Result<void> {
            Result<Json> json = parse_json(line, "line " + std::to_string(number));
            if (!json) return json.error();
            if (!json->is_string()) return wrong_line(number, "a JSON string");
            Result<std::vector<TokenId>> ids =
                (*tokenizer)->encode(json->get_ref<const std::string&>(), encode);
            if (!ids) return ids.error();
            write_result("[" + format_token_list(*ids) + "]\n");
            return {};
        });
    return done ? kDone : fail(done.error());
}

Result<std::string> decode(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                           bool keep_special) {
    for (const TokenId id : ids) {
        if (static_cast<size_t>(id) >= tokenizer.num_tokens()) {
            return Error{ErrorCode::bad_argument, "no such token", std::to_string(id),
                         "ids below " + std::to_string(tokenizer.num_tokens())};
        }
    }
    return tokenizer.decode(ids, keep_special);
}

int detokenize(const TokenizeOptions& options) {
    auto tokenizer = open(options.model);
    if (!tokenizer) return fail(tokenizer.error());
    if (!options.jsonl) {
        Result<std::string> list = read_stdin();
        if (!list) return fail(list.error());
        Result<std::vector<TokenId>> ids = parse_token_list(*list);
        if (!ids) return fail(ids.error());
        Result<std::string> text = decode(**tokenizer, *ids, !options.skip_special);
        if (!text) return fail(text.error());
        write_result(*text);
        return kDone;
    }
    Result<void> done =
        for_each_stdin_line([&](std::string_view line, size_t number) -> Result<void> {
            const std::string where = "line " + std::to_string(number);
            Result<Json> json = parse_json(line, where);
            if (!json) return json.error();
            if (!json->is_array()) return wrong_line(number, "a JSON array of token ids");
            const auto at_line = [&](Error error) {
                error.where = where + ": " + error.where;
                return error;
            };
            Result<std::vector<TokenId>> ids = parse_token_list(line);
            if (!ids) return at_line(ids.error());
            Result<std::string> text = decode(**tokenizer, *ids, !options.skip_special);
            if (!text) return at_line(text.error());
            write_json_line(Json(*text));
            return {};
        });
    return done ? kDone : fail(done.error());
}

std::shared_ptr<TokenizeOptions> add_common(CLI::App* command, const std::string& jsonl) {
    auto options = std::make_shared<TokenizeOptions>();
    command
        ->add_option("-m,--model", options->model,
                     "Model file, or name of a model in the library; else the starter model")
        ->type_name("MODEL");
    command->add_flag("--jsonl", options->jsonl, jsonl);
    return options;
}

}  // namespace

void add_tokenize(CLI::App& app, Action& chosen) {
    CLI::App* command =
        app.add_subcommand("tokenize", "Turn the text on stdin into token ids: 1,2,3");
    auto options = add_common(command, "One JSON string a line in, one JSON array a line out");
    command->add_flag("--parse-special", options->parse_special,
                      "Text such as <|im_start|> becomes that control token");
    command->add_flag("--add-special", options->add_special,
                      "Add the tokens for begin and end where the model wants them");
    command->callback([&chosen, options] { chosen = [options] { return tokenize(*options); }; });
}

void add_detokenize(CLI::App& app, Action& chosen) {
    CLI::App* command =
        app.add_subcommand("detokenize", "Turn the token ids on stdin (1,2,3) into text");
    auto options = add_common(command, "One JSON array a line in, one JSON string a line out");
    command->add_flag("--skip-special", options->skip_special, "Leave control tokens out");
    command->callback([&chosen, options] { chosen = [options] { return detokenize(*options); }; });
}

}  // namespace hokku::cli
