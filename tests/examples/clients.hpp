// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// For tests of examples that use the network: they run as processes of their own, and are driven by
// the programs that people use for such servers, where those are installed, and by our connections.
#ifndef THRUM_TESTS_UNIT_EXAMPLES_CLIENTS_HPP
#define THRUM_TESTS_UNIT_EXAMPLES_CLIENTS_HPP

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/net.hpp"
#include "support/program.hpp"
#include "support/scale.hpp"
#include "support/server_process.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace examples {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using support::example_words;
using support::folder;
using support::run_line;
using support::server_process;

/// Whether a program can take part; says so if not.
inline bool has(const std::string& program) {
  const bool found = support::is_installed(program);
  if (!found) {
    WARN(program << " is not installed: what it would show is left out");
  }
  return found;
}

/// The same for an example that needs a foreign library.
inline bool is_built(const std::string& example) {
  const bool found = fs::exists(support::example_path(example));
  if (!found) {
    WARN(example << " was not built, its library is missing: what it would show is left out");
  }
  return found;
}

/// A line for the shell that runs an example.
inline std::string example_line(const std::string& name, const std::string& arguments) {
#if defined(_WIN32)
  constexpr char quote = '"';
#else
  constexpr char quote = '\'';
#endif
  std::string line;
  for (const std::string& word : example_words(name)) {
    line += quote + word + quote + " ";
  }
  return line + arguments;
}

inline std::string port_of(const server_process& server) {
  return server.address().substr(server.address().rfind(':') + 1);
}

inline thrum::net::conn dial(const std::string& address) {
  thrum::net::conn c = thrum::net::dial(std::string_view(address));
  c.set_deadline(std::chrono::steady_clock::now() + support::long_time);
  return c;
}

/// Until the end of the stream; any failure, too, ends it.
inline std::string read_all(thrum::net::conn& c) {
  std::string text;
  std::array<char, 16384> buffer;
  std::error_code error;
  while (const std::size_t n = c.read(std::span<char>(buffer), error)) {
    text.append(buffer.data(), n);
  }
  return error == std::errc::timed_out ? text + "(no end)" : text;
}

/// A line without its end; `rest` holds what was read behind it, for the next one. Empty at the end
/// of the stream.
inline std::string read_line(thrum::net::conn& c, std::string& rest) {
  std::size_t end = 0;
  while ((end = rest.find('\n')) == std::string::npos) {
    std::array<char, 16384> buffer;
    std::error_code error;
    const std::size_t n = c.read(std::span<char>(buffer), error);
    if (n == 0) {
      return {};
    }
    rest.append(buffer.data(), n);
  }
  std::string line = rest.substr(0, end);
  rest.erase(0, end + 1);
  return line;
}

/// Writes while it reads, and ends its stream when all is written.
inline std::string talk(const std::string& address, const std::string& text) {
  thrum::net::conn c = dial(address);
  const auto writer = thrum::spawn([&] {
    std::error_code error;
    c.write(text, error);
    c.close_write(error);
  });
  return read_all(c);
}

inline std::string pattern(std::size_t n) {
  std::string text(n, '\0');
  std::uint32_t x = 1;
  for (char& c : text) {
    x = x * 1664525 + 1013904223;
    c = static_cast<char>(x >> 24);
  }
  return text;
}

/// Stands for the number of processors that the example chooses for itself.
inline std::vector<std::string> on(const std::string& procs, std::vector<std::string> words) {
  words.insert(words.end(), {"--procs", procs});
  return words;
}

/// A place on which nobody listens, for servers that cannot choose one themselves. Where the address is
/// not ours alone, somebody else may be faster: try again.
inline thrum::net::endpoint free_place() {
  return thrum::net::listener::listen(support::own_loopback()).local();
}

}  // namespace examples

#endif
