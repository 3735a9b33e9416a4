// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The memory of goroutines: slabs of stacks, each with its G in the top page.
//
// Purpose
//   One runtime owns one pool. It carves Gs with their stacks out of slabs of address space and
//   takes dead ones back. Pages are committed as they are touched, so a stack of 256 KiB that a
//   goroutine uses 600 bytes of costs the page that holds them.
//
// Layout of a slab: a page for the slab itself, then slots, each of
//
//     high   G, at a distance from the top that depends on the slot (its colour)
//            task: the callable and the result of spawn
//            frames, growing down
//            ...            2^c bytes down to here, but no less than a page
//     low    guard: no access
//
//   The colour moves the hot lines of different Gs to different sets of the first-level cache;
//   without it each G's status would compete for the same few of them.
//
// Invariants
//   SP1  a G is on a free list of its own size class, or in use, or held by a join handle.
//   SP2  slots are carved in order; slots [0, carved) of a slab hold constructed Gs for ever.
//   SP4  the pages of a dead G's stack, except the one that holds the G, may be given back to the
//        system at any time; it is then filled with zeros where it was.
//   SP3  the pool outlives its runtime while a join handle holds one of its Gs: the last handle
//        that lets go destroys it. Slabs in which no G is held go with the runtime.
//   SP5  a pool that was given hooks has no other slabs than theirs, each with one stack. A hook is
//        called outside only, without the lock (SC2 of section.hpp): so take() gives what is there,
//        and make() asks the hook.
//
// Age: dead Gs come and go in chunks (free_list.hpp). A chunk goes on top of the fresh ones, and is the
// next to be taken. Those of one period become the old ones of the next, and after that the oldest,
// which give_back (thread_creator_work.hpp) discards a few at a time: one that is taken again in between was not idle. So
// what was used last is used first, and no list is ever walked.
//
// A slab of a hook has no page of its own: the slab stands above the G. Its pages are never given back to
// the system, to which they do not belong.
//
// Guards: MADV_GUARD_INSTALL costs no mapping, so a million of them are possible; on kernels
// without it mprotect splits a mapping in two, so the OS layer stops at a budget and further
// stacks have no guard. Either way the size of a guard costs address space only (and a part of a
// page table), so each has at least 64 KiB (stack_guard_bytes_of), beside the stack and not out of it.
// Compilers do not touch a large frame page by page unless they are asked to, and a frame that is
// larger than the guard lies in another goroutine's stack. The library notices it when the goroutine
// leaves the processor (is_beyond_stack), or faults. Transparent huge pages are off for the slabs: one touch
// would commit 64 KiB or more.
//
// Tried and rejected: mmap and munmap per goroutine (3.8 us against nothing for a warm stack);
// stacks from malloc (no guard, and the first touch of a recycled chunk dirties fresh pages).
//
// Source of the figures: measurements on Linux 6.18. Checked by stack_pool_test.cpp.
#ifndef THRUM_DETAIL_SCHED_STACK_STACK_POOL_HPP
#define THRUM_DETAIL_SCHED_STACK_STACK_POOL_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/stack/free_list.hpp>
#include <thrum/memory_hooks.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The smallest and largest stack, as log2 of bytes. Below 16 KiB a signal frame of a processor
/// with wide vectors does not fit; 1 GiB is Go's limit for a stack.
inline constexpr std::uint8_t min_stack_class = 14;
inline constexpr std::uint8_t max_stack_class = 30;

/// The size class for a stack of at least so many bytes.
constexpr std::uint8_t stack_class(std::size_t bytes) noexcept {
  std::uint8_t c = min_stack_class;
  while (c < max_stack_class && (std::size_t{1} << c) < bytes) {
    ++c;
  }
  return c;
}

/// The class for stacks of this size on this system, whose pages may be larger than the smallest class.
inline std::uint8_t usable_stack_class(std::size_t bytes) noexcept {
  const std::size_t page = os::page_size();
  return stack_class(bytes > page ? bytes : page);
}

