// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// port_scan: which TCP ports of this machine accept connections, on the loopback address only.
//
//   port_scan [FIRST [LAST]]
//
// FIRST and LAST are 1 and 65535 unless they are given. A goroutine for each port; a task_group
// lets no more than 256 live at a time, so that there are descriptors for all. Prints the open
// ports in order.

#include <thrum.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <system_error>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t loopback = 0x7f000001;

bool is_open(std::uint16_t port) {
  std::error_code error;
  thrum::net::dial(thrum::net::endpoint::v4(loopback, port), 5s, error);
  return !error;
}

std::vector<std::uint16_t> open_ports(std::uint16_t first, std::uint16_t last) {
  thrum::mutex mutex;
  std::vector<std::uint16_t> found;
  thrum::task_group scan(256);
  for (unsigned port = first; port <= last; ++port) {
    scan.go([&, number = static_cast<std::uint16_t>(port)] {
      if (is_open(number)) {
        const std::lock_guard lock(mutex);
        found.push_back(number);
      }
    });
  }
  scan.wait();
  std::sort(found.begin(), found.end());
  return found;
}

bool parse(std::string_view text, std::uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

}  // namespace

int main(int count, char** values) {
  std::uint16_t first = 1;
  std::uint16_t last = 65535;
  if (count > 3 || (count > 1 && !parse(values[1], first)) ||
      (count > 2 && !parse(values[2], last)) || first > last) {
    std::fprintf(stderr, "usage: port_scan [FIRST [LAST]], ports from 1 to 65535\n");
    return 2;
  }
  return thrum::run([&] {
    for (const std::uint16_t port : open_ports(first, last)) {
      std::printf("%u\n", port);
    }
  });
}
