// SPDX-License-Identifier: Apache-2.0
#include "constraint/schema/schema_document.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"
#include "constraint/grammar/expressions.h"
#include "constraint/language/decimal.h"
#include "constraint/language/source_text.h"
#include "constraint/schema/json_schema.h"

namespace hokku::constraint {

namespace {

/// Depth and width of a JSON text, found before it is parsed: no later step then meets a deeper
/// text, nor an object whose members would take too long to look up one by one.
struct Extent {
    size_t depth = 0;
    size_t num_members = 0;  ///< Of the object with the most.
};

/// The quote that closes the string which the one at `quote` opens, or the end of the text.
size_t end_of_string(std::string_view text, size_t quote) {
    size_t i = quote + 1;
    while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2u : 1u;
    return i;
}

Extent measure(std::string_view text) {
    Extent extent;
    std::vector<size_t> num_members;  // Of what is open.
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') {
            i = end_of_string(text, i);
        } else if (c == '{' || c == '[') {
            num_members.push_back(0);
            extent.depth = std::max(extent.depth, num_members.size());
        } else if (c == ':' && !num_members.empty()) {
            extent.num_members = std::max(extent.num_members, ++num_members.back());
        } else if ((c == '}' || c == ']') && !num_members.empty()) {
            num_members.pop_back();
        }
    }
    return extent;
}

/// Numbers are kept with some 17 digits; another number must not take their place.
Result<void> check_numbers(std::string_view text) {
    constexpr std::string_view kNumber = "+-.0123456789eE";
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') {
            i = end_of_string(text, i);
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            const std::string_view written = text.substr(i, text.find_first_not_of(kNumber, i) - i);
            const auto meant = parse_decimal(written);
            const auto kept = parse_decimal(Json::parse(written, nullptr, false).dump());
            if (written.size() > 15 && meant != kept)
                return Error{ErrorCode::unsupported, "the number " + to_printable(written, 60),
                             SourceText(text, "schema").place(i),
                             "whole numbers from -9223372036854775808 to 18446744073709551615, and "
                             "others of at most 17 digits"};
            i += written.size() - 1;
        }
    }
    return {};
}

/// "%41" and "~1" back to characters.
std::string unescape_step(std::string_view step) {
    std::string out;
    for (size_t i = 0; i < step.size(); ++i) {
        unsigned value = 0;
        if (step[i] == '%' && i + 2 < step.size() &&
            std::from_chars(step.data() + i + 1, step.data() + i + 3, value, 16).ptr ==
                step.data() + i + 3) {
            out += static_cast<char>(value);
            i += 2;
        } else {
            out += step[i];
        }
    }
    for (const auto& [from, to] : {std::pair{"~1", "/"}, std::pair{"~0", "~"}})
        for (size_t pos = 0; (pos = out.find(from, pos)) != std::string::npos; ++pos)
            out.replace(pos, 2, to);
    return out;
}

/// One step of a JSON pointer.
std::string pointer_step(std::string_view name) {
    std::string out = "/";
    for (const char c : name) {
        if (c == '~') {
            out += "~0";
        } else if (c == '/') {
            out += "~1";
        } else {
            out += c;
        }
    }
    return out;
}

}  // namespace

SchemaRef child(const SchemaRef& where, const Json& schema,
                std::initializer_list<std::string_view> steps) {
    constexpr size_t kMaxPathBytes = 300;
    SchemaRef inner{&schema, where.path};
    for (const std::string_view step : steps) {
        if (inner.path.size() + step.size() <= kMaxPathBytes) {
            inner.path += pointer_step(step);
        } else if (inner.path.substr(inner.path.size() - 1) != ".") {
            inner.path += "/...";
        }
    }
    return inner;
}

std::string at(const SchemaRef& where, std::string_view keyword) {
    return to_printable(where.path + pointer_step(keyword), 200);
}

const Json* find(const SchemaRef& where, std::string_view keyword) {
    if (!where.schema->is_object()) return nullptr;
    const auto found = where.schema->find(std::string(keyword));
    return found == where.schema->end() ? nullptr : &*found;
}

