// SPDX-License-Identifier: Apache-2.0
#include "settings/sampling_fields.h"

#include <QCoreApplication>

namespace hokku::desktop {
namespace {

/// The value that an absent repeat penalty stands for where tokens are drawn.
constexpr double kRepeatPenalty = 1.1;

/// Only for the words below; lupdate finds them by the name.
struct Fields {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::SamplingFields)
};

template <auto Member>
double read(const SamplingOptions& options) {
    return static_cast<double>(options.*Member);
}

template <auto Member>
void write(SamplingOptions& options, double value) {
    using Value = std::remove_reference_t<decltype(options.*Member)>;
    options.*Member = static_cast<Value>(value);
}

}  // namespace

QVector<SamplingField> samplingFields() {
    using Options = SamplingOptions;
    return {
        {"temperature", Fields::tr("Temperature"),
         Fields::tr("How daring the words are. 0 always takes the most likely one; 1 keeps the "
                    "model's own odds; higher is wilder."),
         0, 2, 0.05, 2, read<&Options::temperature>, write<&Options::temperature>},
        {"top_k", Fields::tr("Top-k"),
         Fields::tr("Only this many of the most likely words are considered. 0: no limit."), 0,
         1000, 1, 0, read<&Options::top_k>, write<&Options::top_k>},
        {"top_p", Fields::tr("Top-p"),
         Fields::tr("The most likely words that together have this share of the odds are "
                    "considered. 1: all."),
         0, 1, 0.01, 2, read<&Options::top_p>, write<&Options::top_p>},
        {"min_p", Fields::tr("Min-p"),
         Fields::tr("Words less likely than this share of the best one are left out. 0: none is."),
         0, 1, 0.01, 2, read<&Options::min_p>, write<&Options::min_p>},
        {"repeat_penalty", Fields::tr("Repeat penalty"),
         Fields::tr("Makes words that were just used less likely. 1: off; 1.1 keeps small models "
                    "from going in circles."),
         0.5, 2, 0.01, 2,
         [](const Options& options) {
             return options.repeat_penalty ? static_cast<double>(*options.repeat_penalty)
                                           : kRepeatPenalty;
         },
         [](Options& options, double value) {
             options.repeat_penalty = static_cast<float>(value);
         }},
        {"penalty_last_n", Fields::tr("Repeat window"),
         Fields::tr("How many words back a repetition counts. 0: off; -1: the whole text."), -1,
         100'000, 1, 0, read<&Options::penalty_last_n>, write<&Options::penalty_last_n>},
        {"frequency_penalty", Fields::tr("Frequency penalty"),
         Fields::tr("Makes a word less likely each time it was used. 0: off."), -2, 2, 0.05, 2,
         read<&Options::frequency_penalty>, write<&Options::frequency_penalty>},
        {"presence_penalty", Fields::tr("Presence penalty"),
         Fields::tr("Makes a word less likely once it was used at all. 0: off."), -2, 2, 0.05, 2,
         read<&Options::presence_penalty>, write<&Options::presence_penalty>},
    };
}

}  // namespace hokku::desktop
