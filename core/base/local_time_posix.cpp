// SPDX-License-Identifier: Apache-2.0
#include "base/local_time.h"

namespace hokku {

void to_local_time(std::time_t seconds, std::tm& local) {
    localtime_r(&seconds, &local);
}

}  // namespace hokku
