// SPDX-License-Identifier: Apache-2.0
#include "engine/stop_matcher.h"

#include <random>

#include "support/catch.h"

using hokku::ErrorCode;
using hokku::StopMatcher;

namespace {

struct Streamed {
    std::string text;
    bool is_stopped = false;
};

/// Pushes the text in pieces of the given sizes, repeated.
Streamed stream(const std::string& text, const std::vector<std::string>& stops,
                const std::vector<size_t>& sizes) {
    StopMatcher matcher = StopMatcher::create(stops).value();
    Streamed out;
    size_t at = 0;
    for (size_t i = 0; at < text.size() && !matcher.is_stopped(); ++i) {
        const size_t size = std::min(sizes[i % sizes.size()], text.size() - at);
        out.text += matcher.push(std::string_view(text).substr(at, size));
        at += size;
    }
    out.text += matcher.finish();
    out.is_stopped = matcher.is_stopped();
    return out;
}

}  // namespace

TEST_CASE("StopMatcher: the text ends before a stop string over any split", "[engine][quick]") {
    const std::string text = "A B C D E F G H I J K L M N O P Q R S";
    for (size_t size = 1; size <= text.size(); ++size) {
        CAPTURE(size);
        const Streamed out = stream(text, {"O P Q"}, {size});
        CHECK(out.text == "A B C D E F G H I J K L M N ");
        CHECK(out.is_stopped);
    }
}

TEST_CASE("StopMatcher: what only looks like a stop string comes out in the end",
          "[engine][quick]") {
    for (size_t size = 1; size <= 6; ++size) {
        CAPTURE(size);
        CHECK(stream("\nUser and \nUse", {"\nUser:"}, {size}).text == "\nUser and \nUse");
        CHECK(stream("aaab", {"aab"}, {size}).text == "a");
        CHECK(stream("Alice said\n", {"\n", "Alice:"}, {size}).text == "Alice said");
        CHECK(stream("nothing", {}, {size}).text == "nothing");
    }
}

TEST_CASE("StopMatcher: nothing of a stop string leaks while it is incomplete", "[engine][quick]") {
    StopMatcher matcher = StopMatcher::create({"\nUser:"}).value();
    CHECK(matcher.push("Hello") == "Hello");
    CHECK(matcher.push("\n").empty());
    CHECK(matcher.push("User").empty());
    SECTION("it completes") {
        CHECK(matcher.push(": more").empty());
        CHECK(matcher.is_stopped());
        CHECK(matcher.finish().empty());
    }
    SECTION("it does not") {
        CHECK(matcher.push("s") == "\nUsers");
        CHECK_FALSE(matcher.is_stopped());
    }
    SECTION("the text ends first") {
        CHECK(matcher.finish() == "\nUser");
        CHECK(matcher.finish().empty());
    }
}

TEST_CASE("StopMatcher: of several the one complete first counts, at any split",
          "[engine][quick]") {
    for (size_t size = 1; size <= 6; ++size) {
        CAPTURE(size);
        CHECK(stream("xabcd", {"abcd", "bc"}, {size}).text == "xa");
        CHECK(stream("xabcd", {"cd", "bcd"}, {size}).text == "xa");
    }
}

TEST_CASE("StopMatcher: random texts come out the same in any pieces", "[engine][quick]") {
    std::mt19937 random(3);
    const auto draw_text = [&](size_t most) {
        std::string text(1 + random() % most, 'a');
        for (char& c : text) c = static_cast<char>('a' + random() % 2);
        return text;
    };
    int num_stopped = 0;
    for (int i = 0; i < 3000; ++i) {
        const std::string text = draw_text(24);
        const std::vector<std::string> stops{draw_text(5), draw_text(7)};
        const Streamed whole = stream(text, stops, {1});
        CAPTURE(text, stops);
        num_stopped += whole.is_stopped;
        const Streamed pieces = stream(text, stops, {1 + random() % 4, 1 + random() % 9});
        REQUIRE(pieces.text == whole.text);
        REQUIRE(pieces.is_stopped == whole.is_stopped);
        // Its own definition: the shortest start of the text that ends with a stop string.
        bool is_stopped = false;
        for (size_t end = 0; end <= text.size() && !is_stopped; ++end) {
            size_t cut = std::string::npos;
            for (const std::string& stop : stops) {
                if (end >= stop.size() && text.compare(end - stop.size(), stop.size(), stop) == 0)
                    cut = std::min(cut, end - stop.size());
            }
            if (cut == std::string::npos) continue;
            is_stopped = true;
            REQUIRE(whole.text == text.substr(0, cut));
        }
        REQUIRE(whole.is_stopped == is_stopped);
        if (!is_stopped) REQUIRE(whole.text == text);
    }
    CHECK(num_stopped > 500);
}

TEST_CASE("StopMatcher: an empty or broken stop string is refused", "[engine][quick]") {
    CHECK(StopMatcher::create({"x", ""}).error().code == ErrorCode::bad_argument);
    CHECK(StopMatcher::create({"\xC3"}).error().code == ErrorCode::bad_argument);
}
