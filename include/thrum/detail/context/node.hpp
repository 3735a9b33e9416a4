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
// Deadlines that are watched
//   At the deadline a program's token is requested and a function is called, also if no goroutine waits. So
//   a runtime watches the deadline of such a node, with a timer that keeps the node until then
//   (watch_deadline). A thread that belongs to no runtime leaves it to the oldest one that works. If
//   the runtime that watches stops before the deadline, the oldest other one takes the watch over.
//   A wait that is given a context has the deadline itself: it asks for a token that is not watched,
//   so that the context goes with its last handle. A task_group ends its watch when it goes (let_go).
//
// Causes
//   A node gets a cause with its end. cancel() gives one. If a deadline ends the node, the node whose
//   deadline came first gives it, and of several at the same time the outermost. So it does not matter
//   which node of a tree is looked at first when a deadline has passed.
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
//   CX2  cause_ is set once, under node_lock_, before the channel is closed, and told_ with it.
//        error() says so only when the channel is closed, so neither is seen without the other.
//   CX3  no more than one node's lock is held at a time, and none while a channel is closed, a stop
//        is requested or a handler runs.
//   CX4  walk_ is the root of the walk that has set the cause, until that walk has closed all that
//        it found. No code of a user runs before.
//   CF1  a function is listed, or has been called, or was stopped: under the lock of the node that
//        lists it. While a handle refers to it, that is the node that the handle keeps.
//
// Source: Go, src/context/context.go, which arms a timer for each deadline.
#ifndef THRUM_DETAIL_CONTEXT_NODE_HPP
#define THRUM_DETAIL_CONTEXT_NODE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/time/timer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <system_error>
#include <utility>
#include <variant>

namespace thrum { inline namespace THRUM_ABI { namespace context_detail {

// A function that is to be called once a context is done.
//
// It is a timer that is not armed (time/timer.hpp), which brings what is needed: the function, the
// runtime that it is to run on, which may be gone by then, and a goroutine of its own for it. To
// call it is to arm it for now.
//
// A context owns the functions that it lists; a handle shares one with it. If a context goes that is
// not done, its functions go to its parent: no caller can cancel that context alone any
// more, so it would have been done together with its parent. Without a parent they can never be
// called, and go.

struct context_function : base::list_node<context_function> {
  explicit context_function(time_detail::func_timer_handle function) noexcept
      : timer(std::move(function)) {}

  time_detail::func_timer_handle timer;      // until it is called or stopped
  std::shared_ptr<context_function> listed;  // itself, for the node that lists it

  /// The node's part, taken once under the lock of the node; it outlasts that lock.
  struct share {
    std::shared_ptr<context_function> of;
    time_detail::func_timer_handle timer;

    /// Calls it, unless its runtime has stopped. Without any lock.
    void call() const noexcept {
      bool was_armed = false;
      static_cast<void>(timer.get()->try_reset(sched::traits::now(), was_armed));
    }
  };
  share give_up() noexcept { return {std::move(listed), std::move(timer)}; }
};

using namespace sched;
using namespace chan_detail;
using namespace time_detail;

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
  /// When a deadline by another clock is due, by that clock's time now; -no_deadline if it has come.
  using ask_function = std::int64_t (*)(const context_node&) noexcept;

  /// A deadline of a node's own, or none.
  struct own_deadline {
    std::int64_t when = no_deadline;
    std::error_code cause;       // what to tell when it has passed
    ask_function ask = nullptr;  // of another clock
  };
  /// What a node takes from its parent, beside the values.
  enum class follows : bool { nothing, parent };

  /// `parent` may be null. Refers to it from enter() on: a derived class may throw before.
  context_node(context_node* parent, const own_deadline& deadline, follows what = follows::parent,
               destroy_node when_unused = &delete_node) noexcept;

  /// Enters the tree: from here on the parent cancels it. Once, by its maker.
  void enter() noexcept;

  /// When it is due, as far as it is known now.
  std::int64_t deadline() const noexcept { return deadline_.get(); }

  /// Whether its deadline has passed, by the clock that it was given in.
  bool is_due(std::int64_t now) noexcept {
    return deadline() <= now && (!asks_clocks_ || ask_clocks(now));
  }

  /// Cancels it and all below it, unless that has been done; the first cause stays. A deadline
  /// before `now` came first, even if no thread has looked at it yet.
  void cancel(context_cause cause, std::error_code told = {},
              std::int64_t now = traits::now()) noexcept;

