// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// follow: prints a file, and from then on what is written to it, as tail -f does, until SIGINT or SIGTERM.
//
//   follow FILE

#include <thrum.hpp>
#include <thrum/io/file_watch.hpp>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <system_error>

namespace {

/// Ends with the error that ends it: operation_canceled if `until` is done.
std::error_code follow(const std::string& path, const thrum::context& until) {
  std::error_code error;
  thrum::io::file_watch changes(error);
  if (!error) {
    changes.add(path, error);  // before the first read, so that no change is missed
  }
  if (error) {
    return error;
  }
  thrum::io::file file = thrum::io::file::open(path, thrum::io::open_mode::read, error);
  std::string piece(64 * 1024, '\0');
  for (std::uint64_t position = 0; !error;) {
    if (file.size(error) < position) {
      position = file.seek(0, thrum::io::seek_from::begin, error);  // it was cut off
    }
    while (const std::size_t n = file.read(std::span<char>(piece), error)) {
      std::fwrite(piece.data(), 1, n, stdout);
      position += n;
    }
    std::fflush(stdout);
    if (!error) {
      changes.next(until, error);
    }
  }
  return error;
}

}  // namespace

int main(int count, char** values) {
  if (count != 2) {
    std::fprintf(stderr, "usage: follow FILE\n");
    return 2;
  }
  return thrum::run([&] {
    const thrum::context until = thrum::context::background().with_cancel();
    std::error_code error;
    thrum::io::signal_set signals({SIGINT, SIGTERM}, error);
    thrum::go([until, told = signals.chan()] {
      if (told && told.recv()) {
        until.cancel();
      }
    });
    error = follow(values[1], until);
    if (error && error != std::errc::operation_canceled) {
      std::fprintf(stderr, "follow: cannot follow %s: %s\n", values[1], error.message().c_str());
      return 1;
    }
    return 0;
  });
}
