// SPDX-License-Identifier: Apache-2.0
#include "models/model_entry.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

#include "gui/support/application.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

void write(const QString& path, const QByteArray& bytes) {
    REQUIRE(QDir().mkpath(QFileInfo(path).absolutePath()));
    QFile file(path);
    REQUIRE(file.open(QIODevice::WriteOnly));
    file.write(bytes);
}

}  // namespace

TEST_CASE("findModels: finds the files of other programs by their conventions", "[gui][quick]") {
    const QTemporaryDir home;
    const auto at = [&](const char* path) { return home.filePath(QString::fromUtf8(path)); };
    write(at(".lmstudio/models/maker/model/a.gguf"), "GGUFxxxx");
    write(at(".lmstudio/models/maker/model/big-00001-of-00002.gguf"), "GGUFxxxx");
    write(at(".lmstudio/models/maker/model/big-00002-of-00002.gguf"), "GGUFxxxx");
    write(at(".lmstudio/models/maker/model/readme.md"), "GGUF");
    write(at(".lmstudio/models/maker/model/b.gguf.part"), "GGUFxxxx");
    write(at(".ollama/models/blobs/sha256-11"), "GGUFxxxx");
    write(at(".ollama/models/blobs/sha256-22"), "{}");
    write(at(".cache/huggingface/hub/models--x/blobs/cafe"), "GGUFxxxx");
    REQUIRE(QDir().mkpath(at(".cache/huggingface/hub/models--x/snapshots/1")));
    for (const char* name : {"Übung.gguf", "same.gguf"})
        REQUIRE(QFile::link(
            at(".cache/huggingface/hub/models--x/blobs/cafe"),
            at(".cache/huggingface/hub/models--x/snapshots/1/") + QString::fromUtf8(name)));
    REQUIRE(QFile::link(at(".cache"), at(".cache/huggingface/hub/loop")));

    QStringList found;
    for (const ModelFolder& folder : foldersOfOtherPrograms(home.path())) {
        CHECK_FALSE(folder.isDeletable);
        for (const QString& path : findModels(folder))
            found.append(folder.source + QLatin1Char(':') + path.section(QLatin1Char('/'), -1));
    }
    found.sort();
    REQUIRE(found.size() == 4);
    CHECK(found[0].startsWith(QStringLiteral("Hugging Face:")));
    CHECK(found[1] == QStringLiteral("LM Studio:a.gguf"));
    CHECK(found[2] == QStringLiteral("LM Studio:big-00001-of-00002.gguf"));
    CHECK(found[3] == QStringLiteral("Ollama:sha256-11"));
}

TEST_CASE("describeModel: says why a file cannot be used", "[gui][quick]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("häßlich.gguf"));
    write(path, "GGUFnonsense");
    const ModelEntry entry = describeModel(path, QStringLiteral("Library"));
    CHECK(entry.name == QStringLiteral("häßlich"));
    CHECK_FALSE(entry.problem.isEmpty());
    CHECK(entry.fileBytes == 12);
    CHECK_FALSE(
        describeModel(folder.filePath(QStringLiteral("absent.gguf")), {}).problem.isEmpty());
}

TEST_CASE("describeModel: an architecture that the engine does not know cannot be used",
          "[gui][quick]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("strange.gguf"));
    // Version 3, no tensors, one key: general.architecture = "strange".
    QByteArray file("GGUF\x03\0\0\0", 8);
    const auto number = [&](quint64 value, int bytes) {
        for (int i = 0; i < bytes; ++i) file.append(static_cast<char>(value >> (8 * i)));
    };
    const auto text = [&](const QByteArray& value) {
        number(static_cast<quint64>(value.size()), 8);
        file.append(value);
    };
    number(0, 8);
    number(1, 8);
    text("general.architecture");
    number(8, 4);
    text("strange");
    write(path, file);
    const ModelEntry entry = describeModel(path, {});
    CHECK(entry.architecture == QStringLiteral("strange"));
    CHECK(entry.problem.contains(QStringLiteral("“strange”")));
}

TEST_CASE("describeModel: names the quantisation as its makers do", "[gui][model]") {
    const auto model = find_model("gemma3");
    if (!model) return report_skip("the Gemma model is not there");
    const ModelEntry entry = describeModel(QString::fromStdString(model->string()), {});
    CHECK(entry.quantisation == QStringLiteral("Q4_K_M"));
    CHECK(entry.problem.isEmpty());
}

TEST_CASE("ModelEntry: the context's memory follows the type of its values", "[gui][quick]") {
    // 30 layers, 3 KV heads of 64: 2 * 30 * 3 * 64 * 4 bytes a token.
    ModelEntry entry;
    entry.kvBytesPerToken = 46'080;
    CHECK(entry.contextBytes(4096, 4.0) == 188'743'680);
    CHECK(entry.contextBytes(4096, 2.0) == 94'371'840);
}
