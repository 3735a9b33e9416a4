// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// io_uring: makes poller_kind::io_uring available to a program that includes this header in one source file.
//
//   #include <thrum.hpp>
//   #include <thrum/io_uring.hpp>
//   int main() { return thrum::run({.poller = thrum::poller_kind::io_uring}, [] { ... }); }
//
// THRUM_POLLER=io_uring chooses it, too. Without this header a runtime says so once on standard error and uses
// epoll. Static objects that make a runtime come after this header in the same source file. In the one file,
// define THRUM_IO_URING before <thrum.hpp>. On other systems the header does nothing.
#ifndef THRUM_IO_URING_HPP
#define THRUM_IO_URING_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/netpoll/io_uring.hpp>  // IWYU pragma: keep: the body of make_ring
#include <thrum/detail/netpoll/netpoll.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

/// Tells linux_poller how a ring is made.
inline bool offer_ring() noexcept {
  make_other.store(&make_ring, base::orders::relaxed);  // relaxed: leads to code alone
  return true;
}

/// Its initialisation, before main(), is what makes the ring available.
inline const bool has_ring = offer_ring();

}}}  // namespace thrum::THRUM_ABI::netpoll

#endif  // THRUM_OS_LINUX
#endif
