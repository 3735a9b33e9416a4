// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The tree behind contexts: its nodes, their deadlines, how they are cancelled.
//
// Terms
//   A node is a channel of signals that is closed when the node is cancelled: done() is the node
//   itself. A node with a deadline is a channel with a clock, whose expiry cancels it; so no timer
//   is armed, and a question at or after the deadline finds it cancelled. A child's deadline is
//   never later than its parent's. The background is no node.
//
// Other clocks
//   Of a deadline by a clock other than the steady one, a node knows when it is due as that clock
//   stood when it was asked. When that moment has come the clock is asked again, and those of all
//   ancestors, since the node's moment may be theirs; if none of them says that it is over, the
//   node has a new moment (is_due).
//
// Cancelling
//   A walk from the node that is cancelled, level by level, along a queue threaded through the
//   nodes: it needs neither memory nor stack, however deep the tree is. First it closes them all;
//   only then it requests the stops, since a callback may look at any node, cancel it, or wait for
//   a goroutine that waits for one. A walk that comes upon a node of another walk waits until that
//   one has closed all. A walk waits for those that began below it and never the other way round.
//
// Invariants
//   CX1  a child holds a reference to its parent; a parent lists its children without one. A child
//        leaves the list before its memory goes: a walk along a list takes a reference to each, and
//        leaves those alone that have none left.
//   CX2  cause_ is set once, under node_lock_, before the channel is closed. error() says so only
//        when the channel is closed, so neither is seen without the other.
//   CX3  no more than one node's lock is held at a time, and none while a channel is closed, a stop
//        is requested or a handler runs.
//   CX4  walk_ is the root of the walk that has set the cause, until that walk has closed all that
//        it found. No code of a user runs before.
//
// Source: Go, src/context/context.go, which arms a timer for each deadline.
#ifndef THRUM_CONTEXT_NODE_HPP
#define THRUM_CONTEXT_NODE_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_list.hpp>
#include <thrum/base/order.hpp>
#include <thrum/chan.hpp>
#include <thrum/deadline.hpp>
#include <thrum/request_stop.hpp>
#include <thrum/runtime.hpp>
#include <thrum/this_goroutine.hpp>
#include <thrum/thread_lock.hpp>
#include <thrum/time/timer.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>
#include <variant>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Why a context is done.
enum class context_cause : std::uint8_t { none, canceled, timed_out };

/// One address for each type, without RTTI.
template <class T>
inline constexpr char type_key = 0;

