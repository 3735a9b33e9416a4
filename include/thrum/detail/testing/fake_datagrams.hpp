// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The datagram sockets of a fake_net. A datagram goes to the socket that is bound to its target when it
// arrives. Datagrams are delivered only when a receiver looks, so a caller that binds or closes a
// socket, or cuts a link, delivers first.
#ifndef THRUM_DETAIL_TESTING_FAKE_DATAGRAMS_HPP
#define THRUM_DETAIL_TESTING_FAKE_DATAGRAMS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/testing/fake_world.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/sync/condition_variable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace testing_detail {

class fake_datagrams final : public net_detail::other_datagrams {
 public:
  static constexpr std::size_t longest = 65'507;     // of UDP over IPv4
  static constexpr std::size_t most_held = 212'992;  // bytes, as Linux

  /// With the lock held. `peer`: none, or the endpoint that it is connected to.
  fake_datagrams(std::shared_ptr<fake_world> of, host_number on, const net::endpoint& at,
                 const net::endpoint& peer)
      : host(on), bound(at), connected(peer), world_(std::move(of)) {
    world_->deliver();
    world_->sockets.push_back(this);
  }
  ~fake_datagrams() override { close(); }

  os::io_result send(std::span<const std::byte> bytes, const net::endpoint* to) override {
    const std::lock_guard guard(world_->lock);
    const net::endpoint target = to != nullptr ? *to : connected;
    const os::io_result failed = is_closed_                      ? os::cancelled
                                 : fake_now() >= write_deadline_ ? sched::io_deadline_exceeded
                                 : target.size() == 0            ? os::no_address
                                 : bytes.size() > longest        ? os::too_long
                                                                 : 0;
    if (failed < 0) {
      return failed;
    }
    const host_number there =
        target.is_loopback() || target.is_any() ? host : world_->host_of(target);
    net::endpoint from = bound;
    if (bound.is_any()) {
      from = world_->address_for(host, target).with_port(bound.port());
    }
    fake_path& path = world_->path(host, there);
    for (int copies = world_->chance(path.how.duplicate) ? 2 : 1; copies != 0; --copies) {
      constexpr std::size_t headers = 28;
      if (const auto arrives = world_->send(path, headers + bytes.size())) {
        const bool is_late = world_->chance(path.how.reorder);
        world_->under_way.emplace(
            is_late ? later_by(*arrives, path.how.reorder_by) : *arrives,
            fake_packet{host, there, from, target, {bytes.begin(), bytes.end()}});
      }
    }
    world_->notify_datagrams();
    return static_cast<os::io_result>(bytes.size());
  }

  os::io_result receive(std::span<std::byte> to, net::endpoint& from) override {
    std::unique_lock lock(world_->lock);
    os::io_result state = 0;
    while ((state = input_state()) == os::would_block) {
      if (!fake_wait(changed_, lock, std::min(read_deadline_, world_->next_arrival()))) {
        return os::cancelled;
      }
    }
    if (state < 0) {
      return state;
    }
    const fake_packet first = std::move(held_.front());
    held_.pop_front();
    held_bytes_ -= first.bytes.size();
    if (const std::size_t n = std::min(to.size(), first.bytes.size()); n != 0) {
      std::memcpy(to.data(), first.bytes.data(), n);
    }
    from = first.from;
    return static_cast<os::io_result>(first.bytes.size());
  }

  bool is_readable() noexcept override {
    const std::lock_guard guard(world_->lock);
    return input_state() != os::would_block;
  }

  void set_deadline(io::side which, time_point when) noexcept override {
    const std::lock_guard guard(world_->lock);
    (which == io::side::read ? read_deadline_ : write_deadline_) = when;
    changed_.notify_all();
  }

  void close() noexcept override {
    const std::lock_guard guard(world_->lock);
    if (!is_closed_) {
      world_->deliver();
      is_closed_ = true;
      std::erase(world_->sockets, this);
      changed_.notify_all();
    }
  }

  net::endpoint address(bool peer) const noexcept override {
    const std::lock_guard guard(world_->lock);
    return is_closed_ ? net::endpoint() : peer ? connected : bound;
  }

  // ---- with the lock held ----

  bool takes(const fake_packet& packet) const {
    return reaches(*world_, packet.from_host, packet.to, host, bound) &&
           (connected.size() == 0 || connected.unmapped() == packet.from.unmapped());
  }

  void put(fake_packet&& packet) {
    if (held_bytes_ + packet.bytes.size() <= most_held) {
      held_bytes_ += packet.bytes.size();
      held_.push_back(std::move(packet));
    }
  }

  void notify() noexcept { changed_.notify_all(); }

  const host_number host;
  const net::endpoint bound;
  const net::endpoint connected;

 private:
  os::io_result input_state() {
    if (is_closed_) {
      return os::cancelled;
    }
    if (fake_now() >= read_deadline_) {
      return sched::io_deadline_exceeded;
    }
    world_->deliver();
    return held_.empty() ? os::would_block : 0;
  }

  const std::shared_ptr<fake_world> world_;
  std::deque<fake_packet> held_;
  std::size_t held_bytes_ = 0;
  time_point read_deadline_ = time_point::max();
  time_point write_deadline_ = time_point::max();
  bool is_closed_ = false;
  condition_variable changed_;
};

}}}  // namespace thrum::THRUM_ABI::testing_detail

#endif
