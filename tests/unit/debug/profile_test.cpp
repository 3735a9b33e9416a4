// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Profiles, read by readers that are not the library's: a program in Python, and `go tool pprof`.

#include <thrum/debug/profile.hpp>
#include <thrum/labels.hpp>

#include "support/dumped.hpp"
#include "support/folder.hpp"
#include "support/program.hpp"
#include "support/test.hpp"

#include <csignal>
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <sstream>
#include <string>

namespace {

using thrum::debug::profile_form;

[[gnu::noinline]] void wait_to_be_profiled(const thrum::chan<int>& end) {
  end.recv();
  asm volatile("");
}

[[gnu::noinline]] void wait_under_a_lock(thrum::mutex& mutex) {
  const std::lock_guard held(mutex);
  asm volatile("");
}

/// What f() returns beside two goroutines that wait for a channel, of one name, and one that waits for a mutex.
template <class F>
std::string beside_waiting(F f) {
  std::string result;
  support::with_runtime([&] {
    const thrum::chan<int> end(0);
    thrum::mutex mutex;
    thrum::wait_group all;
    mutex.lock();
    for (int i = 0; i != 2; ++i) {
      all.go([end] {
        thrum::this_goroutine::name("twin");
        const thrum::label_scope labels({{"tenant", "a, b"}, {"role", "waiter"}});
        wait_to_be_profiled(end);
      });
    }
    all.go([&mutex] { wait_under_a_lock(mutex); });
    REQUIRE(eventually([] { return thrum::stats().waiting >= 3; }));
    result = f();
    mutex.unlock();
    end.close();
    all.wait();
  });
  return result;
}

/// What a program that is given the file of a profile says of it; empty without that program.
std::string read_by(const std::string& program, const std::string& profile) {
  const support::folder folder;
  const std::string path = (folder / "profile.pb").string();
  thrum::io::write_file(path, profile);
  const support::program_result r = support::run_line(program + " " + path);
  INFO(r.text);
  CHECK(r.exit_code == 0);
  return r.text;
}

bool has_python() {
  const bool has = support::run_line("python3 -c \"print(6 * 7)\"").text.find("42") == 0;
  if (!has) {
    WARN("there is no python3: the profile is not read");
  }
  return has;
}

/// The line of a text that has all of these words.
std::string line_with(const std::string& text, std::initializer_list<const char*> words) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (std::all_of(words.begin(), words.end(),
                    [&](const char* word) { return line.find(word) != line.npos; })) {
      return line;
    }
    at = end + 1;
  }
  return {};
}

/// How many goroutines the lines of a text count that have all of these words. Callers inside the library may differ.
int goroutines_with(const std::string& text, std::initializer_list<const char*> words) {
  int sum = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    int count = 0;
    if (!line_with(line, words).empty() &&
        std::sscanf(line.c_str(), "goroutines=%d count", &count) == 1) {
      sum += count;
    }
  }
  return sum;
}

[[gnu::noinline]] std::uint64_t compute_to_be_profiled(const std::atomic<bool>& ends) {
  std::uint64_t n = 1;
  // relaxed: nothing is done for it
  while (!ends.load(std::memory_order_relaxed)) {
    n = n * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(n));
  }
  return n;
}

/// Calls f() beside goroutines that compute: more than there are processors, so they are preempted.
template <class F>
void beside_computing(F f) {
  support::with_runtime([&] {
    std::atomic<bool> ends{false};
    std::atomic<int> begun{0};
    thrum::wait_group all;
    for (int i = 0; i != 6; ++i) {
      all.go([&ends, &begun] {
        thrum::this_goroutine::name("burner");
        const thrum::label_scope labels({{"role", "computes"}});
        ++begun;
        CHECK(compute_to_be_profiled(ends) != 0);
      });
    }
    REQUIRE(eventually([&] { return begun == 6; }));
    f();
    ends = true;
    all.wait();
  });
}

/// A profile of so much of the process's CPU time that a thread has computed for more than a period.
std::string profile_a_while(profile_form form) {
  thrum::debug::start_cpu_profile();
  const std::clock_t begin = std::clock();
  CHECK(eventually([&] { return std::clock() - begin > CLOCKS_PER_SEC / 5; }));
  return thrum::debug::stop_cpu_profile(form);
}

/// Whether CPU profiles can be made here.
bool has_cpu_profile() {
  const bool has = thrum::os::cpu_timer::exists && !support::emulated();
  if (!has) {
    WARN("there are no CPU timers here: no profile is made");
  }
  return has;
}

}  // namespace

TEST_CASE("a goroutine profile counts goroutines by state, name, callers and start") {
  const std::string profile = beside_waiting([] { return thrum::debug::goroutine_profile(); });
  if (has_python()) {
    const std::string text = read_by("python3 " THRUM_READ_PROFILE, profile);
    INFO(text);
    CHECK(text.find("default: goroutines") == 0);
    const auto words = {"waiting=",    " milliseconds", "state=<chan receive>",
                        "name=<twin>", "tenant=<a, b>", "role=<waiter>",
                        "started=<"};
    CHECK(goroutines_with(text, words) == 2);
    const std::string twins = line_with(text, words);
    const std::string locker = line_with(text, {"goroutines=1 count", "state=<mutex lock>"});
    CHECK(!locker.empty());
    CHECK(!line_with(text, {"goroutines=1 count", "state=<running>"}).empty());
#if defined(__linux__) && defined(__x86_64__)
    CHECK(twins.find("wait_to_be_profiled(") != twins.npos);
    CHECK(twins.find("chan_detail") == twins.npos);
    CHECK(locker.find("wait_under_a_lock(") != locker.npos);
#endif
  }
}

