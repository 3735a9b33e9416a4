// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the poller of this system.
#ifndef THRUM_DETAIL_NETPOLL_NETPOLL_HPP
#define THRUM_DETAIL_NETPOLL_NETPOLL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/netpoll/afd.hpp>           // IWYU pragma: export
#include <thrum/detail/netpoll/epoll.hpp>         // IWYU pragma: export
#include <thrum/detail/netpoll/kqueue.hpp>        // IWYU pragma: export
#include <thrum/detail/netpoll/linux_poller.hpp>  // IWYU pragma: export
#include <thrum/detail/netpoll/sleeper.hpp>       // IWYU pragma: export

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

#if THRUM_POLLER_KQUEUE
using poller = kqueue;
#elif THRUM_OS_LINUX
using poller = linux_poller;
#elif THRUM_OS_WINDOWS
using poller = afd;
#else
using poller = sleeper;
#endif

static_assert(poller_contract<poller>);

}}}  // namespace thrum::THRUM_ABI::netpoll

#endif
