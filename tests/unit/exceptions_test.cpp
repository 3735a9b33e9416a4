// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The C++ runtime keeps the exceptions that are being handled per thread; a goroutine that parks
// inside a catch block, or in a destructor while the stack unwinds, must take its own along.

#include "support/migrate.hpp"
#include "support/test.hpp"

#include <exception>

namespace {

/// One of the ways to be parked and continued, perhaps by another thread.
void wait_somehow(int which, const thrum::chan<void>& ring) {
  switch (which % 5) {
    case 0: thrum::this_goroutine::yield(); break;
    case 1: thrum::sleep_for(std::chrono::microseconds(which % 50)); break;
    case 2: ring.send_for(std::chrono::microseconds(100)); break;
    case 3: ring.recv_for(std::chrono::microseconds(100)); break;
    default: thrum::blocking([] { std::this_thread::sleep_for(std::chrono::microseconds(10)); });
  }
}

/// Runs twenty goroutines beside a crowd: goroutine g calls each(g, i) for each i below `rounds`.
template <class F>
void in_twenty_goroutines(int rounds, F each) {
  const support::crowd crowd;
  thrum::wait_group group;
  for (int g = 0; g != 20; ++g) {
    group.go([&each, rounds, g] {
      for (int i = 0; i != rounds; ++i) {
        each(g, i);
      }
    });
  }
  group.wait();
}

std::string what_is_handled() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

IN_RUNTIME("a goroutine parked inside catch finds its own exception again") {
  std::atomic<int> mistakes{0};
  const thrum::chan<void> ring(0);
  in_twenty_goroutines(support::affordable_migrations(scaled(200, 20)), [&](int g, int i) {
    const std::string mine = std::to_string(g) + "/" + std::to_string(i);
    try {
      throw std::runtime_error(mine);
    } catch (const std::runtime_error& error) {
      wait_somehow(g + i, ring);
      mistakes += error.what() == mine ? 0 : 1;
      mistakes += what_is_handled() == mine ? 0 : 1;
    }
    mistakes += std::current_exception() == nullptr ? 0 : 1;
    mistakes += std::uncaught_exceptions() == 0 ? 0 : 1;
  });
  CHECK(mistakes == 0);
}

IN_RUNTIME("an exception is rethrown from inside catch after a migration") {
  const support::crowd crowd;
  for (int i = 0; i != support::affordable_migrations(scaled(10, 3)); ++i) {
    std::string caught;
    bool has_moved = false;
    try {
      try {
        throw std::out_of_range("carried along " + std::to_string(i));
      } catch (const std::exception&) {
        has_moved = support::migrate();
        throw;
      }
    } catch (const std::out_of_range& error) {
      caught = error.what();
    }
    REQUIRE(has_moved);
    REQUIRE(caught == "carried along " + std::to_string(i));
    REQUIRE(std::current_exception() == nullptr);
  }
}

IN_RUNTIME("nested catch blocks of a goroutine unwind in order though each parks") {
  std::atomic<int> mistakes{0};
  const thrum::chan<void> ring(0);
  in_twenty_goroutines(support::affordable_migrations(scaled(100, 10)), [&](int g, int i) {
    try {
      throw std::runtime_error("outer");
    } catch (...) {
      wait_somehow(g + i, ring);
      try {
        throw std::logic_error("inner");
      } catch (...) {
        wait_somehow(g + i + 1, ring);
        mistakes += what_is_handled() == "inner" ? 0 : 1;
      }
      wait_somehow(g + i + 2, ring);
      mistakes += what_is_handled() == "outer" ? 0 : 1;
    }
  });
  CHECK(mistakes == 0);
}

namespace {

/// Parks while the stack unwinds, and looks whether that is still known afterwards.
struct parks_at_end {
  std::atomic<int>& mistakes;
  int seed;
  ~parks_at_end() {
    mistakes += std::uncaught_exceptions() == 1 ? 0 : 1;
    thrum::this_goroutine::yield();
    thrum::blocking([] { std::this_thread::sleep_for(std::chrono::microseconds(10)); });
    try {
      thrum::sleep_for(std::chrono::microseconds(seed % 20));
      throw seed;
    } catch (const int& inner) {
      thrum::this_goroutine::yield();
      mistakes += inner == seed ? 0 : 1;
    }
    mistakes += std::uncaught_exceptions() == 1 ? 0 : 1;
  }
};

}  // namespace

IN_RUNTIME("destructors park while an exception unwinds, and it arrives") {
  std::atomic<int> mistakes{0};
  std::atomic<int> arrived{0};
  const int rounds = support::affordable_migrations(scaled(100, 10));
  in_twenty_goroutines(rounds, [&](int g, int i) {
    try {
      const parks_at_end a{mistakes, g + i};
      const parks_at_end b{mistakes, g - i};
      throw std::runtime_error("through");
    } catch (const std::runtime_error&) {
      ++arrived;
    }
  });
  CHECK(mistakes == 0);
  CHECK(arrived == 20 * rounds);
}

TEST_CASE("an exception pointer is thrown on another goroutine while its first handler waits") {
  if constexpr (THRUM_TSAN) {
    SUCCEED(
        "the standard library counts an exception's owners where ThreadSanitizer cannot see it");
    return;
  }
  with_runtime([] {
    for (int i = 0; i != scaled(200, 20); ++i) {
      thrum::chan<std::exception_ptr> errors(0);
      thrum::chan<void> handled(0);
      auto second = thrum::spawn([=]() mutable {
        std::string seen;
        try {
          std::rethrow_exception(*errors.recv());
        } catch (const std::runtime_error& error) {
          handled.send();
          seen = error.what();
        }
        return seen;
      });
      try {
        throw std::runtime_error("shared");
      } catch (...) {
        errors.send(std::current_exception());
        handled.recv();
        REQUIRE(what_is_handled() == "shared");
      }
      REQUIRE(second.join() == "shared");
    }
  });
}

IN_RUNTIME("a goroutine starts without the exceptions of the one that started it") {
  try {
    throw 1;
  } catch (...) {
    CHECK(thrum::spawn([] {
            return std::current_exception() == nullptr && std::uncaught_exceptions() == 0;
          }).join());
    CHECK(std::current_exception() != nullptr);
  }
}

TEST_CASE("stop unwinds a goroutine that is parked inside catch") {
  std::atomic<bool> was_caught{false};
  std::atomic<bool> ended{false};
  with_runtime([&] {
    std::atomic<bool> parked{false};
    thrum::go([&] {
      struct at_end {
        std::atomic<bool>& flag;
        ~at_end() { flag = true; }
      } const scope{ended};
      try {
        throw std::runtime_error("first");
      } catch (const std::runtime_error&) {
        parked = true;
        was_caught = true;
        thrum::sleep_for(std::chrono::hours(1));
        was_caught = false;
      }
    });
    REQUIRE(support::eventually([&] { return parked && thrum::stats().waiting == 1; }));
  });
  CHECK(was_caught);
  CHECK(ended);
}