TEST_CASE("a folded goroutine profile has a line for each stack, which ends with state and count") {
  const std::string text =
      beside_waiting([] { return thrum::debug::goroutine_profile(profile_form::folded); });
  INFO(text);
  const std::string twins = line_with(text, {"twin;", ";[chan receive] 2"});
  CHECK(!twins.empty());
  CHECK(!line_with(text, {"[mutex lock] 1"}).empty());
}

TEST_CASE("go tool pprof reads a goroutine profile") {
  if (support::run_line("go version").text.find("go version") != 0) {
    WARN("there is no go: the profile is not read");
    return;
  }
  const std::string profile = beside_waiting([] { return thrum::debug::goroutine_profile(); });
  const std::string top = read_by("go tool pprof -top", profile);
  CHECK(top.find("Type: goroutines") != top.npos);
  const std::string tags = read_by("go tool pprof -tags", profile);
  CHECK(!line_with(tags, {"chan receive"}).empty());
  CHECK(!line_with(tags, {"twin"}).empty());
  CHECK(!line_with(tags, {"a, b"}).empty());
  const std::string waited = read_by("go tool pprof -top -sample_index=waiting", profile);
  CHECK(waited.find("Type: waiting") != waited.npos);
}

TEST_CASE("a goroutine profile from outside of all runtimes has the goroutines of each of them") {
  thrum::runtime first;
  thrum::runtime second;
  const thrum::chan<int> end(0);
  auto one = first.spawn({.name = "of the first"}, [end] { end.recv(); });
  auto two = second.spawn({.name = "of the second"}, [end] { end.recv(); });
  CHECK(eventually([&] { return first.stats().waiting == 1 && second.stats().waiting == 1; }));
  const std::string text = thrum::debug::goroutine_profile(profile_form::folded);
  end.close();
  one.join();
  two.join();
  INFO(text);
  CHECK(!line_with(text, {"of the first;"}).empty());
  CHECK(!line_with(text, {"of the second;"}).empty());
}

TEST_CASE("the function that computed is in the CPU profile, with the goroutine's name and start") {
  if (!has_cpu_profile()) {
    return;
  }
  std::string folded;
  std::string profile;
  beside_computing([&] {
    folded = profile_a_while(profile_form::folded);
    profile = profile_a_while(profile_form::pprof);
  });
  INFO(folded);
  CHECK(!line_with(folded, {"burner;", "compute_to_be_profiled("}).empty());
  if (has_python()) {
    const std::string text = read_by("python3 " THRUM_READ_PROFILE, profile);
    INFO(text);
    CHECK(text.find("default: cpu period: 10000000 ") == 0);
    CHECK(!line_with(text, {"samples=", " cpu=", "0000 nanoseconds", "name=<burner>",
                            "role=<computes>", "started=<", "compute_to_be_profiled("})
               .empty());
  }
}

TEST_CASE("go tool pprof names the function that computed in a CPU profile") {
  if (!has_cpu_profile() || support::run_line("go version").text.find("go version") != 0) {
    return;
  }
  std::string profile;
  beside_computing([&] { profile = profile_a_while(profile_form::pprof); });
  const std::string top = read_by("go tool pprof -top", profile);
  INFO(top);
  CHECK(top.find("compute_to_be_profiled") != top.npos);
  CHECK(top.find("Type: cpu") != top.npos);
}

TEST_CASE(
    "a CPU profile leaves SIGPROF to the program, and dumps and goroutine profiles work beside "
    "it") {
#if defined(__linux__)
  if (!has_cpu_profile()) {
    return;
  }
  struct ::sigaction before {};
  REQUIRE(::sigaction(SIGPROF, nullptr, &before) == 0);
  beside_computing([&] {
    thrum::debug::start_cpu_profile(1'000);
    for (int i = 0; i != 5; ++i) {
      const std::string dump = support::dumped([](std::FILE* to) { thrum::dump_goroutines(to); });
      CHECK(dump.find("burner") != dump.npos);
      CHECK(thrum::debug::goroutine_profile(profile_form::folded).find("burner") !=
            std::string::npos);
    }
    struct ::sigaction meanwhile {};
    CHECK(::sigaction(SIGPROF, nullptr, &meanwhile) == 0);
    CHECK(meanwhile.sa_handler == before.sa_handler);
    thrum::debug::stop_cpu_profile();
  });
#endif
}

TEST_CASE(
    "CPU profiles are made one at a time, and where there are no CPU timers a sentence says so") {
  if (!has_cpu_profile()) {
    if (!thrum::os::cpu_timer::exists) {
      CHECK(support::error_of([] { thrum::debug::start_cpu_profile(); }) ==
            std::errc::not_supported);
    }
    return;
  }
  CHECK_THROWS_AS(thrum::debug::stop_cpu_profile(), thrum::usage_error);
  CHECK_THROWS_AS(thrum::debug::start_cpu_profile(0), thrum::usage_error);
  thrum::debug::start_cpu_profile();
  CHECK_THROWS_AS(thrum::debug::start_cpu_profile(), thrum::usage_error);
  thrum::debug::stop_cpu_profile();
  thrum::debug::cpu_profile(1ms);
  CHECK_THROWS_AS(thrum::debug::stop_cpu_profile(), thrum::usage_error);
}
