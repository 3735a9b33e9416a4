// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the driver of sockets (AFD) is asked and answers: its words, the way to it, a request and the slab
// in which requests lie, and the list of those that are free.
#ifndef THRUM_DETAIL_NETPOLL_AFD_REQUEST_HPP
#define THRUM_DETAIL_NETPOLL_AFD_REQUEST_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/netpoll/afd.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/memory_parts.hpp>
#include <thrum/detail/os/windows/api.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

#include <winternl.h>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

/// The driver's own words.
namespace afd_words {

inline constexpr ::ULONG poll = 0x12024;  // what is asked for

enum : ::ULONG {
  receive = 0x1,
  receive_expedited = 0x2,
  send = 0x4,
  disconnect = 0x8,
  abort = 0x10,
  local_close = 0x20,
  accept = 0x80,
  connect_fail = 0x100,
};

struct socket_events {
  ::HANDLE socket;
  ::ULONG events;
  ::NTSTATUS status;
};

struct poll_info {
  ::LARGE_INTEGER timeout;
  ::ULONG count;
  ::ULONG exclusive;
  socket_events sockets[1];
};

inline constexpr ::NTSTATUS pending = 0x103;
inline constexpr bool is_error(::NTSTATUS status) noexcept {
  return static_cast<::ULONG>(status) >> 30 == 3;
}

/// The driver's events in which one of ours happens.
constexpr ::ULONG events_of(std::uint32_t what) noexcept {
  ::ULONG all = abort | connect_fail | local_close;
  if ((what & readable) != 0) {
    all |= receive | accept | disconnect;
  }
  if ((what & writable) != 0) {
    all |= send;
  }
  return all;
}

constexpr std::uint32_t translate(::ULONG found) noexcept {
  std::uint32_t events = 0;
  if ((found & (receive | accept | disconnect)) != 0) {
    events |= readable;
  }
  if ((found & send) != 0) {
    events |= writable;
  }
  if ((found & (abort | connect_fail | local_close)) != 0) {
    events |= readable | writable | unusual;
  }
  if ((found & disconnect) != 0) {
    events |= unusual;
  }
  return events;
}

}  // namespace afd_words

struct afd::request {
  union {
    request* next;  // of those that are free
    ::IO_STATUS_BLOCK status;
  };
  afd_words::poll_info info;
  base::under_lock<std::uint64_t> tag;  // 0: no registration's any more
  std::uint32_t answer;                 // asked_readable, asked_writable; 0: it was armed
  os::handle fd;
  request* next_armed;  // in its row of the table

  /// Whether it has ended because its socket was closed. The system may say so only with the packet.
  [[nodiscard]] bool is_of_closed() const noexcept {
    return status.Status == 0 && info.count != 0 &&
           (info.sockets[0].events & afd_words::local_close) != 0;
  }
};

struct afd::slab {
  static constexpr std::size_t size = std::size_t{64} << 10;
  static constexpr std::size_t requests = (size - alignof(request)) / sizeof(request);

  slab* next;
  request all[requests];
};

inline ::HANDLE native(os::handle h) noexcept { return reinterpret_cast<::HANDLE>(h); }
inline os::handle thrums(::HANDLE h) noexcept { return reinterpret_cast<os::handle>(h); }

/// A way to the driver: a file of its own that is no socket. 0: refused.
inline os::handle open_way_to_afd(os::handle port, std::uintptr_t key) noexcept {
  wchar_t name[] = L"\\Device\\Afd\\thrum";
  ::UNICODE_STRING text{sizeof name - sizeof(wchar_t), sizeof name, name};
  ::OBJECT_ATTRIBUTES attributes{};
  attributes.Length = sizeof attributes;
  attributes.ObjectName = &text;
  ::HANDLE way = nullptr;
  ::IO_STATUS_BLOCK status{};
  if (afd_words::is_error(::NtCreateFile(&way, SYNCHRONIZE, &attributes, &status, nullptr, 0,
                                         FILE_SHARE_READ | FILE_SHARE_WRITE, FILE_OPEN, 0, nullptr,
                                         0))) {
    return 0;
  }
  if (::CreateIoCompletionPort(way, native(port), key, 0) == nullptr) {
    ::CloseHandle(way);
    return 0;
  }
  return thrums(way);
}

/// Null: there is no memory.
THRUM_OUT_OF_LINE afd::request* afd::take_free(os::handle fd, std::uint64_t tag,
                                               std::uint32_t answer) noexcept {
  requests_.lock();
  request* found = nullptr;
  if (free_ != nullptr || make_free_locked()) {
    found = free_;
    free_ = found->next;
    found->fd = fd;
    found->tag.set(tag);
    found->answer = answer;
    if (answer == 0) {
      request*& row = armed_[os::number_of(fd) % rows];
      found->next_armed = row;
      row = found;
    }
  }
  requests_.unlock();
  return found;
}

THRUM_COLD THRUM_OUT_OF_LINE bool afd::make_free_locked() noexcept {
  static_assert(sizeof(slab) <= slab::size);
  void* const memory = os::map(slab::size);
  if (memory == nullptr) {
    return false;
  }
  auto& more = *::new (memory) slab;
  more.next = slabs_;
  slabs_ = &more;
  for (request& each : more.all) {
    each.next = free_;
    free_ = &each;
  }
  return true;
}

/// Frees a request. Returns its last tag.
THRUM_OUT_OF_LINE std::uint64_t afd::give_back(request& done) noexcept {
  requests_.lock();
  if (done.answer == 0) {
    request** link = &armed_[os::number_of(done.fd) % rows];
    while (*link != nullptr && *link != &done) {
      link = &(*link)->next_armed;
    }
    if (*link != nullptr) {
      *link = done.next_armed;
    }
  }
  const std::uint64_t tag = done.tag.get();
  done.next = free_;
  free_ = &done;
  requests_.unlock();
  return tag;
}

}}}  // namespace thrum::THRUM_ABI::netpoll

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_NETPOLL_AFD_REQUEST_HPP
