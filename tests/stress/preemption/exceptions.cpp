// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Workers that throw: through frames, in a handler, and while the stack unwinds.

#include "yard.hpp"

#include <thrum.hpp>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

namespace stress {

namespace {

struct counts_its_end {
  explicit counts_its_end(int& n) : ended(n) {}
  ~counts_its_end() { ++ended; }
  counts_its_end(const counts_its_end&) = delete;
  counts_its_end& operator=(const counts_its_end&) = delete;
  int& ended;
};

constexpr int frames = 7;

/// Throws from the innermost of `depth` frames; one on the way throws it again.
[[gnu::noinline]] void descend(int depth, const std::string& text, int& ended) {
  const counts_its_end here(ended);
  if (depth == 1) {
    throw std::runtime_error(text);
  }
  if (depth != frames / 2) {
    descend(depth - 1, text, ended);
    expect(false, "an exception leaves all frames");
    return;
  }
  try {
    descend(depth - 1, text, ended);
  } catch (const std::runtime_error& error) {
    expect(error.what() == text, "an exception on its way keeps its text");
    throw;
  }
}

void expect_no_exception() {
  expect(std::current_exception() == nullptr, "no exception is handled behind the handler");
  expect(std::uncaught_exceptions() == 0, "no exception is under way behind the handler");
}

}  // namespace

void throw_far(yard& y, worker& w) {
  for (std::uint64_t i = 0; go_on(y, w); ++i) {
    const std::string text = "exception " + std::to_string(w.number) + "/" + std::to_string(i);
    int ended = 0;
    bool caught = false;
    try {
      descend(frames, text, ended);
    } catch (const std::exception& error) {
      caught = error.what() == text;
    }
    expect(caught, "an exception arrives with its text");
    expect(ended == frames, "an exception unwinds each frame once");
    expect_no_exception();
  }
}

namespace {

std::string what_is_handled() {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    return error.what();
  }
}

struct yields_at_its_end {
  yields_at_its_end() = default;
  ~yields_at_its_end() {
    thrum::this_goroutine::yield();
    expect(std::uncaught_exceptions() == 1, "an exception is under way while the stack unwinds");
  }
  yields_at_its_end(const yields_at_its_end&) = delete;
  yields_at_its_end& operator=(const yields_at_its_end&) = delete;
};

}  // namespace

void throw_and_yield(yard& y, worker& w) {
  for (std::uint64_t i = 0; go_on(y, w); ++i) {
    const std::string outer = "outer " + std::to_string(w.number) + "/" + std::to_string(i);
    const std::string inner = "inner " + std::to_string(w.number) + "/" + std::to_string(i);
    try {
      const yields_at_its_end here;
      throw std::runtime_error(outer);
    } catch (const std::runtime_error&) {
      expect(std::uncaught_exceptions() == 0, "a caught exception is not under way");
      thrum::this_goroutine::yield();
      expect(what_is_handled() == outer, "a goroutine finds its exception again");
      try {
        throw std::logic_error(inner);
      } catch (const std::logic_error&) {
        thrum::this_goroutine::yield();
        expect(what_is_handled() == inner, "a goroutine finds its inner exception again");
      }
      expect(what_is_handled() == outer, "the outer exception is handled again");
    }
    expect_no_exception();
  }
}

}  // namespace stress
