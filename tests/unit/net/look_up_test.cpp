// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Look-ups of a resolver that is silent until the test says otherwise.
#include <thrum/detail/net/look_up.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/descriptors.hpp"
#include "support/stop_source.hpp"
#include "support/test.hpp"

#include <condition_variable>

using thrum::net::resolve_error;

namespace {

/// Answers no question until open().
struct silent_resolver {
  static int ask(const char* host, const char* service, ::addrinfo** list) noexcept {
    std::unique_lock lock(guard);
    ++asked[std::string(host) + ":" + (service != nullptr ? service : "")];
    changed.wait(lock, [] { return is_open; });
    *list = nullptr;
    if (std::string(host) == "nobody") {
      return EAI_NONAME;
    }
    if (std::string(host) == "broken") {
      return support::fail_to_resolve();
    }
    *list = new ::addrinfo{};  // NOLINT(bugprone-unhandled-exception-at-new): ends the test
    ++lists;
    return 0;
  }
  static void free(::addrinfo* list) noexcept {
    delete list;
    --lists;
  }
  static int start_thread(void* (*entry)(void*), void* argument) noexcept {
    return has_threads ? thrum::os::start_detached_thread(entry, argument) : EAGAIN;
  }

  static void open(bool to = true) {
    const std::lock_guard lock(guard);
    is_open = to;
    changed.notify_all();
  }
  static int times(const std::string& question) {
    const std::lock_guard lock(guard);
    return asked[question];
  }
  static std::size_t questions() {
    const std::lock_guard lock(guard);
    return asked.size();
  }

  static inline std::mutex guard;
  static inline std::condition_variable changed;
  static inline std::map<std::string, int> asked;
  static inline bool is_open = false;
  static inline std::atomic<int> lists{0};
  static inline std::atomic<bool> has_threads{true};
};

using silent_look_ups = thrum::net_detail::basic_look_ups<silent_resolver>;

/// Look-ups with a resolver that is silent again; they are never destroyed.
silent_look_ups& fresh_look_ups() {
  static silent_look_ups& all = *new silent_look_ups;
  REQUIRE(eventually([] { return all.threads() == 0; }));
  silent_resolver::open(false);
  const std::lock_guard lock(silent_resolver::guard);
  silent_resolver::asked.clear();
  return all;
}

/// Opens when the test ends, however it does.
struct opened_at_the_end {
  ~opened_at_the_end() { silent_resolver::open(); }
};

std::error_code look_up_for(silent_look_ups& all, const std::string& host,
                            std::chrono::nanoseconds time) {
  std::error_code error;
  const auto found = all.find(host, "", thrum::time_detail::deadline_after(time), error);
  return found != nullptr ? found->error() : error;
}

std::error_code look_up(silent_look_ups& all, const std::string& host) {
  return look_up_for(all, host, support::long_time);
}

}  // namespace

TEST_CASE("look-ups of the same name at the same time are one") {
  silent_look_ups& all = fresh_look_ups();
  with_runtime([&] {
    std::atomic<int> found{0};
    thrum::wait_group group;
    constexpr int askers = 50;
    for (int i = 0; i != askers; ++i) {
      group.go([&] { found += look_up(all, "a") ? 0 : 1; });
    }
    group.go([&] {
      std::error_code error;
      all.find("a", "http", thrum::sched::no_deadline, error);
    });
    CHECK(eventually([] {
      return silent_resolver::times("a:") == 1 && silent_resolver::times("a:http") == 1 &&
             thrum::stats().waiting == askers + 1;
    }));
    CHECK(all.threads() == 2);
    silent_resolver::open();
    group.wait();
    CHECK(found == askers);
    CHECK(silent_resolver::times("a:") == 1);
    CHECK(look_up(all, "a") == std::error_code());  // an answer is not kept
    CHECK(silent_resolver::times("a:") == 2);
  });
  CHECK(eventually([&] { return all.threads() == 0; }));
  CHECK(all.unanswered() == 0);
  CHECK(silent_resolver::lists == 0);
}

TEST_CASE("a caller gives a look-up up at its deadline; the next one joins it, as it goes on") {
  silent_look_ups& all = fresh_look_ups();
  const opened_at_the_end opened;
  const auto check = [&] {
    const auto start = std::chrono::steady_clock::now();
    CHECK(look_up_for(all, "a", 5ms) == thrum::errc::deadline_exceeded);
    CHECK(std::chrono::steady_clock::now() - start >= 5ms);
    // On a slow machine it was given up before a thread took it.
    CHECK(eventually([&] {
      return silent_resolver::times("a:") == 1 ||
             look_up_for(all, "a", 5ms) != thrum::errc::deadline_exceeded;
    }));
    CHECK(look_up_for(all, "a", 1ms) == thrum::errc::deadline_exceeded);
    CHECK(silent_resolver::times("a:") == 1);
    CHECK(eventually([&] { return all.threads() == 1; }));
    CHECK(look_up_for(all, "never asked", -1ns) == thrum::errc::deadline_exceeded);
    CHECK(silent_resolver::times("never asked:") == 0);
  };
  check();  // on a thread without a runtime
  with_runtime(check);
  silent_resolver::open();
  CHECK(eventually([&] { return all.threads() == 0 && all.unanswered() == 0; }));
}

