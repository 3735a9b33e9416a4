// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum_programs NAME: one program of many, for tests that look at one from outside.

#include <thrum/base/sanitizer.hpp>

#include "programs/programs.hpp"

#include <cstdio>

#include <sys/resource.h>
#include <unistd.h>

#if THRUM_TSAN

/// ThreadSanitizer sleeps for a second before a process ends, to catch threads at what they still do.
/// Goroutines stand still then, which has a limit (process_exit.hpp), and a tenth catches them as well.
extern "C" const char* __tsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "atexit_sleep_ms=100";
}

#endif

int main(int count, char** values) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  constexpr unsigned longest = 120;  // seconds; then SIGALRM ends it, and its test fails
  ::alarm(longest);
  for (const programs::group* g = programs::group::first; g != nullptr; g = g->next) {
    for (const programs::entry& e : g->entries) {
      if (count == 2 && e.name == values[1]) {
        return e.run();
      }
    }
  }
  std::fprintf(stderr, "usage: thrum_programs NAME, where NAME is one of");
  for (const programs::group* g = programs::group::first; g != nullptr; g = g->next) {
    for (const programs::entry& e : g->entries) {
      std::fprintf(stderr, " %.*s", static_cast<int>(e.name.size()), e.name.data());
    }
  }
  std::fprintf(stderr, "\n");
  return 2;
}
