// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How one of several channel operations is chosen, whatever the types of their elements.
//
// Purpose
//   run_select() carries out exactly one of some operations on channels; it waits if none can be
//   carried out now.
//
// The steps (Go's)
//   L1  lock all channels, by address, each once. So the engine sees one moment: it does not miss an
//       element that moves from one of its channels to another meanwhile. (Before it comes to that,
//       select() tries up to two channels one by one: what is ready may be taken without a look at the rest,
//       and to find nothing there decides nothing.)
//   L2  count those that are ready; carry out one of them, each with the same probability; unlock.
//       None, and the caller does not want to wait: unlock.
//   L3  link a wait point on each channel, all of one selection; park; unlock all.
//   L4  woken: the side that woke us has won the selection and has moved the element. Lock each
//       channel once more, one at a time, and unlink what is still linked. Not the channel that
//       served us: our point was taken out there, and the channel may be gone by now. If several
//       cases are on one channel, points may be left there: such a select keeps its channels.
//
// Invariants
//   SE1  the order of locks is the order of addresses, so two selects cannot wait for each other.
//   SE2  nothing of a selection's frame is touched after the last of its locks is released, at L3
//        by the arriving side, at L4 by others: before it leaves the frame, the selector passes
//        through each lock, but for that of the channel that served it. There the other side wakes
//        it as its last act, and could lock that channel only after L3 had released it.
//   SE3  a value to be sent is moved by the side that carries out its case, and by no other.
//
// A uniform choice costs a random number only if several are ready: the k-th ready one replaces the
// choice with probability 1/k. (Go shuffles the cases first.)
//
// With two channels a random one is looked at before the other is locked, so that a select that
// finds it ready takes one lock; what is locked stays locked, so that nothing is paid when it is
// not.
//
// Sources: Go, src/runtime/select.go. Checked by select_test.cpp and Go's own tests, re-created.
#ifndef THRUM_SELECT_ENGINE_HPP
#define THRUM_SELECT_ENGINE_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/random.hpp>
#include <thrum/chan/base.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace select_detail {

using namespace sched;
using namespace chan_detail;

/// One of the operations. Lives in the selector's frame.
struct select_operation {
  /// Tries the operation under the channel's lock; `partner` is to be woken without it.
  using attempt_function = attempt (*)(select_operation&, wait_point*& partner) noexcept;

  chan_base* core = nullptr;  // null: never ready
  bool sends = false;
  bool polled = false;  // the poller makes it ready
  bool closed = false;  // outcome: carried out because the channel is closed
  attempt_function try_locked = nullptr;
  void* slot = nullptr;         // the element to send, or the optional to receive into
  const void* value = nullptr;  // what is in a box in `slot`

  bool is_ready() const noexcept { return sends ? core->can_send() : core->can_receive(); }
};

/// What the caller provides, each for n operations.
struct select_frame {
  select_operation** operations;
  std::size_t n;
  chan_base** by_address;  // scratch
  wait_point* points;      // uninitialised memory
  /// Of two operations on channels, the one to look at first: 0, 1, or any.
  static constexpr std::uint32_t any = 2;
  std::uint32_t first = any;
};

struct select_outcome {
  enum class kind : std::uint8_t { chosen, none_ready, timed_out, cancelled } what;
  std::size_t index = 0;  // of the operation, if chosen
};

/// A number below n for a thread that is not ours: from the clock, so that it needs no state.
[[gnu::cold]] std::uint32_t random_below_by_clock(std::uint32_t n) noexcept;

/// A number below n. `m` is the caller's, null on a foreign thread.
inline std::uint32_t random_below(machine* m, std::uint32_t n) noexcept {
  return m != nullptr ? m->random.below(n) : random_below_by_clock(n);
}

/// Carries out one of the operations. Waits for one until `deadline` if `may_block`.
THRUM_OUT_OF_LINE select_outcome run_select(const select_frame& frame, bool may_block,
                                            std::int64_t deadline) noexcept;

}}}  // namespace thrum::THRUM_ABI::select_detail

#if !THRUM_SEPARATE
#include <thrum/select/engine_definition.hpp>
#endif

#endif
