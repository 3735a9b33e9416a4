// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The header takes the place of functions of the C library, so a program of its own includes it.

#include "support/program_rows.hpp"

#include <cstddef>
#include <cstdlib>
#include <string>

#ifdef THRUM_MUTEX_WATCH_PATH  // sanitizers have such functions of their own

namespace {

support::program_result watched(const std::string& name) {
  return support::run_file(THRUM_MUTEX_WATCH_PATH, name);
}

std::size_t count(const std::string& text, const std::string& words) {
  std::size_t n = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    ++n;
  }
  return n;
}

}  // namespace

TEST_CASE("mutex_watch names each place where a goroutine parks with a std::mutex, once") {
  const support::program_result r = watched("held_over_park");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(
      r.says("thrum: goroutine 1 [cook] parks while its thread holds 1 lock(s) of the C library"));
  CHECK(r.says("unlock them first, or use thrum::mutex"));
  if (std::getenv("THRUM_TEST_EMULATOR") == nullptr) {
    CHECK(r.says("park_in_the_kitchen"));
  }
  CHECK(count(r.text, "parks while its thread holds") == 1);
}

TEST_CASE("mutex_watch counts all locks that are held, however they were taken") {
  const support::program_result r = watched("held_in_two_places");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("holds 2 lock(s)"));
  CHECK(r.says("holds 1 lock(s)"));
  CHECK(count(r.text, "parks while its thread holds") == 2);
}

TEST_CASE(
    "mutex_watch is silent about locks that are unlocked, refused, of other threads or thrum's") {
  support::check_programs({{"nothing_held", 0, ""}, {"held_by_others", 0, ""}},
                          THRUM_MUTEX_WATCH_PATH);
}

#endif
