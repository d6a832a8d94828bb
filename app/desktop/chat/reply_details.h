// SPDX-License-Identifier: Apache-2.0
// What is known of a reply: stored as JSON with it, shown as a line on demand.
#pragma once

#include <QString>

#include "hokku/engine.h"

namespace hokku::desktop {

QString replyStatsJson(const GenerationStats& stats, StopReason reason);
/// "212 tokens · 98.0 tok/s · first token after 0.1 s · ended by itself"; empty for empty JSON.
QString replyDetails(const QString& statsJson);
/// Whether the reply ended at the longest length or because the context was full.
bool wasCut(const QString& statsJson);

}  // namespace hokku::desktop
