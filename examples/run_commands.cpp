// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// run_commands: runs each argument as a command of the shell, three at a time, and prints what they wrote
// in the order of the arguments. The exit status is 1 if one of them failed.
//
// Try it with: run_commands "sleep 1; date" "uname -a" "false"

#include <thrum.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

using namespace std::chrono_literals;

namespace {

#if defined(_WIN32)
const std::vector<std::string> shell{"cmd", "/c"};
#else
const std::vector<std::string> shell{"sh", "-c"};
#endif

struct outcome {
  thrum::io::exec_result result;
  std::error_code error;  // it could not be started, or took too long
};

outcome run_one(const std::string& command) {
  std::vector<std::string> arguments = shell;
  arguments.push_back(command);
  outcome it;
  it.result = thrum::io::exec(
      arguments, {.errors_to_output = true, .deadline = std::chrono::steady_clock::now() + 10min},
      it.error);
  return it;
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> commands(values + 1, values + count);
  return thrum::run([&] {
    bool is_good = true;
    const std::vector<outcome> all = thrum::task_group::map(commands, 3, run_one);
    for (std::size_t i = 0; i != all.size(); ++i) {
      const auto& [result, error] = all[i];
      std::printf("$ %s\n%s", commands[i].c_str(), result.output.c_str());
      if (error || !result.status.success()) {
        std::printf("(%s)\n", error ? error.message().c_str() : "it has failed");
        is_good = false;
      }
    }
    return is_good ? 0 : 1;
  });
}
