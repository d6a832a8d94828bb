// SPDX-License-Identifier: Apache-2.0
#include "models/models_page.h"

#include <QDir>
#include <QEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QMessageBox>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QThread>
#include <QVBoxLayout>
#include <limits>

#include "hokku/devices.h"
#include "hokku/library.h"
#include "look/flow_layout.h"
#include "look/page_parts.h"
#include "look/size_text.h"
#include "look/theme.h"
#include "models/download.h"
#include "models/model_entry.h"

namespace hokku::desktop {
namespace {

/// A card that is narrower has its buttons below the text.
constexpr int kNarrowCard = 480;

/// What is known of a model, with what can be done about it.
class Card final : public QFrame {
  public:
    Card() : m_row(new QBoxLayout(QBoxLayout::LeftToRight, this)) {
        setObjectName(QStringLiteral("notice"));
        m_row->setContentsMargins(2 * kGrid, kGrid, 2 * kGrid, kGrid);
    }
    /// Texts first, then buttons.
    void add(QLayout* part, int stretch) { m_row->addLayout(part, stretch); }

  protected:
    void resizeEvent(QResizeEvent* event) override {
        QFrame::resizeEvent(event);
        m_row->setDirection(width() < kNarrowCard ? QBoxLayout::TopToBottom
                                                  : QBoxLayout::LeftToRight);
    }

  private:
    QBoxLayout* m_row;
};

QString parametersText(quint64 count) {
    constexpr quint64 kMillion = 1'000'000, kBillion = 1'000'000'000;
    const QLocale locale;
    return count >= kBillion
               ? ModelsPage::tr("%1 billion parameters")
                     .arg(locale.toString(static_cast<double>(count) / kBillion, 'f', 1))
               : ModelsPage::tr("%1 million parameters").arg(locale.toString(count / kMillion));
}

quint64 availableMemory() {
    const auto devices = list_devices();
    return devices.empty() ? 0 : devices.front().available_memory_bytes;
}

double bytesPerValue(const QString& kvType) {
    if (kvType == QLatin1String("f16")) return 2.0;
    if (kvType == QLatin1String("q8_0")) return 34.0 / 32.0;  // a 16-bit scale for 32 values
    if (kvType == QLatin1String("q4_0")) return 18.0 / 32.0;
    return 4.0;
}

}  // namespace

struct ModelsPage::Private {
    Private(ModelsPage* page, const AppFolders& appFolders, Settings& appSettings)
        : self(page), folders(appFolders), settings(appSettings) {}

    void build();
    void scan();
    void showEntries();
    QWidget* makeCard(const ModelEntry& entry);
    [[nodiscard]] QString factsOf(const ModelEntry& entry) const;
    [[nodiscard]] QString memoryOf(const ModelEntry& entry) const;
    void remove(const ModelEntry& entry);
    void erase(const QString& path);
    void forget(const QString& path);
    void startDownload();
    void showDownload();
    [[nodiscard]] QStringList addedFiles() const {
        return settings.value(QStringLiteral("models/added")).toStringList();
    }

    ModelsPage* self;
    AppFolders folders;
    Settings& settings;
    QVector<ModelEntry> entries;
    QString loadedPath;
    std::unique_ptr<QThread> scanner;
    bool isScanWanted = false;

    QLabel* downloadState = nullptr;
    QPushButton *addButton = nullptr, *scanButton = nullptr;
    QPushButton *downloadButton = nullptr, *pauseButton = nullptr, *cancelButton = nullptr;
    QLineEdit *urlField = nullptr, *hashField = nullptr;
    QProgressBar* downloadBar = nullptr;
    QVBoxLayout* list = nullptr;
    std::unique_ptr<Download> download;
};

ModelsPage::ModelsPage(const AppFolders& folders, Settings& settings, QWidget* parent)
    : QWidget(parent), m_private(std::make_unique<Private>(this, folders, settings)) {
    m_private->build();
    m_private->scan();
}

ModelsPage::~ModelsPage() {
    if (m_private->scanner) m_private->scanner->wait();
}

void ModelsPage::addFiles(const QStringList& paths) {
    QStringList added = m_private->addedFiles();
    for (const QString& path : paths) {
        const QString absolute = QFileInfo(path).absoluteFilePath();
        if (!added.contains(absolute)) added.append(absolute);
    }
    m_private->settings.setValue(QStringLiteral("models/added"), added);
    m_private->scan();
}

void ModelsPage::setLoadedModel(const QString& path) {
    m_private->loadedPath = path;
    m_private->showEntries();
}

void ModelsPage::changeEvent(QEvent* event) {
    if (event->type() == QEvent::LanguageChange) {
        m_private->build();
        m_private->scan();  // what it says of files that cannot be used
    }
    QWidget::changeEvent(event);
}

// ---- Private
// -------------------------------------------------------------------------------------

void ModelsPage::Private::build() {
    delete self->layout();
    qDeleteAll(self->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly));
    QScrollArea* area = makePageArea();
    QVBoxLayout* column = makeReadingColumn(*area, 3 * kGrid);
    column->setSpacing(kGrid);

