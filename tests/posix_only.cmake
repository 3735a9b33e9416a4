# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# What Windows leaves out of the tests: a file or a folder, and why. Whoever brings one back takes its
# line away; one that is not there any more is an error.
set(posix_only "")
macro(leave_out name reason)
  file(GLOB found ${CMAKE_CURRENT_LIST_DIR}/${name}*)
  if(NOT found)
    message(FATAL_ERROR "posix_only.cmake: there is no tests/${name}")
  endif()
  list(APPEND posix_only ${name})
endmacro()

# ---- tls ----
leave_out(tls/tls_peers_test "lines of a POSIX shell")

# ---- unit, go, examples, opt_in ----
leave_out(unit/os/posix/ "other systems' layers")
leave_out(unit/netpoll/posix/ "descriptors by their numbers, of pipes and files")
leave_out(unit/sched/io/io_operation_test "files that a ring of io_uring reads")
leave_out(unit/sched/freeze/frame_walk_test "the stack of a thread, as pthreads tell it")
leave_out(opt_in/page_size_test "a program that is told of larger pages by the loader")
leave_out(unit/sched/core/traits_test "its poller tells of a pipe")
leave_out(unit/sched/watch/deadlock_test "a deadlock is not reported where the system starts threads of its own")
leave_out(unit/macros_of_others_test "macros of others' headers, which those of this system do not bear")
leave_out(opt_in/shared_objects_test "shared objects of ELF; a DLL: backends/windows_library.cpp")
leave_out(debuggers/gdb_test "gdb knows none of these processes")
leave_out(opt_in/mutex_watch_test "a loader that lets functions of the C library be replaced")
leave_out(opt_in/interpose_test "calls of the C library of Linux")
leave_out(opt_in/trace_pc_test "a program with another compiler's instrumentation")
leave_out(debuggers/valgrind_test "valgrind")
leave_out(unit/host_programs_test "fork, and a deadlock that is not reported where the system starts threads of its own")
leave_out(unit/net/posix/ "signals, fork, Unix sockets, pieces of the kernel")
leave_out(unit/io/posix/ "signals, fork, pieces of the kernel")
leave_out(unit/io/fork_test "fork")
leave_out(examples/posix/ "fifos, openat, limits to the number of descriptors, programs of a POSIX shell")
leave_out(go/net_unix_test "Unix sockets, which wine 8 does not have")
leave_out(go/os_exec_test "programs of a POSIX shell, signals, more descriptors of a child")
leave_out(go/net_limits_test "limits to the number of descriptors, signals")

# ---- programs ----
leave_out(programs/debugger "a debugger by SIGTRAP")
leave_out(programs/forks "fork")
leave_out(programs/hosts "fork")
leave_out(programs/network "limits to the number of descriptors, signals")
leave_out(programs/refusals "limits to the address space")
leave_out(programs/source_lines "a child that reads DWARF")
leave_out(programs/deadlock "a deadlock is not reported where the system starts threads of its own")
