// SPDX-License-Identifier: Apache-2.0
// PresetButton: the preset of the open conversation, with a menu of the others.
#pragma once

#include <QToolButton>
#include <QVector>

namespace hokku::desktop {

class PresetButton : public QToolButton {
    Q_OBJECT

  public:
    struct Choice {
        QString key, name;
        QString help;  ///< The beginning of its system prompt.
    };
    explicit PresetButton(QWidget* parent = nullptr);
    void setChoices(const QVector<Choice>& choices, const QString& current);

  signals:
    void chosen(const QString& key);
    void editWanted();

  protected:
    void changeEvent(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void placeMenu();
    void retranslate();

    QVector<Choice> m_choices;
    QString m_current;
};

}  // namespace hokku::desktop
