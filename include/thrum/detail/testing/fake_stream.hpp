// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The streams of a fake_net: connections. How they are made is in fake_dial.hpp, how packets travel in
// fake_world.hpp.
//
// A direction is a queue of segments, each with the moment at which it arrives. Segments on a cut
// link are held: their moment is never, until heal() gives them another. The failures of an end are
// moments, too: from then on it has been reset, or has given up.
//
// A close never fails, so the segment that tells of it is there from the beginning.
#ifndef THRUM_DETAIL_TESTING_FAKE_STREAM_HPP
#define THRUM_DETAIL_TESTING_FAKE_STREAM_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/testing/fake_world.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/sync/condition_variable.hpp>
#include <thrum/sync/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace testing_detail {

/// One direction.
struct fake_flow {
  struct segment {
    time_point arrives;  // time_point::max(): held
    bool is_end;
    std::vector<std::byte> bytes;
    std::size_t taken = 0;
  };

  host_number from = 0;
  host_number to = 0;
  std::list<segment> segments;
  std::list<segment> unsent_end = std::list<segment>(1);
  std::size_t buffered = 0;  // bytes in the segments
  time_point last{};         // when the newest one arrives

  bool is_ended() const noexcept { return unsent_end.empty(); }
};

/// Both ends. What it does is done with the world's lock held.
class fake_connection {
 public:
  struct end {
    net::endpoint address;
    bool is_closed = false;
    bool resets = false;      // when it is closed
    bool reads_end = false;   // its reading was shut down
    bool has_writer = false;  // a writer has the turn
    time_point reset_at = time_point::max();
    time_point gives_up_at = time_point::max();
    time_point read_deadline = time_point::max();
    time_point write_deadline = time_point::max();
    condition_variable readable;
    condition_variable writable;
  };

  static constexpr std::size_t longest_segment = 1460;
  static constexpr std::size_t bare_packet = 40;  // bytes of one that carries none

  fake_connection(std::shared_ptr<fake_world> of, host_number first, host_number second)
      : world(std::move(of)) {
    flows[0].from = flows[1].to = first;
    flows[0].to = flows[1].from = second;
    world->connections.push_back(this);
  }
  fake_connection(const fake_connection&) = delete;
  fake_connection& operator=(const fake_connection&) = delete;
  ~fake_connection() {
    const std::lock_guard guard(world->lock);
    std::erase(world->connections, this);
  }

  void notify() noexcept {
    for (end& each : ends) {
      each.readable.notify_all();
      each.writable.notify_all();
    }
  }

  /// Below zero: why end i cannot go on with anything.
  os::io_result failure(std::size_t i) const noexcept {
    const end& own = ends[i];
    const time_point now = fake_now();
    return now >= own.reset_at ? os::peer_reset : now >= own.gives_up_at ? os::peer_silent : 0;
  }
  time_point next_change(std::size_t i) const noexcept {
    return std::min(ends[i].reset_at, ends[i].gives_up_at);
  }

  /// Sends a segment of end i on its way. A peer that has closed answers it with a reset.
  void send(std::size_t i, std::span<const std::byte> bytes, bool is_end) {
    fake_flow& flow = flows[i];
    const auto arrives = world->send_reliably(flow.from, flow.to, bare_packet + bytes.size());
    if (ends[1 - i].is_closed) {
      if (arrives && !is_end) {
        reset_after(i, *arrives);
      }
      return;
    }
    flow.last = arrives ? std::max(*arrives, flow.last) : time_point::max();
    if (!arrives) {
      hold(i);
    }
    if (is_end) {
      flow.unsent_end.front() = {flow.last, true, {}};
      flow.segments.splice(flow.segments.end(), flow.unsent_end);
    } else {
      flow.segments.push_back({flow.last, false, {bytes.begin(), bytes.end()}});
      flow.buffered += bytes.size();
    }
    ends[1 - i].readable.notify_all();
  }

  /// End i learns, one way after `then`, that it is reset; if that packet arrives.
  void reset_after(std::size_t i, time_point then) {
    const fake_flow& back = flows[1 - i];
    fake_path& path = world->path(back.from, back.to);
    if (const auto arrives = world->send(path, bare_packet)) {
      ends[i].reset_at = std::min(ends[i].reset_at, then + (*arrives - fake_now()));
      notify();
    }
  }

