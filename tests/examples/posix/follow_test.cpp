// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/follow.

#include "support/test.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "support/with_runtime.hpp"

#include "../clients.hpp"

#include <csignal>
#include <fstream>
#include <string>

namespace examples { namespace {

TEST_CASE("follow prints a file and what is written to it later, until it gets a signal") {
  const folder here;
  const std::string path = (here / "log").string();
  std::ofstream(path) << "one\n";
  support::with_runtime([&] {
    namespace io = thrum::io;
    io::process follow =
        io::process::spawn(example_words("follow", {path}), {.out = io::redirect::pipe()});
    io::buffered_reader lines(follow.out());
    CHECK(lines.read_line() == "one");
    std::ofstream(path, std::ios::app) << "two\n";
    CHECK(lines.read_line() == "two");
    std::ofstream(path) << "3\n";  // shorter: from the beginning
    CHECK(lines.read_line() == "3");
    follow.signal(SIGTERM);
    CHECK(lines.read_line() == std::nullopt);
    CHECK(follow.wait().success());
  });
}

}}  // namespace examples

#endif