/// The guard below each stack: a larger frame is a mistake of the program.
inline constexpr std::size_t stack_guard_bytes = std::size_t{64} << 10;

/// The guard in whole pages, an odd number of them. A stack of more than one page has an even number. So the
/// tops of stacks are an odd number of pages apart, and their entries in the processor's cache of page
/// tables (TLB) spread over all of its sets. With 64 KiB a thousand goroutines shared a sixteenth of them:
/// to spawn 1,000 took 58 ns each and not 47, 2,000 took 102 and not 63.
constexpr std::size_t stack_guard_bytes_of(std::size_t page) noexcept {
  const std::size_t pages = (stack_guard_bytes + page - 1) / page;
  return (pages | 1) * page;
}

/// Whether a stack pointer that was saved for this goroutine lies outside of its stack: a frame was
/// larger than the guard, or the goroutine runs on a stack that it brought along (stack_pool::holds
/// tells which). For the price of a few instructions on a line that the switch has just touched;
/// what lies between the G and the top of its slot is taken for a part of the guard.
THRUM_INLINE bool is_beyond_stack(const goroutine& g, const void* sp) noexcept {
  return (reinterpret_cast<std::uintptr_t>(&g) - reinterpret_cast<std::uintptr_t>(sp)) >>
             g.size_class !=
         0;
}

/// Tells valgrind where a stack lies; else it takes a switch for a jump on one stack, and what lies
/// between for lost. Never taken back: a stack that is mapped at the same place later replaces this one.
inline void tell_valgrind(const void* low, const void* high) noexcept {
  constexpr std::uintptr_t register_stack = 0x1501;
  const std::uintptr_t request[6] = {register_stack, reinterpret_cast<std::uintptr_t>(low),
                                     reinterpret_cast<std::uintptr_t>(high)};
  arch::ask_valgrind(request);
}

class stack_pool {
 public:
  /// Address space is taken in pieces of this size, or of one stack if that is larger.
  static constexpr std::size_t slab_bytes = std::size_t{64} << 20;

  /// Its stacks are the system's, unless hooks are given.
  explicit stack_pool(const memory_hooks& memory = {}) noexcept : memory_(memory) {}

  /// Makes the pool call `tell(whom)`, under the lock, when it gets a stack that may become idle and had
  /// none before. Call it before anything is put.
  void tell_of_idle(void (*tell)(void*) noexcept, void* whom) noexcept {
    tell_ = tell;
    tell_whom_ = whom;
  }
  stack_pool(const stack_pool&) = delete;
  stack_pool& operator=(const stack_pool&) = delete;

  /// A dead G with a stack of that class: a used one if there is one, else a fresh one.
  /// Null when the system has no memory for another slab, or for the first pages of a stack; or when
  /// a fresh one is had by make() only.
  goroutine* take(std::uint8_t size_class) noexcept;

  /// Whether stacks come from hooks.
  bool has_hooks() const noexcept { return memory_.allocate != nullptr; }

  /// A fresh G with a stack from the hook, which is called outside (SP5). Null when that has no memory.
  goroutine* make(std::uint8_t size_class) noexcept;

  /// A chunk of dead Gs of that class that have been used before; perhaps empty.
  base::intrusive_queue<goroutine> take_chunk(std::uint8_t size_class) noexcept;

  /// Takes dead Gs of one class back, as a chunk; perhaps none.
  void put(std::uint8_t size_class, base::intrusive_queue<goroutine>&& dead) noexcept;

  // ---- give_back ----

  /// Whether any stack has pages that could be given back. If not, the next put() tells.
  bool has_idle() noexcept;

  /// A period has passed.
  void grow_older() noexcept;

  /// Some n dead Gs that were not taken for a period, of one size class: whole chunks.
  base::intrusive_queue<goroutine> take_oldest(std::size_t n, std::uint8_t& size_class) noexcept;

