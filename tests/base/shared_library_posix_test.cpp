// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/shared_library.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

using hokku::SharedLibrary;
namespace fs = std::filesystem;

namespace {

/// A library of the system that is in use here: of mathematics, which starts nothing.
fs::path any_library() {
    Dl_info info = {};
    void* const function = dlsym(RTLD_DEFAULT, "erfc");
    if (function == nullptr || dladdr(function, &info) == 0) return {};
    return fs::canonical(info.dli_fname);
}

std::string refusal(const fs::path& path) {
    const auto library = SharedLibrary::open(path);
    return library.ok() ? "opened" : library.error().message();
}

}  // namespace

TEST_CASE("SharedLibrary: a whole library is opened, a part of one is refused", "[base][quick]") {
    const hokku::testing::ScratchFolder folder;
    const fs::path path = folder / "library.so";
    fs::copy_file(any_library(), path);
    const auto whole = SharedLibrary::open(path);
    REQUIRE(whole.ok());
    CHECK(whole->find("erfc") != nullptr);
    CHECK(whole->find("hokku_no_such_function") == nullptr);

    const fs::path part = folder / "part.so";
    const auto size = fs::file_size(path);
    for (const uintmax_t percent : {1u, 10u, 50u, 80u}) {
        fs::copy_file(path, part, fs::copy_options::overwrite_existing);
        fs::resize_file(part, size * percent / 100);
        CHECK(refusal(part).find("not all of one") != std::string::npos);
    }
}

TEST_CASE("SharedLibrary: what is no library is refused and not waited for", "[base][quick]") {
    const hokku::testing::ScratchFolder folder;
    std::ofstream(folder / "empty").flush();
    std::ofstream(folder / "text") << std::string(1000, 'x');
    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    for (const fs::path& path :
         {folder / "empty", folder / "text", folder / "pipe", folder.path(), fs::path("/dev/zero")})
        CHECK(refusal(path).find("is no library") != std::string::npos);
    CHECK(refusal(folder / "nothing").find("cannot be opened") != std::string::npos);
}
