// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a shared object of these tests exports. Nothing else of it is visible.
#ifndef THRUM_TESTS_SHARED_PLUGIN_HPP
#define THRUM_TESTS_SHARED_PLUGIN_HPP

#include <system_error>

/// An exception that has nothing of the library.
struct [[gnu::visibility("default")]] plain_problem {
  int number = 0;
};

struct plugin {
  /// Calls f(argument) as the main goroutine of a runtime with that many processors.
  void (*run)(unsigned procs, void (*f)(void* argument), void* argument);
  /// Whether the caller is a goroutine, and whether it may park.
  bool (*knows_goroutine)();
  /// A channel of int without room, to be used by another object.
  void* (*make_channel)();
  void (*drop_channel)(void* channel);
  /// Starts a goroutine that sends 1 to n and closes.
  void (*feed)(void* channel, int n);
  /// What all received numbers come to.
  long (*sum)(void* channel);
  /// Starts a goroutine that computes until the flag is set, and calls nothing.
  void (*compute)(volatile bool* stop, bool* ended);
  void (*sleep_ms)(int ms);
  /// Ends the calling goroutine by an exception.
  void (*exit_goroutine)();
  /// Calls f(argument) in a goroutine and waits for it; whether goroutine_exit has come out of f.
  bool (*catches_exit)(void (*f)());
  /// Whether f() throws a usage_error.
  bool (*catches_usage_error)(void (*f)());
  void (*commit_usage_error)();
  /// Whether f() throws a plain_problem, as far as this object's C++ library knows.
  bool (*catches_plain)(void (*f)());
  void (*throw_plain)();
  /// A read from a pipe that waits in the poller, started by this object: true once it has come.
  bool (*reads_from_pipe)();
  /// Whether what f() gives are the library's own errors.
  bool (*knows_errors)(void (*f)(std::error_code (&errors)[3]));
  void (*give_errors)(std::error_code (&errors)[3]);
  /// How many goroutines the runtime of the caller has.
  unsigned long (*goroutines)();
};

extern "C" [[gnu::visibility("default")]] const plugin thrum_test_plugin;

#endif