  /// Takes them back without the pages of their stacks.
  void put_discarded(std::uint8_t size_class, base::intrusive_queue<goroutine>&& dead) noexcept;

  /// Takes one dead G back; the way for a join handle that is not on a P of the runtime. May
  /// destroy the pool, if its runtime is gone.
  void put_from_handle(goroutine& g) noexcept;

  /// Calls f for each G that was ever carved, without a lock; what f throws ends it. Gs carved
  /// meanwhile may be missed.
  template <class F>
  void for_each(F f) noexcept(std::is_nothrow_invocable_v<F&, goroutine&>) {
    visit_all([](void* function, goroutine& g) { (*static_cast<F*>(function))(g); }, &f);
  }

  /// Whether an address lies in one of the slabs. Also from the handler of a fault, where this
  /// thread may hold the lock: then the answer is no.
  bool holds(const void* address) noexcept;

  /// The runtime is gone and every goroutine has ended: gives the memory back, at once or when
  /// the last of the handles that still hold a G lets go.
  static void abandon(stack_pool* pool) noexcept;

  /// Below each stack.
  std::size_t guard_bytes() const noexcept {
    const std::size_t page = os::page_size();
    return has_hooks() ? (memory_.stack_guard + page - 1) / page * page
                       : stack_guard_bytes_of(page);
  }

  /// Bytes of address space in slabs.
  std::size_t reserved_bytes() noexcept {
    scoped guard(lock_);
    return reserved_bytes_;
  }

 private:
  struct slab {
    slab* next;
    char* base;
    std::size_t bytes;
    std::size_t first;   // where the slots begin
    std::size_t stride;  // from slot to slot
    std::size_t slots;
    std::size_t carved;
    std::size_t mprotect_guards;
    std::uint8_t size_class;
    // What follows is of a hook's.
    os::guard_kind guard;  // how it was made
    std::size_t guarded;   // bytes of it
    std::size_t colour;    // of its only slot
    std::size_t kept;      // bytes above the G, for the slab
  };

  /// Dead Gs of one class, in the order in which they are taken.
  struct dead_list {
    chunk_stack<goroutine> fresh;
    chunk_stack<goroutine> old;
    chunk_stack<goroutine> oldest;
    chunk_stack<goroutine> discarded;
  };

  static constexpr std::size_t classes = max_stack_class - min_stack_class + 1;
  static constexpr std::size_t colours = 8;
  static constexpr std::size_t colour_step = 2 * 64;

  static constexpr std::size_t at(std::uint8_t size_class) noexcept {
    return std::size_t{size_class} - min_stack_class;
  }

  /// As for_each: one walk for all functions.
  [[gnu::cold]] void visit_all(void (*visit)(void*, goroutine&), void* of);
  void tell_locked() noexcept {
    if (!has_told_ && tell_ != nullptr) {
      has_told_ = true;
      tell_(tell_whom_);
    }
  }
  slab* add_slab(std::uint8_t size_class) noexcept;
  goroutine* carve(slab& s) noexcept;
  static char* slot(const slab& s, std::size_t index) noexcept {
    return s.base + s.first + index * s.stride;
  }
  static goroutine* g_in(const slab& s, std::size_t index) noexcept {
    char* top = slot(s, index) + s.stride - s.kept;
    const std::size_t down = (sizeof(goroutine) + colour_step - 1) / colour_step * colour_step +
                             (s.colour + index) % colours * colour_step;
    return reinterpret_cast<goroutine*>(top - down);
  }
  static void give_back(slab* first, const memory_hooks& memory) noexcept;
  static void destroy(stack_pool* pool) noexcept;

