// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// context_node's bodies that cancel it and all below it: the walk, and what it does to each node. The
// essay is in node.hpp.
#ifndef THRUM_DETAIL_CONTEXT_NODE_CANCEL_HPP
#define THRUM_DETAIL_CONTEXT_NODE_CANCEL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/context/node.hpp>
#include <thrum/detail/start/stoppable.hpp>
#include <thrum/this_goroutine.hpp>
#include <thrum/thread_lock.hpp>

#include <cstdint>
#include <stop_token>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace context_detail {

THRUM_OUT_OF_LINE void context_node::end_walk(const context_node& root) noexcept {
  if (walk_.load(relaxed) == &root) {  // relaxed: we wrote it, or another
    walk_.store(nullptr, release);     // [cx.walk >] release: that all below is closed
  }
}

THRUM_OUT_OF_LINE bool context_node::close_as(context_cause cause, std::error_code told,
                                              std::int64_t now, context_node& root) noexcept {
  if (now != no_deadline && is_due(now)) {  // its deadline may be earlier than the root's
    cause = context_cause::timed_out;
    told = cause_of_deadline();
  }
  const section here;  // to the end of close(): others that see the cause wait for it (CX2)
  {
    scoped guard(node_lock_);
    if (cause_.get() != context_cause::none) {
      return false;
    }
    // CX4; relaxed: published by the cause and by the lock
    walk_.store(&root, relaxed);
    told_ = told;
    has_functions_ = !functions_.empty();
    // [cx.cause >] release: what we did before, and told_.
    cause_.store(cause, release);
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

THRUM_OUT_OF_LINE void context_node::call_functions() noexcept {
  while (has_functions_) {
    context_function::share taken;
    {
      const section here;
      scoped guard(node_lock_);
      context_function* const first = functions_.pop_front();
      if (first == nullptr) {
        return;
      }
      taken = first->give_up();
    }
    taken.call();
  }
}

THRUM_OUT_OF_LINE void context_node::tell() noexcept {
  std::stop_source source(std::nostopstate);
  {
    const section here;
    scoped guard(node_lock_);
    if (!stop_source_.stop_possible() && watched_by_ == 0) {
      return;
    }
    source = stop_source_;
  }
  const func_timer_handle armed = end_watch();
  if (source.stop_possible()) {
    static_cast<void>(go_detail::request_stop_here(source));
  }
  if (armed.get() != nullptr) {
    armed.get()->stop();
  }
}

THRUM_OUT_OF_LINE void context_node::cancel(context_cause cause, std::error_code told,
                                            std::int64_t now) noexcept {
  // Once it is closed, a waiter may drop the last handle, and so may a callback.
  add_reference();
  if (!close_as(cause, told, now, *this)) {
    wait_for_walk_of_other(nullptr);
    drop_reference();
    return;
  }
  context_node* below = nullptr;
  context_node** last = take_children(&below);
  bool alone = true;
  for (context_node* node = below; node != nullptr; node = node->cancel_next_) {
    if (node->close_as(cause, told, now, *this)) {
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
  call_functions();
  for (context_node* node = below; node != nullptr; node = node->cancel_next_) {
    node->call_functions();  // before any stop is requested: a callback may wait
  }
  tell();
  while (context_node* const node = below) {
    below = node->cancel_next_;
    node->tell();
    node->drop_reference();
  }
  drop_reference();
}

}}}  // namespace thrum::THRUM_ABI::context_detail

#endif
