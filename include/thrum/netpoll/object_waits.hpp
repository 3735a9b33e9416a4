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
#ifndef THRUM_NETPOLL_OBJECT_WAITS_HPP
#define THRUM_NETPOLL_OBJECT_WAITS_HPP

#include <thrum/base/config.hpp>
#include <thrum/netpoll/contract.hpp>  // IWYU pragma: keep

#if THRUM_OS_WINDOWS

#include <thrum/base/order.hpp>
#include <thrum/os/handle.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

using namespace base::orders;

/// Held for a few lines, by threads that nobody stops meanwhile: all of them are in a section.
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
  /// true already. 0; os::always_ready: it is none that anybody waits for; or another error below zero.
  int submit(os::handle port, std::uintptr_t key, os::handle fd, std::uint64_t tag,
             std::uint32_t what, std::uint32_t answer) noexcept;

  /// Nobody waits for these any more; the packet comes soon, or not at all.
  void cancel(std::uint64_t tag) noexcept;
  void cancel_all() noexcept;
  /// The same for what that object was armed for; if a packet is on its way, its tag is 0.
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

#if !THRUM_SEPARATE
#include <thrum/netpoll/object_waits_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_NETPOLL_OBJECT_WAITS_HPP
