// SPDX-License-Identifier: Apache-2.0
// HeaderBar: the line above the pages: the title of the conversation or the way back to it, the
// model with the device that it runs on, and the buttons that lead elsewhere.
#pragma once

#include <QWidget>
#include <optional>

#include "hokku/engine.h"

class QProgressBar;
class QToolButton;

namespace hokku::desktop {

class ElidedLabel;

class HeaderBar : public QWidget {
    Q_OBJECT

  public:
    explicit HeaderBar(QWidget* parent = nullptr);

    void setTitle(const QString& title);
    /// Another page than the conversation is shown: there is a way back beside the title.
    void setAway(bool isAway);
    /// Nothing: there is no model.
    void setModel(const std::optional<ModelInfo>& model);
    void setLoading(double fraction);

  signals:
    void sidebarWanted();
    void newChatWanted();
    void backWanted();
    void modelsWanted();
    void settingsWanted();

  protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    QToolButton* addButton(const char* name, const QString& icon);
    void showModelName();
    void retranslate();

    QToolButton *m_sidebarButton, *m_newButton, *m_backButton, *m_modelButton, *m_settingsButton;
    ElidedLabel *m_title, *m_badge;
    QProgressBar* m_progress;
    std::optional<ModelInfo> m_model;
    bool m_isLoading = false;
    QString m_modelName;  ///< In full.
};

}  // namespace hokku::desktop
