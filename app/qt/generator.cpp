// SPDX-License-Identifier: Apache-2.0
#include "hokku/qt/generator.h"

#include <QElapsedTimer>
#include <QTimer>
#include <atomic>
#include <thread>
#include <utility>

#include "event_batch.h"

namespace hokku::qt {
namespace {

constexpr int kFrameMs = 16;

struct ModelChange {
    std::optional<LoadOptions> options;  ///< Absent: the model is unloaded.
};

}  // namespace

/// Each load and each generation has a batch of its own, so that late events of one that was
/// superseded are dropped with it. A batch is shared with the inference thread, which may still
/// write to it when this object has moved on.
struct Generator::Private {
    Private(Generator* generator, std::unique_ptr<Engine> theEngine)
        : self(generator), engine(std::move(theEngine)) {
        frame.setSingleShot(true);
        frame.setTimerType(Qt::PreciseTimer);
        QObject::connect(&frame, &QTimer::timeout, self, [this] { deliver(); });
    }

    /// For the inference thread: adds to the batch and wakes the object's thread when needed.
    template <class Change>
    void post(const std::shared_ptr<EventBatch>& batch, const Change& change) {
        if (!batch->add(change)) return;
        QMetaObject::invokeMethod(
            self, [this] { scheduleFrame(); }, Qt::QueuedConnection);
    }

    void scheduleFrame() {
        if (frame.isActive()) return;
        const qint64 elapsed = sinceFrame.isValid() ? sinceFrame.elapsed() : kFrameMs;
        frame.start(static_cast<int>(qBound(qint64{0}, kFrameMs - elapsed, qint64{kFrameMs})));
    }

    void deliver() {
        sinceFrame.start();
        if (loadBatch) {
            if (const PendingEvents events = loadBatch->take(); events.load_fraction)
                emit self->loadProgress(*events.load_fraction);
        }
        if (generationBatch) deliverGeneration(generationBatch->take());
    }

    void deliverGeneration(const PendingEvents& events) {
        if (events.prefill)
            emit self->prefillProgress(events.prefill->first, events.prefill->second);
        if (events.text_was_thought) emit self->textWasThought();
        if (!events.thought.empty())
            emit self->thoughtArrived(QString::fromStdString(events.thought));
        if (events.dropped) emit self->turnsDropped(*events.dropped);
        if (events.grown_to) {
            model = engine->model();
            emit self->contextGrown(*events.grown_to);
        }
        if (!events.text.empty()) emit self->textArrived(QString::fromStdString(events.text));
        if (!events.result) return;
        handle.reset();
        generationBatch.reset();
        if (!events.result->notice.empty())
            emit self->contextNotGrown(QString::fromStdString(events.result->notice));
        if (events.result->error) {
            emit self->failed(*events.result->error);
        } else {
            emit self->finished(events.result->stats, events.result->reason);
        }
    }

    /// Begins at once, or as soon as what is under way has been cancelled.
    void change(const ModelChange& wanted) {
        self->stop();
        if (isLoading) {
            next = wanted;
            self->cancelLoad();
        } else {
            start(wanted);
        }
    }

    void start(const ModelChange& wanted) {
        isLoading = true;
        loadBatch = std::make_shared<EventBatch>();
        loader = std::thread([this, wanted, batch = loadBatch, number = loadNumber.load()] {
            std::optional<Result<ModelInfo>> loaded;
            if (wanted.options) {
                loaded = engine->load(*wanted.options, [&](double fraction) {
                    post(batch, [&](PendingEvents& events) { events.load_fraction = fraction; });
                    return number == loadNumber;
                });
            } else {
                engine->unload();
            }
            QMetaObject::invokeMethod(
                self, [this, loaded = std::move(loaded)] { end(loaded); }, Qt::QueuedConnection);
        });
    }

    void end(const std::optional<Result<ModelInfo>>& loaded) {
        loader.join();
        deliver();
        loadBatch.reset();
        isLoading = false;
        model = engine->model();
        if (next) {
            start(*std::exchange(next, std::nullopt));
        } else if (!loaded) {
            emit self->unloaded();
        } else if (loaded->ok()) {
            emit self->modelReady(**loaded);
        } else {
            emit self->loadFailed(loaded->error());
        }
    }

    Generator* self;
    std::unique_ptr<Engine> engine;
    std::optional<ModelInfo> model;
    std::optional<GenerationHandle> handle;                  ///< Of the running generation.
    std::shared_ptr<EventBatch> generationBatch, loadBatch;  ///< Of what runs.
    QTimer frame;
    QElapsedTimer sinceFrame;

    std::thread loader;      ///< Waits for Engine::load and unload, which block.
    bool isLoading = false;  ///< Or unloading.
    std::atomic<int> loadNumber = 0;
    std::optional<ModelChange> next;  ///< To be begun when the cancelled one has ended.
};

Generator::Generator(std::unique_ptr<Engine> engine, QObject* parent)
    : QObject(parent), m_private(std::make_unique<Private>(this, std::move(engine))) {}

Generator::~Generator() {
    m_private->loadNumber = -1;
    m_private->engine->cancel_load();
    if (m_private->loader.joinable()) m_private->loader.join();
    m_private->engine.reset();
}

bool Generator::isLoading() const {
    return m_private->isLoading;
}
bool Generator::isGenerating() const {
    return m_private->handle.has_value();
}
const std::optional<ModelInfo>& Generator::model() const {
    return m_private->model;
}

std::optional<uint32_t> Generator::countTokens(const GenerationRequest& request) const {
    if (!m_private->model || m_private->isLoading) return std::nullopt;
    const auto tokens = m_private->engine->tokenize_request(request);
    if (!tokens.ok()) return std::nullopt;
    return static_cast<uint32_t>(tokens->size());
}

void Generator::load(const LoadOptions& options) {
    m_private->change({options});
}

void Generator::unload() {
    m_private->change({});
}

void Generator::cancelLoad() {
    if (!m_private->isLoading) return;
    ++m_private->loadNumber;
    m_private->engine->cancel_load();
}

void Generator::send(const GenerationRequest& request) {
    Q_ASSERT_X(!isGenerating(), "Generator::send", "one generation at a time");
    auto batch = std::make_shared<EventBatch>();
    m_private->generationBatch = batch;
    Private* self = m_private.get();
    GenerationEvents events;
    events.on_prefill = [self, batch](uint32_t done, uint32_t total) {
        self->post(batch, [&](PendingEvents& pending) { pending.prefill = {done, total}; });
    };
    events.on_text = [self, batch](std::string_view text) {
        self->post(batch, [&](PendingEvents& pending) { pending.text += text; });
    };
    events.on_thought = [self, batch](std::string_view text) {
        self->post(batch, [&](PendingEvents& pending) { pending.thought += text; });
    };
    events.on_text_was_thought = [self, batch] {
        self->post(batch, [&](PendingEvents& pending) { pending.turn_text_to_thought(); });
    };
    events.on_dropped = [self, batch](const DroppedTurns& dropped) {
        self->post(batch, [&](PendingEvents& pending) { pending.dropped = dropped; });
    };
    events.on_grown = [self, batch](uint32_t contextTokens) {
        self->post(batch, [&](PendingEvents& pending) { pending.grown_to = contextTokens; });
    };
    events.on_finished = [self, batch](const GenerationResult& result) {
        self->post(batch, [&](PendingEvents& pending) { pending.result = result; });
    };
    m_private->handle = m_private->engine->generate(request, std::move(events));
}

void Generator::stop() {
    if (m_private->handle) m_private->handle->cancel();
}

}  // namespace hokku::qt
