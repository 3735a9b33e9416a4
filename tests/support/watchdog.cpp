// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Ends a test that takes too long, with its name and what every goroutine does, long before the
// whole run is ended without a word. THRUM_TEST_LIMIT_S=n: after n seconds, 300 by default.
//
// An alarm, and not a thread: a deadlock is reported only where no thread is foreign.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
using listener_base = Catch::EventListenerBase;
#else
#include <catch2/catch.hpp>
using listener_base = Catch::TestEventListenerBase;
#endif

#include <thrum.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#if defined(_WIN32)
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#else
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#endif

namespace {

unsigned seconds_for_a_test() {
  const char* const text = std::getenv("THRUM_TEST_LIMIT_S");
  return text == nullptr ? 300 : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

#if defined(_WIN32)

/// There is no alarm, and nobody counts threads. Nor does Catch2 say in which test abort() was called.
class watchdog : public listener_base {
 public:
  using listener_base::listener_base;

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    has_ended_ = false;
    guard_ = std::thread([this, name = test.name] {
      std::unique_lock lock(mutex_);
      if (!ended_.wait_for(lock, std::chrono::seconds(seconds_for_a_test()),
                           [this] { return has_ended_; })) {
        std::fprintf(stderr, "\n%s: this test takes longer than %u s; its goroutines:\n",
                     name.c_str(), seconds_for_a_test());
        thrum::dump_goroutines(stderr);
        std::abort();
      }
    });
  }
  void testCaseEnded(const Catch::TestCaseStats&) override {
    {
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
    }
    ended_.notify_one();
    guard_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::thread guard_;
};

#else

std::string current_test;

void* show_goroutines(void*) {
  thrum::dump_goroutines(stderr);
  std::abort();
}

/// Whatever the interrupted thread holds, a new thread can most often do this. If it hangs as well,
/// the second alarm ends the process.
void give_up(int) {
  constexpr unsigned seconds_for_the_report = 60;
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(seconds_for_the_report);
  std::fprintf(stderr, "\n%s: this test takes longer than %u s; its goroutines:\n",
               current_test.c_str(), seconds_for_a_test());
  ::pthread_t reporter;
  if (::pthread_create(&reporter, nullptr, &show_goroutines, nullptr) != 0) {
    std::abort();
  }
}

class watchdog : public listener_base {
 public:
  using listener_base::listener_base;

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    current_test = test.name;
    struct ::sigaction action {};
    action.sa_handler = &give_up;
    // Without SA_RESTART: ThreadSanitizer runs the handler when the interrupted wait has returned.
    action.sa_flags = SA_ONSTACK;
    ::sigaction(SIGALRM, &action, nullptr);
    ::alarm(seconds_for_a_test());
  }
  void testCaseEnded(const Catch::TestCaseStats&) override { ::alarm(0); }
};

#endif

CATCH_REGISTER_LISTENER(watchdog)

}  // namespace
