// SPDX-License-Identifier: Apache-2.0
// Icons from SVG files in one colour, drawn anew for each size, scale and theme.
#pragma once

#include <QIcon>
#include <QString>

namespace hokku::desktop {

enum class SvgIconInk { text, onAccent };

/// An icon that reads :/icons/NAME.svg and draws its shapes in a colour of the theme.
QIcon svgIcon(const QString& name, SvgIconInk ink);

}  // namespace hokku::desktop