class context_node : public chan_core<std::monostate>,
                     public chan_clock,
                     public base::list_node<context_node> {
 public:
  using destroy_node = void (*)(context_node*) noexcept;
  /// When a deadline by another clock is due as that stands now; -no_deadline if it has come.
  using ask_function = std::int64_t (*)(const context_node&) noexcept;

  /// `parent` may be null. Refers to it from enter() on: what derives from this may throw before.
  context_node(context_node* parent, std::int64_t deadline, destroy_node when_unused = &delete_node,
               ask_function ask = nullptr) noexcept
      : chan_core<std::monostate>(*static_cast<chan_clock*>(this), &drop_chain),
        parent_(parent),
        destroy_node_(when_unused),
        own_deadline_(deadline),
        ask_(ask),
        asks_clocks_(ask != nullptr || (parent != nullptr && parent->asks_clocks_)) {
    const std::int64_t inherited = parent != nullptr ? parent->deadline() : no_deadline;
    when = inherited < deadline ? inherited : deadline;
    deadline_.store(when, relaxed);  // relaxed: not yet published
    chan_clock::expire = [](chan_clock& clock) noexcept {
      auto& self = static_cast<context_node&>(clock);
      if (self.is_due(default_traits::now())) {
        self.cancel(context_cause::timed_out);
      }
    };
  }

  /// Enters the tree: from here on the parent cancels it. Once, by its maker.
  void enter() noexcept {
    if (parent_ != nullptr) {
      parent_->add_reference();
      context_cause inherited;
      {
        const section here;
        scoped guard(parent_->node_lock_);
        inherited = parent_->cause_.load(relaxed);  // relaxed: under the lock
        if (inherited == context_cause::none) {
          parent_->children_.push_back(*this);
        }
      }
      if (inherited != context_cause::none) {
        cancel(inherited, no_deadline);
      }
    }
    if (is_due(default_traits::now())) {
      cancel(context_cause::timed_out);
    }
  }

  /// When it is due, as far as it is known now.
  std::int64_t deadline() const noexcept {
    return deadline_.load(relaxed);  // relaxed: old as soon as it is read, if it changes at all
  }

  /// Whether its deadline has passed, by the clock that it was given in.
  bool is_due(std::int64_t now) noexcept {
    return deadline() <= now && (!asks_clocks_ || ask_clocks(now));
  }

  /// Cancels it and all below it, unless that has been done; the first cause stays. A deadline
  /// before `now` came first, even if nobody has looked at it yet.
  void cancel(context_cause cause, std::int64_t now = default_traits::now()) noexcept;

  /// Looks at the clock too.
  context_cause cause() noexcept {
    // [cx.cause <] acquire: what its canceller did before.
    context_cause known = cause_.load(acquire);
    if (known == context_cause::none && is_due(default_traits::now())) {
      cancel(context_cause::timed_out);
      known = cause_.load(acquire);  // [cx.cause <] what its canceller did
    }
    // CX2: the walk that has set the cause is about to close the channel.
    for (std::uint32_t turn = 127; known != context_cause::none && !is_closed(); turn += 128) {
      sched::back_off(turn);
    }
    return known;
  }

  std::stop_token stop_token();

  context_node* parent() const noexcept { return parent_; }

  // What value() looks for; constant.
  const void* value_key = nullptr;
  const void* value = nullptr;

 protected:
  ~context_node() = default;

 private:
  static void delete_node(context_node* self) noexcept { delete self; }

  /// CX1. A node that nobody refers to, and its ancestors that nobody else refers to: a loop, since
  /// the chain may be long.
  static void drop_chain(chan_base* last) noexcept {
    auto* node = static_cast<context_node*>(static_cast<chan_core<std::monostate>*>(last));
    while (node != nullptr) {
      context_node* const parent = node->parent_;
      node->leave_parent();
      node->destroy_node_(node);
      node = parent != nullptr && parent->drop_reference_only() ? parent : nullptr;
    }
  }

  void leave_parent() noexcept {
    if (parent_ != nullptr) {
      const section here;
      scoped guard(parent_->node_lock_);
      if (linked) {
        parent_->children_.remove(*this);
      }
    }
  }

  /// Other clocks. Whether one says that it is over; if not, there is a new moment.
  THRUM_COLD bool ask_clocks(std::int64_t now) noexcept {
    std::int64_t due = no_deadline;
    for (const context_node* node = this; node != nullptr; node = node->parent_) {
      const std::int64_t own = node->ask_ != nullptr ? node->ask_(*node) : node->own_deadline_;
      due = own < due ? own : due;
    }
    if (due <= now) {
      return true;
    }
    change_clock([&] {
      when = due;
      deadline_.store(due, relaxed);  // relaxed: as in deadline()
    });
    return false;
  }

  // The steps of cancel().

  /// Sets the cause and closes the channel. False: that has been done.
  bool close_as(context_cause cause, std::int64_t now, context_node& root) noexcept;
  context_node** take_children(context_node** last) noexcept;
  void wait_for_walk_of_other(const context_node* own) const noexcept;
  void end_walk(const context_node& root) noexcept {
    if (walk_.load(relaxed) == &root) {  // relaxed: we wrote it, or another
      walk_.store(nullptr, release);     // [cx.walk >] release: that all below is closed
    }
  }
  /// Requests the stop, if there is a token.
  void tell() noexcept;
  timer take_deadline_timer() noexcept {
    const section here;
    scoped guard(node_lock_);
    return std::exchange(deadline_timer_, timer());
  }

  struct deadline_watch;

  context_node* const parent_;
  const destroy_node destroy_node_;
  const std::int64_t own_deadline_;  // without those of its ancestors
  const ask_function ask_;           // for an own deadline by another clock
  const bool asks_clocks_;           // it, or an ancestor
  std::atomic<std::int64_t> deadline_{no_deadline};
  spin_lock node_lock_;
  std::atomic<context_cause> cause_{context_cause::none};
  std::atomic<const context_node*> walk_{nullptr};
  base::intrusive_list<context_node> children_;  // under node_lock_
  context_node* cancel_next_ = nullptr;          // of the walk that took it from its parent, once
  std::optional<std::stop_source> stop_source_;  // under node_lock_; set once
  timer deadline_timer_;                         // under node_lock_; for the stop_source
};

