// SPDX-License-Identifier: Apache-2.0
// ModelEntry: what the models page knows of one model file, or why it cannot be used.
#pragma once

#include <QString>
#include <QStringList>
#include <QVector>

namespace hokku::desktop {

struct ModelEntry {
    QString path;
    QString name;    ///< From the file, else its name.
    QString source;  ///< "Library", "LM Studio", ..: whose folder it lies in.
    QString architecture, quantisation, license;
    quint64 fileBytes = 0;
    quint64 numParameters = 0;
    quint64 trainedContext = 0;   ///< Tokens; 0: not known.
    quint64 kvBytesPerToken = 0;  ///< With 32-bit keys and values; 0: not known.
    bool isAdded = false;         ///< By the person, who may take it off the list again.
    QString problem;              ///< Empty: usable.

    /// Bytes that a context of so many tokens takes besides the mapped file.
    [[nodiscard]] quint64 contextBytes(quint64 tokens, double bytesPerValue) const {
        return static_cast<quint64>(static_cast<double>(kvBytesPerToken * tokens) * bytesPerValue /
                                    4.0);
    }
};

/// A folder in which programs keep models.
struct ModelFolder {
    QString source;
    QString path;
    bool isDeletable = false;  ///< Hokku's own: files may be deleted here.
};

/// The folders of LM Studio, GPT4All, Jan, Ollama and Hugging Face that exist below `home`.
QVector<ModelFolder> foldersOfOtherPrograms(const QString& home);

/// Model files in a folder: *.gguf, of split sets the first part, and Ollama's blobs that are GGUF.
/// Looks a few levels deep and at a bounded number of files; links that leave or loop end there.
QStringList findModels(const ModelFolder& folder);

/// All files of a model: of a split set, its parts in order.
QStringList partsOf(const QString& path);

/// Reads the header of a model file. Never fails: problem says what is wrong.
ModelEntry describeModel(const QString& path, const QString& source);

}  // namespace hokku::desktop
