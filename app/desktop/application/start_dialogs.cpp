// SPDX-License-Identifier: Apache-2.0
#include "application/start_dialogs.h"

#include <QCoreApplication>
#include <QDir>
#include <QEventLoop>
#include <QMessageBox>
#include <QProgressDialog>
#include <QPushButton>
#include <QTextStream>
#include <QThread>
#include <QTimer>
#include <memory>

#include "settings/data_folder.h"

namespace hokku::desktop {
namespace {

/// Only for the words below; lupdate finds them by the name.
struct Words {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::StartDialogs)
};

constexpr int kTickMs = 50, kMostTicks = 1000;

int ticksOf(const CopyProgress& progress) {
    const double total = static_cast<double>(qMax<int64_t>(1, progress.totalBytes));
    return static_cast<int>(kMostTicks * static_cast<double>(progress.doneBytes) / total);
}

void findAgain(AppFolders& folders) {
    if (const auto found = AppFolders::find(folders.isPortable); found.ok()) folders = *found;
}

/// Runs the copy on a thread of its own, beside a dialog that can cancel it.
QString copyWithDialog(const AppFolders& folders) {
    CopyProgress progress;
    QString problem;
    QProgressDialog dialog(
        Words::tr("Copying your conversations and models to %1").arg(DataFolder::wanted(folders)),
        Words::tr("Cancel"), 0, kMostTicks);
    dialog.setWindowTitle(QStringLiteral("Hokku"));
    dialog.setAutoReset(false);
    dialog.setAutoClose(false);
    QEventLoop loop;
    const std::unique_ptr<QThread> thread(
        QThread::create([&] { problem = DataFolder::carryOut(folders, progress); }));
    QObject::connect(thread.get(), &QThread::finished, &loop, &QEventLoop::quit);
    QObject::connect(&dialog, &QProgressDialog::canceled, &loop,
                     [&] { progress.isCancelled = true; });
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, &dialog,
                     [&] { dialog.setValue(qMin(kMostTicks - 1, ticksOf(progress))); });
    timer.start(kTickMs);
    thread->start();
    loop.exec();
    thread->wait();
    return problem;
}

}  // namespace

void tellFailure(const QString& text, bool isSelfTest) {
    QTextStream(stderr) << text << Qt::endl;
    if (!isSelfTest) QMessageBox::critical(nullptr, QStringLiteral("Hokku"), text);
}

QString silenceText() {
    return Words::tr("Hokku is running already, but does not answer. Please end it first.");
}

bool findMissingFolder(AppFolders& folders, bool isSelfTest) {
    if (folders.isMissing && folders.isPortable) {
        tellFailure(Words::tr("Hokku was started to keep everything beside its program, but the "
                              "folder %1 cannot be made. Copy the program to a folder that can be "
                              "written, or start it without --portable and portable.ini.")
                        .arg(QDir::toNativeSeparators(folders.data)),
                    isSelfTest);
        return false;
    }
    while (folders.isMissing) {
        QMessageBox box(
            QMessageBox::Warning, QStringLiteral("Hokku"),
            Words::tr("The folder with your conversations is not there: %1").arg(folders.data));
        box.setInformativeText(
            Words::tr("If it lies on another disk, connect that. The usual folder has none of the "
                      "conversations that were written since it was left."));
        const auto* again = box.addButton(Words::tr("Look again"), QMessageBox::AcceptRole);
        const auto* usual =
            box.addButton(Words::tr("Use the usual folder"), QMessageBox::DestructiveRole);
        box.addButton(Words::tr("Quit"), QMessageBox::RejectRole);
        box.exec();
        if (box.clickedButton() == usual)
            DataFolder::forget(folders);
        else if (box.clickedButton() != again)
            return false;
        findAgain(folders);
    }
    return true;
}

bool moveDataFolder(AppFolders& folders) {
    if (!folders.isChoosable || DataFolder::wanted(folders).isEmpty()) return false;
    const QString problem = copyWithDialog(folders);
    if (!problem.isEmpty())
        QMessageBox::warning(
            nullptr, QStringLiteral("Hokku"),
            Words::tr("%1\n\nEverything stays where it was, in %2").arg(problem, folders.data));
    else
        findAgain(folders);
    return problem.isEmpty();
}

}  // namespace hokku::desktop
