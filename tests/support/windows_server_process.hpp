// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// support/server_process.hpp, as Windows says it: by the library's own processes.
#ifndef THRUM_TESTS_SUPPORT_WINDOWS_SERVER_PROCESS_HPP
#define THRUM_TESTS_SUPPORT_WINDOWS_SERVER_PROCESS_HPP

#include <thrum.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace support {

class server_process {
 public:
  explicit server_process(const std::vector<std::string>& words,
                          std::string_view ready = "listening on ") {
    std::error_code error;
    process_ = thrum::io::process::spawn(
        words, {.out = thrum::io::redirect::pipe(), .err = thrum::io::redirect::to_output()},
        error);
    if (!error) {
      read_until(ready);
    }
  }
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process() = default;  // kills it

  const std::string& address() const { return address_; }
  const std::string& text() const { return text_; }
  std::int64_t id() const { return process_.pid(); }

  bool is_alive() const {
    std::error_code error;
    return process_ && !process_.try_wait(error) && !error;
  }

  void stop() { process_ = thrum::io::process(); }

 private:
  void read_until(std::string_view ready) {
    char c = 0;
    std::string line;
    std::error_code error;
    while (process_.out().read(std::span(&c, 1), error) == 1) {
      if (c == '\r') {  // the C library writes a line's end as two characters
        continue;
      }
      text_ += c;
      if (c != '\n') {
        line += c;
        continue;
      }
      if (const std::size_t at = line.find(ready); at != std::string::npos) {
        address_ = line.substr(at + ready.size());
        return;
      }
      line.clear();
    }
  }

  mutable thrum::io::process process_;
  std::string address_;
  std::string text_;
};

}  // namespace support

#endif
