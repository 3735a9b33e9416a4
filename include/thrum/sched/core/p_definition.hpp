// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a P consists of that is compiled once in a program: the templates that it has as members.
#ifndef THRUM_SCHED_CORE_P_DEFINITION_HPP
#define THRUM_SCHED_CORE_P_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_SEPARATE

#include <thrum/sched/core/p.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sched/queue/timer_heap.hpp>
#include <thrum/sched/queue/timer_heap_definition.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

template class timer_heap<traits>;

}}}  // namespace thrum::THRUM_ABI::sched

#endif
#endif