inline bool context_node::close_as(context_cause cause, std::int64_t now,
                                   context_node& root) noexcept {
  const bool late = cause != context_cause::timed_out && now != no_deadline && is_due(now);
  const section here;  // to the end of close(): others that see the cause wait for it (CX2)
  {
    scoped guard(node_lock_);
    if (cause_.load(relaxed) != context_cause::none) {  // relaxed: under the lock
      return false;
    }
    // CX4; relaxed: published by the cause and by the lock
    walk_.store(&root, relaxed);
    // [cx.cause >] release: what we did before.
    cause_.store(late ? context_cause::timed_out : cause, release);
  }
  close();  // without the node's lock (CX3)
  return true;
}

/// Moves the children to the end of a queue, each with a reference. Returns the new end.
inline context_node** context_node::take_children(context_node** last) noexcept {
  const section here;
  scoped guard(node_lock_);
  while (context_node* const child = children_.pop_front()) {
    if (child->add_reference_if_alive()) {
      *last = child;
      last = &child->cancel_next_;
    }
  }
  return last;
}

inline void context_node::wait_for_walk_of_other(const context_node* own) const noexcept {
  // [cx.walk <] acquire: that all below is closed.
  const context_node* walk = walk_.load(acquire);
  if (walk == nullptr || walk == own) {
    return;
  }
  const thread_lock same_thread;  // we may be in a callback of a user's stop_source
  do {
    this_goroutine::yield();
    walk = walk_.load(acquire);  // [cx.walk <] that all below is closed
  } while (walk != nullptr && walk != own);
}

inline void context_node::tell() noexcept {
  std::optional<std::stop_source> source;
  {
    const section here;
    scoped guard(node_lock_);
    if (!stop_source_) {
      return;
    }
    source = stop_source_;
  }
  const timer armed = take_deadline_timer();
  request_stop_here(*source);
  if (armed.is_set()) {
    armed.stop();
  }
}

inline void context_node::cancel(context_cause cause, std::int64_t now) noexcept {
  // Once it is closed, a waiter may drop the last handle, and so may a callback.
  add_reference();
  if (!close_as(cause, now, *this)) {
    wait_for_walk_of_other(nullptr);
    drop_reference();
    return;
  }
  context_node* below = nullptr;
  context_node** last = take_children(&below);
  bool alone = true;
  for (context_node* node = below; node != nullptr; node = node->cancel_next_) {
    if (node->close_as(cause, now, *this)) {
      last = node->take_children(last);
    } else {
      alone = false;
    }
  }
  for (context_node* node = alone ? nullptr : below; node != nullptr; node = node->cancel_next_) {
    node->wait_for_walk_of_other(this);
  }
  end_walk(*this);
  for (context_node* node = below; node != nullptr; node = node->cancel_next_) {
    node->end_walk(*this);
  }
  leave_parent();  // not before: until here the parent's walk must find it, to wait for it
  tell();
  while (context_node* const node = below) {
    below = node->cancel_next_;
    node->tell();
    node->drop_reference();
  }
  drop_reference();
}

