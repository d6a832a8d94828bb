// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>

#include "hokku/chat_cache.h"
#include "hokku/library.h"
#include "support/catch.h"
#include "support/system.h"

using hokku::testing::set_environment;
using hokku::testing::unset_environment;

namespace {

/// A variable as it was, at the end.
class Kept {
  public:
    explicit Kept(const char* name) : name_(name) {
        if (const char* value = std::getenv(name)) value_ = value;
    }
    ~Kept() {
        if (value_.empty()) unset_environment(name_);
        if (!value_.empty()) set_environment(name_, value_);
    }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

  private:
    std::string name_, value_;
};

}  // namespace

TEST_CASE("user folders: HOKKU_HOME, then the XDG variables, then the home folder",
          "[engine][quick]") {
    const Kept home("HOME"), data("XDG_DATA_HOME"), cache("XDG_CACHE_HOME"), own("HOKKU_HOME");
    set_environment("HOME", "/h");
    set_environment("XDG_DATA_HOME", "/d");
    set_environment("XDG_CACHE_HOME", "/x");
    set_environment("HOKKU_HOME", "/k");
    CHECK(hokku::data_folder().value() == "/k");
    CHECK(hokku::cache_folder().value() == "/k/cache");
    unset_environment("HOKKU_HOME");
    CHECK(hokku::data_folder().value() == "/d/hokku");
    CHECK(hokku::cache_folder().value() == "/x/hokku");
    set_environment("XDG_DATA_HOME", "");
    set_environment("XDG_CACHE_HOME", "");
    CHECK(hokku::data_folder().value() == "/h/.local/share/hokku");
    CHECK(hokku::cache_folder().value() == "/h/.cache/hokku");
    unset_environment("HOME");
    CHECK_FALSE(hokku::data_folder().ok());
    CHECK_FALSE(hokku::cache_folder().ok());
}
