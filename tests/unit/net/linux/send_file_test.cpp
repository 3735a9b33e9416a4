// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// conn::send_file from files that the kernel makes up: their size is 0.

#include "../sent_to_peer.hpp"
#include "support/test.hpp"

#include <fstream>

#include <fcntl.h>
#include <unistd.h>

using support::sent_to_peer;

IN_RUNTIME("send_file from a file that the kernel makes up sends what is in it") {
  for (const char* const path :
       {"/proc/self/cmdline", "/proc/sys/kernel/ostype", "/proc/cpuinfo"}) {
    std::ifstream whole(path);
    const std::string expected{std::istreambuf_iterator<char>(whole), {}};
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(file >= 0);
    std::uint64_t sent = 0;
    std::error_code error;
    const std::string got = sent_to_peer(file, 0, UINT64_MAX, sent, error);
    INFO(path);
    CHECK_FALSE(error);
    CHECK(got.size() == sent);
    CHECK(got.substr(0, 5) == expected.substr(0, 5));
    CHECK(sent_to_peer(file, 1, 4, sent, error) == expected.substr(1, 4));
    CHECK(sent == 4);
    ::close(file);
  }
}
