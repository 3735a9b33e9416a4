// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Whether all goroutines of a scheduler are to stand still, and which thread may decide that.
//
// One thread at a time has the right to freeze (try_begin_exclusive); making a P takes it, too,
// since a freeze walks over all Ps. The phase is odd while all are to stand still. An M looks at it
// when it has taken a P, and when its P is asked to (attention_freeze); it waits for the phase to
// change. The exit of the process leaves its freeze behind for good; the next thread that needs the
// right ends that freeze.
//
// Invariants
//   FS1  only the thread that has the right changes the phase, or the one that ends the freeze of
//        an exit.
//   FS2  the phase is odd from start() to finish(), and even otherwise.
#ifndef THRUM_DETAIL_SCHED_FREEZE_FREEZE_STATE_HPP
#define THRUM_DETAIL_SCHED_FREEZE_FREEZE_STATE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>

#include <atomic>
#include <climits>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

class freeze_state {
 public:
  /// Takes the right: no other thread freezes, and no P is made, until end_exclusive(). Blocks the
  /// thread, so not inside.
  void begin_exclusive() noexcept {
    while (!try_begin_exclusive()) {
      release_from_exit();
      os::sleep_ns(100'000);
    }
  }
  /// False: another thread freezes, or makes a P.
  [[nodiscard]] bool try_begin_exclusive() noexcept {
    return !busy_.exchange(true, acquire);  // [fz.busy <] acquire: as a lock
  }
  void end_exclusive() noexcept {
    busy_.store(false, release);  // [fz.busy >] release: as a lock
  }

  /// All are to stand still from now on. Returns the phase in which they do. The caller asks each
  /// P, and passes a heavy fence, before it looks at them.
  [[nodiscard]] std::uint32_t start() noexcept {
    const std::uint32_t phase = phase_.get() + 1;
    THRUM_ASSERT(FS2, phase % 2 == 1);
    phase_.store(phase, release);  // [fz.phase >] release: to all that will wait
    return phase;
  }
  /// Ends the freeze.
  void finish() noexcept {
    // [fz.phase >] release: what was done meanwhile
    phase_.store(phase_.get() + 1, release);
    os::futex_wake(phase_, INT_MAX);
  }

  /// The phase, for an M that may have to wait: is_frozen(phase), then wait(phase).
  std::uint32_t phase() const noexcept {
    return phase_.load(acquire);  // [fz.phase <] acquire: the next freeze's wish
  }
  /// The phase, for the thread that freezes.
  std::uint32_t own_phase() const noexcept { return phase_.get(); }
  static constexpr bool is_frozen(std::uint32_t phase) noexcept { return phase % 2 != 0; }

  /// Waits until the phase is another one.
  void wait(std::uint32_t phase) noexcept {
    while (this->phase() == phase) {
      os::futex_wait(phase_, phase, -1);
    }
  }

  // ---- the freeze in which the exit of the process holds the goroutines ----

  /// Starts the freeze of an exit, which lasts beyond the caller. Returns the phase, as start().
  [[nodiscard]] std::uint32_t start_for_exit() noexcept {
    const std::uint32_t phase = start();
    held_by_exit_.store(true, release);  // [fz.exit >] release: the phase, to release_from_exit()
    return phase;
  }
  bool is_held_by_exit() const noexcept {
    return held_by_exit_.load(acquire);  // [fz.exit <] acquire: the phase
  }
  /// Ends the freeze of an exit, if there is one, and gives up the right.
  THRUM_COLD inline void release_from_exit() noexcept {
    // [fz.exit <>] acq_rel: one ends it, after the phase was set.
    if (held_by_exit_.load(relaxed) &&  // relaxed: the exchange decides
        held_by_exit_.exchange(false, acq_rel)) {
      finish();
      end_exclusive();
    }
  }

 private:
  std::atomic<bool> busy_{false};
  base::one_writer<std::uint32_t> phase_{0};  // FS1
  std::atomic<bool> held_by_exit_{false};
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
