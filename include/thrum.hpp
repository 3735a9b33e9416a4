// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum: Go's scheduler for C++. This is the header to include; it holds no code. docs/names.md lists the public
// headers that stand beside it.
//
// The map of the house, from the top. A file includes its own floor and those below it.
//
//   7   net/, io/            connections, listeners, datagrams; files, pipes, processes
//   6e  context.hpp, group.hpp                           cancellation along a tree
//   6d  time.hpp, time/       sleep, timer, ticker, after
//   6f  testing/              bubble                     deterministic time (not in this header)
//   6c  select.hpp, select/   engine, cases              waiting for one of several
//   6b  chan.hpp, chan/       base, core, handle         channels
//   6a  sync/                 mutex, semaphore, ...      synchronisation
//       fork_join.hpp, parallel.hpp                      work in halves, loops on all processors
//   5   go.hpp runtime.hpp this_goroutine.hpp ...        starting work, the runtime, blocking calls
//   4   debug/                stats, schedtrace, dump    looking inside
//   3   sched/                G, M, P and what they do   start reading at docs/internals.md
//   2   netpoll/              contract, epoll, sleeper   waiting for the outside
//   1   os/, arch/            one file per system and processor
//   0   base/                 configuration, errors, lists
#ifndef THRUM_HPP
#define THRUM_HPP

// First of all.
#include <thrum/detail/base/requirements.hpp>

#if THRUM_REQUIREMENTS_MET
#include <thrum/detail/base/put_macros_aside.hpp>
//
#include <thrum/attributes.hpp>
#include <thrum/blocking.hpp>
#include <thrum/chan.hpp>
#include <thrum/context.hpp>
#include <thrum/debug/stats.hpp>
#include <thrum/errc.hpp>
#include <thrum/errno.hpp>
#include <thrum/fork_join.hpp>
#include <thrum/go.hpp>
#include <thrum/goroutine_local.hpp>
#include <thrum/group.hpp>
#include <thrum/io/buffered_reader.hpp>
#include <thrum/io/buffered_writer.hpp>
#include <thrum/io/copy.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/exec.hpp>
#include <thrum/io/file.hpp>
#include <thrum/io/limited.hpp>
#include <thrum/io/memory_pipe.hpp>
#include <thrum/io/on_ready.hpp>
#include <thrum/io/pipe.hpp>
#include <thrum/io/process.hpp>
#include <thrum/io/signal_set.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/io/tee.hpp>
#include <thrum/io/wait.hpp>
#include <thrum/io/whole_file.hpp>
#include <thrum/join_handle.hpp>
#include <thrum/memory_hooks.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/dial.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/host_port.hpp>
#include <thrum/net/listener.hpp>
#include <thrum/net/resolve.hpp>
#include <thrum/net/server.hpp>
#include <thrum/net/udp_socket.hpp>
#include <thrum/on_host.hpp>
#include <thrum/options.hpp>
#include <thrum/panic.hpp>
#include <thrum/parallel.hpp>
#include <thrum/runtime.hpp>
#include <thrum/select.hpp>
#include <thrum/stop_condition.hpp>
#include <thrum/sync/atomic_wait.hpp>
#include <thrum/sync/barrier.hpp>
#include <thrum/sync/condition_variable.hpp>
#include <thrum/sync/condition_variable_any.hpp>
#include <thrum/sync/latch.hpp>
#include <thrum/sync/mutex.hpp>
#include <thrum/sync/once.hpp>
#include <thrum/sync/once_value.hpp>
#include <thrum/sync/semaphore.hpp>
#include <thrum/sync/shared_mutex.hpp>
#include <thrum/sync/wait_group.hpp>
#include <thrum/this_goroutine.hpp>
#include <thrum/thread_lock.hpp>
#include <thrum/time.hpp>
#include <thrum/until.hpp>
#include <thrum/version.hpp>

#include <thrum/detail/base/put_macros_back.hpp>
#endif

#endif
