// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// support/process.hpp on macOS and FreeBSD. Their headers for this have names that tests have, too, and so the
// bodies stand apart: in darwin_process.cpp and freebsd_process.cpp.
#ifndef THRUM_TESTS_SUPPORT_BSD_PROCESS_HPP
#define THRUM_TESTS_SUPPORT_BSD_PROCESS_HPP

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace support {

long os_thread();
std::size_t thread_count();
std::multiset<std::string> thread_names();
std::vector<long> threads_to_signal();
void signal_thread(long thread, int signal);
void this_stack(const void*& low, std::size_t& bytes);
std::size_t mapping_count();
std::size_t address_space_bytes();
inline std::size_t reserved_bytes() { return address_space_bytes(); }
std::size_t resident_bytes();
std::size_t resident_bytes_of(std::int64_t pid);
std::size_t heap_bytes();
void use_one_heap();
std::size_t open_descriptors();
std::string own_program();
void end_with_parent();

}  // namespace support

#endif
