// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the library needs of the compiler and its standard library: one sentence where it is
// missing, in place of the hundreds of errors that follow from it. A compiler goes on behind an
// #error; <thrum.hpp> then leaves out all the rest.
#ifndef THRUM_DETAIL_BASE_REQUIREMENTS_HPP
#define THRUM_DETAIL_BASE_REQUIREMENTS_HPP

#if !defined(__cplusplus)
#error "thrum is a C++ library; this is compiled as C"
#define THRUM_REQUIREMENTS_MET 0
#elif __cplusplus < 202002L
#error "thrum needs C++20: compile with -std=c++20 or a newer standard"
#define THRUM_REQUIREMENTS_MET 0
#else
#include <version>
#if !defined(THRUM_HPP) || defined(__cpp_lib_jthread)  // the low floors alone do without
#define THRUM_REQUIREMENTS_MET 1
#elif defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 180000
#error "thrum needs std::stop_token: use libc++ 18 or newer, or libstdc++"
#define THRUM_REQUIREMENTS_MET 0
#elif defined(_LIBCPP_VERSION)
#error "thrum needs std::stop_token: libc++ 18 and 19 want -fexperimental-library"
#define THRUM_REQUIREMENTS_MET 0
#else
#error "thrum needs std::stop_token: use a newer standard library, such as that of gcc 11"
#define THRUM_REQUIREMENTS_MET 0
#endif
#endif

#endif