  void close(std::size_t i) {
    end& own = ends[i];
    if (own.is_closed) {
      return;
    }
    fake_flow& incoming = flows[1 - i];
    if (own.resets || incoming.buffered != 0) {
      const time_point now = fake_now();
      std::erase_if(flows[i].segments, [&](const auto& each) {
        flows[i].buffered -= each.arrives > now ? each.bytes.size() : 0;
        return each.arrives > now;
      });
      reset_after(1 - i, now);
    } else if (!flows[i].is_ended()) {
      send(i, {}, true);
    }
    own.is_closed = true;
    incoming.segments.clear();
    incoming.buffered = 0;
    notify();
  }

  /// The link of flow i is cut: what is under way is lost, to be sent again when it is healed.
  void hold(std::size_t i) noexcept {
    const time_point now = fake_now();
    bool any = flows[i].last == time_point::max();
    for (fake_flow::segment& each : flows[i].segments) {
      if (each.arrives > now) {
        each.arrives = time_point::max();
        flows[i].last = time_point::max();
        any = true;
      }
    }
    if (any && ends[i].gives_up_at == time_point::max()) {
      ends[i].gives_up_at = later_by(now, world->how.give_up);
    }
    if (ends[1 - i].reset_at > now) {  // a reset is sent once
      ends[1 - i].reset_at = time_point::max();
    }
    notify();
  }

  /// The link of flow i is healed.
  void release(std::size_t i) {
    fake_flow& flow = flows[i];
    flow.last = fake_now();
    for (fake_flow::segment& each : flow.segments) {
      if (each.arrives == time_point::max()) {
        const auto arrives =
            world->send_reliably(flow.from, flow.to, bare_packet + each.bytes.size());
        flow.last = arrives ? std::max(*arrives, flow.last) : time_point::max();
        each.arrives = flow.last;
      } else {
        flow.last = std::max(flow.last, each.arrives);
      }
    }
    if (flow.last != time_point::max() && fake_now() < ends[i].gives_up_at) {
      ends[i].gives_up_at = time_point::max();
    }
    notify();
  }

  const std::shared_ptr<fake_world> world;
  fake_flow flows[2];  // end i writes to flow i and reads from the other
  end ends[2];
};

/// An end, as conn has it.
class fake_stream final : public net_detail::other_stream {
 public:
  fake_stream(std::shared_ptr<fake_connection> of, std::size_t i) noexcept
      : of_(std::move(of)), i_(i) {}
  ~fake_stream() override { close(); }

  os::io_result read(std::span<std::byte> to) override {
    std::unique_lock lock(of_->world->lock);
    const os::io_result state = wait_for_input(lock);
    if (state <= 0 || to.empty()) {
      return state < 0 ? state : 0;
    }
    fake_flow& flow = of_->flows[1 - i_];
    std::size_t n = 0;
    while (n != to.size() && has_arrived() && !flow.segments.front().is_end) {
      fake_flow::segment& first = flow.segments.front();
      const std::size_t some = std::min(to.size() - n, first.bytes.size() - first.taken);
      std::memcpy(to.data() + n, first.bytes.data() + first.taken, some);
      n += some;
      first.taken += some;
      if (first.taken == first.bytes.size()) {
        flow.segments.pop_front();
      }
    }
    flow.buffered -= n;
    of_->ends[1 - i_].writable.notify_all();
    return static_cast<os::io_result>(n);
  }

  os::io_result write(std::span<const std::byte> from, std::size_t& done) override {
    std::unique_lock lock(of_->world->lock);
    fake_connection::end& own = of_->ends[i_];
    os::io_result state = 0;
    while ((state = may_write()) == 0 && own.has_writer) {
      if (!wait(own.writable, lock, own.write_deadline)) {
        return os::cancelled;
      }
    }
    if (state < 0) {
      return state;
    }
    const turn mine(own);
    while ((state = may_write()) == 0 && done != from.size()) {
      if (room() == 0) {
        if (!wait(own.writable, lock, own.write_deadline)) {
          return os::cancelled;
        }
        continue;
      }
      const std::size_t n =
          std::min({room(), from.size() - done, fake_connection::longest_segment});
      of_->send(i_, from.subspan(done, n), false);
      done += n;
    }
    return state;
  }

  os::io_result try_write(std::span<const std::byte> from) override {
    const std::lock_guard guard(of_->world->lock);
    if (const os::io_result state = may_write(); state < 0) {
      return state;
    }
    const std::size_t n = std::min({room(), from.size(), fake_connection::longest_segment});
    if (of_->ends[i_].has_writer || (n == 0 && !from.empty())) {
      return os::would_block;
    }
    if (n != 0) {
      of_->send(i_, from.first(n), false);
    }
    return static_cast<os::io_result>(n);
  }

