// SPDX-License-Identifier: Apache-2.0
#include "text/template/strftime.h"

#include <array>

#include "base/local_time.h"

namespace hokku::jinja {

namespace {

constexpr std::array<std::string_view, 7> kDays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths{"January",   "February", "March",    "April",
                                                   "May",       "June",     "July",     "August",
                                                   "September", "October",  "November", "December"};

bool is_leap(int year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int days_of_month(int year, int month) {
    constexpr std::array<int, 12> kDaysOf{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return kDaysOf[static_cast<size_t>(month)] + (month == 1 && is_leap(year) ? 1 : 0);
}

// Fills in the day of the week and of the year.
void complete(std::tm& time) {
    const int year = time.tm_year + 1900;
    time.tm_yday = time.tm_mday - 1;
    for (int month = 0; month < time.tm_mon; ++month) time.tm_yday += days_of_month(year, month);
    const int past = year - 1;
    time.tm_wday = (past * 365 + past / 4 - past / 100 + past / 400 + time.tm_yday + 1) % 7;
}

// ISO 8601: the week of a year's first Thursday is its week 1.
std::pair<int, int> iso_week(const std::tm& time) {
    const int year = time.tm_year + 1900;
    const int weekday = (time.tm_wday + 6) % 7;  // Monday is 0
    const int week = (time.tm_yday - weekday + 10) / 7;
    const auto weeks_of = [](int of_year) {
        const int past = of_year - 1;
        const int january_first = (past * 365 + past / 4 - past / 100 + past / 400) % 7;
        return january_first == 3 || (january_first == 2 && is_leap(of_year)) ? 53 : 52;
    };
    if (week < 1) return {year - 1, weeks_of(year - 1)};
    if (week > weeks_of(year)) return {year + 1, 1};
    return {year, week};
}

struct Number {
    int value = 0;
    size_t width = 2;
    char pad = '0';
};

// The conversions that print one number.
std::optional<Number> number_of(char kind, const std::tm& time) {
    const int year = time.tm_year + 1900;
    const int hour12 = time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12;
    const int after_monday = (time.tm_wday + 6) % 7;
    switch (kind) {
        case 'C':
            return Number{year / 100};
        case 'd':
            return Number{time.tm_mday};
        case 'e':
            return Number{time.tm_mday, 2, ' '};
        case 'g':
            return Number{iso_week(time).first % 100};
        case 'G':
            return Number{iso_week(time).first, 4};
        case 'H':
            return Number{time.tm_hour};
        case 'I':
            return Number{hour12};
        case 'j':
            return Number{time.tm_yday + 1, 3};
        case 'k':
            return Number{time.tm_hour, 2, ' '};
        case 'l':
            return Number{hour12, 2, ' '};
        case 'm':
            return Number{time.tm_mon + 1};
        case 'M':
            return Number{time.tm_min};
        case 'S':
            return Number{time.tm_sec};
        case 'u':
            return Number{time.tm_wday == 0 ? 7 : time.tm_wday, 1};
        case 'U':
            return Number{(time.tm_yday + 7 - time.tm_wday) / 7};
        case 'V':
            return Number{iso_week(time).second};
        case 'w':
            return Number{time.tm_wday, 1};
        case 'W':
            return Number{(time.tm_yday + 7 - after_monday) / 7};
        case 'y':
            return Number{year % 100};
        case 'Y':
            return Number{year, 1};
        default:
            return std::nullopt;
    }
}

// All others; what is none stays as it is.
std::string text_of(char kind, const std::tm& time) {
    const std::string_view day = kDays[static_cast<size_t>(time.tm_wday)];
    const std::string_view month = kMonths[static_cast<size_t>(time.tm_mon)];
    switch (kind) {
        case 'a':
            return std::string(day.substr(0, 3));
        case 'A':
            return std::string(day);
        case 'b':
        case 'h':
            return std::string(month.substr(0, 3));
        case 'B':
            return std::string(month);
        case 'f':
            return "000000";
        case 'n':
            return "\n";
        case 'p':
            return time.tm_hour < 12 ? "AM" : "PM";
        case 'P':
            return time.tm_hour < 12 ? "am" : "pm";
        case 't':
            return "\t";
        case 'c':
            return format_time("%a %b %e %H:%M:%S %Y", time);
        case 'D':
        case 'x':
            return format_time("%m/%d/%y", time);
        case 'F':
            return format_time("%Y-%m-%d", time);
        case 'r':
            return format_time("%I:%M:%S %p", time);
        case 'R':
            return format_time("%H:%M", time);
        case 'T':
        case 'X':
            return format_time("%H:%M:%S", time);
        case 'z':
        case 'Z':
            return "";  // a naive time has no zone
        case '%':
            return "%";
        default:
            return std::string("%") + kind;
    }
}

// One conversion; `flag` is '0', '_' or '-' as glibc's, 0 for none.
std::string convert(char kind, char flag, const std::tm& time) {
    const auto number = number_of(kind, time);
    if (!number) return text_of(kind, time);
    const char pad = flag == 0 ? number->pad : flag == '_' ? ' ' : '0';
    std::string digits = std::to_string(number->value);
    if (flag != '-' && digits.size() < number->width) {
        digits.insert(0, number->width - digits.size(), pad);
    }
    return digits;
}

}  // namespace

std::string format_time(std::string_view pattern, const std::tm& time) {
    std::string out;
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%' || i + 1 == pattern.size()) {
            out += pattern[i];
            continue;
        }
        char flag = 0;
        const char next = pattern[i + 1];
        if ((next == '-' || next == '_' || next == '0') && i + 2 < pattern.size()) {
            flag = next;
            ++i;
        }
        out += convert(pattern[++i], flag, time);
    }
    return out;
}

std::optional<std::tm> parse_time(std::string_view text) {
    std::array<int, 6> fields{0, 0, 0, 0, 0, 0};
    constexpr std::array<size_t, 6> kWidths{4, 2, 2, 2, 2, 2};
    constexpr std::string_view kSeparators = "--T::";
    size_t position = 0;
    for (size_t field = 0; field < fields.size(); ++field) {
        if (field == 3 && position == text.size()) break;
        if (field > 0) {
            const char wanted = kSeparators[field - 1];
            if (position >= text.size()) return std::nullopt;
            const char found = text[position++];
            if (found != wanted && !(wanted == 'T' && found == ' ')) return std::nullopt;
        }
        for (size_t digit = 0; digit < kWidths[field]; ++digit, ++position) {
            if (position >= text.size() || text[position] < '0' || text[position] > '9') {
                return std::nullopt;
            }
            fields[field] = fields[field] * 10 + (text[position] - '0');
        }
    }
    std::tm time{};
    time.tm_year = fields[0] - 1900;
    time.tm_mon = fields[1] - 1;
    time.tm_mday = fields[2];
    time.tm_hour = fields[3];
    time.tm_min = fields[4];
    time.tm_sec = fields[5];
    const bool is_valid = position == text.size() && fields[0] >= 1 && time.tm_mon >= 0 &&
                          time.tm_mon < 12 && time.tm_mday >= 1 &&
                          time.tm_mday <= days_of_month(fields[0], time.tm_mon) &&
                          time.tm_hour < 24 && time.tm_min < 60 && time.tm_sec < 60;
    if (!is_valid) return std::nullopt;
    complete(time);
    return time;
}

std::tm local_time() {
    const std::time_t now = std::time(nullptr);
    std::tm time{};
    to_local_time(now, time);
    return time;
}

}  // namespace hokku::jinja
