// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/sqlite_jobs.

#include "support/catch.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include "clients.hpp"

#include <string>

namespace examples { namespace {

TEST_CASE("jobs in a database of SQLite are each done once, over several runs") {
  if (!is_built("sqlite_jobs")) {
    return;
  }
  const folder here;
  const std::string file = (here / "jobs.db").string();
  const auto first = run_line(example_line("sqlite_jobs", file + " a bb ccc"));
  CHECK(first.exit_code == 0);
  for (const char* const line :
       {"job 1: 1 letters\n", "job 2: 2 letters\n", "job 3: 3 letters\n"}) {
    CHECK(first.says(line));
  }
  CHECK(run_line(example_line("sqlite_jobs", file + " dddd")).text == "job 4: 4 letters\n");
  CHECK(run_line(example_line("sqlite_jobs", file)).text.empty());
  CHECK(run_line(example_line("sqlite_jobs", "/nonexistent/jobs.db")).exit_code == 1);
}

}}  // namespace examples

#endif
