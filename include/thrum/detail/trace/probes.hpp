// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Probes for bpftrace, perf and gdb where the scheduler tells the recorder what it does: THRUM_USDT=1 beside
// THRUM_TRACE=1. A probe is one nop, and a note in the file that says where it is and where its arguments are.
//
//   bpftrace -e 'usdt:./program:thrum:runs { printf("%d %s\n", arg0, str(arg1)); }'
//
//   made    the new goroutine, the goroutine that made it (0: none)
//   runs    goroutine, its name
//   leaves  goroutine, 1 if it has ended
//   ready   goroutine
//   event   kind, as in event_kind.hpp, goroutine (0: none), value, word 3
#ifndef THRUM_DETAIL_TRACE_PROBES_HPP
#define THRUM_DETAIL_TRACE_PROBES_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_USDT
#include <sys/sdt.h>
#define THRUM_PROBE1(name, a) STAP_PROBE1(thrum, name, a)
#define THRUM_PROBE2(name, a, b) STAP_PROBE2(thrum, name, a, b)
#define THRUM_PROBE4(name, a, b, c, d) STAP_PROBE4(thrum, name, a, b, c, d)
#else
#define THRUM_PROBE1(name, a) static_cast<void>(0)
#define THRUM_PROBE2(name, a, b) static_cast<void>(0)
#define THRUM_PROBE4(name, a, b, c, d) static_cast<void>(0)
#endif

#endif
