// SPDX-License-Identifier: Apache-2.0
// Members: schemas that must hold at once, as allOf, $ref and the sharing of properties lead to.
#pragma once

#include <vector>

#include "constraint/schema/schema_document.h"

namespace hokku::constraint {

struct Member {
    SchemaRef ref;
    /// anyOf and oneOf of this schema have been replaced by one of their branches.
    bool is_any_chosen = false, is_one_chosen = false;
    bool is_expanded = false;  ///< What its $ref and allOf lead to is among the members.
};
using Members = std::vector<Member>;

/// Members without references: objects only, each once.
struct FlatMembers {
    Members members;
    std::string never_at;   ///< Where it says false.
    bool is_never = false;  ///< One of them is false.
};

/// Follows $ref and allOf.
///
/// Errors : bad_format for rings of references and for what is no schema; unsupported naming a
///          keyword that is not known here.
Result<FlatMembers> flatten(const Members& members, const SchemaDocument& document);

/// Types as bits. A number is whole or not.
inline constexpr uint32_t kObject = 1, kArray = 2, kString = 4, kWhole = 8, kBroken = 16,
                          kBoolean = 32, kNull = 64, kAllTypes = 127;

/// The types that all members allow. Where none says so, the keywords do: with "properties" an
/// object is meant, with "pattern" a string, and so on.
Result<uint32_t> allowed_types(const Members& members);
uint32_t type_of(const Json& value);

}  // namespace hokku::constraint
