// SPDX-License-Identifier: Apache-2.0
// What is written to a terminal: no control codes of a model or a file come through.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "run_hokku.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/tiny_model.h"

using namespace hokku::testing;

namespace {

/// All that the program writes to a terminal, on stdout and stderr. Empty where there is none.
std::string shown_on_terminal(std::vector<std::string> arguments) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return "";
    const std::string name = ptsname(terminal), program = hokku_program().string();
    arguments.insert(arguments.begin(), program);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        const int out = open(name.c_str(), O_RDWR | O_NOCTTY);
        dup2(out, STDOUT_FILENO);
        dup2(out, STDERR_FILENO);
        close(terminal);
        alarm(60);
        execv(program.c_str(), pointers.data());
        _exit(127);
    }
    std::string shown;
    char bytes[4096];
    // Ends with an error once the child has closed its side.
    for (ssize_t count = 0; (count = read(terminal, bytes, sizeof bytes)) > 0;)
        shown.append(bytes, static_cast<size_t>(count));
    int status = 0;
    waitpid(child, &status, 0);
    close(terminal);
    CHECK(status == 0);
    return shown;
}

}  // namespace

TEST_CASE("hokku run: on a terminal control codes are shown as ?", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    const std::string model = (folder / "tiny.gguf").string();
    // The byte tokens of this model have the ids of their bytes.
    const auto arguments = [&](const std::string& id) {
        return std::vector<std::string>{
            "run",    "-m", model,          "--tokens",     "1", "-n", "3", "--repeat-penalty", "1",
            "--temp", "0",  "--logit-bias", id + "=1000000"};
    };
    for (const std::string id : {"27", "7", "8", "13", "127"}) {
        CAPTURE(id);
        const std::string shown = shown_on_terminal(arguments(id));
        if (shown.empty()) return report_skip("there are no terminals");
        CHECK(shown.find("???") != std::string::npos);
        CHECK(shown.find('\x1b') == std::string::npos);
        CHECK(shown.find('\a') == std::string::npos);
        // To a program they come as they are.
        const HokkuRun run = run_hokku(arguments(id));
        CHECK(run.out == std::string(3, static_cast<char>(std::stoi(id))) + "\n");
    }
    const std::string lines = shown_on_terminal(arguments("10"));
    CHECK(lines.find("\n\r\n\r\n") != std::string::npos);
}
