// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What others need of a thread: a look at it, and to have it make a call where it stands. Both stop it
// for the time of a few calls of the system.
//
// TS1  between stopping a thread and letting it go on nothing waits for a lock: no malloc, no output. It
//      may hold any.
// TS2  one thread of the process stops others at a time, and is itself not stopped meanwhile: two that
//      stop each other would never go on. Debuggers stop threads as well; each lets go as often as it
//      has stopped.
// TS3  who stops a thread writes nothing to its stack: see preempt_signal.hpp.
// TS4  a thread is not interrupted inside the system's libraries, where it may hold a lock of the heap or
//      of the loader for which all others would wait, nor where it sleeps in the system: what it was
//      told to do there would come when it wakes, and spoil what the call returns; nor in code that is
//      not in the process's own memory, as an emulation of the system has. It is looked at again later.
#ifndef THRUM_DETAIL_OS_WINDOWS_THREAD_REF_HPP
#define THRUM_DETAIL_OS_WINDOWS_THREAD_REF_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/windows/preempt_signal.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A thread of this process as others see it. All but open() and close() may be called by any
/// thread, without malloc.
class thread_ref {
 public:
  /// Whether cpu_now() has steps of less than a millisecond.
  static constexpr bool has_fine_clock = false;

  constexpr thread_ref() noexcept = default;
  thread_ref(const thread_ref&) = delete;
  thread_ref& operator=(const thread_ref&) = delete;

  /// The calling thread's from now on.
  void open() noexcept;

  /// No thread's any more: interrupt() returns false. Its own thread calls it, last.
  void close() noexcept;

  /// Whether it is the calling thread's.
  bool is_calling_thread() const noexcept;

  /// Nanoseconds of CPU time so far, in steps of some 15 ms; 0 if the thread has ended.
  std::int64_t cpu_now() const noexcept;

  /// What the thread does.
  thread_look look() const noexcept;

  /// Whether the thread sleeps for a time that it has chosen: the system does not say.
  static bool naps() noexcept { return false; }

  /// Has target.interrupt called on that thread where it computes. False if there is no thread, or it
  /// cannot be interrupted where it stands (TS4), or has too little of its stack left.
  bool interrupt(preempt_target& target) const noexcept;

 private:
  class held;
  class stopped;

  mutable std::atomic<bool> locked_{false};
  base::under_lock<unsigned long> number_{0};  // of the thread; 0: of none
  void* handle_ = nullptr;
  const char* block_ = nullptr;  // what the system has of the thread (TEB)
  std::atomic<unsigned> uninterrupted_{0};
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/machine_aarch64.hpp>
#include <thrum/detail/os/windows/machine_x86_64.hpp>
#include <thrum/detail/os/windows/thread.hpp>

#include <cstddef>
#include <cstring>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// The reference stays open, or closed, to the end of a block.
class thread_ref::held {
 public:
  explicit held(const thread_ref& ref) noexcept : ref_(ref) {
    while (ref_.locked_.exchange(true, acquire)) {  // [tr.lock <] acquire: what the last one did
      ::SwitchToThread();
    }
  }
  ~held() { ref_.locked_.store(false, release); }  // [tr.lock >] release: what was done meanwhile
  held(const held&) = delete;
  held& operator=(const held&) = delete;

 private:
  const uninterrupted still_{};  // a thread that waits for the lock waits for this one
  const thread_ref& ref_;
};

/// Some thread of the process stops another one (TS2).
inline constinit std::atomic<bool> somebody_stops{false};

/// Its thread stands still to the end of a block, if there is one (TS1). Inside of held.
class thread_ref::stopped {
 public:
  stopped(const thread_ref& ref, ::DWORD parts) noexcept : handle_(ref.handle_) {
    if (ref.number_.get() == 0) {
      return;
    }
    while (somebody_stops.exchange(true, acquire)) {  // [tr.stop <] acquire: it has let go
      ::SwitchToThread();
    }
    has_turn_ = true;
    is_stopped_ = ::SuspendThread(handle_) != static_cast<::DWORD>(-1);
    machine_.ContextFlags = parts;
    // It has stopped when this returns, and not before.
    is_known_ = is_stopped_ && ::GetThreadContext(handle_, &machine_) != 0;
  }
  ~stopped() {
    if (is_stopped_) {
      ::ResumeThread(handle_);
    }
    if (has_turn_) {
      somebody_stops.store(false, release);  // [tr.stop >] release: the thread goes on
    }
  }
  stopped(const stopped&) = delete;
  stopped& operator=(const stopped&) = delete;

  [[nodiscard]] bool is_known() const noexcept { return is_known_; }
  ::CONTEXT& machine() noexcept { return machine_; }

  /// Whether it stands behind the instruction by which the system is called; wine has another one.
  [[nodiscard]] bool is_in_system() const noexcept {
    const std::uintptr_t place = place_of(machine_);
    for (const code_range& each : calling_code) {
      if (each.holds(place) && each.holds(place - system_call_bytes)) {
        return is_behind_system_call(place);
      }
    }
    return false;
  }

