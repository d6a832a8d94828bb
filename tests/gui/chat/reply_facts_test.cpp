// SPDX-License-Identifier: Apache-2.0
#include "chat/reply_facts.h"

#include <QLocale>

#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "settings/language.h"

using namespace hokku;
using namespace hokku::desktop;

TEST_CASE("ReplyFacts: tokens, speed, time to the first and why it ended, in both languages",
          "[gui][quick]") {
    testing::application();
    Language language;
    GenerationStats stats{};
    stats.generated_tokens = 1234;
    stats.prompt_tokens = 77;
    stats.decode_tok_s = 56.78;
    stats.ttft_ms = 432;
    ReplyFacts facts;
    CHECK(facts.details().isEmpty());
    facts.setEnd(stats, StopReason::max_tokens);
    facts.model = QStringLiteral("starter");
    CHECK(facts.isCut());
    language.apply(QStringLiteral("en"));
    CHECK(facts.details() == QStringLiteral("1,234 tokens · 56.8 tok/s · first token after 0.43 s "
                                            "· cut at the longest length · starter"));
    language.apply(QStringLiteral("de"));
    const QString german = facts.details();
    CHECK(german.contains(QStringLiteral("1.234")));
    CHECK(german.contains(QStringLiteral("56,8")));
    CHECK(german.contains(QStringLiteral("0,43 s")));
    CHECK_FALSE(german.contains(QStringLiteral("cut")));
    language.apply(QStringLiteral("en"));
    for (const StopReason reason :
         {StopReason::end_of_generation, StopReason::stop_string, StopReason::max_tokens,
          StopReason::context_full, StopReason::cancelled}) {
        facts.setEnd(stats, reason);
        // In words, not by the engine's name.
        const QString name = QString::fromLatin1(stop_reason_name(reason).data());
        CHECK_FALSE(facts.details().contains(QStringLiteral("· %1 ·").arg(name)));
        CHECK(ReplyFacts::fromJson(facts.toJson()).details() == facts.details());
    }
    CHECK(ReplyFacts::fromJson(QStringLiteral("{broken")).details().isEmpty());
}
