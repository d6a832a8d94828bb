// SPDX-License-Identifier: Apache-2.0
#include "hokku/error.h"

namespace hokku {

std::string_view error_code_name(ErrorCode code) {
    switch (code) {
        case ErrorCode::io:
            return "io";
        case ErrorCode::bad_format:
            return "bad_format";
        case ErrorCode::unsupported:
            return "unsupported";
        case ErrorCode::bad_argument:
            return "bad_argument";
        case ErrorCode::bad_template:
            return "bad_template";
        case ErrorCode::limit_exceeded:
            return "limit_exceeded";
        case ErrorCode::out_of_memory:
            return "out_of_memory";
        case ErrorCode::numeric:
            return "numeric";
        case ErrorCode::cancelled:
            return "cancelled";
        case ErrorCode::device:
            return "device";
    }
    return "unknown";
}

std::string Error::message() const {
    std::string text = what;
    if (!where.empty()) text += " (" + where + ")";
    if (!expected.empty()) text += ": expected " + expected;
    return text;
}

}  // namespace hokku
