// SPDX-License-Identifier: Apache-2.0
#include "gui/durability/disk_faults.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace hokku::testing {

// Used by the functions below, which are outside of all namespaces.
namespace {

std::mutex mutex;
DiskFaults current;
std::atomic<bool> isOn = false;
std::atomic<int> numCalls = 0;

bool isInside(const char* path) {
    const std::lock_guard lock(mutex);
    return !current.folder.empty() && std::string(path).rfind(current.folder, 0) == 0;
}

bool isInside(int file) {
    char link[64], path[PATH_MAX];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return false;
    path[size] = '\0';
    return isInside(path);
}

/// What a call does: a full disk lets files be made smaller and removed.
enum class Change { grows, shrinks };

/// Counts a call that changes something; sets errno and says true where it is to fail.
template <class Place>
bool fails(Place place, bool needsWriting = false, Change change = Change::grows) {
    if (!isOn || !isInside(place)) return false;
    const int call = ++numCalls;
    const std::lock_guard lock(mutex);
    const bool isDue =
        current.first > 0 && (current.isOnce ? call == current.first : call >= current.first);
    if (current.error == ENOSPC && change == Change::shrinks) return false;
    if (!isDue && !(current.isReadOnly && needsWriting)) return false;
    errno = current.error;
    return true;
}

int openFile(const char* path, int flags, mode_t mode) {
    const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
    if (writes && fails(path, true)) return -1;
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

}  // namespace

void setDiskFaults(const DiskFaults& faults) {
    const std::lock_guard lock(mutex);
    current = faults;
    numCalls = 0;
    isOn = true;
}
void clearDiskFaults() {
    isOn = false;
}
int numDiskCalls() {
    return numCalls;
}

}  // namespace hokku::testing

using hokku::testing::Change;
using hokku::testing::fails;
using hokku::testing::openFile;

extern "C" {

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return openFile(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return openFile(path, flags, mode);
}
ssize_t write(int file, const void* data, size_t size) {
    if (fails(file)) return -1;
    return syscall(SYS_write, file, data, size);
}
ssize_t pwrite64(int file, const void* data, size_t size, off64_t at) {
    if (fails(file)) return -1;
    return syscall(SYS_pwrite64, file, data, size, at);
}
ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
    return pwrite64(file, data, size, at);
}
int fsync(int file) {
    return fails(file) ? -1 : static_cast<int>(syscall(SYS_fsync, file));
}
int fdatasync(int file) {
    return fails(file) ? -1 : static_cast<int>(syscall(SYS_fdatasync, file));
}
int ftruncate64(int file, off64_t size) noexcept {
    struct stat now {};
    const bool grows = fstat(file, &now) != 0 || size > now.st_size;
    if (fails(file, false, grows ? Change::grows : Change::shrinks)) return -1;
    return static_cast<int>(syscall(SYS_ftruncate, file, size));
}
int ftruncate(int file, off_t size) noexcept {
    return ftruncate64(file, size);
}
int unlink(const char* path) noexcept {
    if (fails(path, true, Change::shrinks)) return -1;
    return static_cast<int>(syscall(SYS_unlink, path));
}
int mkdir(const char* path, mode_t mode) noexcept {
    return fails(path, true) ? -1 : static_cast<int>(syscall(SYS_mkdir, path, mode));
}
int rename(const char* from, const char* to) noexcept {
    return fails(from, true) ? -1 : static_cast<int>(syscall(SYS_rename, from, to));
}
int renameat2(int fromFolder, const char* from, int toFolder, const char* to,
              unsigned flags) noexcept {
    return fails(from, true)
               ? -1
               : static_cast<int>(syscall(SYS_renameat2, fromFolder, from, toFolder, to, flags));
}

}  // extern "C"
