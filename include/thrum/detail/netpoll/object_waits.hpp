// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the poller of Windows knows of objects that are no sockets: pipes of ours, and children.
//
// Purpose
//   What becomes ready is an object of the system that is set: the event of a read of no bytes, which
//   ends when some have come; the event of a writing that goes on; a process itself. The system's own
//   threads wait for any number of those, and post a packet to the port.
//
//   Not by packets of the operations: a handle may belong to one port for its life, and here
//   descriptors outlive runtimes and are used by several.
//
// Requests are from the process's heap: nothing is allocated inside poll and wake. Each is in a list,
// under a lock that is held for a few lines, until its packet has come.
#ifndef THRUM_DETAIL_NETPOLL_OBJECT_WAITS_HPP
#define THRUM_DETAIL_NETPOLL_OBJECT_WAITS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/netpoll/contract.hpp>  // IWYU pragma: keep

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/handle.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

using namespace base::orders;

/// Held for a few lines. All its holders are in a section, so none is stopped while it holds the lock.
class afd_lock {
 public:
  void lock() noexcept;
  void unlock() noexcept {
    held_.store(false, release);  // [af.lock >] release: the lists
  }

 private:
  std::atomic<bool> held_{false};
};

class object_waits {
 public:
  /// What a packet says.
  struct told {
    std::uint64_t tag;
    std::uint32_t events;
    std::uint32_t answer;
  };

  constexpr object_waits() noexcept = default;
  object_waits(const object_waits&) = delete;
  object_waits& operator=(const object_waits&) = delete;

  /// A packet with this key comes to the port when one of `what` is true of the object, also if it is
  /// true already. 0; os::always_ready: its kind cannot be waited for; or another error below zero.
  int submit(os::handle port, std::uintptr_t key, os::handle fd, std::uint64_t tag,
             std::uint32_t what, std::uint32_t answer) noexcept;

  /// Cancels waits that have no waiter any more; the packet comes soon, or not at all.
  void cancel(std::uint64_t tag) noexcept;
  void cancel_all() noexcept;
  /// Cancels what that object was armed for; if a packet is on its way, its tag is 0.
  void cancel_armed(os::handle fd) noexcept;

  /// How many packets have not been taken yet.
  std::uint32_t size() noexcept;

  /// The tag of a packet that has come, and all of it; then that is gone.
  static std::uint64_t tag_of(std::uintptr_t packet) noexcept;
  told take(std::uintptr_t packet) noexcept;

 private:
  struct request;

  void cancel_locked(request& one) noexcept;
  void link_locked(request& one) noexcept;
  void unlink_locked(request& one) noexcept;
  template <class Which>
  void cancel_each(Which which) noexcept;
  static void free(request& one) noexcept;
  static bool begin(request& one, os::handle fd, std::uint32_t what) noexcept;

  afd_lock lock_;
  // -- under it --
  request* first_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t armed_ = 0;  // of them
};

}}}  // namespace thrum::THRUM_ABI::netpoll

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/pipe.hpp>

#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

struct object_waits::request {
  request* next = nullptr;
  request* before = nullptr;
  ::HANDLE port = nullptr;
  std::uintptr_t key = 0;
  os::handle fd = os::no_handle;
  base::under_lock<std::uint64_t> tag{0};  // 0: no registration's any more
  std::uint32_t events = 0;
  std::uint32_t answer = 0;   // 0: it was armed
  bool is_reading = false;    // the operation below is under way
  ::OVERLAPPED reading = {};  // of no bytes
  ::HANDLE object = nullptr;  // that is waited for; it is ours
  ::HANDLE wait = nullptr;    // under the lock
  std::atomic<bool> is_posted{false};
};

THRUM_OUT_OF_LINE void afd_lock::lock() noexcept {
  while (held_.exchange(true, acquire)) {  // [af.lock <] acquire: the lists
    ::SwitchToThread();
  }
}