TEST_CASE("look-ups have a limited number of threads, and leave their queue when given up") {
  silent_look_ups& all = fresh_look_ups();
  const opened_at_the_end opened;
  constexpr std::size_t most = silent_look_ups::most_threads;
  constexpr std::size_t names = 3 * most;
  with_runtime([&] {
    for (std::size_t i = 0; i != names; ++i) {
      thrum::go([&, i] { look_up(all, "name " + std::to_string(i)); });
    }
    CHECK(eventually([&] { return all.unanswered() == names; }));
    CHECK(eventually([] { return silent_resolver::questions() == most; }));
    CHECK(all.threads() == most);
    CHECK(look_up_for(all, "one more", 1ms) == thrum::errc::deadline_exceeded);
    CHECK(all.unanswered() == names);
  });
  CHECK(all.unanswered() == most);
  CHECK(all.threads() == most);
  silent_resolver::open();
  CHECK(eventually([&] { return all.threads() == 0; }));
  CHECK(silent_resolver::questions() == most);
}

TEST_CASE("a runtime stops at once while its goroutines wait for look-ups, and unwinds them") {
  silent_look_ups& all = fresh_look_ups();
  const opened_at_the_end opened;
  struct counted {
    ~counted() { ++*unwound; }
    std::atomic<int>* unwound;
  };
  std::atomic<int> unwound{0};
  std::atomic<int> started{0};
  with_runtime([&] {
    for (int i = 0; i != 5; ++i) {
      thrum::go([&, i] {
        const counted here{&unwound};
        ++started;
        std::error_code error;
        all.find(i % 2 == 0 ? "a" : "b", "", thrum::sched::no_deadline, error);
      });
    }
    CHECK(eventually([&] {
      return started == 5 && silent_resolver::times("a:") == 1 && silent_resolver::times("b:") == 1;
    }));
  });
  CHECK(unwound == 5);
  CHECK(all.threads() == 2);  // and still silent
  silent_resolver::open();
  CHECK(eventually([&] { return all.threads() == 0; }));
  CHECK(silent_resolver::lists == 0);
}

TEST_CASE("an answer may come while the callers that asked time out or are stopped") {
  silent_look_ups& all = fresh_look_ups();
  const opened_at_the_end opened;
  for (int round = 0; round != 20; ++round) {
    silent_resolver::open(false);
    std::thread opener;
    {
      std::atomic<int> begun{0};
      thrum::runtime runtime(support::environment_options());
      for (int i = 0; i != 8; ++i) {
        runtime.go([&, i] {
          ++begun;
          look_up_for(all, i % 2 == 0 ? "a" : "b", std::chrono::microseconds(i * 50));
          look_up(all, "c");
        });
      }
      CHECK(eventually([&] { return begun == 8; }));
      opener = std::thread([] { silent_resolver::open(); });
      runtime.stop();
    }
    opener.join();
  }
  CHECK(eventually([&] { return all.threads() == 0; }));
  CHECK(all.unanswered() == 0);
  CHECK(silent_resolver::lists == 0);
}

TEST_CASE("where no thread can be made, the caller of a look-up does the work itself") {
  silent_look_ups& all = fresh_look_ups();
  silent_resolver::open();
  silent_resolver::has_threads = false;
  CHECK_FALSE(look_up(all, "a"));
  with_runtime(with_procs(1), [&] {
    thrum::wait_group group;
    std::atomic<int> found{0};
    for (int i = 0; i != 10; ++i) {
      group.go([&, i] { found += look_up(all, std::to_string(i)) ? 0 : 1; });
    }
    group.wait();
    CHECK(found == 10);
  });
  silent_resolver::has_threads = true;
  CHECK(all.threads() == 0);
  CHECK(all.unanswered() == 0);
}

TEST_CASE("a look-up that fails gives the resolver's error, or the system's") {
  silent_look_ups& all = fresh_look_ups();
  silent_resolver::open();
  CHECK(look_up(all, "nobody") == resolve_error::host_not_found);
  CHECK(look_up(all, "broken") == support::failure_to_resolve);
}

TEST_CASE("the clock of a bubble stands while a look-up is under way") {
  silent_look_ups& all = fresh_look_ups();
  std::thread opener;
  thrum::testing::bubble([&] {
    opener = std::thread([] {
      std::this_thread::sleep_for(20ms);
      silent_resolver::open();
    });
    const auto start = thrum::testing::now();
    CHECK_FALSE(look_up_for(all, "a", 1ms));
    CHECK(thrum::testing::now() == start);
  });
  opener.join();
}

TEST_CASE("a stop ends the wait for a look-up, which goes on for others") {
  silent_look_ups& all = fresh_look_ups();
  const opened_at_the_end end;
  const auto ask = [&](const auto& stop) {
    std::error_code error;
    thrum::stop_detail::run_until_stopped(
        stop, error, [&] { return all.find("s", "", thrum::sched::no_deadline, error); });
    return error;
  };
  const auto asks = [&] {
    CHECK(ask(thrum::context().with_timeout(2ms)) == std::errc::operation_canceled);
    std::stop_source source = support::new_source();
    std::thread requester([&] { source.request_stop(); });
    CHECK(ask(source.get_token()) == std::errc::operation_canceled);
    thrum::blocking([&] { requester.join(); });
  };
  with_runtime([&] {
    auto other = thrum::spawn([&] { return look_up(all, "s"); });
    REQUIRE(eventually([] { return silent_resolver::times("s:") == 1; }));
    asks();
    CHECK(silent_resolver::times("s:") == 1);
    silent_resolver::open();
    CHECK(other.join() == std::error_code());
  });
  silent_resolver::open(false);
  asks();
}
