// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Of what context/node.hpp declares, what others are told by: functions, deadlines that are watched,
// stop tokens.
#ifndef THRUM_CONTEXT_NODE_WATCH_DEFINITION_HPP
#define THRUM_CONTEXT_NODE_WATCH_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_list.hpp>
#include <thrum/base/order.hpp>
#include <thrum/context/function.hpp>
#include <thrum/context/node.hpp>
#include <thrum/runtime.hpp>
#include <thrum/sched/core/scheduler.hpp>
#include <thrum/sched/life/registry.hpp>
#include <thrum/thread_lock.hpp>
#include <thrum/time/timer.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <variant>

namespace thrum { inline namespace THRUM_ABI { namespace context_detail {

THRUM_OUT_OF_LINE void context_node::call_when_done(
    const std::shared_ptr<context_function>& function, runtime_scheduler& where) {
  bool done = cause() != context_cause::none;
  // What may throw comes first: a function that is listed is called.
  const func_timer_handle watch =
      !done && deadline() != no_deadline ? make_watch(where) : func_timer_handle();
  {
    const section here;
    scoped guard(node_lock_);
    done = done || cause_.load(relaxed) != context_cause::none;  // relaxed: under the lock
    if (!done) {
      function->listed = function;
      functions_.push_back(*function);
    }
  }
  if (done) {
    wait_for_walk_of_other(nullptr);
    function->give_up().call();
  } else if (watch.get() != nullptr) {
    static_cast<void>(watch_deadline(watch));
  }
}

THRUM_OUT_OF_LINE bool context_node::take_back(context_function& function) noexcept {
  context_function::share taken;  // destroys the function, without the lock
  const section here;
  scoped guard(node_lock_);
  if (!function.linked) {
    return false;
  }
  functions_.remove(function);
  taken = function.give_up();
  return true;
}

THRUM_OUT_OF_LINE void context_node::hand_over_functions() noexcept {
  if (functions_.empty()) {
    return;
  }
  bool is_over = false;
  if (context_node* const parent = above()) {
    const section here;
    scoped guard(parent->node_lock_);
    is_over = parent->cause_.load(relaxed) != context_cause::none;  // relaxed: under the lock
    while (!is_over && !functions_.empty()) {
      parent->functions_.push_back(*functions_.pop_front());
    }
  }
  while (context_function* const each = functions_.pop_front()) {
    const context_function::share last = each->give_up();
    if (is_over) {
      last.call();
    }
  }
}

/// What watches the deadline of a node that has a stop_source or a function. The two keep each
/// other, until the node is cancelled or the runtime ends.
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
  void discarded() const noexcept { static_cast<void>(node->end_watch()); }
};

THRUM_OUT_OF_LINE func_timer_handle context_node::end_watch() noexcept {
  const section here;
  scoped guard(node_lock_);
  is_watched_ = false;
  return std::exchange(deadline_timer_, func_timer_handle());
}

THRUM_OUT_OF_LINE func_timer_handle context_node::make_watch(runtime_scheduler& by) {
  add_reference();
  deadline_watch watch(chan_handle<void>(adopt_reference{}, this), this);
  return func_timer_handle(new func_timer_of<deadline_watch>(by, std::move(watch)));
}

THRUM_OUT_OF_LINE bool context_node::watch_deadline(const func_timer_handle& made) noexcept {
  {
    const section here;
    scoped guard(node_lock_);
    // relaxed: under the lock
    if (is_watched_ || cause_.load(relaxed) != context_cause::none) {
      return true;
    }
    is_watched_ = true;
  }
  bool was_armed = false;
  if (!made.get()->try_reset(deadline(), was_armed)) {
    static_cast<void>(end_watch());
    return false;
  }
  bool late = false;
  {
    const section here;
    scoped guard(node_lock_);
    late = cause_.load(relaxed) != context_cause::none;  // relaxed: under the lock
    if (!late && is_watched_) {                          // else the runtime has ended meanwhile
      deadline_timer_ = made;
    }
  }
  if (late) {
    made.get()->stop();  // the walk that has cancelled it found no timer
  }
  return true;
}

THRUM_OUT_OF_LINE void context_node::watch_deadline() {
  {
    const section here;
    scoped guard(node_lock_);
    if (deadline() == no_deadline || is_watched_) {
      return;
    }
  }
  if (runtime* const own = runtime::current()) {
    static_cast<void>(watch_deadline(own->scheduler()));
    return;
  }
  bool is_watched = false;
  registry::for_each([&](runtime_scheduler& each) {
    is_watched = is_watched || (!each.clock.is_virtual() && watch_deadline(each));
  });
}

/// A source is published in one step with the look at the cause: while the node is open, so that
/// the walk that cancels it finds the source and requests the stop; or requested already.
THRUM_OUT_OF_LINE std::stop_token context_node::stop_token() {
  std::stop_source source;
  std::stop_token token;
  bool done = false;
  for (bool published = false; !published;) {
    done = cause() != context_cause::none;
    if (done) {
      wait_for_walk_of_other(nullptr);
      source.request_stop();  // nobody has its token yet
    }
    const section here;
    scoped guard(node_lock_);
    // relaxed: under the lock
    if (!stop_source_.stop_possible() && (done || cause_.load(relaxed) == context_cause::none)) {
      stop_source_ = source;
    }
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.Move): it was copied to
    published = stop_source_.stop_possible();
    token = stop_source_.get_token();
  }
  if (!done) {
    watch_deadline();
  }
  return token;
}

/// A node that is cancelled with a stop token.
class context_token_node final : public context_node {
 public:
  explicit context_token_node(context_node* parent) noexcept
      : context_node(parent, {}, follows::parent, &destroy) {}

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