  /// Looks at the clock too.
  context_cause cause() noexcept {
    // [cx.cause <] acquire: what its canceller did before.
    context_cause known = cause_.load(acquire);
    if (known == context_cause::none && is_due(traits::now())) {
      time_out();
      known = cause_.load(acquire);  // [cx.cause <] what its canceller did
    }
    // CX2: the walk that has set the cause is about to close the channel.
    for (std::uint32_t turn = 127; known != context_cause::none && !is_closed(); turn += 128) {
      sched::back_off(turn);
    }
    return known;
  }

  /// The cause that it was told, if any. Once cause() is not `none`.
  std::error_code told() const noexcept { return told_; }

  /// How long a token is watched: not at all, until let_go(), until the node is done.
  enum class watched : std::uint8_t { no, for_a_while, until_done };
  std::stop_token stop_token(watched how);

  /// Ends the watch of the deadline, unless a program's token or a function needs it.
  void let_go() noexcept;

  /// Has the function called once the node is done; at once if it is. `where` is its runtime.
  void call_when_done(const std::shared_ptr<context_function>& function, runtime_scheduler& where);

  /// CF1. False: it has been called, or taken back.
  bool take_back(context_function& function) noexcept;

  context_node* parent() const noexcept { return parent_; }

  // What value() looks for; constant.
  const void* value_key = nullptr;
  const void* value = nullptr;

 protected:
  ~context_node() = default;

 private:
  static void delete_node(context_node* self) noexcept { delete self; }

  /// CX1. Destroys a node without references, and each ancestor that loses its last reference by that. A
  /// loop, since the chain may be long.
  static void drop_chain(chan_base* last) noexcept;

  void leave_parent() noexcept;

  /// The parent, if that cancels it.
  context_node* above() const noexcept { return follows_parent_ ? parent_ : nullptr; }

  /// Cancels it because its deadline has passed.
  void time_out() noexcept { cancel(context_cause::timed_out, cause_of_deadline()); }

  /// The cause that it gets if its deadline has passed.
  std::error_code cause_of_deadline() const noexcept;
  /// When its own deadline is due, as its clock stands.
  std::int64_t own_due() const noexcept {
    return own_.ask != nullptr ? own_.ask(*this) : own_.when;
  }

  /// Other clocks. Whether one says that it is over; if not, there is a new moment.
  [[gnu::cold]] bool ask_clocks(std::int64_t now) noexcept;

  // The steps of cancel().

  /// Sets the cause and closes the channel. False: that has been done.
  bool close_as(context_cause cause, std::error_code told, std::int64_t now,
                context_node& root) noexcept;
  context_node** take_children(context_node** last) noexcept;
  void wait_for_walk_of_other(const context_node* own) const noexcept;
  void end_walk(const context_node& root) noexcept;
  void call_functions() noexcept;
  /// Requests the stop, if there is a token.
  void tell() noexcept;

  /// Gives the functions of a node that goes to its parent: see context_function.
  void hand_over_functions() noexcept;

  // Deadlines that are watched.

  struct deadline_watch;
  /// Has the caller's runtime watch the deadline, else any runtime.
  void watch_deadline();
  /// Has that scheduler watch the deadline. False: it has stopped.
  bool watch_deadline(runtime_scheduler& by) {
    return watch_deadline(make_watch(by), by.registered.number());
  }
  /// Watch a deadline in two steps, of which only the first may throw.
  func_timer_handle make_watch(runtime_scheduler& by);
  bool watch_deadline(const func_timer_handle& made, std::uint64_t by) noexcept;
  /// Ends the watch of the scheduler with that number; 0: of any scheduler. Returns its timer.
  func_timer_handle end_watch(std::uint64_t by = 0) noexcept;
  /// Hands the watch of a scheduler that ends on to another one, if there is one.
  void hand_on_watch(std::uint64_t by) noexcept;
  /// Whether its deadline must be watched. Caller holds node_lock_.
  bool needs_watch() const noexcept { return wanted_ != watched::no || !functions_.empty(); }

