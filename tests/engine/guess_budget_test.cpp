// SPDX-License-Identifier: Apache-2.0
// How many tokens are guessed ahead, by what is known of guesses and steps.
#include "engine/guess_budget.h"

#include "support/catch.h"

using namespace hokku;

TEST_CASE("GuessBudget: as many guesses as pay", "[engine][quick]") {
    GuessBudget budget;
    StepTimes times;
    const auto worth = [&](size_t match_length, size_t most) {
        return budget.offer(match_length, most, times).num_tokens;
    };
    SECTION("some before anything is known") {
        CHECK(worth(2, 7) > 0);
        CHECK(worth(2, 7) < 7);
        CHECK(worth(2, 0) == 0);
    }
    SECTION("none until a single row was timed") {
        times.note(3, 0.02);
        CHECK(worth(2, 7) == 0);
        times.note(1, 0.02);
        CHECK(worth(2, 7) > 0);
    }
    SECTION("none beyond what was measured to be dear") {
        times.note(1, 1.0);
        times.note(3, 2.9);
        for (int i = 0; i < 200; ++i) budget.note_guess(5, true);
        CHECK(worth(5, 7) == 1);
    }
    SECTION("all where they are right and cost little") {
        for (size_t rows = 1; rows <= 8; ++rows) times.note(rows, 1.0 + 0.05 * double(rows));
        for (int i = 0; i < 200; ++i) budget.note_guess(5, true);
        CHECK(worth(5, 7) == 7);
        CHECK(worth(8, 7) == 7);  // the same kind
        CHECK(worth(5, 3) == 3);
        CHECK(worth(2, 7) < 7);  // another kind, of which nothing is known
        CHECK(budget.offer(5, 7, times).gain == Approx(8 * 1.05 / 1.4).epsilon(0.02));
    }
    SECTION("none where they are wrong") {
        times.note(1, 1.0);
        for (int i = 0; i < 200; ++i) budget.note_guess(3, false);
        CHECK(worth(3, 7) == 0);
        CHECK(budget.offer(3, 7, times).gain == 1);
        for (int i = 0; i < 200; ++i) budget.note_guess(3, true);  // they are watched still
        CHECK(worth(3, 7) == 7);
    }
    SECTION("none where a row costs as much as a step") {
        for (size_t rows = 1; rows <= 8; ++rows) times.note(rows, double(rows));
        for (int i = 0; i < 200; ++i) budget.note_guess(3, true);
        CHECK(worth(3, 7) == 0);
    }
}

TEST_CASE("DraftBudget: as many guesses as pay for the draft's steps too", "[engine][quick]") {
    StepTimes times;
    for (size_t rows = 1; rows <= 8; ++rows) times.note(rows, 1.0 + 0.1 * double(rows - 1));
    const auto learn = [](DraftBudget& budget, bool was_right) {
        for (int i = 0; i < 200; ++i) budget.note_guess(5.0f, was_right);
    };
    SECTION("by what the draft's steps cost") {
        DraftBudget cheap(0.05), dear(0.9);
        learn(cheap, true);
        learn(dear, true);
        CHECK(cheap.offer(7, times).num_tokens == 7);
        CHECK(cheap.offer(3, times).num_tokens == 3);
        // 8 tokens in 1.7 + 7 * 0.05.
        CHECK(cheap.offer(7, times).gain == Approx(8 / 2.05).epsilon(0.01));
        CHECK(dear.offer(7, times).num_tokens == 0);  // 8 tokens in 8
    }
    SECTION("measured ones count more than what was thought") {
        DraftBudget budget(0.05);
        learn(budget, true);
        budget.note_draft_step(2.0);
        for (int i = 0; i < 3000; ++i) CHECK(budget.offer(7, times).num_tokens == 0);
    }
    SECTION("a draft as slow as the model is never tried") {
        DraftBudget budget(1.0);
        for (int i = 0; i < 3000; ++i) CHECK(budget.offer(7, times).num_tokens == 0);
    }
    SECTION("one that is wrong is tried again, ever more rarely, and comes back when it is right") {
        DraftBudget budget(0.1);
        learn(budget, false);
        size_t num_early = 0, num_late = 0;
        for (int i = 0; i < 1000; ++i) num_early += budget.offer(7, times).num_tokens;
        for (int i = 0; i < 4000; ++i) num_late += budget.offer(7, times).num_tokens;
        CHECK(num_early > 0);
        CHECK(num_early <= 5 * 8);
        CHECK(num_late <= 5 * 8);
        learn(budget, true);
        CHECK(budget.offer(7, times).num_tokens == 7);
    }
}

TEST_CASE("DraftBudget: guesses that the draft doubts are not worth a row", "[engine][quick]") {
    StepTimes times;
    for (size_t rows = 1; rows <= 8; ++rows) times.note(rows, 1.0 + 0.3 * double(rows - 1));
    DraftBudget budget(0.1);
    for (int i = 0; i < 200; ++i) {
        budget.note_guess(0.1f, i % 4 == 0);
        budget.note_guess(9.0f, true);
    }
    double reached = 1;
    CHECK(budget.is_worth_row(0, 9.0f, 1.2, times, reached));
    CHECK(reached > 0.95);
    CHECK(budget.is_worth_row(1, 9.0f, 1.2, times, reached));
    CHECK_FALSE(budget.is_worth_row(2, 0.1f, 1.2, times, reached));
    CHECK(reached < 0.5);
}
