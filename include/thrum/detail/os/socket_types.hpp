// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the system's headers for addresses and sockets: sockaddr and its kinds, addrinfo, the
// numbers of families and options, inet_pton. Apart from the rest of the layer, since an address
// needs no more of it.
#ifndef THRUM_DETAIL_OS_SOCKET_TYPES_HPP
#define THRUM_DETAIL_OS_SOCKET_TYPES_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX
#include <arpa/inet.h>   // IWYU pragma: export
#include <netdb.h>       // IWYU pragma: export
#include <netinet/in.h>  // IWYU pragma: export
#include <sys/socket.h>  // IWYU pragma: export
#include <sys/un.h>      // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/api.hpp>  // IWYU pragma: export
// The order matters.
#include <ws2tcpip.h>                       // IWYU pragma: export
// And here.
#include <afunix.h>                         // IWYU pragma: export
#endif

#endif  // THRUM_DETAIL_OS_SOCKET_TYPES_HPP