  context_node* const parent_;
  const destroy_node destroy_node_;
  const own_deadline own_;  // without those of its ancestors
  const bool follows_parent_;
  const bool asks_clocks_;               // it, or an ancestor that it follows
  const context_node* const first_due_;  // it or an ancestor: whose deadline is its own; steady
  base::hint<std::int64_t> deadline_{no_deadline};
  spin_lock node_lock_{lock_rank::context};
  base::under_lock<context_cause> cause_{context_cause::none};
  std::error_code told_;
  std::atomic<const context_node*> walk_{nullptr};
  base::intrusive_list<context_node> children_;       // under node_lock_
  base::intrusive_list<context_function> functions_;  // under node_lock_
  context_node* cancel_next_ = nullptr;  // of the walk that took it from its parent, once
  bool has_functions_ = false;           // of the walk that closed it
  watched wanted_ = watched::no;         // under node_lock_
  std::uint64_t watched_by_ = 0;         // under node_lock_: the number of a scheduler, or 0
  std::stop_source stop_source_{std::nostopstate};  // under node_lock_; set once
  func_timer_handle deadline_timer_;                // under node_lock_; while it is watched
};

/// A node that carries a value.
template <class T>
class context_value_node final : public context_node {
 public:
  template <class From>
  context_value_node(context_node* parent, From&& from)
      : context_node(parent, {}, follows::parent, &destroy), held_(std::forward<From>(from)) {
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
  context_clock_node(context_node* parent, TimePoint deadline, std::error_code cause)
      : context_node(parent, {deadline_at(deadline), cause, &ask}, follows::parent, &destroy),
        moment_(deadline) {}

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

}}}  // namespace thrum::THRUM_ABI::context_detail

#if THRUM_BODIES
#include <thrum/detail/context/node_cancel.hpp>  // IWYU pragma: keep: bodies
#include <thrum/detail/context/node_watch.hpp>   // IWYU pragma: keep: bodies

namespace thrum { inline namespace THRUM_ABI { namespace context_detail {

THRUM_OUT_OF_LINE context_node::context_node(context_node* parent, const own_deadline& deadline,
                                             follows what, destroy_node when_unused) noexcept
    : chan_core<std::monostate>(*static_cast<chan_clock*>(this), &drop_chain),
      parent_(parent),
      destroy_node_(when_unused),
      own_(deadline),
      follows_parent_(what == follows::parent),
      asks_clocks_(deadline.ask != nullptr || (above() != nullptr && above()->asks_clocks_)),
      first_due_(above() == nullptr || deadline.when < above()->deadline() ? this
                                                                           : above()->first_due_) {
  const std::int64_t inherited = above() != nullptr ? above()->deadline() : no_deadline;
  when = inherited < deadline.when ? inherited : deadline.when;
  deadline_.set(when);
  chan_clock::expire = [](chan_clock& clock) noexcept {
    auto& self = static_cast<context_node&>(clock);
    if (self.is_due(traits::now())) {
      self.time_out();
    }
  };
}

THRUM_OUT_OF_LINE void context_node::enter() noexcept {
  if (parent_ != nullptr) {
    parent_->add_reference();
  }
  if (context_node* const parent = above()) {
    context_cause inherited;
    std::error_code told;
    {
      const section here;
      scoped guard(parent->node_lock_);
      inherited = parent->cause_.get();
      told = parent->told_;
      if (inherited == context_cause::none) {
        parent->children_.push_back(*this);
      }
    }
    if (inherited != context_cause::none) {
      cancel(inherited, told, no_deadline);
    }
  }
  if (is_due(traits::now())) {
    time_out();
  }
}

THRUM_OUT_OF_LINE void context_node::drop_chain(chan_base* last) noexcept {
  auto* node = static_cast<context_node*>(static_cast<chan_core<std::monostate>*>(last));
  while (node != nullptr) {
    context_node* const parent = node->parent_;
    node->leave_parent();
    node->hand_over_functions();
    node->destroy_node_(node);
    node = parent != nullptr && parent->drop_reference_only() ? parent : nullptr;
  }
}

THRUM_OUT_OF_LINE void context_node::leave_parent() noexcept {
  if (context_node* const parent = above()) {
    const section here;
    scoped guard(parent->node_lock_);
    if (linked) {
      parent->children_.remove(*this);
    }
  }
}

THRUM_COLD THRUM_OUT_OF_LINE bool context_node::ask_clocks(std::int64_t now) noexcept {
  std::int64_t due = no_deadline;
  for (const context_node* node = this; node != nullptr; node = node->above()) {
    const std::int64_t own = node->own_due();
    due = own < due ? own : due;
  }
  if (due <= now) {
    return true;
  }
  change_clock([&] {
    when = due;
    deadline_.set(due);
  });
  return false;
}

THRUM_OUT_OF_LINE std::error_code context_node::cause_of_deadline() const noexcept {
  const context_node* first = first_due_;
  if (asks_clocks_) {
    std::int64_t due = no_deadline;
    for (const context_node* node = this; node != nullptr; node = node->above()) {
      const std::int64_t own = node->own_due();
      if (own <= due) {
        due = own;
        first = node;
      }
    }
  }
  return first->own_.cause;
}

}}}  // namespace thrum::THRUM_ABI::context_detail
#endif

#endif  // THRUM_DETAIL_CONTEXT_NODE_HPP
