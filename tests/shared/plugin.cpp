// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A shared object that holds the library and hides it. Built twice.

#include "shared/plugin.hpp"

#include <thrum.hpp>

#include <chrono>
#include <span>
#include <string_view>
#include <system_error>

namespace {

using channel = thrum::chan<int>;

channel& channel_of(void* pointer) { return *static_cast<channel*>(pointer); }

void run(unsigned procs, void (*f)(void*), void* argument) {
  thrum::options options;
  options.procs = procs;
  options.time_slice = std::chrono::milliseconds(1);
  thrum::run(options, [&] { f(argument); });
}

bool knows_goroutine() {
  return thrum::runtime::current() != nullptr && thrum::this_goroutine::id() != 0;
}

void feed(void* pointer, int n) {
  thrum::go([to = channel_of(pointer), n]() mutable {
    for (int i = 1; i <= n; ++i) {
      to.send(i);
    }
    to.close();
  });
}

long sum(void* pointer) {
  long all = 0;
  for (const int n : channel_of(pointer)) {
    all += n;
  }
  return all;
}

void compute(volatile bool* stop, bool* ended) {
  thrum::go([stop, ended] {
    while (!*stop) {
    }
    *ended = true;
  });
}

bool catches_exit(void (*f)()) {
  bool caught = false;
  thrum::wait_group group;
  group.go([&] {
    try {
      f();
    } catch (const thrum::goroutine_exit&) {
      caught = true;
      throw;
    }
  });
  group.wait();
  return caught;
}

bool catches_usage_error(void (*f)()) {
  try {
    f();
  } catch (const thrum::usage_error&) {
    return true;
  }
  return false;
}

bool catches_plain(void (*f)()) {
  try {
    f();
  } catch (const plain_problem&) {
    return true;
  } catch (...) {
    return false;
  }
  return false;
}

bool reads_from_pipe() {
  thrum::io::pipe both;
  auto reader = thrum::spawn([&] {
    char text[5];
    return both.reader().read_full(std::span(text)) == sizeof text &&
           std::string_view(text, 5) == "hello";
  });
  thrum::sleep_for(std::chrono::milliseconds(2));
  both.write("hello");
  return reader.join();
}

void give_errors(std::error_code (&errors)[3]) {
  errors[0] = thrum::errc::deadline_exceeded;
  errors[1] = thrum::net::endpoint_error::no_port;
  errors[2] = thrum::net::resolve_error::host_not_found;
}

bool knows_errors(void (*f)(std::error_code (&)[3])) {
  std::error_code errors[3];
  f(errors);
  return errors[0] == thrum::errc::deadline_exceeded &&
         errors[1] == thrum::net::endpoint_error::no_port &&
         errors[2] == thrum::net::resolve_error::host_not_found;
}

}  // namespace

extern "C" const plugin thrum_test_plugin = {
    .run = run,
    .knows_goroutine = knows_goroutine,
    .make_channel = []() -> void* { return new channel(thrum::make_chan<int>()); },
    .drop_channel = [](void* pointer) { delete &channel_of(pointer); },
    .feed = feed,
    .sum = sum,
    .compute = compute,
    .sleep_ms = [](int ms) { thrum::sleep_for(std::chrono::milliseconds(ms)); },
    .exit_goroutine = [] { thrum::this_goroutine::exit(); },
    .catches_exit = catches_exit,
    .catches_usage_error = catches_usage_error,
    .commit_usage_error = [] { thrum::mutex().unlock(); },
    .catches_plain = catches_plain,
    .throw_plain = [] { throw plain_problem(); },
    .reads_from_pipe = reads_from_pipe,
    .knows_errors = knows_errors,
    .give_errors = give_errors,
    .goroutines = []() -> unsigned long {
      return static_cast<unsigned long>(thrum::stats().goroutines);
    },
};
