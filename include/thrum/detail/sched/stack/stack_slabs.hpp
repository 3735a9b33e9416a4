// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where stack_pool has the memory of stacks from: slabs of the system, stacks from hooks, and how all are
// returned. The essay is in stack_pool.hpp.
#ifndef THRUM_DETAIL_SCHED_STACK_STACK_SLABS_HPP
#define THRUM_DETAIL_SCHED_STACK_STACK_SLABS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/stack/stack_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_COLD inline void stack_pool::visit_all(void (*visit)(void*, goroutine&), void* of) {
  // Slabs are only ever added in front, so the list behind a head that was read under the lock
  // stays as it is.
  slab* first;
  {
    const section here;
    scoped guard(lock_);
    first = slabs_;
  }
  for (slab* s = first; s != nullptr; s = s->next) {
    std::size_t carved;
    {
      const section here;
      scoped guard(lock_);
      carved = s->carved;
    }
    constexpr std::size_t ahead = 8;  // each G stands in a page of its own
    for (std::size_t i = 0; i < carved; ++i) {
      if (i + ahead < carved) {
        __builtin_prefetch(g_in(*s, i + ahead));
      }
      visit(of, *g_in(*s, i));
    }
  }
}

inline bool stack_pool::holds(const void* address) noexcept {
  for (std::uint32_t turn = 0; !lock_.try_lock(); ++turn) {
    constexpr std::uint32_t patience = 10'000;
    if (turn == patience) {
      return false;
    }
    traits::back_off(turn);
  }
  bool found = false;
  for (const slab* s = slabs_; s != nullptr && !found; s = s->next) {
    found = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(s->base) <
            s->bytes;
  }
  lock_.unlock();
  return found;
}

inline stack_pool::slab* stack_pool::add_slab(std::uint8_t size_class) noexcept {
  const std::size_t page = os::page_size();
  const std::size_t at_least = std::size_t{1} << size_class;
  const std::size_t stride = (at_least > page ? at_least : page) + stack_guard_bytes_of(page);
  // A large one, as the main goroutine's, comes alone: mostly it is the only one of its class.
  const std::size_t bytes = page + stride > slab_bytes / 8 ? page + stride : slab_bytes;
  void* base = os::map_stacks(bytes, page);
  if (base == nullptr) {
    return nullptr;
  }
  auto* s = new (base) slab{};
  s->next = slabs_;
  s->base = static_cast<char*>(base);
  s->bytes = bytes;
  s->first = page;
  s->stride = stride;
  s->slots = (bytes - page) / stride;
  s->size_class = size_class;
  slabs_ = s;
  current_[at(size_class)] = s;
  reserved_bytes_ += bytes;
  return s;
}

inline goroutine* stack_pool::carve(slab& s) noexcept {
  const std::size_t index = s.carved;
  char* const low = slot(s, index);
  const std::size_t guarded = guard_bytes();
  if (has_hooks()) {
    s.guarded = guarded;
    s.guard = guarded != 0 ? os::guard_foreign(low, guarded) : os::guard_kind::none;
  } else {
    const os::guard_kind guard = os::install_guard(low, guarded);
    s.mprotect_guards += guard == os::guard_kind::mprotect;
  }

  os::stack_extent extent;
  if (!extent.open(low + guarded, reinterpret_cast<char*>(g_in(s, index)))) [[unlikely]] {
    return nullptr;
  }
  ++s.carved;  // SP2: in their order
  auto* g = new (g_in(s, index)) goroutine;
  g->extent = extent;
  g->size_class = s.size_class;
  g->pool = this;
  g->stack_low = low + guarded;
  tell_valgrind(g->stack_low, g);
  return g;
}

}}}  // namespace thrum::THRUM_ABI::sched

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/memory_hooks.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE goroutine* stack_pool::make(std::uint8_t size_class) noexcept {
  const std::size_t page = os::page_size();
  const std::size_t at_least = std::size_t{1} << size_class;
  const std::size_t bytes = (at_least > page ? at_least : page) + guard_bytes();
  auto* const low =
      static_cast<char*>(memory_.allocate(bytes, page, memory_use::stack, memory_.context));
  if (low == nullptr) {
    return nullptr;
  }
  if (reinterpret_cast<std::uintptr_t>(low) % page != 0) {
    base::fatal(
        "options::memory: allocate returned a stack that does not begin at a page boundary; "
        "respect its alignment argument");
  }
  constexpr std::size_t kept = (sizeof(slab) + colour_step - 1) / colour_step * colour_step;
  auto* const s = new (low + bytes - kept) slab{};
  s->base = low;
  s->bytes = bytes;
  s->stride = bytes;
  s->slots = 1;
  s->size_class = size_class;
  s->guard = os::guard_kind::none;
  s->colour = next_colour_.add() % colours;
  s->kept = kept;
  goroutine* const g = carve(*s);
  if (g == nullptr) {
    give_back(s, memory_);
    return nullptr;
  }
  const section here;
  scoped guard(lock_);
  s->next = slabs_;
  slabs_ = s;
  reserved_bytes_ += bytes;
  return g;
}

THRUM_OUT_OF_LINE void stack_pool::abandon(stack_pool* pool) noexcept {
  const memory_hooks memory = pool->memory_;  // the last handle may be faster
  slab* unheld = nullptr;
  bool last;
  {
    scoped guard(pool->lock_);
    std::size_t held = 0;
    for (slab** link = &pool->slabs_; *link != nullptr;) {
      slab* const s = *link;
      std::size_t held_here = 0;
      for (std::size_t i = 0; i < s->carved; ++i) {
        // Set before the runtime's threads were joined
        held_here += g_in(*s, i)->join.get() == join_state::done;
      }
      if (held_here != 0) {
        link = &s->next;
      } else {
        *link = s->next;
        s->next = unheld;
        unheld = s;
      }
      held += held_here;
    }
    pool->abandoned_ = true;
    pool->held_ = held;
    last = held == 0;
  }
  give_back(unheld, memory);
  if (last) {
    destroy(pool);
  }
}

THRUM_OUT_OF_LINE void stack_pool::destroy(stack_pool* pool) noexcept {
  give_back(pool->slabs_, pool->memory_);
  delete pool;
}

/// Gives the slabs of a list back.
THRUM_OUT_OF_LINE void stack_pool::give_back(slab* first, const memory_hooks& memory) noexcept {
  while (first != nullptr) {
    const slab s = *first;  // which goes with its memory
    base::unpoison_memory(s.base, s.bytes);
    if (memory.allocate == nullptr) {
      os::return_guard_budget(s.mprotect_guards);
      os::unmap(s.base, s.bytes);
    } else {
      os::return_foreign(s.base, s.bytes, s.guarded, s.guard);
      memory.deallocate(s.base, s.bytes, os::page_size(), memory_use::stack, memory.context);
    }
    first = s.next;
  }
}

}}}  // namespace thrum::THRUM_ABI::sched
#endif

#endif