    column->addWidget(makeHeading(tr("Models on this machine")));
    column->addWidget(
        makeRemark(tr("Larger models write better and need more memory. Files of other "
                      "programs are used where they lie; nothing is copied.")));
    auto* buttons = new FlowLayout(kGrid);
    addButton = new QPushButton(tr("Add a file…"));
    scanButton = new QPushButton(tr("Look again"));
    scanButton->setToolTip(
        tr("Looks for models in the folders of LM Studio, GPT4All, Jan, Ollama "
           "and Hugging Face"));
    buttons->addWidget(addButton);
    buttons->addWidget(scanButton);
    column->addLayout(buttons);
    list = new QVBoxLayout;
    list->setSpacing(kGrid);
    column->addLayout(list);

    QLabel* heading = makeHeading(tr("Download a model"));
    heading->setContentsMargins(0, 2 * kGrid, 0, 0);
    column->addWidget(heading);
    column->addWidget(
        makeRemark(tr("Hokku connects to the network only here, and only when you press "
                      "the button.")));
    auto* form = new QFormLayout;
    urlField = new QLineEdit;
    urlField->setObjectName(QStringLiteral("downloadUrl"));
    urlField->setPlaceholderText(QStringLiteral("https://…/model.gguf"));
    urlField->setAccessibleName(tr("Address of the file"));
    hashField = new QLineEdit;
    hashField->setObjectName(QStringLiteral("downloadHash"));
    hashField->setPlaceholderText(tr("optional"));
    hashField->setAccessibleName(tr("SHA-256 of the file"));
    addFormRow(*form, tr("Address"), tr("The address of a .gguf file"), urlField);
    addFormRow(*form, tr("SHA-256"),
               tr("64 digits that the publisher gives; the file is checked against them"),
               hashField);
    column->addLayout(form);
    auto* downloadRow = new QHBoxLayout;
    downloadButton = new QPushButton(tr("Download"));
    downloadButton->setObjectName(QStringLiteral("downloadButton"));
    pauseButton = new QPushButton(tr("Pause"));
    cancelButton = new QPushButton(tr("Cancel"));
    downloadBar = new QProgressBar;
    downloadBar->setTextVisible(false);
    downloadBar->setRange(0, 1000);
    downloadBar->setAccessibleName(tr("Progress of the download"));
    downloadState = makeRemark({});
    for (QPushButton* button : {downloadButton, pauseButton, cancelButton})
        downloadRow->addWidget(button);
    downloadRow->addStretch(1);
    column->addLayout(downloadRow);
    column->addWidget(downloadBar);
    column->addWidget(downloadState);
    column->addStretch(1);
    auto* layout = new QVBoxLayout(self);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(area);
    alignForms(*area);

    QObject::connect(addButton, &QPushButton::clicked, self, [this] {
        const QStringList paths =
            QFileDialog::getOpenFileNames(self, tr("Add models"), {}, tr("Models (*.gguf)"));
        if (!paths.isEmpty()) self->addFiles(paths);
    });
    QObject::connect(scanButton, &QPushButton::clicked, self, [this] { scan(); });
    QObject::connect(downloadButton, &QPushButton::clicked, self, [this] { startDownload(); });
    QObject::connect(pauseButton, &QPushButton::clicked, self, [this] {
        if (download) download->pause();
    });
    QObject::connect(cancelButton, &QPushButton::clicked, self, [this] {
        if (download) download->cancel();
        download.reset();
        showDownload();
    });
    showEntries();
    showDownload();
}

void ModelsPage::Private::scan() {
    if (scanner) {
        isScanWanted = true;
        return;
    }
    scanner.reset(QThread::create([this, added = addedFiles(), own = folders.models] {
        QVector<ModelEntry> found;
        for (const QString& path : findModels({tr("Library"), own, true}))
            found.append(describeModel(path, tr("Library")));
        if (const auto installed = hokku::installed_models_folder()) {
            const QString source = tr("Came with Hokku");
            for (const QString& path :
                 findModels({source, QString::fromStdU16String(installed->u16string())}))
                found.append(describeModel(path, source));
        }
        for (const QString& path : added) {
            found.append(describeModel(path, tr("Added")));
            found.last().isAdded = true;
        }
        for (const ModelFolder& folder : foldersOfOtherPrograms(QDir::homePath()))
            for (const QString& path : findModels(folder))
                found.append(describeModel(path, folder.source));
        QMetaObject::invokeMethod(
            self,
            [this, found] {
                scanner->wait();
                scanner.reset();
                entries = found;
                showEntries();
                if (std::exchange(isScanWanted, false)) scan();
            },
            Qt::QueuedConnection);
    }));
    scanner->start();
}

