// SPDX-License-Identifier: Apache-2.0
#include "settings/sampling_fields.h"

#include <QCoreApplication>
#include <QStringList>

namespace hokku::desktop {
namespace {

/// The value that an absent repeat penalty stands for where tokens are drawn.
constexpr double kRepeatPenalty = 1.1;
constexpr double kMostTokens = 1'000'000;
/// Seeds above are for programs, not for people.
constexpr double kMostSeed = 4'294'967'294;

/// Only for the words below; lupdate finds them by the name.
struct Fields {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::SamplingFields)
};

using Options = SamplingOptions;

template <auto Member>
double read(const Options& options) {
    return static_cast<double>(options.*Member);
}

template <auto Member>
void write(Options& options, double value) {
    using Value = std::remove_reference_t<decltype(options.*Member)>;
    options.*Member = static_cast<Value>(value);
}

double readRepeatPenalty(const Options& options) {
    return options.repeat_penalty ? static_cast<double>(*options.repeat_penalty) : kRepeatPenalty;
}
void writeRepeatPenalty(Options& options, double value) {
    options.repeat_penalty = static_cast<float>(value);
}
double readSeed(const Options& options) {
    return options.seed ? static_cast<double>(*options.seed) : -1;
}
void writeSeed(Options& options, double value) {
    options.seed.reset();
    if (value >= 0) options.seed = static_cast<uint64_t>(value);
}

/// Which words are considered at all.
QVector<SamplingField> choiceFields() {
    constexpr auto kGroup = SamplingGroup::choice;
    return {
        {"top_k", kGroup, Fields::tr("Top-k"),
         Fields::tr("Only this many of the most likely words are considered."), Fields::tr("off"),
         0, 1000, 1, 0, read<&Options::top_k>, write<&Options::top_k>},
        {"top_p",
         kGroup,
         Fields::tr("Top-p"),
         Fields::tr("The most likely words that together have this share of the odds are "
                    "considered. 1: all."),
         {},
         0,
         1,
         0.01,
         2,
         read<&Options::top_p>,
         write<&Options::top_p>},
        {"min_p", kGroup, Fields::tr("Min-p"),
         Fields::tr("Words less likely than this share of the best one are left out."),
         Fields::tr("off"), 0, 1, 0.01, 2, read<&Options::min_p>, write<&Options::min_p>},
        {"typical_p",
         kGroup,
         Fields::tr("Typical"),
         Fields::tr("Keeps the words that are about as surprising as one expects here, up to this "
                    "share of the odds: neither the obvious nor the odd ones. 1: all."),
         {},
         0,
         1,
         0.01,
         2,
         read<&Options::typical_p>,
         write<&Options::typical_p>},
        {"top_n_sigma", kGroup, Fields::tr("Top-n-sigma"),
         Fields::tr("Keeps words whose raw score is within this many standard deviations of the "
                    "best one. Unlike the others it does not depend on the temperature."),
         Fields::tr("off"), 0, 20, 0.1, 1, read<&Options::top_n_sigma>,
         write<&Options::top_n_sigma>},
    };
}

/// What keeps the text from going in circles.
QVector<SamplingField> repetitionFields() {
    constexpr auto kGroup = SamplingGroup::repetition;
    return {
        {"repeat_penalty",
         kGroup,
         Fields::tr("Repeat penalty"),
         Fields::tr("Makes words that were just used less likely. 1: off; 1.1 keeps small models "
                    "from going in circles."),
         {},
         0.5,
         2,
         0.01,
         2,
         readRepeatPenalty,
         writeRepeatPenalty},
        {"penalty_last_n", kGroup, Fields::tr("Repeat window"),
         Fields::tr("How many words back a repetition counts for this and the next two. 0: off."),
         Fields::tr("the whole text"), -1, kMostTokens, 1, 0, read<&Options::penalty_last_n>,
         write<&Options::penalty_last_n>},
        {"frequency_penalty",
         kGroup,
         Fields::tr("Frequency penalty"),
         Fields::tr("Makes a word less likely each time it was used. 0: off."),
         {},
         -2,
         2,
         0.05,
         2,
         read<&Options::frequency_penalty>,
         write<&Options::frequency_penalty>},
        {"presence_penalty",
         kGroup,
         Fields::tr("Presence penalty"),
         Fields::tr("Makes a word less likely once it was used at all. 0: off."),
         {},
         -2,
         2,
         0.05,
         2,
         read<&Options::presence_penalty>,
         write<&Options::presence_penalty>},
        {"dry_multiplier", kGroup, Fields::tr("DRY strength"),
         Fields::tr("“Don’t repeat yourself”: keeps the model from writing the same run of words "
                    "again. 0.8 is usual."),
         Fields::tr("off"), 0, 10, 0.1, 2, read<&Options::dry_multiplier>,
         write<&Options::dry_multiplier>},
        {"dry_base",
         kGroup,
         Fields::tr("DRY growth"),
         Fields::tr("How much harder it gets with each further word of the run."),
         {},
         1,
         4,
         0.05,
         2,
         read<&Options::dry_base>,
         write<&Options::dry_base>},
        {"dry_allowed_length",
         kGroup,
         Fields::tr("DRY free length"),
         Fields::tr("Runs up to this many words may come again."),
         {},
         0,
         100,
         1,
         0,
         read<&Options::dry_allowed_length>,
         write<&Options::dry_allowed_length>},
        {"dry_last_n", kGroup, Fields::tr("DRY window"),
         Fields::tr("How many words back runs are looked for. 0: off."),
         Fields::tr("the whole text"), -1, kMostTokens, 1, 0, read<&Options::dry_last_n>,
         write<&Options::dry_last_n>},
    };
}

QVector<SamplingField> varietyFields() {
    constexpr auto kGroup = SamplingGroup::variety;
    return {
        {"dynatemp_range", kGroup, Fields::tr("Temperature range"),
         Fields::tr("The temperature goes up and down by this much: lower where the model is sure, "
                    "higher where many words would do."),
         Fields::tr("off"), 0, 2, 0.05, 2, read<&Options::dynatemp_range>,
         write<&Options::dynatemp_range>},
        {"dynatemp_exponent",
         kGroup,
         Fields::tr("Range exponent"),
         Fields::tr("How the temperature follows how unsure the model is. 1: evenly."),
         {},
         0,
         5,
         0.1,
         2,
         read<&Options::dynatemp_exponent>,
         write<&Options::dynatemp_exponent>},
        {"xtc_probability", kGroup, Fields::tr("XTC probability"),
         Fields::tr("“Exclude top choices”: how often the most likely words are left out where "
                    "others would do as well. Less expected, still sensible."),
         Fields::tr("off"), 0, 1, 0.05, 2, read<&Options::xtc_probability>,
         write<&Options::xtc_probability>},
        {"xtc_threshold",
         kGroup,
         Fields::tr("XTC threshold"),
         Fields::tr("The odds from which a word counts as a top choice. Above 0.5: none does."),
         {},
         0,
         1,
         0.01,
         2,
         read<&Options::xtc_threshold>,
         write<&Options::xtc_threshold>},
    };
}

QVector<SamplingField> mirostatFields() {
    constexpr auto kGroup = SamplingGroup::mirostat;
    return {
        {"mirostat", kGroup, Fields::tr("Version"),
         Fields::tr("Mirostat keeps the text evenly surprising, in place of the values of “Words "
                    "to choose from” and XTC. 1 or 2; 2 is the simpler one."),
         Fields::tr("off"), 0, 2, 1, 0, read<&Options::mirostat>, write<&Options::mirostat>},
        {"mirostat_tau",
         kGroup,
         Fields::tr("Surprise"),
         Fields::tr("How surprising, in bits a word. Low: focused; high: varied."),
         {},
         0,
         20,
         0.1,
         1,
         read<&Options::mirostat_tau>,
         write<&Options::mirostat_tau>},
        {"mirostat_eta",
         kGroup,
         Fields::tr("Learning rate"),
         Fields::tr("How fast it corrects itself."),
         {},
         0,
         1,
         0.01,
         2,
         read<&Options::mirostat_eta>,
         write<&Options::mirostat_eta>},
    };
}

}  // namespace