  /// Whether it may hold a lock for which all others would wait (TS4).
  [[nodiscard]] bool is_in_system_code() const noexcept {
    for (const code_range& each : system_code) {
      if (each.holds(place_of(machine_))) {
        return true;
      }
    }
    return false;
  }

  /// Whether it stands in code that the process can see. An emulation of the system has other code, too,
  /// and a thread that is made to call the system there spoils the call that it comes from.
  [[nodiscard]] bool is_in_visible_code() const noexcept {
    ::MEMORY_BASIC_INFORMATION about;
    return ::VirtualQuery(reinterpret_cast<const void*>(place_of(machine_)), &about,
                          sizeof about) != 0 &&
           about.State == MEM_COMMIT;
  }

  bool change() noexcept { return ::SetThreadContext(handle_, &machine_) != 0; }

 private:
  ::HANDLE handle_;
  bool has_turn_ = false;
  bool is_stopped_ = false;
  bool is_known_ = false;
  ::CONTEXT machine_{};
};

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_ref::open() noexcept {
  // What a look at it goes by.
  [[maybe_unused]] static const bool is_known = (install_preempt_handler(), true);
  ::HANDLE own = nullptr;
  const ::HANDLE process = ::GetCurrentProcess();
  if (::DuplicateHandle(process, ::GetCurrentThread(), process, &own, 0, FALSE,
                        DUPLICATE_SAME_ACCESS) == 0) {
    return;
  }
  {
    const held guard(*this);
    handle_ = own;
    block_ = own_thread_block();
    number_.set(::GetCurrentThreadId());
  }
  own_uninterrupted().set(&uninterrupted_);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_ref::close() noexcept {
  own_uninterrupted().set(nullptr);
  const held guard(*this);
  if (number_.get() != 0) {
    number_.set(0);
    ::CloseHandle(handle_);
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_ref::is_calling_thread() const noexcept {
  return number_.peek() == ::GetCurrentThreadId();
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::int64_t thread_ref::cpu_now() const noexcept {
  constexpr std::int64_t unit_ns = 100;
  const held guard(*this);
  ::FILETIME begun;
  ::FILETIME ended;
  ::FILETIME kernel;
  ::FILETIME user;
  if (number_.get() == 0 || ::GetThreadTimes(handle_, &begun, &ended, &kernel, &user) == 0) {
    return 0;
  }
  const auto ticks = [](const ::FILETIME& time) {
    return static_cast<std::int64_t>(std::uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime);
  };
  return (ticks(kernel) + ticks(user)) * unit_ns;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE thread_look thread_ref::look() const noexcept {
  if (is_calling_thread()) {
    return thread_look::computes;
  }
  const held guard(*this);
  const stopped its(*this, CONTEXT_CONTROL);
  return its.is_known() && !its.is_in_system() ? thread_look::computes : thread_look::in_system;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_ref::interrupt(preempt_target& target) const noexcept {
  // What the call and the function that it calls have at least, above what is kept for an overflow.
  constexpr std::uintptr_t handler_bytes = 16'384;
  constexpr std::ptrdiff_t base_in_block = 0x08;
  constexpr std::ptrdiff_t low_in_block = 0x1478;
  constexpr std::ptrdiff_t guaranteed_in_block = 0x1748;
  if (kept_bytes() == 0 || is_calling_thread()) {
    return false;
  }
  const held guard(*this);
  // Under the lock, as another thread may have sent it there meanwhile.
  // [pt.call <] acquire: the last call has taken its words from the target
  if (target.is_under_way.load(acquire)) {
    return false;
  }
  stopped its(*this, CONTEXT_CONTROL | CONTEXT_INTEGER);
  if (!its.is_known() || its.is_in_system() || its.is_in_system_code() ||
      !its.is_in_visible_code() ||
      uninterrupted_.load(relaxed) != 0) {  // relaxed: its thread stands still
    return false;
  }
  std::uintptr_t base = 0;
  std::uintptr_t low = 0;
  std::memcpy(&base, block_ + base_in_block, sizeof base);
  std::memcpy(&low, block_ + low_in_block, sizeof low);
  std::uint32_t guaranteed = 0;
  std::memcpy(&guaranteed, block_ + guaranteed_in_block, sizeof guaranteed);
  ::CONTEXT& machine = its.machine();
  const std::uintptr_t sp = stack_pointer_of(machine);
  if (sp > base || sp < low || sp - low < kept_bytes() + handler_bytes + guaranteed) {
    return false;
  }
  // TS3: what the call needs goes by the target and a register.
  send_to_injected_call(machine, target);
  target.is_under_way.store(true, relaxed);  // relaxed: its thread goes on by a call of the system
  if (!its.change()) {
    target.is_under_way.store(false, relaxed);  // relaxed: no thread has seen it
    return false;
  }
  return true;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_THREAD_REF_HPP
