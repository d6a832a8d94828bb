// SPDX-License-Identifier: Apache-2.0
// Turns JSON schemas into expressions.
#pragma once

#include <string_view>

#include "constraint/grammar/expressions.h"
#include "hokku/result.h"

namespace hokku::constraint {

inline constexpr size_t kMaxSchemaBytes = 1u << 20;
inline constexpr size_t kMaxSchemaNesting = 500;
inline constexpr size_t kMaxSchemaMembers = 10'000;  ///< Of one JSON object.
inline constexpr size_t kMaxSchemaRules = 20'000;

/// The JSON texts that a schema of draft 2020-12 accepts; often not all of them, never others:
/// properties come in the schema's order, properties that the schema does not name come only where
/// it says so by additionalProperties or patternProperties, or names none.
///
/// Knows  : type, enum, const, $ref (local), $defs, $anchor, allOf, anyOf, oneOf (of branches that
///          cannot both match), properties, required, additionalProperties, patternProperties,
///          propertyNames, minProperties, maxProperties, unevaluatedProperties (boolean),
///          prefixItems, items, minItems, maxItems, uniqueItems (of listed values),
///          unevaluatedItems (boolean), minLength, maxLength, pattern, format, minimum, maximum,
///          exclusiveMinimum, exclusiveMaximum, multipleOf, and all annotations.
/// Errors : bad_format and unsupported naming keyword and place (a JSON pointer);
///          limit_exceeded. A keyword that would change what is valid is never ignored.
/// Source : JSON Schema draft 2020-12, core and validation.
Result<ExprId> parse_json_schema(std::string_view text, Expressions& out);

}  // namespace hokku::constraint
