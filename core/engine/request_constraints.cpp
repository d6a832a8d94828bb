// SPDX-License-Identifier: Apache-2.0
#include "engine/request_constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"

namespace hokku {
namespace {

using Parts = std::vector<std::unique_ptr<Constraint>>;

std::string quoted(const std::vector<std::string>& words) {
    constexpr size_t kMostWords = 4;
    std::string text;
    for (size_t i = 0; i < std::min(words.size(), kMostWords); ++i)
        text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", to_printable(words[i], 40));
    return words.size() > kMostWords ? text + ", .." : text;
}

std::string kind_of(ConstraintKind kind) {
    switch (kind) {
        case ConstraintKind::json:
            return "JSON";
        case ConstraintKind::json_schema:
            return "the JSON schema";
        case ConstraintKind::gbnf:
            return "the grammar";
        case ConstraintKind::regex:
            return "the regular expression";
        case ConstraintKind::choice:
            return "the choices";
        case ConstraintKind::required_words:
            return "the required words";
    }
    return "an unknown form";
}

/// The form in words, for errors; with its text where that is short by its nature.
std::string name_of(const ConstraintSpec& spec) {
    const std::string name = spec.name.empty() ? kind_of(spec.kind) : spec.name;
    if (spec.kind == ConstraintKind::regex)
        return fmt::format("{} \"{}\"", name, to_printable(spec.text, 40));
    return spec.words.empty() ? name : name + " " + quoted(spec.words);
}

}  // namespace

std::string names_of(const std::vector<ConstraintSpec>& specs) {
    std::string text;
    for (size_t i = 0; i < specs.size(); ++i)
        text += (i == 0 ? "" : i + 1 == specs.size() ? " and " : ", ") + name_of(specs[i]);
    return text;
}

namespace {

/// Only the choices that have every other form, so that the model is not led into one that has not.
Result<void> prune_choices(std::vector<ConstraintSpec>& specs, const Parts& parts) {
    for (size_t i = 0; i < specs.size(); ++i) {
        if (specs[i].kind != ConstraintKind::choice) continue;
        std::vector<std::string> fitting;
        for (const std::string& word : specs[i].words) {
            bool fits = true;
            for (size_t k = 0; k < parts.size() && fits; ++k) {
                if (k == i) continue;
                HOKKU_TRY(fits, parts[k]->matches(word));
            }
            if (fits) fitting.push_back(word);
        }
        if (fitting.empty())
            return Error{ErrorCode::bad_argument, "no choice has the other forms asked for",
                         names_of(specs), "forms that one text can have"};
        specs[i].words = std::move(fitting);
    }
    return {};
}

/// Words that another form has no letters for need not be waited for.
Result<void> check_words(const std::vector<ConstraintSpec>& specs, const Parts& parts) {
    for (const ConstraintSpec& spec : specs) {
        if (spec.kind != ConstraintKind::required_words || spec.ignore_case) continue;
        for (const std::string& word : spec.words) {
            for (size_t i = 0; i < parts.size(); ++i) {
                if (parts[i]->may_contain(word)) continue;
                return Error{
                    ErrorCode::bad_argument,
                    "the forms asked for contradict each other: no text of one form "
                    "contains a word that is required",
                    fmt::format("{} and \"{}\"", name_of(specs[i]), to_printable(word, 80)),
                    "forms that one text can have"};
            }
        }
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<Constraint>> make_request_constraints(
    std::vector<ConstraintSpec> specs,
    const std::shared_ptr<const ConstraintVocabulary>& vocabulary) {
    Parts parts;
    for (const ConstraintSpec& spec : specs) {
        HOKKU_TRY(parts.emplace_back(), make_constraint(spec, vocabulary));
    }
    if (parts.size() > 1) {
        HOKKU_CHECK(prune_choices(specs, parts));
        HOKKU_CHECK(check_words(specs, parts));
        for (size_t i = 0; i < specs.size(); ++i) {
            if (specs[i].kind != ConstraintKind::choice) continue;
            HOKKU_TRY(parts[i], make_constraint(specs[i], vocabulary));
        }
    }
    return combine_constraints(std::move(parts));
}

}  // namespace hokku
