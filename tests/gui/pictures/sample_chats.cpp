// SPDX-License-Identifier: Apache-2.0
#include "gui/pictures/sample_chats.h"

namespace hokku::testing {
namespace {

using namespace desktop;

struct Sample {
    const char *role, *text;
    const char* stats = "";
    const char* thought = "";
};

const char* const kStats =
    R"({"tokens":148,"tok_s":112.4,"ttft_ms":84,"reason":"end","prompt_tokens":61})";

const char* const kThinkingStats =
    R"({"tokens":231,"tok_s":98.0,"ttft_ms":91,"reason":"end","thought_ms":4200})";

const Sample kAutumn[] = {
    {"user", "Write a haiku about autumn rain."},
    {"assistant", R"(Autumn rain at dusk,
the gutter learns a new song
from each falling leaf.)",
     kStats},
    {"user", "Lovely. How does Bashō’s frog poem read, word by word?"},
    {"assistant", R"(Three breaths, with a pause after the first:

| Japanese | Reading | Meaning |
|---|---|---|
| 古池や | *furuike ya* | the old pond! |
| 蛙飛びこむ | *kawazu tobikomu* | a frog jumps in |
| 水の音 | *mizu no oto* | the sound of water |

The **ya** is a *cutting word*: it holds the pond still before anything moves.)",
     kStats},
};

const Sample kSounds[] = {
    {"user", "Count the sounds of a haiku in Python."},
    {"assistant", R"(Each kana is one sound, except the small ones that join the sound before them:

```python
SMALL = set("ゃゅょぁぃぅぇぉ")

def count_sounds(line: str) -> int:
    """Length of a line in morae: 5, 7 and 5 in a haiku."""
    return sum(1 for kana in line if kana not in SMALL)

lines = ["ふるいけや", "かわずとびこむ", "みずのおと"]
print([count_sounds(line) for line in lines])  # [5, 7, 5]
```

Lines in kanji must be turned into kana first; a dictionary such as `fugashi` knows how they are read.)",
     kThinkingStats,
     "A mora counter: small kana join the one before, but the small tsu is a sound of its own."},
};

const Sample kSnow[] = {
    {"user", "A haiku about the first snow, please."},
    {"assistant", "First snow on the roof;\neven the old dog stands still\nand listens to it."},
};
const Sample kLetter[] = {
    {"user", "Help me write a letter to my grandmother about the rain in the garden."},
    {"assistant", "Dear Grandmother, it has been raining since Tuesday, and the beans are glad."},
};
const Sample kTea[] = {
    {"user", "A toast for a tea ceremony"},
    {"assistant", "May the water sing before it boils, and the guests before they leave."},
};
const Sample kCrow[] = {
    {"user", "Explain the crow on the bare branch"},
    {"assistant", "It is late autumn, it is evening, and one crow settles: rain will follow."},
};
const Sample kRenga[] = {
    {"user", "How do renga verses link?"},
    {"assistant", "Each verse answers the one before and turns away from the one before that."},
};

template <size_t N>
ChatId add(ChatStore& store, const Sample (&turns)[N], const QString& folder, bool isPinned) {
    ChatRecord chat;
    chat.firstLine = QString::fromUtf8(turns[0].text);
    chat.folder = folder;
    chat.isPinned = isPinned;
    const Result<ChatId> id = store.createChat(chat);
    if (!id.ok()) return 0;
    MessageId last = 0;
    for (const Sample& turn : turns) {
        MessageRecord message;
        message.chat = *id;
        message.parent = last;
        message.role = QString::fromUtf8(turn.role);
        message.content = QString::fromUtf8(turn.text);
        message.thought = QString::fromUtf8(turn.thought);
        message.created = QDateTime::currentDateTimeUtc();
        const Result<MessageId> added = store.addMessage(message);
        if (!added.ok()) return 0;
        last = message.id = *added;
        message.statsJson = QString::fromUtf8(turn.stats);
        if (!message.statsJson.isEmpty() && !store.finishMessage(message).ok()) return 0;
    }
    return *id;
}

const Sample kLong[] = {
    {"user", "Which verses open the hundred linked verses of Minase?"},
    {"assistant", "Sōgi begins with snow on the hills and haze at their feet."},
    {"user", "And what follows?"},
    {"assistant",
     R"(Shōhaku answers with a river wind through willows: spring has come to the water, too.

1. snow and haze,
2. the river and plum scent,
3. a boat pole at daybreak.)",
     R"({"tokens":212,"tok_s":98.0,"ttft_ms":412,"reason":"end","model":"Qwen3-4B.Q4_K_M",
         "thought_ms":7300,"dropped":[1,2],"context":4096,
         "summary":"The person asks how the linked verses of Minase begin; Sōgi's opening was named."})",
     "The person asks for the second verse. I should name its poet and say how it links and turns "
     "away."},
};

const Sample kRightToLeft[] = {
    {"user", "שלום, כתוב הייקו על גשם בסתיו"},
    {"assistant", R"(גשם של סתיו,
עלה נופל אל תוך שלולית –
שקט בגינה.

هذه فقرة بالعربية تبدأ من اليمين.

This paragraph is English and starts at the left.

- פריט ראשון ברשימה
- פריט שני, עם `code` בפנים

| מילה | משמעות |
|---|---|
| גשם | rain |
| עלה | leaf |

> ציטוט קצר

```python
def rain(n):  # תגובה
    return ["טיפה"] * n
```
)"},
    {"user",
     "And in English? A message that is long enough to be broken into two lines, "
     "so that its block is seen."},
    {"assistant", "Autumn rain; a leaf falls into a puddle."},
};

}  // namespace

SampleChats addSampleChats(ChatStore& store) {
    const QString poems = QStringLiteral("Poems");
    add(store, kRenga, {}, false);
    add(store, kLetter, {}, false);
    add(store, kCrow, poems, false);
    add(store, kTea, {}, true);
    add(store, kSnow, poems, false);
    const ChatId sounds = add(store, kSounds, {}, false);
    return {.poem = add(store, kAutumn, {}, false), .code = sounds};
}

ChatId addLongChat(ChatStore& store) {
    return add(store, kLong, {}, false);
}

ChatId addRightToLeftChat(ChatStore& store) {
    return add(store, kRightToLeft, {}, false);
}

}  // namespace hokku::testing
