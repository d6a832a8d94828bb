// SPDX-License-Identifier: Apache-2.0
#include "engine/model_session.h"

namespace hokku {
namespace {

/// What stands where no backend could be made: every step gives the error.
class LostBackend final : public Backend {
  public:
    explicit LostBackend(Error error) : error_(std::move(error)) {}
    Result<std::span<const float>> run(const Step& /*step*/) override { return error_; }
    void copy_block(uint32_t /*from*/, uint32_t /*to*/) override {}
    [[nodiscard]] const BackendInfo& info() const override { return info_; }

  private:
    Error error_;
    BackendInfo info_;
};

}  // namespace

Result<void> ModelLoader::restart(LoadedModel& /*loaded*/, const LoadOptions& /*options*/,
                                  const Error& lost) {
    return lost;
}

Result<void> ModelSession::recover(const Error& lost) {
    if (!restart) return lost;
    kv.clear();
    // It may have been on the same device.
    draft.reset();
    loaded.draft.reset();
    loaded.info.draft_model.clear();
    loaded.info.draft_bytes = 0;
    Result<void> restarted = restart(lost);
    if (!restarted.ok() && loaded.backend == nullptr)
        loaded.backend = std::make_unique<LostBackend>(restarted.error());
    runner.use(*loaded.backend);
    if (on_info_changed) on_info_changed();
    return restarted;
}

}  // namespace hokku
