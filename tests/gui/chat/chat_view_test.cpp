// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_view.h"
