// SPDX-License-Identifier: Apache-2.0
// The error value that every expected failure returns: what went wrong, where, and what was
// expected instead. Not an exception: the library never throws across its interface.
#pragma once

#include <string>
#include <string_view>

namespace hokku {

enum class ErrorCode {
    io,              ///< A file or folder cannot be opened, read, written or mapped.
    bad_format,      ///< A file's contents break the rules of its format.
    unsupported,     ///< Well-formed, but this build cannot handle it (architecture, type, CPU).
    bad_argument,    ///< A value given by the caller is out of range.
    bad_template,    ///< A chat template fails to parse or to render.
    limit_exceeded,  ///< A budget (memory, steps, output, context) would be exceeded.
    out_of_memory,   ///< The system refuses memory.
    numeric,         ///< Not-a-number or infinite values where finite ones must be.
    cancelled,       ///< The caller asked to stop.
    device,          ///< A device or its driver failed.
};

/// Short lower-case name of a code, for JSON and logs: "bad_format".
std::string_view error_code_name(ErrorCode code);

struct Error {
    ErrorCode code = ErrorCode::io;
    std::string what;      ///< One sentence without a full stop: "tensor data ends past the file".
    std::string where;     ///< File, key, tensor, offset or line; may be empty.
    std::string expected;  ///< What would have been right; may be empty.

    /// "what (where): expected ..." on one line, for people.
    [[nodiscard]] std::string message() const;
};

}  // namespace hokku
