// SPDX-License-Identifier: Apache-2.0
// SamplerOrderList: the steps of the sampler in the order in which they run, to be moved by mouse
// or by key, and switched off one by one.
#pragma once

#include <QListWidget>
#include <vector>

#include "hokku/sampling.h"

namespace hokku::desktop {

class SamplerOrderList : public QListWidget {
    Q_OBJECT

  public:
    explicit SamplerOrderList(QWidget* parent = nullptr);
    /// Steps that `order` does not name stand below, switched off.
    void setOrder(const std::vector<SamplerStep>& order);
    [[nodiscard]] std::vector<SamplerStep> order() const;

  signals:
    void edited();

  protected:
    void keyPressEvent(QKeyEvent* event) override;
    void dropEvent(QDropEvent* event) override;

  private:
    void addStep(SamplerStep step, bool isOn);
    void move(int direction);
};

}  // namespace hokku::desktop