void ModelsPage::Private::showEntries() {
    while (QLayoutItem* item = list->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (const ModelEntry& entry : entries) list->addWidget(makeCard(entry));
    if (entries.isEmpty())
        list->addWidget(
            makeRemark(tr("No model was found yet. Add a .gguf file, or download one below.")));
}

QString ModelsPage::Private::factsOf(const ModelEntry& entry) const {
    QStringList facts{entry.source};
    if (!entry.architecture.isEmpty()) facts.append(entry.architecture);
    if (entry.numParameters > 0) facts.append(parametersText(entry.numParameters));
    if (!entry.quantisation.isEmpty()) facts.append(entry.quantisation);
    facts.append(sizeText(entry.fileBytes));
    if (entry.trainedContext > 0)
        facts.append(tr("context up to %1").arg(QLocale().toString(entry.trainedContext)));
    if (!entry.license.isEmpty()) facts.append(entry.license);
    // Lines break between facts, not within them.
    for (QString& fact : facts) fact.replace(QLatin1Char(' '), QChar::Nbsp);
    return facts.join(QChar(QChar::Nbsp) + QStringLiteral("· "));
}

QString ModelsPage::Private::memoryOf(const ModelEntry& entry) const {
    const double valueBytes = bytesPerValue(settings.kvType());
    const quint64 available = availableMemory();
    const auto trained = static_cast<quint32>(
        qMin<quint64>(entry.trainedContext, std::numeric_limits<quint32>::max()));
    const auto wanted = static_cast<quint32>(settings.contextTokens());
    const quint32 context =
        wanted == 0 ? automatic_context({.trained_context = trained,
                                         .kv_bytes_per_token = entry.contextBytes(1, valueBytes),
                                         .weight_bytes = entry.fileBytes,
                                         .available_bytes = available})
                    : (trained > 0 ? qMin(wanted, trained) : wanted);
    const quint64 needed = entry.fileBytes + entry.contextBytes(context, valueBytes);
    const QString text =
        tr("Needs about %1 of memory for a context of %2 tokens; %3 are free.")
            .arg(sizeText(needed), QLocale().toString(context), sizeText(available));
    return needed <= available || available == 0
               ? text
               : text + QLatin1Char(' ') + tr("It would be slow or not load at all.");
}

QWidget* ModelsPage::Private::makeCard(const ModelEntry& entry) {
    auto* card = new Card;
    auto* texts = new QVBoxLayout;
    texts->setSpacing(2);
    auto* name = new QLabel(entry.name);
    name->setObjectName(QStringLiteral("heading"));
    name->setWordWrap(true);
    name->setToolTip(entry.path);
    texts->addWidget(name);
    texts->addWidget(makeRemark(factsOf(entry)));
    const bool isLoaded = entry.path == loadedPath;
    QLabel* remark = makeRemark(
        entry.problem.isEmpty() ? memoryOf(entry) : tr("Cannot be used: %1").arg(entry.problem));
    if (!entry.problem.isEmpty()) remark->setObjectName(QStringLiteral("warning"));
    texts->addWidget(remark);
    card->add(texts, 1);
    auto* buttons = new QHBoxLayout;
    if (entry.problem.isEmpty()) {
        auto* use = new QPushButton(isLoaded ? tr("In use") : tr("Use"));
        use->setEnabled(!isLoaded);
        use->setAccessibleName(tr("Use %1").arg(entry.name));
        QObject::connect(use, &QPushButton::clicked, self,
                         [this, path = entry.path] { emit self->modelChosen(path); });
        buttons->addWidget(use, 0, Qt::AlignTop);
    }
    if (entry.path.startsWith(folders.models + QLatin1Char('/'))) {
        auto* erase = new QPushButton(tr("Delete"));
        erase->setAccessibleName(tr("Delete %1").arg(entry.name));
        QObject::connect(erase, &QPushButton::clicked, self, [this, entry] { remove(entry); });
        buttons->addWidget(erase, 0, Qt::AlignTop);
    }
    if (entry.isAdded) {
        auto* forgetButton = new QPushButton(tr("Remove"));
        forgetButton->setObjectName(QStringLiteral("forgetButton"));
        forgetButton->setAccessibleName(tr("Remove %1 from the list").arg(entry.name));
        forgetButton->setToolTip(tr("Takes it off this list; the file stays where it is"));
        QObject::connect(forgetButton, &QPushButton::clicked, self,
                         [this, path = entry.path] { forget(path); });
        buttons->addWidget(forgetButton, 0, Qt::AlignTop);
    }
    buttons->addStretch(1);
    card->add(buttons, 0);
    return card;
}

void ModelsPage::Private::remove(const ModelEntry& entry) {
    const auto answer =
        QMessageBox::question(self, tr("Delete a model"),
                              tr("Delete %1 (%2) from the disk? This cannot be undone.")
                                  .arg(entry.name, sizeText(entry.fileBytes)));
    if (answer != QMessageBox::Yes) return;
    emit self->aboutToDelete(entry.path, [page = QPointer(self), path = entry.path] {
        if (page) page->m_private->erase(path);
    });
}

void ModelsPage::Private::erase(const QString& path) {
    for (const QString& part : partsOf(path)) {
        QFile file(part);
        if (file.exists() && !file.remove())
            emit self->noticed([part, why = file.errorString()] {
                return tr("%1 cannot be deleted: %2").arg(part, why);
            });
    }
    scan();
}

void ModelsPage::Private::forget(const QString& path) {
    QStringList added = addedFiles();
    added.removeAll(path);
    settings.setValue(QStringLiteral("models/added"), added);
    scan();
}

// ---- download
// ------------------------------------------------------------------------------------

void ModelsPage::Private::startDownload() {
    if (download && !download->isRunning()) {
        download->start();
        return showDownload();
    }
    const QUrl url = QUrl::fromUserInput(urlField->text().trimmed());
    const QString name = QFileInfo(url.path()).fileName();
    if (!url.isValid() || !name.endsWith(QLatin1String(".gguf"), Qt::CaseInsensitive)) {
        downloadState->setText(tr("Give the address of a .gguf file."));
        return;
    }
    const QByteArray hash = hashField->text().trimmed().toLatin1();
    constexpr qsizetype kHashDigits = 64;
    if (!hash.isEmpty() && hash.size() != kHashDigits) {
        downloadState->setText(tr("A SHA-256 has 64 digits."));
        return;
    }
    download = std::make_unique<Download>(DownloadRequest{
        .url = url, .target = folders.models + QLatin1Char('/') + name, .sha256 = hash});
    QObject::connect(download.get(), &Download::progressed, self, [this] { showDownload(); });
    QObject::connect(download.get(), &Download::paused, self, [this] { showDownload(); });
    QObject::connect(download.get(), &Download::checking, self, [this] { showDownload(); });
    QObject::connect(download.get(), &Download::failed, self, [this](const QString& reason) {
        showDownload();
        downloadState->setText(reason);
    });
    QObject::connect(download.get(), &Download::finished, self, [this](const QString& path) {
        emit self->noticed(
            [name = QFileInfo(path).fileName()] { return tr("%1 was downloaded.").arg(name); });
        download.release()->deleteLater();
        urlField->clear();
        hashField->clear();
        showDownload();
        scan();
    });
    download->start();
    if (download->isRunning()) showDownload();
}

void ModelsPage::Private::showDownload() {
    const bool isActive = download != nullptr;
    const bool isRunning = isActive && download->isRunning();
    downloadButton->setText(isActive ? tr("Go on") : tr("Download"));
    downloadButton->setEnabled(!isRunning);
    pauseButton->setVisible(isRunning && !download->isChecking());
    cancelButton->setVisible(isActive);
    downloadBar->setVisible(isActive);
    urlField->setEnabled(!isActive);
    hashField->setEnabled(!isActive);
    if (!isActive) return downloadState->clear();
    if (download->isChecking()) return downloadState->setText(tr("The file is being checked…"));
    const qint64 received = download->received(), total = download->total();
    downloadBar->setValue(total > 0 ? static_cast<int>(1000 * received / total) : 0);
    const double speed = download->bytesPerSecond();
    QString text = total > 0 ? tr("%1 of %2")
                                   .arg(sizeText(static_cast<quint64>(received)),
                                        sizeText(static_cast<quint64>(total)))
                             : sizeText(static_cast<quint64>(received));
    if (isRunning && speed > 0) {
        text += tr(" at %1/s").arg(sizeText(static_cast<quint64>(speed)));
        if (total > received)
            text += tr(", %n seconds left", nullptr,
                       static_cast<int>(static_cast<double>(total - received) / speed));
    }
    if (!isRunning) text += tr(", paused");
    downloadState->setText(text);
}

}  // namespace hokku::desktop