QVector<SamplingField> samplingFields() {
    QVector<SamplingField> fields{
        {"temperature",
         SamplingGroup::basic,
         Fields::tr("Temperature"),
         Fields::tr("How daring the words are. 0 always takes the most likely one; 1 keeps the "
                    "model's own odds; higher is wilder."),
         {},
         0,
         2,
         0.05,
         2,
         read<&Options::temperature>,
         write<&Options::temperature>}};
    fields += choiceFields();
    fields += repetitionFields();
    fields += varietyFields();
    fields += mirostatFields();
    fields.append({"seed", SamplingGroup::draw, Fields::tr("Seed"),
                   Fields::tr("The same seed, message and model give the same reply again."),
                   Fields::tr("at random"), -1, kMostSeed, 1, 0, readSeed, writeSeed});
    return fields;
}

QString samplingGroupName(SamplingGroup group) {
    switch (group) {
        case SamplingGroup::choice:
            return Fields::tr("Words to choose from");
        case SamplingGroup::repetition:
            return Fields::tr("Repetition");
        case SamplingGroup::variety:
            return Fields::tr("Variety");
        case SamplingGroup::mirostat:
            return Fields::tr("Mirostat");
        case SamplingGroup::draw:
            return Fields::tr("Order and chance");
        case SamplingGroup::basic:
            break;
    }
    return {};
}

