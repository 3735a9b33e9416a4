// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What context/node.hpp declares: the bodies that are not inlined.
#ifndef THRUM_CONTEXT_NODE_DEFINITION_HPP
#define THRUM_CONTEXT_NODE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_list.hpp>
#include <thrum/base/order.hpp>
#include <thrum/context/node.hpp>
#include <thrum/request_stop.hpp>
#include <thrum/runtime.hpp>
#include <thrum/sched/core/traits.hpp>
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

namespace thrum { inline namespace THRUM_ABI { namespace context_detail {

THRUM_OUT_OF_LINE context_node::context_node(context_node* parent, std::int64_t deadline,
                                             destroy_node when_unused, ask_function ask) noexcept
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
    if (self.is_due(traits::now())) {
      self.cancel(context_cause::timed_out);
    }
  };
}

THRUM_OUT_OF_LINE void context_node::enter() noexcept {
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
  if (is_due(traits::now())) {
    cancel(context_cause::timed_out);
  }
}

THRUM_OUT_OF_LINE void context_node::drop_chain(chan_base* last) noexcept {
  auto* node = static_cast<context_node*>(static_cast<chan_core<std::monostate>*>(last));
  while (node != nullptr) {
    context_node* const parent = node->parent_;
    node->leave_parent();
    node->destroy_node_(node);
    node = parent != nullptr && parent->drop_reference_only() ? parent : nullptr;
  }
}

THRUM_OUT_OF_LINE void context_node::leave_parent() noexcept {
  if (parent_ != nullptr) {
    const section here;
    scoped guard(parent_->node_lock_);
    if (linked) {
      parent_->children_.remove(*this);
    }
  }
}

THRUM_COLD THRUM_OUT_OF_LINE bool context_node::ask_clocks(std::int64_t now) noexcept {
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

THRUM_OUT_OF_LINE void context_node::end_walk(const context_node& root) noexcept {
  if (walk_.load(relaxed) == &root) {  // relaxed: we wrote it, or another
    walk_.store(nullptr, release);     // [cx.walk >] release: that all below is closed
  }
}

THRUM_OUT_OF_LINE timer context_node::take_deadline_timer() noexcept {
  const section here;
  scoped guard(node_lock_);
  return std::exchange(deadline_timer_, timer());
}

THRUM_OUT_OF_LINE bool context_node::close_as(context_cause cause, std::int64_t now,
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
THRUM_OUT_OF_LINE context_node** context_node::take_children(context_node** last) noexcept {
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

THRUM_OUT_OF_LINE void context_node::wait_for_walk_of_other(
    const context_node* own) const noexcept {
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

THRUM_OUT_OF_LINE void context_node::tell() noexcept {
  std::stop_source source(std::nostopstate);
  {
    const section here;
    scoped guard(node_lock_);
    if (!stop_source_.stop_possible()) {
      return;
    }
    source = stop_source_;
  }
  const timer armed = take_deadline_timer();
  go_detail::request_stop_here(source);
  if (armed.is_set()) {
    armed.stop();
  }
}

THRUM_OUT_OF_LINE void context_node::cancel(context_cause cause, std::int64_t now) noexcept {
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
THRUM_OUT_OF_LINE std::stop_token context_node::stop_token() {
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
    if (stop_source_.stop_possible()) {
      return stop_source_.get_token();
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
      after_func(std::chrono::nanoseconds(deadline() - traits::now()), std::move(watch));
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

}}}  // namespace thrum::THRUM_ABI::context_detail

#endif
