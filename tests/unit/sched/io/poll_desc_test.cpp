// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/io/poll_events.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>

#include "support/silent_socket.hpp"
#include "support/test.hpp"

using thrum::sched::io_side;
using thrum::sched::poll_desc;
using thrum::sched::poll_wait;

namespace {

/// Delivers an event as the poller does.
void deliver_event(std::uint64_t tag, std::uint32_t events) {
  const thrum::sched::section here;
  auto& scheduler = *here.m()->scheduler;
  thrum::sched::poll_sink sink(scheduler);
  sink.deliver(sink, tag, events);
  thrum::sched::inject(sink);
}

/// A socket of which the poller has nothing to tell, known to the scheduler.
class known_socket {
 public:
  known_socket() {
    const thrum::os::handle fd = support::open_silent_socket();
    REQUIRE(fd != thrum::os::no_handle);
    desc_ = poll_wait::open(fd);
    REQUIRE(desc_ != nullptr);
  }
  ~known_socket() {
    thrum::os::close(poll_wait::end_use(*desc_));
    poll_wait::give_back(*desc_);
  }
  known_socket(const known_socket&) = delete;
  known_socket& operator=(const known_socket&) = delete;

  poll_desc& desc() const { return *desc_; }
  bool is_ready(io_side which = io_side::read) const { return desc_->side(which).ready; }

 private:
  poll_desc* desc_ = nullptr;
};

/// The tag of a descriptor that has been closed; the next one takes its place, which is `place`.
std::uint64_t tag_of_closed(const poll_desc*& place) {
  const known_socket closed;
  place = &closed.desc();
  return closed.desc().tag();
}

}  // namespace

IN_RUNTIME("an event makes the sides ready that it names, and no other") {
  const known_socket written;
  deliver_event(written.desc().tag(), thrum::netpoll::writable);
  CHECK(written.is_ready(io_side::write));
  CHECK_FALSE(written.is_ready(io_side::read));
  const known_socket read;
  deliver_event(read.desc().tag(), thrum::netpoll::readable);
  CHECK(read.is_ready(io_side::read));
  CHECK_FALSE(read.is_ready(io_side::write));
  const known_socket both;
  deliver_event(both.desc().tag(), thrum::netpoll::readable | thrum::netpoll::writable);
  CHECK(both.is_ready(io_side::read));
  CHECK(both.is_ready(io_side::write));
}

IN_RUNTIME("an event of a closed descriptor does not make the next one in its place ready") {
  const poll_desc* place = nullptr;
  const std::uint64_t stale = tag_of_closed(place);
  const known_socket next;
  REQUIRE(&next.desc() == place);
  deliver_event(stale, thrum::netpoll::readable | thrum::netpoll::unusual);
  CHECK_FALSE(next.is_ready());
  CHECK_FALSE(next.desc().unusual);
  deliver_event(next.desc().tag(), thrum::netpoll::readable | thrum::netpoll::unusual);
  CHECK(next.is_ready());
  CHECK(next.desc().unusual);
}

IN_RUNTIME("an event of a closed descriptor wakes no waiter for the next one in its place") {
  const poll_desc* place = nullptr;
  const std::uint64_t stale = tag_of_closed(place);
  const known_socket next;
  REQUIRE(&next.desc() == place);
  auto reader = thrum::spawn([&] {
    bool waited = false;
    int error = poll_wait::begin(next.desc(), io_side::read, waited);
    if (error == 0) {
      error = poll_wait::wait(next.desc(), io_side::read);
      poll_wait::end(next.desc(), io_side::read, false, 0);
    }
    return error;
  });
  const auto waits = [&] {
    const thrum::sched::section here;
    const thrum::sched::scoped guard(next.desc().lock);
    return next.desc().side(io_side::read).waiter != nullptr;
  };
  REQUIRE(support::eventually(waits));
  deliver_event(stale, thrum::netpoll::readable);
  CHECK(waits());
  deliver_event(next.desc().tag(), thrum::netpoll::readable);
  CHECK(reader.join() == 0);
}

IN_RUNTIME("an event with a tag that was never given makes nothing ready") {
  const known_socket some;
  constexpr auto no_index = std::numeric_limits<std::uint32_t>::max();
  deliver_event((std::uint64_t{no_index} << 32) | some.desc().generation, thrum::netpoll::readable);
  CHECK_FALSE(some.is_ready());
}

TEST_CASE("a descriptor that is closed has another tag for its next use") {
  poll_desc desc(3);
  const std::uint64_t first = desc.tag();
  desc.next_generation();
  CHECK(desc.tag() != first);
  CHECK(desc.tag() >> 32 == 3);
}

TEST_CASE("no generation of a descriptor is 0, which is the poller's own") {
  poll_desc desc(0);
  desc.generation = std::numeric_limits<std::uint32_t>::max();
  desc.next_generation();
  CHECK(desc.generation == 1);
  desc.next_generation();
  CHECK(desc.generation == 2);
}

using thrum::sched::poll_table;

TEST_CASE("each descriptor of the table is found by its number, however many there are") {
  const thrum::sched::section here;
  std::vector<poll_desc*> all;
  for (int i = 0; i != 5000; ++i) {  // several chunks
    all.push_back(poll_table::take());
  }
  for (poll_desc* const each : all) {
    REQUIRE(each != nullptr);
    REQUIRE(poll_table::find(each->index) == each);
  }
  CHECK(std::set<poll_desc*>(all.begin(), all.end()).size() == all.size());
  for (poll_desc* const each : all) {
    poll_table::give_back(*each);
  }
}

TEST_CASE("what was given back to the table of descriptors is taken first") {
  const thrum::sched::section here;
  poll_desc* const first = poll_table::take();
  REQUIRE(first != nullptr);
  poll_table::give_back(*first);
  poll_desc* const again = poll_table::take();
  CHECK(again == first);
  poll_table::give_back(*again);
}

TEST_CASE("a number that no descriptor ever had is not found") {
  CHECK(poll_table::find(std::numeric_limits<std::uint32_t>::max()) == nullptr);
}
