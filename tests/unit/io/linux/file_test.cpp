// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A file that Linux opens anew by the number that it has already.

#include "support/test.hpp"

#include <fcntl.h>
#include <unistd.h>

using thrum::io::file;

TEST_CASE("standard input that is opened anew can be closed under its reader") {
  with_runtime([&] {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    file f = file::open("/proc/self/fd/" + std::to_string(ends[0]));
    CHECK((::fcntl(ends[0], F_GETFL) & O_NONBLOCK) == 0);
    auto reader = thrum::spawn([&] {
      char one;
      return error_of([&] { f.read(std::span(&one, 1)); });
    });
    REQUIRE(support::eventually([] { return thrum::stats().waiting >= 1; }));
    f.close();
    CHECK(reader.join() == std::errc::operation_canceled);
    ::close(ends[0]);
    ::close(ends[1]);
  });
}