// ---- steps
// -------------------------------------------------------------------------------------

QString stepKey(SamplerStep step) {
    switch (step) {
        case SamplerStep::penalties:
            return QStringLiteral("penalties");
        case SamplerStep::dry:
            return QStringLiteral("dry");
        case SamplerStep::top_n_sigma:
            return QStringLiteral("top_n_sigma");
        case SamplerStep::top_k:
            return QStringLiteral("top_k");
        case SamplerStep::typical:
            return QStringLiteral("typical");
        case SamplerStep::top_p:
            return QStringLiteral("top_p");
        case SamplerStep::min_p:
            return QStringLiteral("min_p");
        case SamplerStep::xtc:
            return QStringLiteral("xtc");
        case SamplerStep::temperature:
            break;
    }
    return QStringLiteral("temperature");
}

std::optional<SamplerStep> findStep(const QString& key) {
    for (const SamplerStep step : SamplingOptions().order)
        if (stepKey(step) == key) return step;
    return std::nullopt;
}

QString stepName(SamplerStep step) {
    switch (step) {
        case SamplerStep::penalties:
            return Fields::tr("Penalties of repetition");
        case SamplerStep::dry:
            return Fields::tr("DRY");
        case SamplerStep::top_n_sigma:
            return Fields::tr("Top-n-sigma");
        case SamplerStep::top_k:
            return Fields::tr("Top-k");
        case SamplerStep::typical:
            return Fields::tr("Typical");
        case SamplerStep::top_p:
            return Fields::tr("Top-p");
        case SamplerStep::min_p:
            return Fields::tr("Min-p");
        case SamplerStep::xtc:
            return Fields::tr("XTC");
        case SamplerStep::temperature:
            break;
    }
    return Fields::tr("Temperature");
}

// ---- breakers
// ----------------------------------------------------------------------------------

namespace {

struct Escape {
    char16_t mark, character;
};
constexpr Escape kEscapes[] = {{u'n', u'\n'}, {u't', u'\t'}, {u's', u' '}, {u'\\', u'\\'}};

}  // namespace

QString breakersToText(const std::vector<std::string>& breakers) {
    QStringList words;
    for (const std::string& breaker : breakers) {
        QString word;
        for (const QChar c : QString::fromStdString(breaker)) {
            const Escape* found = nullptr;
            for (const Escape& escape : kEscapes)
                if (c == QChar(escape.character)) found = &escape;
            word += found == nullptr ? QString(c) : QString(QLatin1Char('\\')) + QChar(found->mark);
        }
        words.append(word);
    }
    return words.join(QLatin1Char(' '));
}

std::vector<std::string> breakersFromText(const QString& text) {
    std::vector<std::string> breakers;
    for (const QString& word : text.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        QString breaker;
        for (qsizetype i = 0; i < word.size(); ++i) {
            QChar c = word[i];
            if (c == QLatin1Char('\\') && i + 1 < word.size()) {
                const QChar mark = word[++i];
                c = mark;
                for (const Escape& escape : kEscapes)
                    if (mark == QChar(escape.mark)) c = QChar(escape.character);
            }
            breaker += c;
        }
        breakers.push_back(breaker.toStdString());
    }
    return breakers;
}

// ---- bias
// --------------------------------------------------------------------------------------

QString biasToText(const std::vector<std::pair<int32_t, float>>& bias) {
    QStringList pairs;
    for (const auto& [token, value] : bias)
        pairs.append(
            QStringLiteral("%1=%2").arg(token).arg(QString::number(static_cast<double>(value))));
    return pairs.join(QLatin1Char(' '));
}

std::vector<std::pair<int32_t, float>> biasFromText(const QString& text) {
    std::vector<std::pair<int32_t, float>> bias;
    for (const QString& pair : text.simplified().split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        bool isToken = false, isValue = false;
        const int token = pair.section(QLatin1Char('='), 0, 0).toInt(&isToken);
        const double value = pair.section(QLatin1Char('='), 1).toDouble(&isValue);
        if (isToken && isValue && token >= 0 && value == value)
            bias.emplace_back(token, static_cast<float>(qBound(-kMostBias, value, kMostBias)));
    }
    return bias;
}

}  // namespace hokku::desktop
