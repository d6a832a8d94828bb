// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "support/malformed_files.h"

namespace hokku::testing {

namespace fs = std::filesystem;

void add_special_files(MalformedList& list) {
    list.add_made("F6-dev-zero", "device",
                  [](const ScratchFolder&) { return fs::path("/dev/zero"); });
    list.add_made("F6-dev-null", "device",
                  [](const ScratchFolder&) { return fs::path("/dev/null"); });
    list.add_made("F6-dev-random", "device",
                  [](const ScratchFolder&) { return fs::path("/dev/random"); });
    list.add_made("F6-pipe", "named pipe", [](const ScratchFolder& folder) {
        if (mkfifo((folder / "F6-pipe.gguf").c_str(), 0600) != 0)
            throw std::runtime_error("cannot make a pipe");
        return folder / "F6-pipe.gguf";
    });
    list.add_made("F6-socket", "socket", [](const ScratchFolder& folder) {
        const fs::path path = folder / "F6-socket.gguf";
        const int file = socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
        const int bound = bind(file, reinterpret_cast<sockaddr*>(&address), sizeof(address));
        close(file);
        if (bound != 0) throw std::runtime_error("cannot make a socket");
        return path;
    });
    list.add_made("F6-dangling-link", "link points to a file that does not exist",
                  [](const ScratchFolder& folder) {
                      fs::create_symlink("nowhere", folder / "F6-dangling-link.gguf");
                      return folder / "F6-dangling-link.gguf";
                  });
    list.add_made("F6-link-to-itself", "cannot be opened", [](const ScratchFolder& folder) {
        fs::create_symlink("F6-link-to-itself.gguf", folder / "F6-link-to-itself.gguf");
        return folder / "F6-link-to-itself.gguf";
    });
}

}  // namespace hokku::testing
