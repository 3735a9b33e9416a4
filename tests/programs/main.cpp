// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum_programs NAME: one program of many, for tests that look at one from outside.

#include <thrum/detail/base/sanitizer.hpp>

#include "programs/programs.hpp"

#include "support/end_after.hpp"
#include "support/exit_codes.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#else
#include <sys/resource.h>
#endif

#if THRUM_TSAN

/// ThreadSanitizer sleeps for a second before a process ends, to catch threads at what they still do.
/// Goroutines stand still then, which has a limit (process_exit.hpp), and a tenth catches them as well.
extern "C" const char* __tsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "atexit_sleep_ms=100";
}

#endif

namespace {

/// Nothing but the end is to be seen of one that crashes.
void crash_quietly() {
#if defined(_WIN32)
  support::crash_without_debugger();
  // Else abort() ends with 3, as programs here do by exit().
  std::signal(SIGABRT, [](int) { std::_Exit(support::exit_code_of_abort); });
  for (const int stream : {0, 1, 2}) {
    ::_setmode(stream, _O_BINARY);
  }
#else
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
#endif
}

}  // namespace

int main(int count, char** values) {
  crash_quietly();
  constexpr unsigned longest = 120;  // seconds
  support::end_after(longest);
  for (const programs::group* g = programs::group::first; g != nullptr; g = g->next) {
    for (const programs::entry& e : g->entries) {
      if (count >= 2 && e.name == values[1]) {
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