Result<uint32_t> get_count(const SchemaRef& where, std::string_view keyword, uint32_t fallback) {
    const Json* value = find(where, keyword);
    if (value == nullptr) return fallback;
    const double number = value->is_number() ? value->get<double>() : -1.0;
    if (!(number >= 0) || number != std::floor(number))
        return Error{ErrorCode::bad_format, fmt::format("a bad \"{}\"", keyword),
                     at(where, keyword), "a whole number of at least 0"};
    return number >= kUnbounded ? kUnbounded : static_cast<uint32_t>(number);
}

Result<SchemaDocument> SchemaDocument::read(std::string_view text) {
    if (text.size() > kMaxSchemaBytes)
        return Error{ErrorCode::limit_exceeded, "the schema is too long",
                     fmt::format("{} bytes", text.size()),
                     fmt::format("at most {}", kMaxSchemaBytes)};
    const Extent extent = measure(text);
    if (extent.depth > kMaxSchemaNesting)
        return Error{ErrorCode::limit_exceeded, "the schema is nested too deeply",
                     fmt::format("{} levels", extent.depth),
                     fmt::format("at most {}", kMaxSchemaNesting)};
    if (extent.num_members > kMaxSchemaMembers)
        return Error{ErrorCode::limit_exceeded, "an object of the schema has too many members",
                     fmt::format("{} members", extent.num_members),
                     fmt::format("at most {}", kMaxSchemaMembers)};
    SchemaDocument document;
    std::unique_ptr<Json> parsed;
    try {
        parsed = std::make_unique<Json>(Json::parse(text));
    } catch (const nlohmann::json::parse_error& error) {
        const size_t place = std::min(text.size(), std::max<size_t>(error.byte, 1) - 1);
        return Error{ErrorCode::bad_format, "the schema is not valid JSON",
                     SourceText(text, "schema").place(place), "a JSON object"};
    } catch (const nlohmann::json::exception&) {  // a number beyond all limits
        return Error{ErrorCode::bad_format, "the schema is not valid JSON", "schema",
                     "numbers that fit a double"};
    }
    HOKKU_CHECK(check_numbers(text));
    if (!parsed->is_object() && !parsed->is_boolean())
        return Error{ErrorCode::bad_format, "the schema is no object", "#",
                     "a JSON object, true or false"};
    document.root_ = std::move(parsed);
    document.find_anchors();
    return document;
}

void SchemaDocument::find_anchors() {
    std::vector<const Json*> todo{root_.get()};
    while (!todo.empty()) {
        const Json* here = todo.back();
        todo.pop_back();
        if (here->is_object()) {
            const auto anchor = here->find("$anchor");
            if (anchor != here->end() && anchor->is_string()) {
                const auto name = anchor->get<std::string>();
                anchors_.emplace(name, SchemaRef{here, "#" + name});
            }
        }
        for (const Json& value : *here)
            if (value.is_structured()) todo.push_back(&value);
    }
}

Result<SchemaRef> SchemaDocument::resolve(const std::string& reference,
                                          const SchemaRef& from) const {
    const auto error = [&](ErrorCode code, std::string_view what) {
        return Error{code, fmt::format("{} \"{}\"", what, to_printable(reference)),
                     at(from, "$ref"), "\"#/...\" or \"#anchor\" of this schema"};
    };
    if (reference.empty() || reference[0] != '#')
        return error(ErrorCode::unsupported, "a reference to another document");
    SchemaRef here = root();
    if (reference.size() == 1) return here;
    if (reference[1] != '/') {
        const auto found = anchors_.find(reference.substr(1));
        if (found != anchors_.end()) return found->second;
        return error(ErrorCode::bad_format, "nothing is found at the reference");
    }
    here.path = to_printable(reference, 300);
    std::string_view rest = std::string_view(reference).substr(1);
    while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::string_view step = rest.substr(0, rest.find('/'));
        rest.remove_prefix(step.size());
        const std::string name = unescape_step(step);
        const Json* next = nullptr;
        if (here.schema->is_object()) {
            const auto found = here.schema->find(name);
            if (found != here.schema->end()) next = &*found;
        } else if (here.schema->is_array()) {
            size_t index = 0;
            const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
            if (parsed.ec == std::errc{} && parsed.ptr == name.data() + name.size() &&
                index < here.schema->size())
                next = &(*here.schema)[index];
        }
        if (next == nullptr)
            return error(ErrorCode::bad_format, "nothing is found at the reference");
        here.schema = next;
    }
    return here;
}

}  // namespace hokku::constraint
