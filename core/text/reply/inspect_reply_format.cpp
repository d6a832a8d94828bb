// SPDX-License-Identifier: Apache-2.0
#include "base/try.h"
#include "gguf/gguf_file.h"
#include "hokku/reply.h"
#include "text/reply/reply_format.h"

namespace hokku {

Result<ReplyFormatInfo> inspect_reply_format(const std::filesystem::path& path) {
    HOKKU_TRY(const auto file, GgufFile::open(path));
    HOKKU_TRY(const auto source, file.metadata().find_string("tokenizer.chat_template"));
    HOKKU_TRY(const auto architecture, file.metadata().find_string("general.architecture"));
    return reply::find_reply_format(
               {.template_source = source.value_or(""), .architecture = architecture.value_or("")})
        .info();
}

}  // namespace hokku
