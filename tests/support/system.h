// SPDX-License-Identifier: Apache-2.0
// What tests ask of the system, in one form for all systems.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace hokku::testing {

/// The arguments of main in UTF-8; also sets the streams up for it.
std::vector<std::string> utf8_arguments(int argc, char** argv);

/// Of this process and those that it starts. Text is UTF-8.
void set_environment(const std::string& name, const std::string& value);
void unset_environment(const std::string& name);

/// Memory whose end is followed by a page that must not be touched.
class GuardedMemory {
  public:
    explicit GuardedMemory(size_t bytes);
    ~GuardedMemory();
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;
    [[nodiscard]] std::byte* data() const { return data_; }

  private:
    void* mapping_ = nullptr;
    size_t mapping_bytes_ = 0;
    std::byte* data_ = nullptr;
};

/// Runs `work` on a thread with a stack of so many bytes, to its end.
void run_on_small_stack(size_t stack_bytes, const std::function<void()>& work);

}  // namespace hokku::testing
