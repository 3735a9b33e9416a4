// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/io/poll_wait.hpp>

#include "support/silent_socket.hpp"
#include "support/test.hpp"

using thrum::sched::io_deadline_exceeded;
using thrum::sched::io_side;
using thrum::sched::poll_desc;
using thrum::sched::poll_wait;

namespace {

constexpr std::int64_t long_past = 1;

std::int64_t an_hour_from_now() {
  return thrum::sched::traits::now() + std::chrono::nanoseconds(1h).count();
}

/// A socket of which the poller has nothing to tell, known to the scheduler.
class silent_socket {
 public:
  silent_socket() {
    const thrum::os::handle fd = support::open_silent_socket();
    REQUIRE(fd != thrum::os::no_handle);
    desc_ = poll_wait::open(fd);
    REQUIRE(desc_ != nullptr);
  }
  ~silent_socket() {
    thrum::os::close(poll_wait::end_use(*desc_));
    poll_wait::give_back(*desc_);
  }
  silent_socket(const silent_socket&) = delete;
  silent_socket& operator=(const silent_socket&) = delete;

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
  poll_desc* desc_ = nullptr;
};

}  // namespace

TEST_CASE("a deadline that is moved to the past ends the wait that is under way") {
  const std::int64_t before =
      GENERATE(true, false) ? thrum::sched::no_deadline : an_hour_from_now();
  support::with_runtime([&] {
    const silent_socket socket;
    socket.set_deadline(before);
    REQUIRE(socket.begin() == 0);
    auto waiter = thrum::spawn([&] { return socket.wait(); });
    REQUIRE(support::eventually([&] { return socket.has_waiter(); }));
    socket.set_deadline(long_past);
    REQUIRE(waiter.wait_for(support::long_time));
    CHECK(waiter.join() == io_deadline_exceeded);
    socket.end();
  });
}

TEST_CASE("a deadline that is moved to the past ends the waits for a turn that another call has") {
  const std::int64_t before =
      GENERATE(true, false) ? thrum::sched::no_deadline : an_hour_from_now();
  support::with_runtime([&] {
    const silent_socket socket;
    socket.set_deadline(before);
    REQUIRE(socket.begin() == 0);
    auto second = thrum::spawn([&] { return socket.begin(); });
    auto third = thrum::spawn([&] { return socket.begin(); });
    REQUIRE(support::eventually([&] {
      return socket.sees([](auto& side) {
        return side.turns.front() != nullptr && side.turns.next(*side.turns.front()) != nullptr;
      });
    }));
    socket.set_deadline(long_past);
    const bool ended = second.wait_for(support::long_time) && third.wait_for(support::long_time);
    CHECK(ended);
    CHECK_FALSE(socket.has_queue());
    socket.end();
    CHECK(second.join() == io_deadline_exceeded);
    CHECK(third.join() == io_deadline_exceeded);
  });
}

IN_RUNTIME("a deadline that is moved while some wait leaves them their places until it has come") {
  const silent_socket socket;
  socket.set_deadline(an_hour_from_now());
  REQUIRE(socket.begin() == 0);
  auto first = thrum::spawn([&] { return socket.wait(); });
  auto second = thrum::spawn([&] { return socket.begin(); });
  const auto both_wait = [&] { return socket.has_waiter() && socket.has_queue(); };
  REQUIRE(support::eventually(both_wait));
  socket.set_deadline(thrum::sched::no_deadline);
  REQUIRE(support::eventually(both_wait));
  socket.set_deadline(an_hour_from_now());
  REQUIRE(support::eventually(both_wait));
  socket.set_deadline(long_past);
  CHECK(first.join() == io_deadline_exceeded);
  socket.end();
  CHECK(second.join() == io_deadline_exceeded);
}

IN_RUNTIME("a deadline that has passed refuses each turn until it is moved") {
  const silent_socket socket;
  socket.set_deadline(long_past);
  CHECK(socket.begin() == io_deadline_exceeded);
  CHECK_FALSE(socket.sees([](auto& side) { return side.busy; }));
  socket.set_deadline(thrum::sched::no_deadline);
  REQUIRE(socket.begin() == 0);
  socket.end();
  CHECK_FALSE(socket.sees([](auto& side) { return side.busy; }));
}

IN_RUNTIME("a call that waits for its turn gets it when the call before it ends") {
  const silent_socket socket;
  REQUIRE(socket.begin() == 0);
  auto next = thrum::spawn([&] {
    const int error = socket.begin();
    if (error == 0) {
      socket.end();
    }
    return error;
  });
  REQUIRE(support::eventually([&] { return socket.has_queue(); }));
  socket.end();
  CHECK(next.join() == 0);
  CHECK(socket.begin() == 0);
  socket.end();
}
