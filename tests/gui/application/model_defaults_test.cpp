// SPDX-License-Identifier: Apache-2.0
#include <QDoubleSpinBox>

#include "gui/application/window_fixture.h"
#include "gui/support/catch_qt.h"

using namespace hokku;
using namespace hokku::testing;

TEST_CASE("MainWindow: the standard preset has the values that a model comes with, and others not",
          "[gui][quick]") {
    WindowFixture f;
    const auto temperature = [&] { return f.find<QDoubleSpinBox>("temperature")->value(); };
    CHECK(temperature() == Approx(0.8));
    f.control->sampling_defaults.temperature = 0.6f;
    f.load(f.modelFile("own.gguf"));
    CHECK(temperature() == Approx(0.6));
    // Of a model without any, the engine's hold again.
    f.control->sampling_defaults = {};
    f.load(f.modelFile("second.gguf"));
    CHECK(temperature() == Approx(0.8));
    // What a person has chosen goes before what the file says.
    f.find<QDoubleSpinBox>("temperature")->setValue(0.3);
    f.control->sampling_defaults.temperature = 0.6f;
    f.load(f.modelFile("own.gguf"));
    CHECK(temperature() == Approx(0.3));
}
