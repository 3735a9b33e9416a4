// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/debug/dump.hpp>

#include "support/dumped.hpp"
#include "support/program.hpp"
#include "support/test.hpp"

#include <cstdio>

namespace {

using support::dumped;

std::size_t occurrences(const std::string& text, const std::string& words) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(words, at)) != text.npos; at += words.size()) {
    ++n;
  }
  return n;
}

[[gnu::noinline]] void park_to_be_seen(const thrum::chan<int>& end) {
  end.recv();
  asm volatile("");
}

std::uint32_t freezes(thrum::runtime& runtime) { return runtime.scheduler().freeze.phase() / 2; }

/// Calls f beside `n` goroutines that wait for a channel.
template <class F>
void with_parked(std::size_t n, F f) {
  support::with_runtime([&] {
    thrum::chan<int> end(0);
    thrum::wait_group group;
    for (std::size_t i = 0; i != n; ++i) {
      group.go([end] { park_to_be_seen(end); });
    }
    REQUIRE(eventually([&] { return thrum::stats().waiting >= n; }));
    f();
    end.close();
    group.wait();
  });
}

}  // namespace

TEST_CASE("a dump stops the goroutines once for each piece of them, not once for all") {
  constexpr std::size_t piece = thrum::debug::goroutine_list::piece;
  constexpr std::size_t n = 5 * piece;
  with_parked(n, [&] {
    thrum::runtime& own = *thrum::runtime::current();
    const std::uint32_t before = freezes(own);
    const std::string text = dumped([](std::FILE* to) { thrum::dump_goroutines(to); });
    CHECK(occurrences(text, "[chan receive") == n);
    CHECK(freezes(own) - before >= n / piece);
  });
}

TEST_CASE("each goroutine of a dump that is taken in pieces stands there with its callers") {
  if (std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // the program's own file is not found there
  }
  constexpr std::size_t n = 300;
  with_parked(n, [&] {
    const std::string text = dumped([](std::FILE* to) { thrum::dump_goroutines(to); });
    CHECK(occurrences(text, "park_to_be_seen") == n);
  });
}

IN_RUNTIME("goroutines that end and begin beside a dump do it no harm") {
  std::atomic<bool> stop{false};
  thrum::wait_group group;
  for (int i = 0; i != 4; ++i) {
    group.go([&] {
      while (!stop) {
        thrum::spawn([] { thrum::this_goroutine::yield(); }).join();
      }
    });
  }
  for (int i = 0; i != 2; ++i) {
    CHECK(occurrences(dumped([](std::FILE* to) { thrum::dump_goroutines(to); }), "goroutine ") >=
          5);
  }
  stop = true;
  group.wait();
}

TEST_CASE("a dump of counts tells goroutines by state, reason and start, and stops none") {
  constexpr std::size_t n = 300;
  with_parked(n, [&] {
    thrum::runtime& own = *thrum::runtime::current();
    const std::uint32_t before = freezes(own);
    const std::string text =
        dumped([](std::FILE* to) { thrum::dump_goroutines(to, thrum::dump_form::counts); });
    INFO(text);
    CHECK(text.find("goroutines: " + std::to_string(n + 1) + "\n300 [chan receive] started in ") ==
          0);
    CHECK(text.find("\n1 [running] started in ") != text.npos);
    CHECK(freezes(own) == before);
  });
}

#ifdef THRUM_MEMORY_PATH  // sanitizers have an operator new of their own
TEST_CASE("a dump of goroutines without memory throws, and the next one works") {
  const auto result = support::run_file(THRUM_MEMORY_PATH, "dump_without_memory");
  INFO(result.text);
  CHECK(result.exit_code == 0);
}
#endif

TEST_CASE("a thread outside of every runtime may dump the goroutines of all of them") {
  thrum::runtime first;
  thrum::runtime second;
  thrum::chan<int> end(0);
  first.go({.name = "of the first"}, [end] { end.recv(); });
  second.go({.name = "of the second"}, [end] { end.recv(); });
  REQUIRE(eventually([&] { return first.stats().waiting + second.stats().waiting == 2; }));
  std::string text;
  std::thread([&] { text = dumped([](std::FILE* to) { thrum::dump_goroutines(to); }); }).join();
  CHECK(text.find("\"of the first\"") != text.npos);
  CHECK(text.find("\"of the second\"") != text.npos);
  text = dumped([&](std::FILE* to) { second.dump_goroutines(to); });
  CHECK(text.find("\"of the first\"") == text.npos);
  CHECK(text.find("\"of the second\"") != text.npos);
  end.close();
}

TEST_CASE("a thread outside of the only runtime gets its figures") {
  thrum::runtime only;
  thrum::chan<int> end(0);
  only.go([end] { end.recv(); });
  REQUIRE(eventually([&] { return only.stats().waiting == 1; }));
  thrum::stats_snapshot s;
  std::thread([&] { s = thrum::stats(); }).join();
  CHECK(s.waiting == 1);
  end.close();
}

TEST_CASE("stats outside of a runtime is an error of use if there is none or more than one") {
  CHECK(support::usage_message([] { thrum::stats(); }) ==
        "stats: called outside of a runtime; the process has none");
  thrum::runtime first;
  thrum::runtime second;
  CHECK(support::usage_message([] { thrum::stats(); }) ==
        "stats: called outside of a runtime; the process has several: use runtime::stats of one");
}

TEST_CASE("runtimes that come and go beside a watchdog's dumps are destroyed in peace") {
  std::atomic<bool> stop{false};
  std::atomic<int> dumps{0};
  int ran = 0;
  std::thread watchdog([&] {
    while (!stop) {
      dumped([](std::FILE* to) { thrum::dump_goroutines(to, thrum::dump_form::counts); });
      dumped([](std::FILE* to) { thrum::dump_goroutines(to); });
      ++dumps;
    }
  });
  for (int before = dumps; ran < 20 || dumps == before; ++ran) {
    thrum::run([] { thrum::spawn([] { thrum::this_goroutine::yield(); }).join(); });
  }
  stop = true;
  watchdog.join();
  CHECK(dumped([](std::FILE* to) { thrum::dump_goroutines(to); }).find("goroutine ") ==
        std::string::npos);  // nothing of them is left to be seen
}
