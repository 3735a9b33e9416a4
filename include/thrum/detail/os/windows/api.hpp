// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The system's headers. The newer half of the sockets comes first, as the older one is left out then.
//
// What they leave in a program that did not include them itself is no more than names in capitals: not
// min and max, nor near, far and ERROR, which are names of others. Such a program includes itself what
// it needs beyond WIN32_LEAN_AND_MEAN; one that includes <windows.h> before has it as it wants it, and
// must for the few headers of the system that write `far` (mmsystem.h).
#ifndef THRUM_DETAIL_OS_WINDOWS_API_HPP
#define THRUM_DETAIL_OS_WINDOWS_API_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#if defined(_WINDOWS_)
// This macro makes mingw warn of the order; the next header defines it again.
#undef _WINSOCKAPI_
#include <winsock2.h>  // IWYU pragma: export
#else
#pragma push_macro("WIN32_LEAN_AND_MEAN")
#pragma push_macro("NOMINMAX")
#undef WIN32_LEAN_AND_MEAN
#undef NOMINMAX
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <winsock2.h>  // IWYU pragma: export
// The order matters.
#include <windows.h>   // IWYU pragma: export
#pragma pop_macro("NOMINMAX")
#pragma pop_macro("WIN32_LEAN_AND_MEAN")
// Other headers of the system write FAR, which stands for far.
#undef ERROR
#undef far
#undef near
#undef FAR
#undef NEAR
#define FAR
#define NEAR
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_API_HPP
