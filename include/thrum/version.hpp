// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The version of the library; the only place where it is written.
#ifndef THRUM_VERSION_HPP
#define THRUM_VERSION_HPP

#define THRUM_VERSION_MAJOR 0
#define THRUM_VERSION_MINOR 1
#define THRUM_VERSION_PATCH 0

#endif  // THRUM_VERSION_HPP
