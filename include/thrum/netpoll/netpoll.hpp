// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the poller of this system.
#ifndef THRUM_NETPOLL_NETPOLL_HPP
#define THRUM_NETPOLL_NETPOLL_HPP

#include <thrum/netpoll/sleeper.hpp>

namespace thrum::inline THRUM_ABI::netpoll {

using poller = sleeper;

}  // namespace thrum::inline THRUM_ABI::netpoll

#endif
