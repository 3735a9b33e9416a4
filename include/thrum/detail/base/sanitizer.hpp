// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What AddressSanitizer and ThreadSanitizer must be told when a thread changes its stack.
//
// A stack_context stands for one stack: that of a goroutine or a thread's own (g0). The order of
// calls is
//
//   context_create(g, bottom, size)        before anything is written to a new goroutine's stack
//   context_adopt(g0)                      once, on the thread's own stack
//   before_switch(from, to, from_dies)     directly before arch::switch_stack
//   after_switch(to)                       first thing on the arriving stack, fresh or resumed
//   context_destroy(g)                     after a goroutine's last switch, from another stack
//
// ASan keeps the bounds of the current stack and, with detect_stack_use_after_return, a fake stack
// beside it; both change hands in before_switch and after_switch. A stack that is used again still
// carries the poison of frames that never returned, so context_create unpoisons all of it.
//
// TSan keeps a shadow call stack a fibre. A goroutine that ends leaves frames on it, so every
// incarnation gets a fibre of its own; one that was used again would grow until it overflows.
// before_switch changes the fibre, and what runs after that is booked on the fibre of `to`: an
// instrumented function that returned between the change and the switch would pop a frame that the
// new fibre never pushed. Hence before_switch and after_switch are always inlined into the function
// that calls arch::switch_stack, at every optimisation level. A switch orders all that happened on
// `from` before all that happens on `to`, as it does in reality. gcc 12's run-time library gives up
// at 8,128 fibres; clang's has no such limit.
#ifndef THRUM_DETAIL_BASE_SANITIZER_HPP
#define THRUM_DETAIL_BASE_SANITIZER_HPP

#include <cstddef>

#include <thrum/detail/base/config.hpp>

#if THRUM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if THRUM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// ThreadSanitizer calls a handler when the fibre that the signal came to next calls something that
/// it knows, perhaps on another thread.
inline constexpr bool signals_are_deferred = THRUM_TSAN;

/// Threads that the sanitizer's run-time library keeps for itself.
inline constexpr std::size_t sanitizer_threads = THRUM_TSAN ? 1 : 0;

#if THRUM_ASAN

/// The bounds of a stack and ASan's fake stack beside it. Written by the thread that runs on the
/// stack, or before the first switch to it.
struct stack_context {
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* fake_stack = nullptr;
};

inline void unpoison_memory(const void* memory, std::size_t size) noexcept {
  __asan_unpoison_memory_region(memory, size);
}

/// The leak checker takes what this memory refers to as in use. It does not know of memory that
/// comes from the system without malloc.
inline void keep_reachable(const void* memory, std::size_t size) noexcept {
  __lsan_register_root_region(memory, size);
}

inline void context_create(stack_context& context, const void* bottom, std::size_t size) noexcept {
  unpoison_memory(bottom, size);
  context = {bottom, size, nullptr};
}

THRUM_INLINE void before_switch(stack_context& from, stack_context& to, bool from_dies) noexcept {
  __sanitizer_start_switch_fiber(from_dies ? nullptr : &from.fake_stack, to.bottom, to.size);
}

THRUM_INLINE void after_switch(stack_context& self) noexcept {
  __sanitizer_finish_switch_fiber(self.fake_stack, nullptr, nullptr);
}

/// Learns the bounds of the current stack: the only call that tells them is the one that ends a
/// switch, so this pretends to switch to a stack of one byte, and back.
THRUM_NOINLINE inline void context_adopt(stack_context& context) noexcept {
  const char elsewhere = 0;
  __sanitizer_start_switch_fiber(&context.fake_stack, &elsewhere, 1);
  __sanitizer_finish_switch_fiber(context.fake_stack, &context.bottom, &context.size);
  __sanitizer_start_switch_fiber(&context.fake_stack, context.bottom, context.size);
  __sanitizer_finish_switch_fiber(context.fake_stack, nullptr, nullptr);
}

inline void context_destroy(stack_context& context) noexcept { context = {}; }

#elif THRUM_TSAN

/// The fibre of a stack. Written before the first switch to it and after the last switch away.
struct stack_context {
  void* fibre = nullptr;
  bool adopted = false;
};

inline void unpoison_memory(const void*, std::size_t) noexcept {}

inline void context_create(stack_context& context, const void*, std::size_t) noexcept {
  context = {__tsan_create_fiber(0), false};
}

THRUM_INLINE void before_switch(stack_context&, stack_context& to, bool) noexcept {
  __tsan_switch_to_fiber(to.fibre, 0);
}

THRUM_INLINE void after_switch(stack_context&) noexcept {}

/// The thread's own fibre belongs to the thread: context_destroy leaves it alone.
inline void context_adopt(stack_context& context) noexcept {
  context = {__tsan_get_current_fiber(), true};
}

inline void context_destroy(stack_context& context) noexcept {
  if (context.fibre != nullptr && !context.adopted) {
    __tsan_destroy_fiber(context.fibre);
  }
  context = {};
}

#else

/// Without a sanitizer there is nothing to tell.
struct stack_context {};

inline void unpoison_memory(const void*, std::size_t) noexcept {}
inline void context_create(stack_context&, const void*, std::size_t) noexcept {}
inline void context_adopt(stack_context&) noexcept {}
inline void context_destroy(stack_context&) noexcept {}
THRUM_INLINE void before_switch(stack_context&, stack_context&, bool) noexcept {}
THRUM_INLINE void after_switch(stack_context&) noexcept {}

#endif

}}}  // namespace thrum::THRUM_ABI::base

#endif  // THRUM_DETAIL_BASE_SANITIZER_HPP
