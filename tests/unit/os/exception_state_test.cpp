// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The per-thread record of exceptions and its exchange at a switch.
#include <thrum/detail/os/thread_state.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/catch.hpp"
#include "support/fibre.hpp"

using support::fibre;
using thrum::os::thread_exception_state;

#if THRUM_EXCEPTIONS

namespace {

// On threads of their own the addresses differ; handed from one to the other by the caller.
[[gnu::noinline]] thrum::os::exception_state* record_here() { return thread_exception_state(); }

struct yields_when_destroyed {
  fibre& self;
  int& seen;
  ~yields_when_destroyed() {
    self.yield();
    seen = std::uncaught_exceptions();
  }
};

}  // namespace

TEST_CASE("the record is at one address for a thread and at another for the next thread") {
  thrum::os::exception_state* const mine = record_here();
  CHECK(mine == record_here());
  thrum::os::exception_state* others = nullptr;
  std::thread([&] { others = record_here(); }).join();
  CHECK(others != nullptr);
  CHECK(others != mine);
}

TEST_CASE("the record shows what is caught and what is in flight") {
  CHECK(thread_exception_state()->caught == nullptr);
  CHECK(thread_exception_state()->uncaught == 0);
  struct looks {
    unsigned& uncaught;
    ~looks() { uncaught = thread_exception_state()->uncaught; }
  };
  unsigned in_flight = 0;
  try {
    looks const at_unwinding{in_flight};
    throw 1;
  } catch (int) {
    CHECK(thread_exception_state()->caught != nullptr);
  }
  CHECK(in_flight == 1);
  CHECK(thread_exception_state()->caught == nullptr);
}

TEST_CASE("a fibre that yields inside a handler keeps its exception to itself") {
  std::string rethrown;
  fibre f([&](fibre& self) {
    try {
      throw std::runtime_error("of the fibre");
    } catch (...) {
      self.yield();
      try {
        throw;
      } catch (const std::runtime_error& again) {
        rethrown = again.what();
      }
    }
  });
  f.resume();
  CHECK(std::current_exception() == nullptr);
  try {
    throw std::runtime_error("of the resumer");
  } catch (const std::runtime_error& caught) {
    f.resume();
    CHECK(std::string(caught.what()) == "of the resumer");
    CHECK(std::current_exception() != nullptr);
  }
  CHECK(rethrown == "of the fibre");
  CHECK(std::current_exception() == nullptr);
}

TEST_CASE("a fibre that yields while unwinding leaves nothing in flight behind") {
  int seen = -1;
  fibre f([&](fibre& self) {
    try {
      yields_when_destroyed const unwinding{self, seen};
      throw 1;
    } catch (int) {
    }
  });
  f.resume();
  CHECK(std::uncaught_exceptions() == 0);
  f.resume();
  CHECK(seen == 1);
  CHECK(std::uncaught_exceptions() == 0);
}

TEST_CASE("a handler that began on one thread ends on another") {
  bool same = false;
  fibre f([&](fibre& self) {
    try {
      throw std::runtime_error("travels");
    } catch (const std::runtime_error& caught) {
      self.yield();
      same = std::string(caught.what()) == "travels" && std::current_exception() != nullptr;
    }
    self.yield();
    same = same && std::current_exception() == nullptr;
  });
  f.resume();
  std::thread([&] { f.resume(); }).join();
  f.resume();
  CHECK(f.done());
  CHECK(same);
}

#else

TEST_CASE("without exceptions there is no record") { CHECK(thread_exception_state() == nullptr); }

#endif
