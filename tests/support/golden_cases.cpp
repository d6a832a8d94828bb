// SPDX-License-Identifier: Apache-2.0
#include "support/golden_cases.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace hokku::testing {

namespace {

using nlohmann::json;

json read_json(const std::filesystem::path& path) {
    std::ifstream stream(path);
    return json::parse(stream);
}

/// The list under the first of `keys` that is there.
template <class T>
void take(const json& object, std::initializer_list<const char*> keys, T& target) {
    for (const char* key : keys) {
        if (!object.contains(key)) continue;
        object.at(key).get_to(target);
        return;
    }
}

template <class T>
void append(std::vector<T>& target, std::vector<T> more) {
    target.insert(target.end(), more.begin(), more.end());
}

}  // namespace

std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& path) {
    const json file = read_json(path);
    std::vector<GoldenCase> cases;
    for (const json& object : file.at("cases")) {
        GoldenCase& golden = cases.emplace_back();
        take(object, {"name"}, golden.name);
        take(object, {"tokens"}, golden.tokens);
        take(object, {"argmax", "argmax_every_position"}, golden.argmax);
        take(object, {"margin"}, golden.margin);
        take(object, {"logsumexp"}, golden.logsumexp);
        take(object, {"logits_last"}, golden.logits_last);
        take(object, {"greedy", "greedy_continuation"}, golden.greedy);
        take(object, {"greedy_margin"}, golden.greedy_margin);
        take(object, {"hidden_last"}, golden.hidden_last);
        take(object, {"last_top64_ids"}, golden.sample_ids);
        take(object, {"last_top64"}, golden.sample_logits);
        if (object.contains("last_sample_ids")) {
            append(golden.sample_ids, object.at("last_sample_ids").get<std::vector<int32_t>>());
            append(golden.sample_logits, object.at("last_sample").get<std::vector<float>>());
        }
    }
    return cases;
}

GoldenHidden read_golden_hidden(const std::filesystem::path& path) {
    const json object = read_json(path);
    GoldenHidden golden;
    object.at("tokens").get_to(golden.tokens);
    golden.values.push_back({"embed", object.at("embed").get<std::vector<float>>()});
    for (const json& layer : object.at("layers"))
        golden.values.push_back(
            {fmt::format("layer{}", golden.values.size() - 1), layer.get<std::vector<float>>()});
    golden.values.push_back({"final_norm", object.at("final_norm").get<std::vector<float>>()});
    return golden;
}

GoldenHidden read_golden_stages(const std::filesystem::path& path) {
    const json object = read_json(path);
    GoldenHidden golden;
    object.at("tokens").get_to(golden.tokens);
    for (const auto& [name, values] : object.at("stages").items())
        golden.values.push_back({name, values.get<std::vector<float>>()});
    return golden;
}

GoldenLogprobs read_golden_logprobs(const std::filesystem::path& path) {
    const json object = read_json(path);
    GoldenLogprobs golden;
    object.at("tokens").get_to(golden.tokens);
    object.at("top32_ids").get_to(golden.ids);
    object.at("top32_logprob").get_to(golden.logprobs);
    return golden;
}

std::map<std::string, float> read_golden_peer_differences(const std::filesystem::path& path) {
    std::map<std::string, float> differences;
    const json list = read_json(path);
    for (const json& model : list)
        differences[model.at("name").get<std::string>() + "-" +
                    model.at("type").get<std::string>()] = model.at("lc_diff").get<float>();
    return differences;
}

float read_golden_tolerance(const std::filesystem::path& path, const std::string& name) {
    return read_json(path).at(name).get<float>();
}

}  // namespace hokku::testing
