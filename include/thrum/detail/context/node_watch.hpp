// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The part of context/node.hpp by which a node reaches others: functions, watched deadlines, stop tokens.
#ifndef THRUM_DETAIL_CONTEXT_NODE_WATCH_HPP
#define THRUM_DETAIL_CONTEXT_NODE_WATCH_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/context/node.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/life/registry.hpp>
#include <thrum/runtime.hpp>
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
    done = done || cause_.get() != context_cause::none;
    if (!done) {
      function->listed = function;
      functions_.push_back(*function);
    }
  }
  if (done) {
    wait_for_walk_of_other(nullptr);
    function->give_up().call();
  } else if (watch.get() != nullptr) {
    static_cast<void>(watch_deadline(watch, where.registered.number()));
  }
}

THRUM_OUT_OF_LINE bool context_node::take_back(context_function& function) noexcept {
  context_function::share taken;  // destroys the function, without the lock
  {
    const section here;
    scoped guard(node_lock_);
    if (!function.linked) {
      return false;
    }
    functions_.remove(function);
    taken = function.give_up();
  }
  let_go();
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
    is_over = parent->cause_.get() != context_cause::none;
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

/// What watches the deadline of a node that has a token or a function. The two keep each other, until
/// the node is done, its last token and function are gone, or the runtime ends.
struct context_node::deadline_watch : told_of_discard {
  deadline_watch(chan_handle<void> of, context_node* self, std::uint64_t number) noexcept
      : held(std::move(of)), node(self), by(number) {}
  chan_handle<void> held;
  context_node* node;
  std::uint64_t by;  // whose timer it is
  void operator()() const noexcept {
    if (node->cause() == context_cause::none) {
      // Not yet, by another clock: each wait for the node looks at that.
      std::optional<std::monostate> nothing;
      if (node->recv(nothing, true, no_deadline) == chan_result::cancelled) {
        discarded();
      }
    }
  }
  void discarded() const noexcept {
    static_cast<void>(node->end_watch(by));
    node->hand_on_watch(by);
  }
};

THRUM_OUT_OF_LINE func_timer_handle context_node::end_watch(std::uint64_t by) noexcept {
  const section here;
  scoped guard(node_lock_);
  if (by != 0 && watched_by_ != by) {
    return {};
  }
  watched_by_ = 0;
  return std::exchange(deadline_timer_, func_timer_handle());
}

THRUM_OUT_OF_LINE void context_node::let_go() noexcept {
  func_timer_handle armed;
  {
    const section here;
    scoped guard(node_lock_);
    if (wanted_ == watched::for_a_while) {
      wanted_ = watched::no;
    }
    if (needs_watch()) {
      return;
    }
    watched_by_ = 0;
    armed = std::exchange(deadline_timer_, func_timer_handle());
  }
  if (armed.get() != nullptr) {
    armed.get()->stop();  // and with the timer goes what it held of this node
  }
}

THRUM_OUT_OF_LINE void context_node::hand_on_watch(std::uint64_t by) noexcept {
  {
    const section here;
    scoped guard(node_lock_);
    if (!needs_watch()) {
      return;
    }
  }
  THRUM_TRY {
    bool is_watched = false;
    registry::for_each([&](runtime_scheduler& each) {
      is_watched = is_watched || (each.registered.number() != by && !each.clock.is_virtual() &&
                                  watch_deadline(each));
    });
  }
  THRUM_CATCH_ALL {}  // no memory: the next look at the context sees the deadline
}

THRUM_OUT_OF_LINE func_timer_handle context_node::make_watch(runtime_scheduler& by) {
  add_reference();
  deadline_watch watch(chan_handle<void>(adopt_reference{}, this), this, by.registered.number());
  return func_timer_handle(new func_timer_of<deadline_watch>(by, std::move(watch)));
}

THRUM_OUT_OF_LINE bool context_node::watch_deadline(const func_timer_handle& made,
                                                    std::uint64_t by) noexcept {
  {
    const section here;
    scoped guard(node_lock_);
    if (watched_by_ != 0 || cause_.get() != context_cause::none) {
      return true;
    }
    watched_by_ = by;
    deadline_timer_ = made;
  }
  bool was_armed = false;
  if (!made.get()->try_reset(deadline(), was_armed)) {
    static_cast<void>(end_watch(by));
    return false;
  }
  bool is_over = false;
  {
    const section here;
    scoped guard(node_lock_);
    is_over = deadline_timer_.get() != made.get();
  }
  if (is_over) {
    made.get()->stop();  // end_watch() found the timer not yet armed
  }
  return true;
}

THRUM_OUT_OF_LINE void context_node::watch_deadline() {
  {
    const section here;
    scoped guard(node_lock_);
    if (deadline() == no_deadline || watched_by_ != 0) {
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
THRUM_OUT_OF_LINE std::stop_token context_node::stop_token(watched how) {
  std::stop_source source;
  std::stop_token token;
  bool done = false;
  for (bool published = false; !published;) {
    done = cause() != context_cause::none;
    if (done) {
      wait_for_walk_of_other(nullptr);
      source.request_stop();  // no caller has its token yet
    }
    const section here;
    scoped guard(node_lock_);
    if (!stop_source_.stop_possible() && (done || cause_.get() == context_cause::none)) {
      stop_source_ = source;
    }
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.Move): it was copied to
    published = stop_source_.stop_possible();
    token = stop_source_.get_token();
    wanted_ = wanted_ < how ? how : wanted_;
  }
  if (!done && how != watched::no) {
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
