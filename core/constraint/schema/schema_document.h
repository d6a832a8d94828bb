// SPDX-License-Identifier: Apache-2.0
// SchemaDocument: a JSON schema as read, with its local references.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/result.h"

namespace hokku::constraint {

/// Keeps the order of properties.
using Json = nlohmann::ordered_json;

/// A schema inside the document.
struct SchemaRef {
    const Json* schema = nullptr;
    std::string path;  ///< JSON pointer, for messages: "#/properties/name".
    bool operator==(const SchemaRef& other) const { return schema == other.schema; }
};

/// Threads: immutable after read; safe from any thread.
class SchemaDocument {
  public:
    /// Errors : bad_format for invalid JSON; limit_exceeded for size and nesting.
    static Result<SchemaDocument> read(std::string_view text);

    [[nodiscard]] SchemaRef root() const { return {root_.get(), "#"}; }
    /// What "$ref" means at `from`.
    /// Errors : unsupported for references to other documents; bad_format where nothing is found.
    [[nodiscard]] Result<SchemaRef> resolve(const std::string& reference,
                                            const SchemaRef& from) const;

  private:
    void find_anchors();
    std::unique_ptr<const Json> root_;
    std::map<std::string, SchemaRef> anchors_;
};

/// The place of a keyword of a schema: "#/properties/a/pattern".
std::string at(const SchemaRef& where, std::string_view keyword);
/// A schema inside another one, by the steps that lead there. Long paths end with "/...": they
/// are for messages alone, and there may be very many.
SchemaRef child(const SchemaRef& where, const Json& schema,
                std::initializer_list<std::string_view> steps);

/// The keyword's value, or null.
const Json* find(const SchemaRef& where, std::string_view keyword);
/// A number of items or characters; `fallback` where the keyword is absent. What is above
/// kUnbounded - 1 becomes kUnbounded.
Result<uint32_t> get_count(const SchemaRef& where, std::string_view keyword, uint32_t fallback);

}  // namespace hokku::constraint
