// SPDX-License-Identifier: Apache-2.0
#include "text/reply/call_reader.h"

namespace hokku::reply {

std::unique_ptr<CallReader> make_call_reader(const CallFormat& format, const ToolList& tools) {
    switch (format.syntax) {
        case CallSyntax::json:
            return make_json_reader(format, tools);
        case CallSyntax::named:
            return make_named_reader(format, tools);
        case CallSyntax::tags:
            return make_tag_reader(format, tools);
        case CallSyntax::gemma:
            return make_gemma_reader(format, tools);
        case CallSyntax::python:
            return make_python_reader(format, tools);
    }
    return nullptr;
}

}  // namespace hokku::reply
