// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the system says about this process and its children, by whatever it says that with: a header a
// system.
//
//   long os_thread()                   the calling OS thread. Asks the system each time: a compiler may
//                                      keep what pthread_self() returned across a migration
//   size_t thread_count()              OS threads of this process
//   multiset<string> thread_names()    their names
//   vector<long> threads_to_signal()   those that there are, for the next one; not on Windows
//   void signal_thread(thread, signal) signals it, if it is there still
//   void this_stack(low, bytes)        the stack of the calling thread; not on Windows
//   size_t mapping_count()             pieces of its address space
//   size_t address_space_bytes()       what it has reserved
//   size_t reserved_bytes()            the same, with what costs nothing yet
//   size_t resident_bytes()            what it has in memory
//   size_t resident_bytes_of(pid)      the same of another one; 0: unknown
//   size_t heap_bytes()                what malloc has given out; 0: unknown
//   void use_one_heap()                malloc keeps no memory for each thread, if it would
//   size_t open_descriptors()          files, sockets and what else has a number
//   size_t open_handles()              these, and all else that the system gives a number
//   size_t open_events()               those among them that threads wait for; 0: there are none
//   nanoseconds cpu_time()             what this process has computed
//   string own_program()               the file that runs
//   void end_with_parent()             in a child: kill it when the thread has ended that made it
#ifndef THRUM_TESTS_SUPPORT_PROCESS_HPP
#define THRUM_TESTS_SUPPORT_PROCESS_HPP

#if defined(_WIN32)
#include "support/windows_process.hpp"
#elif defined(__linux__)
#include "support/linux_process.hpp"
#else
#include "support/bsd_process.hpp"
#endif

#if !defined(_WIN32)
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>

namespace support {

inline std::chrono::nanoseconds cpu_time() {
  constexpr auto each_second = static_cast<std::int64_t>(CLOCKS_PER_SEC);  // unsigned on macOS
  return std::chrono::microseconds(static_cast<std::int64_t>(std::clock()) * 1'000'000 /
                                   each_second);
}

inline std::size_t open_handles() { return open_descriptors(); }
inline std::size_t open_events() { return 0; }

}  // namespace support
#endif

#endif
