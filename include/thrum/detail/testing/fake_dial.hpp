// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How the connections of a fake_net are made: listeners, and dials.
#ifndef THRUM_DETAIL_TESTING_FAKE_DIAL_HPP
#define THRUM_DETAIL_TESTING_FAKE_DIAL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/testing/fake_stream.hpp>
#include <thrum/detail/testing/fake_world.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/sync/condition_variable.hpp>
#include <thrum/sync/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace testing_detail {

class fake_listener final : public net_detail::other_listener {
 public:
  /// With the lock held.
  fake_listener(std::shared_ptr<fake_world> of, host_number on, const net::endpoint& at,
                std::size_t most)
      : host(on), bound(at), world_(std::move(of)), most_(most) {
    world_->listeners.push_back(this);
  }
  ~fake_listener() override { close(); }

  base::owner<net_detail::other_stream> accept(os::io_result& result) override {
    std::unique_lock lock(world_->lock);
    while ((result = state()) == os::would_block) {
      const time_point next = queue_.empty() ? time_point::max() : queue_.begin()->first;
      if (!fake_wait(changed_, lock, std::min(deadline_, next))) {
        result = os::cancelled;
        return {};
      }
    }
    if (result < 0) {
      return {};
    }
    base::owner<net_detail::other_stream> first = std::move(queue_.begin()->second);
    queue_.erase(queue_.begin());
    return first;
  }

  void set_deadline(io::side, time_point when) noexcept override {
    const std::lock_guard guard(world_->lock);
    deadline_ = when;
    changed_.notify_all();
  }

  void close() noexcept override {
    decltype(queue_) left;  // ends without the lock
    {
      const std::lock_guard guard(world_->lock);
      is_closed_ = true;
      std::erase(world_->listeners, this);
      left.swap(queue_);
      changed_.notify_all();
    }
    for (const auto& [when, stream] : left) {
      stream->reset_at_close(true);
    }
  }

  net::endpoint address(bool peer) const noexcept override {
    const std::lock_guard guard(world_->lock);
    return peer || is_closed_ ? net::endpoint() : bound;
  }

  // ---- with the lock held ----

  bool is_full() const noexcept { return queue_.size() >= most_; }

  /// One that may be accepted from then on. Without memory it is the caller's still.
  void add(time_point when, base::owner<net_detail::other_stream>& stream) {
    queue_.emplace(when, std::move(stream));
    changed_.notify_all();
  }

  const host_number host;
  const net::endpoint bound;

 private:
  os::io_result state() const noexcept {
    const time_point now = fake_now();
    return is_closed_                                        ? os::cancelled
           : now >= deadline_                                ? sched::io_deadline_exceeded
           : !queue_.empty() && queue_.begin()->first <= now ? 0
                                                             : os::would_block;
  }

  const std::shared_ptr<fake_world> world_;
  const std::size_t most_;
  std::multimap<time_point, base::owner<net_detail::other_stream>> queue_;
  time_point deadline_ = time_point::max();
  bool is_closed_ = false;
  condition_variable changed_;
};

class fake_dial final : public net_detail::other_dial {
 public:
  fake_dial(std::shared_ptr<fake_world> in, const net::endpoint& where, const net::endpoint& local)
      : world_(std::move(in)), from_(world_->here()), where_(where), local_(local) {}