  os::io_result wait_readable() override {
    std::unique_lock lock(of_->world->lock);
    return std::min<os::io_result>(wait_for_input(lock), 0);
  }

  bool is_readable() const noexcept override {
    const std::lock_guard guard(of_->world->lock);
    return input_state() != os::would_block;
  }

  os::io_result shut_down(io::side which) noexcept override {
    const std::lock_guard guard(of_->world->lock);
    fake_connection::end& own = of_->ends[i_];
    if (own.is_closed) {
      return os::cancelled;
    }
    if (which == io::side::read) {
      own.reads_end = true;
    } else if (!of_->flows[i_].is_ended()) {
      of_->send(i_, {}, true);
    }
    of_->notify();
    return 0;
  }

  void reset_at_close(bool on) noexcept override {
    const std::lock_guard guard(of_->world->lock);
    of_->ends[i_].resets = on;
  }

  void set_deadline(io::side which, time_point when) noexcept override {
    const std::lock_guard guard(of_->world->lock);
    fake_connection::end& own = of_->ends[i_];
    (which == io::side::read ? own.read_deadline : own.write_deadline) = when;
    of_->notify();
  }

  void close() noexcept override {
    const std::lock_guard guard(of_->world->lock);
    of_->close(i_);
  }

  net::endpoint address(bool peer) const noexcept override {
    const std::lock_guard guard(of_->world->lock);
    return of_->ends[i_].is_closed ? net::endpoint() : of_->ends[peer ? 1 - i_ : i_].address;
  }

 private:
  /// The turn of one who writes.
  class turn {
   public:
    explicit turn(fake_connection::end& own) noexcept : own_(own) { own_.has_writer = true; }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      own_.has_writer = false;
      own_.writable.notify_all();
    }

   private:
    fake_connection::end& own_;
  };

  // With the lock held.

  /// False: the stop of the caller's call has come.
  bool wait(condition_variable& changed, std::unique_lock<mutex>& lock, time_point until) {
    return fake_wait(changed, lock, std::min(until, of_->next_change(i_)));
  }

  bool has_arrived() const noexcept {
    const fake_flow& flow = of_->flows[1 - i_];
    return !flow.segments.empty() && flow.segments.front().arrives <= fake_now();
  }

  /// 1: there is something; 0: the end; would_block; or why it fails.
  os::io_result input_state() const noexcept {
    const fake_connection::end& own = of_->ends[i_];
    if (own.is_closed) {
      return os::cancelled;
    }
    if (fake_now() >= own.read_deadline) {
      return sched::io_deadline_exceeded;
    }
    if (has_arrived()) {
      return of_->flows[1 - i_].segments.front().is_end ? 0 : 1;
    }
    if (own.reads_end) {
      return 0;
    }
    const os::io_result failed = of_->failure(i_);
    return failed < 0 ? failed : os::would_block;
  }

  os::io_result wait_for_input(std::unique_lock<mutex>& lock) {
    os::io_result state;
    while ((state = input_state()) == os::would_block) {
      const fake_connection::end& own = of_->ends[i_];
      const fake_flow& flow = of_->flows[1 - i_];
      const time_point next =
          flow.segments.empty() ? time_point::max() : flow.segments.front().arrives;
      if (!wait(of_->ends[i_].readable, lock, std::min(own.read_deadline, next))) {
        return os::cancelled;
      }
    }
    return state;
  }

  /// For so many bytes there is room. Under the lock.
  std::size_t room() const noexcept {
    const std::size_t used = of_->flows[i_].buffered;
    return of_->world->how.buffer > used ? of_->world->how.buffer - used : 0;
  }

  os::io_result may_write() const noexcept {
    const fake_connection::end& own = of_->ends[i_];
    if (own.is_closed) {
      return os::cancelled;
    }
    if (of_->flows[i_].is_ended()) {
      return os::peer_closed;
    }
    if (fake_now() >= own.write_deadline) {
      return sched::io_deadline_exceeded;
    }
    return of_->failure(i_);
  }

  const std::shared_ptr<fake_connection> of_;
  const std::size_t i_;
};

}}}  // namespace thrum::THRUM_ABI::testing_detail

#endif
