// SPDX-License-Identifier: Apache-2.0
// Generator: the engine for Qt programs. Commands are slots, events are queued signals on the
// thread of this object; no member waits for the inference thread.
#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <optional>

#include "hokku/engine.h"

namespace hokku::qt {

/// Loads one model and runs one generation at a time. The text of a generation is sent in pieces,
/// one signal of each kind per frame at most, each of them whole characters.
///
/// Threads: the thread that the object lives in.
class Generator : public QObject {
    Q_OBJECT

  public:
    explicit Generator(std::unique_ptr<Engine> engine, QObject* parent = nullptr);
    /// Cancels what runs and waits for the end of the inference thread (at most 200 ms).
    ~Generator() override;

    [[nodiscard]] bool isLoading() const;  ///< Or unloading.
    [[nodiscard]] bool isGenerating() const;
    /// The loaded model, or nothing before modelReady().
    [[nodiscard]] const std::optional<ModelInfo>& model() const;
    /// Tokens of the prompt that `request` would start from, or nothing without a model or where
    /// the template refuses. Does not touch the inference thread.
    [[nodiscard]] std::optional<uint32_t> countTokens(const GenerationRequest& request) const;

  public slots:
    /// Loads a model in place of the present one; a load that is running is cancelled first.
    void load(const hokku::LoadOptions& options);
    /// Ends a running load; loadFailed() with the code `cancelled` follows.
    void cancelLoad();
    /// Lets go of the model and its file; unloaded() follows, unless a load comes in between. A
    /// load that is running is cancelled first.
    void unload();
    /// Starts a generation. Needs: none running (isGenerating() false).
    void send(const hokku::GenerationRequest& request);
    /// Ends the running generation, if any; finished() follows.
    void stop();

  signals:
    void loadProgress(double fraction);
    void modelReady(const hokku::ModelInfo& info);
    void loadFailed(const hokku::Error& error);
    void unloaded();
    void prefillProgress(quint32 done, quint32 total);
    void textArrived(const QString& text);
    void thoughtArrived(const QString& text);
    /// All that textArrived() gave was the thought: it had no beginning, but it has an end.
    void textWasThought();
    /// The context is full: these turns are left out of it, all of them so far.
    void turnsDropped(const hokku::DroppedTurns& dropped);
    void contextGrown(quint32 contextTokens);
    void contextNotGrown(const QString& reason);
    /// After the last text, always exactly one of the two.
    void finished(const hokku::GenerationStats& stats, hokku::StopReason reason);
    void failed(const hokku::Error& error);

  private:
    struct Private;
    std::unique_ptr<Private> m_private;
};

}  // namespace hokku::qt
