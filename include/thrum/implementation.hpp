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
#include <thrum/base/errc_definition.hpp>
#include <thrum/base/error_definition.hpp>
#include <thrum/base/fatal_definition.hpp>
#include <thrum/blocking_definition.hpp>
#include <thrum/context/node_definition.hpp>
#include <thrum/context_definition.hpp>
#include <thrum/deadline_definition.hpp>
#include <thrum/debug/stats_definition.hpp>
#include <thrum/go_definition.hpp>
#include <thrum/goroutine_local_definition.hpp>
#include <thrum/group_definition.hpp>
#include <thrum/implementation/runtime_definition.hpp>
#include <thrum/io/child_process_definition.hpp>
#include <thrum/io/descriptor_definition.hpp>
#include <thrum/io/detached_children_definition.hpp>
#include <thrum/io/file_definition.hpp>
#include <thrum/io/pipe_definition.hpp>
#include <thrum/io/process_definition.hpp>
#include <thrum/io/redirect_definition.hpp>
#include <thrum/io/signal_set_definition.hpp>
#include <thrum/io/wait_definition.hpp>
#include <thrum/net/address_text_definition.hpp>
#include <thrum/net/conn_definition.hpp>
#include <thrum/net/dial_definition.hpp>
#include <thrum/net/endpoint_definition.hpp>
#include <thrum/net/endpoint_error_definition.hpp>
#include <thrum/net/host_port_definition.hpp>
#include <thrum/net/listener_definition.hpp>
#include <thrum/net/resolve_definition.hpp>
#include <thrum/net/resolve_error_definition.hpp>
#include <thrum/net/socket_definition.hpp>
#include <thrum/net/udp_socket_definition.hpp>
#include <thrum/netpoll/epoll_definition.hpp>
#include <thrum/netpoll/epoll_system_definition.hpp>
#include <thrum/options_definition.hpp>
#include <thrum/os/linux/backtrace_definition.hpp>
#include <thrum/os/linux/caught_signals_definition.hpp>
#include <thrum/os/linux/child_watch_definition.hpp>
#include <thrum/os/linux/descriptor_definition.hpp>
#include <thrum/os/linux/exit_definition.hpp>
#include <thrum/os/linux/fault_definition.hpp>
#include <thrum/os/linux/fence_definition.hpp>
#include <thrum/os/linux/file_definition.hpp>
#include <thrum/os/linux/handler_chain_definition.hpp>
#include <thrum/os/linux/memory_definition.hpp>
#include <thrum/os/linux/note_definition.hpp>
#include <thrum/os/linux/pipe_definition.hpp>
#include <thrum/os/linux/preempt_signal_definition.hpp>
#include <thrum/os/linux/process_definition.hpp>
#include <thrum/os/linux/process_wide_definition.hpp>
#include <thrum/os/linux/processors_definition.hpp>
#include <thrum/os/linux/quit_signal_definition.hpp>
#include <thrum/os/linux/socket_definition.hpp>
#include <thrum/os/linux/source_lines_definition.hpp>
#include <thrum/os/linux/symbol_definition.hpp>
#include <thrum/os/linux/thread_clock_definition.hpp>
#include <thrum/os/linux/thread_definition.hpp>
#include <thrum/os/linux/unwind_table_definition.hpp>
#include <thrum/request_stop_definition.hpp>
#include <thrum/sched/core/p_definition.hpp>
#include <thrum/sched/io/poll_wait_definition.hpp>
#include <thrum/sched/queue/timer_heap_definition.hpp>
#include <thrum/select/engine_definition.hpp>
#include <thrum/select_definition.hpp>
#include <thrum/sync/condition_variable_any_definition.hpp>
#include <thrum/sync/condition_variable_definition.hpp>
#include <thrum/sync/latch_definition.hpp>
#include <thrum/sync/mutex_definition.hpp>
#include <thrum/sync/once_definition.hpp>
#include <thrum/sync/recursive_mutex_definition.hpp>
#include <thrum/sync/shared_mutex_definition.hpp>
#include <thrum/sync/wait_group_definition.hpp>
#include <thrum/sync/wait_list_definition.hpp>
#include <thrum/testing/bubble_definition.hpp>
#include <thrum/this_goroutine_definition.hpp>
#include <thrum/thread_lock_definition.hpp>
#include <thrum/time/ticker_definition.hpp>
#include <thrum/time/timer_definition.hpp>
//
#include <thrum/base/put_macros_back.hpp>
#endif

#endif
