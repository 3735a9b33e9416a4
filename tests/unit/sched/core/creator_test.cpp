// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/sched/core/creator.hpp>

#include <thrum.hpp>

#include <atomic>
#include <functional>
#include <new>
#include <utility>

#include <signal.h>
#include <sys/mman.h>

#include "support/bare_scheduler.hpp"
#include "support/catch.hpp"
#include "support/eventually.hpp"

namespace {

/// As the scheduler asks for a thread.
void request_thread(support::bare_scheduler& of) {
  thrum::sched::machine* m;
  {
    const thrum::sched::scoped guard(of->idle.lock());
    m = of->new_m_locked();
  }
  of->creator.request(*m);
}

/// An M on pages of its own, which may be closed to writing.
class m_apart {
 public:
  explicit m_apart(support::bare_scheduler& of)
      : memory_(thrum::os::map(sizeof(thrum::sched::machine))),
        m_(memory_ != nullptr ? ::new (memory_) thrum::sched::machine(*of, of->upcalls(), 7, 1)
                              : nullptr) {
    REQUIRE(m_ != nullptr);
  }
  ~m_apart() {
    if (m_->thread.joinable()) {
      m_->thread.join();
    }
    m_->for_signals.give_back();
    m_->~machine();
    thrum::os::unmap(memory_, sizeof(thrum::sched::machine));
  }
  m_apart(const m_apart&) = delete;
  m_apart& operator=(const m_apart&) = delete;

  thrum::sched::machine& operator*() const noexcept { return *m_; }
  thrum::sched::machine* operator->() const noexcept { return m_; }

  void let_write(bool allowed) const noexcept {
    ::mprotect(memory_, sizeof(thrum::sched::machine),
               allowed ? PROT_READ | PROT_WRITE : PROT_READ);
  }

 private:
  void* memory_;
  thrum::sched::machine* m_;
};

/// A handler does `work` in the middle of the first write to an M, which is then made good.
class interrupted_write {
 public:
  interrupted_write(const m_apart& to, std::function<void()> work)
      : to_(to), work_(std::move(work)) {
    current = this;
    struct ::sigaction ours {};
    ours.sa_handler = [](int) {
      current->to_.let_write(true);
      current->work_();
    };
    ::sigaction(SIGSEGV, &ours, &before_);
    to.let_write(false);
  }
  ~interrupted_write() {
    ::sigaction(SIGSEGV, &before_, nullptr);
    to_.let_write(true);
  }
  interrupted_write(const interrupted_write&) = delete;
  interrupted_write& operator=(const interrupted_write&) = delete;

 private:
  static inline interrupted_write* current = nullptr;

  const m_apart& to_;
  const std::function<void()> work_;
  struct ::sigaction before_ {};
};

}  // namespace

TEST_CASE("each M that the creator is asked for gets a thread, which runs what Ms run") {
  constexpr int wanted = 5;
  std::atomic<unsigned> seen{0};  // a bit for each number
  support::bare_scheduler scheduler(1);
  scheduler.on_thread = [&](thrum::sched::machine& m) { seen |= 1U << m.id; };
  REQUIRE(scheduler.open() == 0);
  for (int i = 0; i != wanted; ++i) {
    request_thread(scheduler);
  }
  CHECK(support::eventually([&] { return scheduler.threads == wanted; }));
  CHECK(seen == (1U << wanted) - 1);
}

TEST_CASE("a creator that closes has started all the threads that it was asked for") {
  constexpr int wanted = 5;
  support::bare_scheduler scheduler(1);
  REQUIRE(scheduler.open() == 0);
  for (int i = 0; i != wanted; ++i) {
    request_thread(scheduler);
  }
  scheduler->creator.close();
  int started = 0;
  for (unsigned i = 0; i != scheduler->ms.made(); ++i) {
    started += scheduler->ms[i].thread.joinable();
  }
  CHECK(started == wanted);
}

TEST_CASE("a creator may be closed twice, and one that was never opened, too") {
  support::bare_scheduler never_opened(1);
  never_opened->creator.close();
  support::bare_scheduler scheduler(1);
  REQUIRE(scheduler.open() == 0);
  request_thread(scheduler);
  scheduler->creator.close();
  scheduler->creator.close();
  CHECK(scheduler->ms[0].thread.joinable());
}

TEST_CASE("whoever wants one more thread than needed gets it, if there is to be one") {
  support::bare_scheduler scheduler(1);
  std::atomic<bool> wanted{false};
  scheduler.on_spare = [&]() -> thrum::sched::machine* {
    if (!wanted) {
      return nullptr;
    }
    const thrum::sched::scoped guard(scheduler->idle.lock());
    return scheduler->new_m_locked();
  };
  REQUIRE(scheduler.open() == 0);
  scheduler->creator.request_spare();
  CHECK(support::eventually([&] { return scheduler.spares == 1; }));
  CHECK(scheduler->ms.made() == 0);
  wanted = true;
  scheduler->creator.request_spare();
  CHECK(support::eventually([&] { return scheduler.threads == 1; }));
  CHECK(scheduler.spares == 2);
}

TEST_CASE("a request is not lost if a signal's handler asks for another M in the middle of it") {
  support::bare_scheduler scheduler(1);
  const m_apart interrupted(scheduler);
  const m_apart other(scheduler);
  bool was_between = false;
  {
    const interrupted_write once(interrupted, [&] {
      was_between = true;
      scheduler->creator.request(*other);
    });
    scheduler->creator.request(*interrupted);  // it writes down which M comes after it
  }
  REQUIRE(was_between);
  REQUIRE(interrupted->idle_next == &*other);
  REQUIRE(scheduler.open() == 0);
  CHECK(support::eventually([&] { return scheduler.threads == 2; }));
  scheduler->creator.close();
}
