// SPDX-License-Identifier: Apache-2.0
#include "base/read_fault_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/catch.h"
#include "support/gguf_writer.h"

using hokku::ReadFaultGuard;
using hokku::testing::ScratchFolder;
using hokku::testing::write_file;

namespace {

/// The status with which a child process ends that runs `body`.
template <class Body>
int status_of_child(Body&& body) {
    const pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), 2);  // sanitizers report the signal at length
        body();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

struct Mapping {
    const std::byte* bytes = nullptr;
    size_t size = 0;
    explicit Mapping(const std::filesystem::path& path, size_t num_bytes) : size(num_bytes) {
        const int file = open(path.c_str(), O_RDONLY);
        void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
        close(file);
        if (memory != MAP_FAILED) bytes = static_cast<const std::byte*>(memory);
    }
    ~Mapping() {
        if (bytes != nullptr) munmap(const_cast<std::byte*>(bytes), size);
    }
};

int touch(const std::byte* at) {
    const volatile std::byte* byte = at;
    return std::to_integer<int>(*byte);
}

}  // namespace

TEST_CASE("ReadFaultGuard: a fault outside every guarded mapping still ends the process",
          "[base][quick]") {
    const ScratchFolder folder;
    write_file(folder / "file", std::string(16384, 'x'));
    const int status = status_of_child([&] {
        const Mapping guarded(folder / "file", 16384);
        const Mapping open_to_faults(folder / "file", 16384);
        const auto guard = ReadFaultGuard::watch({guarded.bytes, guarded.size});
        if (truncate((folder / "file").c_str(), 0) != 0 || !guard) _exit(0);
        if (touch(guarded.bytes) != 0 || !guard->has_fault()) _exit(0);
        touch(open_to_faults.bytes);
    });
    CHECK((!WIFEXITED(status) || WEXITSTATUS(status) != 0));
}

TEST_CASE("ReadFaultGuard: the handler that was there before gets what is not ours",
          "[base][quick]") {
    const int status = status_of_child([] {
        struct sigaction action = {};
        action.sa_handler = [](int) { _exit(42); };
        sigaction(SIGBUS, &action, nullptr);
        const std::vector<std::byte> memory(4096);
        const auto guard = ReadFaultGuard::watch(memory);
        raise(SIGBUS);
    });
    REQUIRE(WIFEXITED(status));
    // When an earlier test of this process has installed the guard, the test's handler replaced it.
    CHECK(WEXITSTATUS(status) == 42);
}

TEST_CASE("ReadFaultGuard: SIGBUS sent from outside has its default effect", "[base][quick]") {
    const int status = status_of_child([] {
        const std::vector<std::byte> memory(4096);
        const auto guard = ReadFaultGuard::watch(memory);
        raise(SIGBUS);
    });
    CHECK((!WIFEXITED(status) || WEXITSTATUS(status) != 0));
}
