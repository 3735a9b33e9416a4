// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// G: a goroutine, as the scheduler sees it.
//
// A G stands at the top of its own stack, in the page that the first frames touch anyway, so a
// parked goroutine costs one page and creating one touches no other memory. Directly below it lies
// the task: the callable that `go` was given and, for `spawn`, the result. The stack grows down
// from there. The memory of a G is type-stable: once carved from a slab it stays a G until the
// slabs are given back, so the monitor, a dump or a stale pointer may read its atomics at any time.
#ifndef THRUM_DETAIL_SCHED_CORE_G_HPP
#define THRUM_DETAIL_SCHED_CORE_G_HPP

#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/g_state.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/queue/timer_heap.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI {

/// Names a goroutine within its runtime; 0 is no goroutine, 1 the first.
using goroutine_id = std::uint64_t;

}}  // namespace thrum::THRUM_ABI

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class runtime_scheduler;
class stack_pool;
class stop_relay;
struct forker;
struct goroutine;
struct label_list;
struct machine;
struct wait_point;

/// What stands between a goroutine and its join handle. Changed under goroutine::join_lock, except
/// where no other thread can look.
enum class join_state : std::uint8_t {
  none,      // there is no handle
  running,   // a handle exists, the goroutine has not ended
  detached,  // the handle let go before the end
  done,      // ended and off its stack; the handle owns the G and gives it back
};

/// A value of goroutine_local, one of a list.
struct local_value {
  local_value* next = nullptr;
  std::uint64_t key = 0;
  void (*destroy)(local_value&) noexcept = nullptr;
};

/// A value of a thread that a goroutine carries with it, one of a list: see run/latency.hpp.
struct carried {
  carried* older = nullptr;
  carried* newer = nullptr;
  /// Exchanges it with the one that the calling thread has.
  void (*exchange_now)(carried&) noexcept = nullptr;
};

/// Destroys a list from its front; destroying one value may make others.
THRUM_COLD inline void destroy_locals(local_value*& first) noexcept {
  while (first != nullptr) {
    local_value* const value = first;
    first = value->next;
    value->destroy(*value);
  }
}

enum g_flag : std::uint8_t {
  g_background = 1,  // its priority
  g_bound = 2,       // it must run on the thread `bound`
  g_on_host = 4,     // likewise, and that thread is a host's: see host.hpp
  g_off_host = 8,    // it must not run on a host's thread
  g_started = 16,    // it has been on the processor before
  // How long its last call of blocking() was: see run/syscall.hpp. Neither flag: not known yet.
  g_short_calls = 32,
  g_long_calls = 64,
  g_call_flags = g_short_calls | g_long_calls,
  // How long it waits to run, or runs, is counted, or it carries values: see run/latency.hpp
  g_timed = 128,
  /// Flags of a goroutine that stands in no P's queue when it is ready.
  g_outside_ring = g_on_host | g_background,
};

/// The flags of a goroutine that is about to start.
constexpr std::uint8_t initial_flags(thrum::priority urgency) noexcept {
  static_assert(static_cast<std::uint8_t>(thrum::priority::background) == g_background);
  return static_cast<std::uint8_t>(urgency);
}

/// What every switch touches, in one cache line.
struct alignas(base::cache_line_size) goroutine_head {
  // -- the saved context: owned by the M that runs the G; while it is parked, it has no owner. The switch
  // writes `sp`; a P that is about to run the G after next peeks at it to fetch the stack.
  one_writer<void*> sp{nullptr};
  os::exception_state exceptions{};

  // -- owner: the queue that it stands in --
  goroutine* queue_next = nullptr;
  /// Another one that stands some places behind it in a long queue: see queue/look_ahead.hpp.
  goroutine* queue_ahead = nullptr;

  // -- written by the M that runs it or readies it; read by anyone for display --
  one_writer<g_status> status{g_status::idle};
  one_writer<wait_reason> reason{wait_reason::none};

  // -- owner: the goroutine itself --
  /// It is to end: each further cancellable wait ends it again.
  bool exiting = false;
  /// It has used up a share of input and output since the poller found it: see io_share.hpp.
  bool moved_much = false;
  /// How often an idle P may go to the poller when this goroutine leaves it, which the M does for it:
  /// see run/leave_poller.hpp.
  std::uint8_t wakes_earned = 0;
  std::uint8_t flags = 0;       // of g_flag
  std::uint8_t size_class = 0;  // constant once carved: log2 of the slot's bytes
  /// What stands between it and its join handle.
  under_lock<join_state> join{join_state::none};
  std::uint32_t uncancellable = 0;  // owner, too: how many of that name live on its stack

