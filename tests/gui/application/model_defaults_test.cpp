// SPDX-License-Identifier: Apache-2.0
#include "settings/model_defaults.h"

#include <QDir>
#include <QDoubleSpinBox>
#include <QSpinBox>
#include <bit>

#include "gui/application/window_fixture.h"
#include "gui/support/catch_qt.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// A GGUF file of version 3 without tensors.
class SmallFile {
  public:
    void add(const char* key, float value) { add(key, 6, std::bit_cast<uint32_t>(value)); }
    void add(const char* key, int32_t value) { add(key, 5, static_cast<uint32_t>(value)); }
    void write(const QString& path) const {
        QFile file(path);
        REQUIRE(file.open(QIODevice::WriteOnly));
        QByteArray head("GGUF\x03\0\0\0", 8);
        append(head, 0, 8);
        append(head, m_count, 8);
        file.write(head + m_entries);
    }

  private:
    static void append(QByteArray& bytes, uint64_t value, int count) {
        for (int i = 0; i < count; ++i) bytes.append(static_cast<char>(value >> (8 * i)));
    }
    void add(const char* key, uint32_t type, uint32_t bits) {
        append(m_entries, qstrlen(key), 8);
        m_entries.append(key);
        append(m_entries, type, 4);
        append(m_entries, bits, 4);
        ++m_count;
    }
    QByteArray m_entries;
    uint64_t m_count = 0;
};

}  // namespace

TEST_CASE("ModelDefaults: are read from the file, as far as they make sense", "[gui][quick]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("m.gguf"));
    const std::filesystem::path file(path.toStdU16String());
    SmallFile small;
    small.add("general.sampling.temp", 0.6f);
    small.add("general.sampling.top_k", 20);
    small.add("general.sampling.top_p", 1.5f);
    small.add("general.sampling.penalty_repeat", std::numeric_limits<float>::quiet_NaN());
    small.write(path);
    const ModelDefaults defaults = readModelDefaults(file);
    CHECK(defaults.temperature == 0.6f);
    CHECK(defaults.topK == 20);
    CHECK_FALSE(defaults.topP);
    CHECK_FALSE(defaults.minP);
    CHECK_FALSE(defaults.repeatPenalty);
    SamplingOptions sampling;
    sampling.min_p = 0.123f;
    defaults.applyTo(sampling);
    CHECK(sampling.temperature == 0.6f);
    CHECK(sampling.top_k == 20);
    CHECK(sampling.min_p == 0.123f);
    CHECK_FALSE(sampling.repeat_penalty);
    CHECK(readModelDefaults(folder.filePath(QStringLiteral("gone")).toStdString()) ==
          ModelDefaults());
}

TEST_CASE("MainWindow: the standard preset has the values that a model comes with, and others not",
          "[gui][quick]") {
    WindowFixture f;
    const auto temperature = [&] { return f.find<QDoubleSpinBox>("temperature")->value(); };
    CHECK(temperature() == Approx(0.8));
    SmallFile small;
    small.add("general.sampling.temp", 0.6f);
    const QString path = f.modelFile("own.gguf");
    small.write(path);
    f.load(path);
    CHECK(QTest::qWaitFor([&] { return temperature() == Approx(0.6); }, kPatienceMs));
    // Of a model without any, the engine's hold again.
    f.load(f.modelFile("second.gguf"));
    CHECK(QTest::qWaitFor([&] { return temperature() == Approx(0.8); }, kPatienceMs));
    // What a person has chosen goes before what the file says.
    f.find<QDoubleSpinBox>("temperature")->setValue(0.3);
    f.load(path);
    QTest::qWait(100);
    CHECK(temperature() == Approx(0.3));
}