/// Finds what to wait for. False: the object is of another kind.
THRUM_OUT_OF_LINE bool object_waits::begin(request& one, os::handle fd,
                                           std::uint32_t what) noexcept {
  if (os::is_own_pipe(fd)) {
    if ((what & writable) != 0) {
      one.events = writable;
      const os::handle event = os::writable_event(fd);
      one.object = event != os::no_handle ? os::native(event) : nullptr;
      return true;
    }
    one.events = readable;
    one.object = ::CreateEventW(nullptr, TRUE, FALSE, nullptr);
    one.reading.hEvent = one.object;
    if (one.object != nullptr) {
      ::DWORD none = 0;
      char nothing;
      const bool is_done = ::ReadFile(os::native(fd), &nothing, 0, &none, &one.reading) != 0;
      one.is_reading = !is_done && ::GetLastError() == ERROR_IO_PENDING;
      if (!one.is_reading) {
        ::SetEvent(one.object);  // the waiter calls again, and learns more
      }
    }
    return true;
  }
  if (::GetProcessId(os::native(fd)) == 0) {
    return false;
  }
  one.events = what & (readable | writable);
  const ::HANDLE own = ::GetCurrentProcess();
  ::DuplicateHandle(own, os::native(fd), own, &one.object, SYNCHRONIZE, FALSE, 0);
  return true;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE int object_waits::submit(os::handle port, std::uintptr_t key,
                                                          os::handle fd, std::uint64_t tag,
                                                          std::uint32_t what,
                                                          std::uint32_t answer) noexcept {
  void* const memory = ::HeapAlloc(::GetProcessHeap(), 0, sizeof(request));
  if (memory == nullptr) {
    return os::no_memory;
  }
  auto& one = *::new (memory) request;
  one.port = os::native(port);
  one.key = key;
  one.fd = fd;
  one.tag.set(tag);
  one.answer = answer;
  if (!begin(one, fd, what)) {
    free(one);
    return os::always_ready;
  }
  if (one.object == nullptr) {
    free(one);
    return os::no_memory;
  }
  const auto post = [](void* of, ::BOOLEAN) {
    auto& done = *static_cast<request*>(of);
    done.is_posted.store(true, release);  // [ow.posted >] release: nothing; seen after the wait
    while (::PostQueuedCompletionStatus(done.port, 0, done.key, static_cast<::OVERLAPPED*>(of)) ==
           0) {
      ::Sleep(1);  // the system is out of memory for the moment
    }
  };
  lock_.lock();
  if (::RegisterWaitForSingleObject(&one.wait, one.object, post, &one, INFINITE,
                                    WT_EXECUTEONLYONCE) == 0) {
    lock_.unlock();
    if (one.is_reading) {
      ::CancelIoEx(os::native(fd), &one.reading);
      ::WaitForSingleObject(one.object, INFINITE);
    }
    free(one);
    return os::no_memory;
  }
  link_locked(one);
  lock_.unlock();
  return 0;
}

THRUM_OUT_OF_LINE void object_waits::link_locked(request& one) noexcept {
  ++size_;
  armed_ += one.answer == 0 ? 1U : 0U;
  one.next = first_;
  if (first_ != nullptr) {
    first_->before = &one;
  }
  first_ = &one;
}

THRUM_OUT_OF_LINE void object_waits::unlink_locked(request& one) noexcept {
  --size_;
  armed_ -= one.answer == 0 ? 1U : 0U;
  (one.before != nullptr ? one.before->next : first_) = one.next;
  if (one.next != nullptr) {
    one.next->before = one.before;
  }
}

THRUM_OUT_OF_LINE void object_waits::free(request& one) noexcept {
  if (one.object != nullptr) {
    ::CloseHandle(one.object);
  }
  ::HeapFree(::GetProcessHeap(), 0, &one);
}

THRUM_OUT_OF_LINE void object_waits::cancel_locked(request& one) noexcept {
  if (one.is_reading) {
    ::CancelIoEx(os::native(one.fd), &one.reading);  // which sets its event
    return;
  }
  if (one.wait == nullptr) {
    return;  // cancelled before, and posted
  }
  ::UnregisterWaitEx(one.wait, INVALID_HANDLE_VALUE);
  one.wait = nullptr;
  if (!one.is_posted.load(acquire)) {  // [ow.posted <] acquire: pairs with the wait's end
    unlink_locked(one);
    free(one);
  }
}

template <class Which>
void object_waits::cancel_each(Which which) noexcept {
  lock_.lock();
  for (request* one = first_; one != nullptr;) {
    request* const next = one->next;
    if (which(*one)) {
      cancel_locked(*one);
    }
    one = next;
  }
  lock_.unlock();
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void object_waits::cancel(std::uint64_t tag) noexcept {
  cancel_each([&](const request& one) { return one.tag.get() == tag; });
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void object_waits::cancel_armed(os::handle fd) noexcept {
  lock_.lock();
  const bool has_any = armed_ != 0;
  lock_.unlock();
  if (!has_any) {
    return;
  }
  cancel_each([&](request& one) {
    const bool is_it = one.answer == 0 && one.fd == fd;
    if (is_it) {
      one.tag.set(0);
    }
    return is_it;
  });
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void object_waits::cancel_all() noexcept {
  cancel_each([](const request&) { return true; });
}

THRUM_OUT_OF_LINE std::uint32_t object_waits::size() noexcept {
  lock_.lock();
  const std::uint32_t size = size_;
  lock_.unlock();
  return size;
}

THRUM_OUT_OF_LINE std::uint64_t object_waits::tag_of(std::uintptr_t packet) noexcept {
  return reinterpret_cast<const request*>(packet)->tag.peek();
}

THRUM_NOINLINE THRUM_OUT_OF_LINE object_waits::told object_waits::take(
    std::uintptr_t packet) noexcept {
  auto& done = *reinterpret_cast<request*>(packet);
  lock_.lock();  // the threads that registered and cancelled it have left
  unlink_locked(done);
  const ::HANDLE wait = done.wait;
  const told result{done.tag.get(), done.events, done.answer};
  lock_.unlock();
  if (wait != nullptr) {
    ::UnregisterWait(wait);
  }
  free(done);
  return result;
}

}}}  // namespace thrum::THRUM_ABI::netpoll
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_NETPOLL_OBJECT_WAITS_HPP