  /// When it was parked last, by runtime_scheduler::coarse_ms. Written and read as status.
  hint<std::uint32_t> parked_ms{0};

  runtime_scheduler* scheduler = nullptr;

  /// Where the switch saves the stack pointer.
  void** sp_slot() noexcept { return reinterpret_cast<void**>(&sp); }
};

// Atomics of other traits may be larger.
static_assert(sizeof(goroutine_head) == base::cache_line_size ||
              sizeof(atomic<void*>) != sizeof(void*));

/// Derives from its own timer, for sleeps and timed waits, and from the link that a poller uses.
struct goroutine : goroutine_head, netpoll::ready_node, basic_timer<traits> {
  [[no_unique_address]] base::stack_context context;

  /// What it waits on if that wait may be cancelled from outside: see wait_point.hpp.
  atomic<wait_point*> withdrawable{nullptr};

  // -- what a start and an end touch, in one line as well; owner: the goroutine itself --
  goroutine_id id = 0;

  /// Runs the task to its end. Constant while the goroutine lives.
  void (*entry)(goroutine&) = nullptr;
  /// Destroys the task's result if no caller will ask for it. Constant while the goroutine lives.
  void (*discard_result)(goroutine&) noexcept = nullptr;
  void* task = nullptr;
  local_value* locals = nullptr;
  /// What it has forked, while it does: see fork/fork.hpp.
  forker* forks = nullptr;
  /// Where the call that started it returns to; for one that runs forks, the first function that it ran.
  const void* started_at = nullptr;
  std::uint32_t thread_locks = 0;  // nested thread_locks
  static constexpr std::size_t name_capacity = 24;
  char name[name_capacity] = {};  // a start clears the first letter

  // -- owner: the goroutine itself --
  /// What may end its waits besides: see run/stop_relay.hpp.
  stop_relay* stop = nullptr;

  /// What it works for, which it holds: see run/inherit_labels.hpp. The goroutine that starts it writes it, too.
  label_list* labels = nullptr;

  // -- the owner of a dead G: see free_list.hpp --
  base::intrusive_queue<goroutine> chunk_rest;
  goroutine* chunk_next = nullptr;

  stack_pool* pool = nullptr;  // constant once carved
  char* stack_low = nullptr;   // constant once carved: lowest usable byte
  /// Its stack's extent: changed by the thread that starts it, ends it, or gives pages back.
  [[no_unique_address]] os::stack_extent extent;

  // -- shared: see run/end.hpp --
  spin_lock join_lock{lock_rank::ending};
  wait_point* joiner = nullptr;  // under join_lock
  /// What its timer is to withdraw when it fires.
  wait_point* timed_point = nullptr;

  // -- its own M, while it runs; read by the M that has taken it from a queue --
  /// The thread that it must run on, if g_bound is set.
  machine* bound = nullptr;
  bool preempted = false;         // under the global queue's lock
  std::uint32_t passed_over = 0;  // under it: times that another was taken out of turn
  std::int64_t ran_ns = 0;        // what it has used of a slice that timers cut into pieces

#if THRUM_TRACE
  /// When it was made ready, by the recorder's clock. 0: unknown. Written by the thread that readies it, and
  /// by the M that runs it next.
  mutable std::uint64_t recorded_ready_at = 0;
  /// For the hook of trace::on_switch, which uses it while the goroutine enters or leaves a thread.
  mutable void* hook_word = nullptr;
#endif

  // -- owner; of one that g_timed says is timed --
  std::int64_t ready_at = 0;  // since when it can run
  bool is_polled = false;     // the poller has found it

  // -- as `bound` --
  carried* newest_carried = nullptr;  // g_timed is set while there is one
  // -- as `bound`; if scheduler_config::migrates --
  std::uint32_t last_m = 0;  // the number of the M that ran it last, plus one

  thrum::priority priority() const noexcept {
    return (flags & g_background) != 0 ? thrum::priority::background : thrum::priority::normal;
  }

  void set_name(std::string_view text) noexcept {
    const std::size_t n = text.size() < name_capacity - 1 ? text.size() : name_capacity - 1;
    std::memcpy(name, text.data(), n);
    name[n] = '\0';
  }
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
