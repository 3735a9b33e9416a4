// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sched/io/poll_wait.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/descriptors.hpp"
#include "support/eventually.hpp"
#include "support/with_runtime.hpp"

#include <chrono>
#include <cstdint>

#include <fcntl.h>
#include <unistd.h>

using namespace std::chrono_literals;
using thrum::sched::io_deadline_exceeded;
using thrum::sched::io_side;
using thrum::sched::poll_desc;
using thrum::sched::poll_wait;

namespace {

constexpr std::int64_t long_past = 1;

std::int64_t an_hour_from_now() {
  return thrum::sched::traits::now() + std::chrono::nanoseconds(1h).count();
}

/// The reading end of a pipe that stays empty.
class silent_pipe {
 public:
  silent_pipe() {
    REQUIRE(support::open_pipe(fds_, support::waits::no));
    desc_ = poll_wait::open(fds_[0]);
    REQUIRE(desc_ != nullptr);
  }
  ~silent_pipe() {
    ::close(poll_wait::end_use(*desc_));
    poll_wait::give_back(*desc_);
    ::close(fds_[1]);
  }
  silent_pipe(const silent_pipe&) = delete;
  silent_pipe& operator=(const silent_pipe&) = delete;

  poll_desc& desc() const { return *desc_; }

  int begin() const {
    bool waited = false;
    return poll_wait::begin(*desc_, io_side::read, waited);
  }
  int wait() const { return poll_wait::wait(*desc_, io_side::read); }
  void end() const { poll_wait::end(*desc_, io_side::read, false, 0); }
  void set_deadline(std::int64_t when) const {
    poll_wait::set_deadline(*desc_, io_side::read, when);
  }

  /// Looks at the side under the lock.
  template <class Look>
  bool sees(Look look) const {
    const thrum::sched::section here;
    const thrum::sched::scoped guard(desc_->lock);
    return look(desc_->side(io_side::read));
  }
  bool has_waiter() const {
    return sees([](auto& side) { return side.waiter != nullptr; });
  }
  bool has_queue() const {
    return sees([](auto& side) { return !side.turns.empty(); });
  }

 private:
  int fds_[2];
  poll_desc* desc_ = nullptr;
};

}  // namespace

TEST_CASE("a deadline that is moved to the past ends the wait that is under way") {
  const std::int64_t before =
      GENERATE(true, false) ? thrum::sched::no_deadline : an_hour_from_now();
  support::with_runtime([&] {
    const silent_pipe pipe;
    pipe.set_deadline(before);
    REQUIRE(pipe.begin() == 0);
    auto waiter = thrum::spawn([&] { return pipe.wait(); });
    REQUIRE(support::eventually([&] { return pipe.has_waiter(); }));
    pipe.set_deadline(long_past);
    REQUIRE(waiter.wait_for(support::long_time));
    CHECK(waiter.join() == io_deadline_exceeded);
    pipe.end();
  });
}

TEST_CASE("a deadline that is moved to the past ends the waits for a turn that another call has") {
  const std::int64_t before =
      GENERATE(true, false) ? thrum::sched::no_deadline : an_hour_from_now();
  support::with_runtime([&] {
    const silent_pipe pipe;
    pipe.set_deadline(before);
    REQUIRE(pipe.begin() == 0);
    auto second = thrum::spawn([&] { return pipe.begin(); });
    auto third = thrum::spawn([&] { return pipe.begin(); });
    REQUIRE(support::eventually([&] {
      return pipe.sees([](auto& side) {
        return side.turns.front() != nullptr && side.turns.next(*side.turns.front()) != nullptr;
      });
    }));
    pipe.set_deadline(long_past);
    const bool ended = second.wait_for(support::long_time) && third.wait_for(support::long_time);
    CHECK(ended);
    CHECK_FALSE(pipe.has_queue());
    pipe.end();
    CHECK(second.join() == io_deadline_exceeded);
    CHECK(third.join() == io_deadline_exceeded);
  });
}

TEST_CASE("a deadline that is moved while some wait leaves them their places until it has come") {
  support::with_runtime([] {
    const silent_pipe pipe;
    pipe.set_deadline(an_hour_from_now());
    REQUIRE(pipe.begin() == 0);
    auto first = thrum::spawn([&] { return pipe.wait(); });
    auto second = thrum::spawn([&] { return pipe.begin(); });
    const auto both_wait = [&] { return pipe.has_waiter() && pipe.has_queue(); };
    REQUIRE(support::eventually(both_wait));
    pipe.set_deadline(thrum::sched::no_deadline);
    REQUIRE(support::eventually(both_wait));
    pipe.set_deadline(an_hour_from_now());
    REQUIRE(support::eventually(both_wait));
    pipe.set_deadline(long_past);
    CHECK(first.join() == io_deadline_exceeded);
    pipe.end();
    CHECK(second.join() == io_deadline_exceeded);
  });
}

TEST_CASE("a deadline that has passed refuses each turn until it is moved") {
  support::with_runtime([] {
    const silent_pipe pipe;
    pipe.set_deadline(long_past);
    CHECK(pipe.begin() == io_deadline_exceeded);
    CHECK_FALSE(pipe.sees([](auto& side) { return side.busy; }));
    pipe.set_deadline(thrum::sched::no_deadline);
    REQUIRE(pipe.begin() == 0);
    pipe.end();
    CHECK_FALSE(pipe.sees([](auto& side) { return side.busy; }));
  });
}

TEST_CASE("who waits for a turn gets it when the call before it ends") {
  support::with_runtime([] {
    const silent_pipe pipe;
    REQUIRE(pipe.begin() == 0);
    auto next = thrum::spawn([&] {
      const int error = pipe.begin();
      if (error == 0) {
        pipe.end();
      }
      return error;
    });
    REQUIRE(support::eventually([&] { return pipe.has_queue(); }));
    pipe.end();
    CHECK(next.join() == 0);
    CHECK(pipe.begin() == 0);
    pipe.end();
  });
}