  spin_lock lock_{lock_rank::stacks};
  dead_list dead_[classes];
  void (*tell_)(void*) noexcept = nullptr;
  void* tell_whom_ = nullptr;
  bool has_told_ = false;
  slab* current_[classes] = {};  // the slab that has slots left to carve
  slab* slabs_ = nullptr;
  std::size_t reserved_bytes_ = 0;
  bool abandoned_ = false;
  std::size_t held_ = 0;  // Gs that handles hold, counted once the pool is abandoned
  const memory_hooks memory_;
  shared_figure<std::uint32_t> next_colour_{0};
};

inline goroutine* stack_pool::take(std::uint8_t size_class) noexcept {
  scoped guard(lock_);
  dead_list& dead = dead_[at(size_class)];
  // SP1: of this class only
  for (auto* list : {&dead.fresh, &dead.old, &dead.oldest, &dead.discarded}) {
    if (goroutine* used = list->pop_one()) {
      return used;
    }
  }
  if (has_hooks()) {
    return nullptr;
  }
  slab* s = current_[at(size_class)];
  if (s == nullptr || s->carved == s->slots) {
    s = add_slab(size_class);
    if (s == nullptr) {
      return nullptr;
    }
  }
  return carve(*s);
}

inline base::intrusive_queue<goroutine> stack_pool::take_chunk(std::uint8_t size_class) noexcept {
  scoped guard(lock_);
  dead_list& dead = dead_[at(size_class)];
  for (auto* list : {&dead.fresh, &dead.old, &dead.oldest}) {
    if (!list->empty()) {
      return list->pop();
    }
  }
  return dead.discarded.pop();
}

inline void stack_pool::put(std::uint8_t size_class,
                            base::intrusive_queue<goroutine>&& dead) noexcept {
  if (dead.empty()) {
    return;
  }
  scoped guard(lock_);
  dead_[at(size_class)].fresh.push(static_cast<base::intrusive_queue<goroutine>&&>(dead));
  tell_locked();
}

inline bool stack_pool::has_idle() noexcept {
  scoped guard(lock_);
  has_told_ = false;
  for (const dead_list& each : dead_) {
    has_told_ = has_told_ || !each.fresh.empty() || !each.old.empty() || !each.oldest.empty();
  }
  return has_told_;
}

inline void stack_pool::grow_older() noexcept {
  scoped guard(lock_);
  for (dead_list& each : dead_) {
    each.oldest.append(static_cast<chunk_stack<goroutine>&&>(each.old));
    each.old.append(static_cast<chunk_stack<goroutine>&&>(each.fresh));
  }
}

inline base::intrusive_queue<goroutine> stack_pool::take_oldest(std::size_t n,
                                                                std::uint8_t& size_class) noexcept {
  scoped guard(lock_);
  size_class = min_stack_class;
  while (size_class != max_stack_class && dead_[at(size_class)].oldest.empty()) {
    ++size_class;
  }
  base::intrusive_queue<goroutine> taken;
  chunk_stack<goroutine>& oldest = dead_[at(size_class)].oldest;
  while (taken.size() < n && !oldest.empty()) {
    taken.append(oldest.pop());
  }
  return taken;
}

inline void stack_pool::put_discarded(std::uint8_t size_class,
                                      base::intrusive_queue<goroutine>&& dead) noexcept {
  scoped guard(lock_);
  dead_[at(size_class)].discarded.push(static_cast<base::intrusive_queue<goroutine>&&>(dead));
}

inline void stack_pool::put_from_handle(goroutine& g) noexcept {
  bool last = false;
  {
    const section here;
    scoped guard(lock_);
    g.join.set(join_state::none);
    if (abandoned_) {
      last = --held_ == 0;  // SP3: the last handle
    } else {
      base::intrusive_queue<goroutine> one;
      one.push_back(&g);
      dead_[at(g.size_class)].fresh.push(static_cast<base::intrusive_queue<goroutine>&&>(one));
      tell_locked();
    }
  }
  if (last) {
    destroy(this);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#include <thrum/detail/sched/stack/stack_slabs.hpp>  // IWYU pragma: export

#endif
