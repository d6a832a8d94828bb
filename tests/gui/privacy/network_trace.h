// SPDX-License-Identifier: Apache-2.0
// What a program and its children do with sockets, as strace saw it.
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>

namespace hokku::testing {

/// The lines of a trace (of %network, open, openat) that reach beyond this machine or prepare to:
/// sockets and addresses of another family than AF_UNIX, and files that a resolver of names reads.
QStringList beyondThisMachine(const QByteArray& trace);

struct TracedRun {
    bool isTraced = false;  ///< false: strace cannot do its work here; `output` says why.
    int status = -1;        ///< Of the program.
    QString output;         ///< Of both streams.
    QByteArray trace;
};

/// Runs a program under strace. Entries of `environment` are "NAME=value".
TracedRun runTraced(const QStringList& command, const QStringList& environment);

}  // namespace hokku::testing