/// What watches the deadline of a node that has a stop_source. The two keep each other, until the
/// node is cancelled or the runtime ends.
struct context_node::deadline_watch : told_of_discard {
  deadline_watch(chan_handle<void> of, context_node* self) noexcept
      : held(std::move(of)), node(self) {}
  chan_handle<void> held;
  context_node* node;
  void operator()() const noexcept {
    if (node->cause() == context_cause::none) {
      // Not yet, by another clock: each wait for the node looks at that.
      std::optional<std::monostate> nothing;
      if (node->recv(nothing, true, no_deadline) == chan_result::cancelled) {
        discarded();
      }
    }
  }
  void discarded() const noexcept { static_cast<void>(node->take_deadline_timer()); }
};

/// A source is published in one step with the look at the cause: while the node is open, so that
/// the walk that cancels it finds the source and requests the stop; or requested already.
inline std::stop_token context_node::stop_token() {
  std::stop_source source;
  bool done = false;
  for (bool published = false; !published;) {
    done = cause() != context_cause::none;
    if (done) {
      wait_for_walk_of_other(nullptr);
      source.request_stop();  // nobody has its token yet
    }
    const section here;
    scoped guard(node_lock_);
    if (stop_source_) {
      return stop_source_->get_token();
    }
    published = done || cause_.load(relaxed) == context_cause::none;  // relaxed: under the lock
    if (published) {
      stop_source_ = source;
    }
  }
  if (done || deadline() == no_deadline || runtime::current() == nullptr) {
    return source.get_token();
  }
  add_reference();
  deadline_watch watch(chan_handle<void>(adopt_reference{}, this), this);
  timer timeout =
      after_func(std::chrono::nanoseconds(deadline() - default_traits::now()), std::move(watch));
  bool late = false;
  {
    const section here;
    scoped guard(node_lock_);
    late = cause_.load(relaxed) != context_cause::none;  // relaxed: under the lock
    if (!late) {
      deadline_timer_ = timeout;
    }
  }
  if (late) {
    timeout.stop();  // the walk that has cancelled it found no timer
  }
  return source.get_token();
}

/// A node that carries a value.
template <class T>
class context_value_node final : public context_node {
 public:
  template <class From>
  context_value_node(context_node* parent, From&& from)
      : context_node(parent, no_deadline, &destroy), held_(std::forward<From>(from)) {
    value_key = &type_key<T>;
    value = &held_;
  }

 private:
  static void destroy(context_node* self) noexcept {
    delete static_cast<context_value_node*>(self);
  }
  const T held_;
};

/// A node with a deadline by a clock other than the steady one.
template <class TimePoint>
class context_clock_node final : public context_node {
 public:
  context_clock_node(context_node* parent, TimePoint deadline)
      : context_node(parent, deadline_at(deadline), &destroy, &ask), moment_(deadline) {}

 private:
  static std::int64_t ask(const context_node& node) noexcept {
    const TimePoint moment = static_cast<const context_clock_node&>(node).moment_;
    return has_come(moment) ? -no_deadline : deadline_at(moment);
  }
  static void destroy(context_node* self) noexcept {
    delete static_cast<context_clock_node*>(self);
  }
  const TimePoint moment_;
};

/// A node that is cancelled with a stop token.
class context_token_node final : public context_node {
 public:
  explicit context_token_node(context_node* parent) noexcept
      : context_node(parent, no_deadline, &destroy) {}

  void listen(std::stop_token token) { callback_.emplace(std::move(token), request{this}); }

 private:
  struct request {
    context_node* to;
    /// The last handle may go meanwhile: then the callback goes too, but not before this returns.
    void operator()() const noexcept {
      const thread_lock same_thread;  // as in request_stop_here, for the requester of this stop
      context_node* const node = to;
      if (node->add_reference_if_alive()) {
        node->cancel(context_cause::canceled);
        node->drop_reference();  // may destroy this
      }
    }
  };
  static void destroy(context_node* self) noexcept {
    delete static_cast<context_token_node*>(self);
  }
  std::optional<std::stop_callback<request>> callback_;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
