// SPDX-License-Identifier: Apache-2.0
#include "application/model_control.h"

#include <QFileInfo>

namespace hokku::desktop {
namespace {

QString fromPath(const std::filesystem::path& path) {
    return QString::fromStdU16String(path.u16string());
}

}  // namespace

ModelControl::ModelControl(const QString& library, Settings& settings, qt::Generator& generator,
                           QObject* parent)
    : QObject(parent), m_library(library), m_settings(settings), m_generator(generator) {
    connect(&generator, &qt::Generator::modelReady, this, [this](const ModelInfo& info) {
        m_settings.setModelPath(fromPath(info.path));
        settle();
    });
    connect(&generator, &qt::Generator::loadFailed, this, [this](const Error& error) {
        if (error.code != ErrorCode::cancelled && !m_loadingDraft.isEmpty()) {
            // Whichever of the two it is: the model alone shows that.
            m_draftRefusal = {m_loadingDraft, error};
            return start(std::filesystem::path(m_loadingPath.toStdU16String()), {});
        }
        const QString name = QFileInfo(m_loadingPath).fileName();
        settle();
        if (error.code != ErrorCode::cancelled) emit failed(name, error);
    });
    connect(&generator, &qt::Generator::unloaded, this, &ModelControl::settle);
    connect(&settings, &Settings::engineChanged, this, [this] {
        if (!wantedPath().isEmpty()) load(wantedPath());
    });
}

void ModelControl::load(const QString& nameOrPath) {
    // UTF-8 for the engine, UTF-16 for Qt; both know the file by the same name.
    const auto resolved = hokku::resolve_model(currentPath(nameOrPath).toStdString());
    if (!resolved.ok()) {
        emit failed(nameOrPath, resolved.error());
        return;
    }
    const QString draft = currentPath(m_settings.draftModel());
    m_draftRefusal.reset();
    // A model would guess as slowly as it writes.
    start(*resolved, isSameFile(draft, fromPath(*resolved)) ? QString() : draft);
}

void ModelControl::start(const std::filesystem::path& path, const QString& draft) {
    LoadOptions options;
    options.path = path;
    options.draft_model = std::filesystem::path(draft.toStdU16String());
    if (m_settings.contextTokens() > 0)
        options.context_tokens = static_cast<uint32_t>(m_settings.contextTokens());
    options.num_threads = static_cast<uint32_t>(m_settings.numThreads());
    options.use_mapping = m_settings.useMapping();
    options.kv_type = find_kv_type(m_settings.kvType().toStdString());
    m_loadingPath = fromPath(path);
    m_loadingDraft = draft;
    m_generator.load(options);
    emit started();
}

void ModelControl::letGo(const QString& path, const std::function<void()>& then) {
    m_releases.append({path, then});
    letGoOfNext();
}

QString ModelControl::loadedPath() const {
    return m_generator.model() ? fromPath(m_generator.model()->path) : QString();
}

bool ModelControl::isStarter() const {
    const QString name =
        QString::fromLatin1(kStarterModel.data(), static_cast<qsizetype>(kStarterModel.size()));
    return QFileInfo(loadedPath()).fileName() == name;
}

QString ModelControl::wantedPath() const {
    return m_loadingPath.isEmpty() ? loadedPath() : m_loadingPath;
}

bool ModelControl::isSameFile(const QString& a, const QString& b) {
    if (a == b) return true;
    const QString real = QFileInfo(a).canonicalFilePath();
    return !real.isEmpty() && real == QFileInfo(b).canonicalFilePath();
}

QString ModelControl::currentPath(const QString& path) const {
    return movedPath(path, m_library, installed_models_folder());
}

QString ModelControl::movedPath(const QString& path, const QString& library,
                                const std::optional<std::filesystem::path>& installed) {
    static const QString kFolder = QStringLiteral("/models/");
    if (!path.contains(QLatin1Char('/'))) return path;
    const QFileInfo kept(path);
    if (const qsizetype begin = path.lastIndexOf(kFolder); begin >= 0) {
        const QFileInfo moved(library + QLatin1Char('/') + path.mid(begin + kFolder.size()));
        if (moved.isFile() && (!kept.exists() || kept.size() == moved.size()))
            return moved.filePath();
    }
    if (!installed || kept.exists()) return path;
    const QString moved = fromPath(*installed) + QLatin1Char('/') + kept.fileName();
    return QFileInfo(moved).isFile() ? moved : path;
}

void ModelControl::settle() {
    m_loadingPath.clear();
    m_loadingDraft.clear();
    emit settled();
    letGoOfNext();
}

void ModelControl::letGoOfNext() {
    while (!m_releases.isEmpty()) {
        const QString path = m_releases.first().path;
        // The model is loaded anew without it.
        if (isSameFile(currentPath(m_settings.draftModel()), path)) m_settings.setDraftModel({});
        if (m_generator.isLoading()) {
            // A load has the file before open until its end; settle() comes back here.
            if (isSameFile(m_loadingPath, path)) m_generator.cancelLoad();
            return;
        }
        if (isSameFile(loadedPath(), path)) {
            if (isSameFile(m_settings.modelPath(), path)) m_settings.setModelPath({});
            m_generator.unload();
            return;
        }
        m_releases.takeFirst().then();
    }
}

}  // namespace hokku::desktop