  base::owner<net_detail::other_stream> finish(time_point deadline,
                                               os::io_result& result) override {
    new_connection made;  // whose end takes the lock: after its release
    std::unique_lock lock(world_->lock);
    if (where_.family() == net::address_family::none) {
      result = os::no_address;
      return {};
    }
    const bool is_unix = where_.family() == net::address_family::local;
    const host_number here = is_unix ? unix_host
                             : local_.family() == net::address_family::none
                                 ? from_
                                 : world_->host_of(local_);
    const host_number there =
        where_.is_loopback() || where_.is_any() ? here : world_->host_of(where_);
    const net::endpoint target =
        where_.is_any() ? world_->address_for(here, where_).with_port(where_.port()) : where_;
    const bool is_given = local_.family() != net::address_family::none && !local_.is_any();
    net::endpoint own = is_given ? local_ : world_->address_for(here, target);
    if (!is_unix && own.port() == 0) {
      own = own.with_port(local_.port() != 0 ? local_.port() : world_->free_port(here));
    }
    const time_point gives_up = later_by(fake_now(), std::chrono::seconds(127));  // as Linux does
    std::chrono::nanoseconds pause = std::chrono::seconds(1);
    for (;;) {
      const time_point again = later_by(fake_now(), pause);
      const std::optional<bool> answer = try_once(lock, here, there, target, own, deadline, made);
      if (answer && fake_now() < deadline && !is_ended_) {
        result = *answer ? 0 : os::peer_refused;
        return std::move(made.client);
      }
      const time_point until = std::min({deadline, again, gives_up});
      if (!wait(lock, until) || fake_now() >= deadline) {
        result = is_stopped_ ? os::cancelled : sched::io_deadline_exceeded;
        return {};
      }
      if (fake_now() >= gives_up) {
        result = os::peer_silent;
        return {};
      }
      pause *= 2;
    }
  }

  void end() noexcept override {
    const std::lock_guard guard(world_->lock);
    is_ended_ = true;
    changed_.notify_all();
  }

 private:
  struct new_connection {
    std::shared_ptr<fake_connection> connection;
    base::owner<net_detail::other_stream> client;
    base::owner<net_detail::other_stream> server;  // until the listener has it
  };

  /// Until that moment; false: it was ended, or stopped.
  bool wait(std::unique_lock<mutex>& lock, time_point until) {
    while (!is_ended_ && !is_stopped_ && fake_now() < until) {
      is_stopped_ = !fake_wait(changed_, lock, until);
    }
    return !is_ended_ && !is_stopped_;
  }

  /// One exchange of packets: true, and a stream; false: refused; none: no answer.
  std::optional<bool> try_once(std::unique_lock<mutex>& lock, host_number here, host_number there,
                               const net::endpoint& target, const net::endpoint& own,
                               time_point deadline, new_connection& made) {
    constexpr std::size_t size = fake_connection::bare_packet;
    const auto arrives = world_->send(world_->path(here, there), size);
    if (!arrives || !wait(lock, std::min(*arrives, deadline)) || fake_now() < *arrives) {
      return std::nullopt;
    }
    const auto found =
        std::find_if(world_->listeners.begin(), world_->listeners.end(), [&](fake_listener* each) {
          return reaches(*world_, here, target, each->host, each->bound);
        });
    if (found != world_->listeners.end() && (*found)->is_full()) {
      return std::nullopt;
    }
    const auto back = world_->send(world_->path(there, here), size);
    if (!back) {
      return std::nullopt;
    }
    if (found != world_->listeners.end()) {
      made.connection = std::make_shared<fake_connection>(world_, here, there);
      made.connection->ends[0].address = own;
      made.connection->ends[1].address = target;
      made.client.reset(new fake_stream(made.connection, 0));
      made.server.reset(new fake_stream(made.connection, 1));
      (*found)->add(*back + world_->path(here, there).how.latency, made.server);
    }
    const bool is_in_time = wait(lock, std::min(*back, deadline)) && fake_now() >= *back;
    if (!is_in_time && made.client) {
      const relock free(lock);
      made = new_connection();
    }
    return is_in_time ? std::optional(static_cast<bool>(made.client)) : std::nullopt;
  }

  /// Without the lock for the length of a block.
  class relock {
   public:
    explicit relock(std::unique_lock<mutex>& lock) : lock_(lock) { lock_.unlock(); }
    relock(const relock&) = delete;
    relock& operator=(const relock&) = delete;
    ~relock() { lock_.lock(); }

   private:
    std::unique_lock<mutex>& lock_;
  };

  const std::shared_ptr<fake_world> world_;
  const host_number from_;
  const net::endpoint where_;
  const net::endpoint local_;
  bool is_ended_ = false;
  bool is_stopped_ = false;  // the call that waits
  condition_variable changed_;
};

}}}  // namespace thrum::THRUM_ABI::testing_detail

#endif
