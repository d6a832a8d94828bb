// SPDX-License-Identifier: Apache-2.0
#include "look/style_sheet.h"

namespace hokku::desktop {

QString styleSheet(const Colors& c) {
    QString sheet = QStringLiteral(R"(
QToolTip { background: @raised; color: @ink; border: 1px solid @hairline; padding: 4px 8px; }
QToolButton { border: 1px solid transparent; border-radius: 8px; padding: 6px; background: transparent; }
QToolButton:hover { background: @raised; }
QToolButton:pressed, QToolButton:checked { background: @hairline; }
QToolButton:focus, QPushButton:focus { border-color: @focus; }
QToolButton::menu-indicator { image: none; }
QPushButton { border: 1px solid @hairline; border-radius: 8px; padding: 6px 16px; background: @ground; }
QPushButton:hover { background: @raised; }
QPushButton:pressed { background: @hairline; }
QPushButton:disabled { color: @faint; }
QPushButton[primary="true"] { background: @accent; color: @onAccent; border-color: @accent; }
QPushButton[primary="true"]:disabled { background: @hairline; color: @faint; border-color: @hairline; }
QToolButton[primary="true"] { background: @accent; border-color: @accent; }
QToolButton[primary="true"]:disabled { background: @hairline; border-color: @hairline; }
QToolButton[primary="true"]:focus { border: 2px solid @ink; padding: 5px; }
QLineEdit, QPlainTextEdit, QSpinBox, QDoubleSpinBox, QComboBox {
    border: 1px solid @hairline; border-radius: 8px; padding: 6px 8px; background: @ground;
    selection-background-color: @selection; selection-color: @ink; }
QLineEdit:focus, QPlainTextEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus { border-color: @focus; }
QComboBox { padding-left: 10px; }
QComboBox::drop-down { border: none; width: 28px; }
QComboBox::down-arrow { image: url(:/icons/control-down.svg); width: 16px; height: 16px; }
QSpinBox::up-button, QDoubleSpinBox::up-button { border: none; width: 28px; subcontrol-position: top right; }
QSpinBox::down-button, QDoubleSpinBox::down-button { border: none; width: 28px; subcontrol-position: bottom right; }
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow { image: url(:/icons/control-up.svg); width: 14px; height: 14px; }
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow { image: url(:/icons/control-down.svg); width: 14px; height: 14px; }
QComboBox QAbstractItemView { background: @ground; border: 1px solid @hairline; selection-background-color: @selection; selection-color: @ink; }
QCheckBox { spacing: 8px; }
QCheckBox::indicator, QListView::indicator { width: 16px; height: 16px; border: 1px solid @faint; border-radius: 4px; background: @ground; }
QCheckBox::indicator:checked, QListView::indicator:checked { background: @ink; border-color: @ink; image: url(:/icons/control-check-@theme.svg); }
QCheckBox::indicator:focus, QCheckBox:focus::indicator { border-color: @focus; }
#samplerOrder { border: 1px solid @hairline; border-radius: 8px; padding: 4px; }
#samplerOrder:focus { border-color: @focus; }
QMenu { background: @ground; border: 1px solid @hairline; padding: 4px; }
QMenu::item { padding: 6px 24px; border-radius: 4px; }
QMenu::item:selected { background: @raised; }
QMenu::item:disabled { color: @faint; }
QMenu::separator { height: 1px; background: @hairline; margin: 4px 8px; }
QScrollBar:vertical { background: transparent; width: 12px; margin: 0; }
QScrollBar::handle:vertical { background: @hairline; border-radius: 4px; min-height: 32px; margin: 2px; }
QScrollBar::handle:vertical:hover { background: @faint; }
QScrollBar::handle:vertical:disabled { background: transparent; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 0; }
QScrollBar::handle:horizontal { background: @hairline; border-radius: 4px; min-width: 32px; margin: 2px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSplitter::handle { background: @hairline; }
QProgressBar { border: none; border-radius: 2px; background: @hairline; max-height: 4px; text-align: center; }
QProgressBar::chunk { background: @accent; border-radius: 2px; }
QTreeView, QListView { border: none; background: transparent; outline: none; show-decoration-selected: 0; }
#conversationTree, #searchResults { border: 1px solid transparent; border-radius: 8px; }
#conversationTree:focus, #searchResults:focus { border-color: @focus; }
QTreeView::branch { background: transparent; }
QTreeView::item, QListView::item { padding: 6px 8px; border-radius: 8px; }
QTreeView::item:hover, QListView::item:hover { background: @hairline; }
QTreeView::item:selected, QListView::item:selected { background: @selection; color: @ink; }
#sidebar { background: @raised; border: none; }
#sidebar[floating="true"] { border-right: 1px solid @hairline; }
#code-copy { background: @raised; }
#composer { background: @ground; border: 1px solid @hairline; border-radius: 12px; }
#composer[focused="true"] { border-color: @focus; }
#composer QPlainTextEdit { border: none; background: transparent; padding: 4px; }
#faint { color: @faint; }
#warning { color: @warning; }
#notice { background: @raised; border: 1px solid @hairline; border-radius: 8px; }
#heading { font-weight: 600; }
)");
    const QPair<const char*, QColor> names[] = {
        {"@onAccent", c.onAccent}, {"@ground", c.ground}, {"@raised", c.raised},
        {"@ink", c.ink},           {"@faint", c.faint},   {"@hairline", c.hairline},
        {"@accent", c.accent},     {"@focus", c.focus},   {"@selection", c.selection},
        {"@warning", c.warning},
    };
    sheet.replace(QLatin1String("@theme"), c.ground.lightness() < c.ink.lightness()
                                               ? QLatin1String("dark")
                                               : QLatin1String("light"));
    for (const auto& [name, color] : names) sheet.replace(QLatin1String(name), color.name());
    return sheet;
}

}  // namespace hokku::desktop
