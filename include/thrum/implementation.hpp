// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// All of the implementation. With THRUM_SEPARATE=1 in all source files of a program, exactly one of
// them includes this. Without, each header brings what it needs, and this adds nothing.
#ifndef THRUM_IMPLEMENTATION_HPP
#define THRUM_IMPLEMENTATION_HPP

#include <thrum.hpp>

#if THRUM_REQUIREMENTS_MET
#include <thrum/base/put_macros_aside.hpp>
//
#include <thrum/implementation/runtime_definition.hpp>
//
#include <thrum/base/put_macros_back.hpp>
#endif

#if THRUM_REQUIREMENTS_MET && THRUM_SEPARATE
// What is called from inlined code and not visible there.
namespace thrum { inline namespace THRUM_ABI { namespace sched {
template class basic_scheduler<default_traits>;
template class basic_creator<default_traits>;
}}}  // namespace thrum::THRUM_ABI::sched
#endif

#endif
