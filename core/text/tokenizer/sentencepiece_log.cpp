// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/sentencepiece_log.h"

#include <sentencepiece_processor.h>

#include <mutex>

#ifndef HOKKU_SENTENCEPIECE_HAS_LOG_LEVEL
// Version 0.1.97 exports the function but declares it in a header that is not installed.
namespace sentencepiece::logging {
void SetMinLogLevel(int level);
}
#endif

namespace hokku {

void silence_sentencepiece() {
    static std::once_flag once;
    std::call_once(once, [] {
        constexpr int kFatalOnly = 3;
#ifdef HOKKU_SENTENCEPIECE_HAS_LOG_LEVEL
        sentencepiece::SetMinLogLevel(kFatalOnly);
#else
        sentencepiece::logging::SetMinLogLevel(kFatalOnly);
#endif
    });
}

}  // namespace hokku
