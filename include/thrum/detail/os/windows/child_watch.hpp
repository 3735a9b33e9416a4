// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// child_watch: one thread sleeps at a port until any of many children has ended.
#ifndef THRUM_DETAIL_OS_WINDOWS_CHILD_WATCH_HPP
#define THRUM_DETAIL_OS_WINDOWS_CHILD_WATCH_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/windows/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The port, and for each child a wait of the system's own threads, which post to it. A child is
/// removed before its handle is closed. All members but sleep() and wake() by one thread at a time.
class child_watch {
 public:
  constexpr child_watch() noexcept = default;

  bool is_open() const noexcept { return port_ != no_handle; }

  /// 0, or an error below zero.
  io_result open() noexcept;

  void close() noexcept;

  /// Has sleep() find `who`, one time, once the child has ended. 0, or an error below zero.
  io_result add(handle child, void* who) noexcept;
  void remove(handle child) noexcept;

  /// Ends the sleep that is under way, or the next one.
  void wake() noexcept;

  /// Sleeps until the first `who` is found, for at most timeout_ms if that is not below 0. Returns
  /// how many were found; perhaps none.
  std::size_t sleep(void** found, std::size_t most, int timeout_ms) noexcept;

 private:
  struct watched;

  handle port_ = no_handle;
  watched* first_ = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>

#include <cstdint>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace os {

struct child_watch::watched {
  handle child;
  void* who;
  ::HANDLE port;
  ::HANDLE wait;
  watched* next;
};

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result child_watch::open() noexcept {
  const ::HANDLE port = ::CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 1);
  if (port != nullptr) {
    port_ = reinterpret_cast<handle>(port);
  }
  return result_of(port != nullptr, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void child_watch::close() noexcept {
  while (first_ != nullptr) {
    remove(first_->child);
  }
  if (port_ != no_handle) {
    ::CloseHandle(native(port_));
    port_ = no_handle;
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result child_watch::add(handle child, void* who) noexcept {
  auto* const fresh = new (std::nothrow) watched{child, who, native(port_), nullptr, first_};
  if (fresh == nullptr) {
    return no_memory;
  }
  const auto tell = [](void* of, ::BOOLEAN) {
    const auto* const one = static_cast<const watched*>(of);
    ::PostQueuedCompletionStatus(one->port, 0, reinterpret_cast<std::uintptr_t>(one->who), nullptr);
  };
  if (::RegisterWaitForSingleObject(&fresh->wait, native(child), tell, fresh, INFINITE,
                                    WT_EXECUTEONLYONCE) == 0) {
    const io_result error = result_of(false, 0);
    delete fresh;
    return error;
  }
  first_ = fresh;
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void child_watch::remove(handle child) noexcept {
  watched** link = &first_;
  while (*link != nullptr && (*link)->child != child) {
    link = &(*link)->next;
  }
  if (watched* const found = *link) {
    *link = found->next;
    ::UnregisterWaitEx(found->wait, INVALID_HANDLE_VALUE);  // and it does not tell any more
    delete found;
  }
}

THRUM_OUT_OF_LINE void child_watch::wake() noexcept {
  ::PostQueuedCompletionStatus(native(port_), 0, 0, nullptr);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::size_t child_watch::sleep(void** found, std::size_t most,
                                                                int timeout_ms) noexcept {
  constexpr ::ULONG at_once = 64;
  ::OVERLAPPED_ENTRY packets[at_once];
  ::ULONG n = 0;
  const ::DWORD wait = timeout_ms < 0 ? INFINITE : static_cast<::DWORD>(timeout_ms);
  if (::GetQueuedCompletionStatusEx(native(port_), packets,
                                    most < at_once ? static_cast<::ULONG>(most) : at_once, &n, wait,
                                    FALSE) == 0) {
    return 0;
  }
  std::size_t count = 0;
  for (::ULONG i = 0; i != n; ++i) {
    if (packets[i].lpCompletionKey != 0) {
      found[count++] = reinterpret_cast<void*>(packets[i].lpCompletionKey);
    }
  }
  return count;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_CHILD_WATCH_HPP
