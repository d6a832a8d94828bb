// SPDX-License-Identifier: Apache-2.0
#include "gui/privacy/network_trace.h"

#include <QFile>
#include <QProcess>
#include <QProcessEnvironment>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>

namespace hokku::testing {
namespace {

constexpr int kPatienceMs = 600'000;

bool isBeyond(const QString& line) {
    // A socket is made of a family; an address says which it is of. The family may be a number,
    // where strace does not know its name.
    static const QRegularExpression made(QStringLiteral("\\bsocket(pair)?\\((\\w+)"));
    static const QRegularExpression address(QStringLiteral("\\bsa_family=(\\w+)"));
    static const QRegularExpression resolver(QStringLiteral(
        "\\bopen(at)?\\(.*\"(/etc/(resolv\\.conf|hosts|host\\.conf|gai\\.conf|services|networks|"
        "protocols)|[^\"]*/libnss_(dns|mdns|resolve|nis)[^\"]*)\""));
    if (const auto match = made.match(line); match.hasMatch())
        return match.captured(2) != QLatin1String("AF_UNIX");
    if (const auto match = address.match(line); match.hasMatch())
        return match.captured(1) != QLatin1String("AF_UNIX") &&
               match.captured(1) != QLatin1String("AF_UNSPEC");
    return resolver.match(line).hasMatch();
}

}  // namespace

QStringList beyondThisMachine(const QByteArray& trace) {
    QStringList found;
    for (const QString& line : QString::fromUtf8(trace).split(QLatin1Char('\n')))
        if (isBeyond(line)) found.append(line);
    return found;
}

TracedRun runTraced(const QStringList& command, const QStringList& environment) {
    TracedRun run;
    const QString strace = QStandardPaths::findExecutable(QStringLiteral("strace"));
    if (strace.isEmpty()) {
        run.output = QStringLiteral("strace is not installed");
        return run;
    }
    const QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("trace"));
    const QStringList options{QStringLiteral("-f"), QStringLiteral("-qq"),
                              QStringLiteral("-o"), file,
                              QStringLiteral("-e"), QStringLiteral("trace=%network,open,openat")};
    QProcess process;
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(strace, QStringList(options) << QStringLiteral("true"));
    if (!process.waitForFinished(kPatienceMs) || process.exitCode() != 0) {
        run.output = QString::fromUtf8(process.readAll()).trimmed();
        return run;
    }
    run.isTraced = true;
    QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
    for (const QString& entry : environment)
        variables.insert(entry.section(QLatin1Char('='), 0, 0),
                         entry.section(QLatin1Char('='), 1, -1));
    process.setProcessEnvironment(variables);
    process.start(strace, options + command);
    if (process.waitForFinished(kPatienceMs) && process.exitStatus() == QProcess::NormalExit)
        run.status = process.exitCode();
    process.kill();
    process.waitForFinished();
    run.output = QString::fromUtf8(process.readAll());
    if (QFile trace(file); trace.open(QIODevice::ReadOnly)) run.trace = trace.readAll();
    return run;
}

}  // namespace hokku::testing
