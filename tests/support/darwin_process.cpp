// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// support/process.hpp, as macOS says it: libproc and Mach.
#include "support/bsd_process.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <libproc.h>
#include <mach/mach.h>
#include <malloc/malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/proc.h>
#include <sys/proc_info.h>
#include <sys/types.h>
#include <unistd.h>

namespace support {

long os_thread() {
  std::uint64_t number = 0;
  ::pthread_threadid_np(nullptr, &number);
  return static_cast<long>(number);
}

/// Calls f(port) for each thread of this process.
template <class F>
void for_each_port(F f) {
  ::thread_act_array_t ports = nullptr;
  ::mach_msg_type_number_t n = 0;
  if (::task_threads(::mach_task_self(), &ports, &n) != KERN_SUCCESS) {
    return;
  }
  for (::mach_msg_type_number_t i = 0; i != n; ++i) {
    f(ports[i]);
    ::mach_port_deallocate(::mach_task_self(), ports[i]);
  }
  ::vm_deallocate(::mach_task_self(), reinterpret_cast<::vm_address_t>(ports), n * sizeof *ports);
}

std::size_t thread_count() {
  std::size_t n = 0;
  for_each_port([&](::thread_act_t) { ++n; });
  return n;
}

std::multiset<std::string> thread_names() {
  std::multiset<std::string> names;
  for_each_port([&](::thread_act_t port) {
    char name[64] = {};
    if (::pthread_t thread = ::pthread_from_mach_thread_np(port);
        thread != nullptr && ::pthread_getname_np(thread, name, sizeof name) == 0) {
      names.insert(name);
    }
  });
  return names;
}

std::vector<long> threads_to_signal() {
  std::vector<long> all;
  for_each_port([&](::thread_act_t port) {
    if (::pthread_t thread = ::pthread_from_mach_thread_np(port); thread != nullptr) {
      all.push_back(reinterpret_cast<long>(thread));
    }
  });
  return all;
}

void signal_thread(long thread, int signal) {
  ::pthread_kill(reinterpret_cast<::pthread_t>(thread), signal);
}

void this_stack(const void*& low, std::size_t& bytes) {
  bytes = ::pthread_get_stacksize_np(::pthread_self());
  low = static_cast<const char*>(::pthread_get_stackaddr_np(::pthread_self())) - bytes;
}

std::size_t mapping_count() {
  std::size_t n = 0;
  ::vm_address_t at = 0;
  for (::vm_size_t bytes = 0;; at += bytes, ++n) {
    ::vm_region_basic_info_data_64_t about{};
    ::mach_msg_type_number_t words = VM_REGION_BASIC_INFO_COUNT_64;
    ::mach_port_t object = MACH_PORT_NULL;
    if (::vm_region_64(::mach_task_self(), &at, &bytes, VM_REGION_BASIC_INFO_64,
                       reinterpret_cast<::vm_region_info_t>(&about), &words,
                       &object) != KERN_SUCCESS) {
      return n;
    }
  }
}

::proc_taskinfo task_info_of(std::int64_t pid) {
  ::proc_taskinfo info{};
  ::proc_pidinfo(static_cast<int>(pid), PROC_PIDTASKINFO, 0, &info, sizeof info);
  return info;
}

std::size_t address_space_bytes() { return task_info_of(::getpid()).pti_virtual_size; }

std::size_t resident_bytes_of(std::int64_t pid) { return task_info_of(pid).pti_resident_size; }

std::size_t resident_bytes() { return resident_bytes_of(::getpid()); }

std::size_t heap_bytes() {
  ::malloc_statistics_t statistics{};
  ::malloc_zone_statistics(nullptr, &statistics);
  return statistics.size_in_use;
}

void use_one_heap() {}

std::size_t open_descriptors() {
  constexpr std::size_t more = 64;  // than there were when it was asked how many there are
  const int bytes = ::proc_pidinfo(::getpid(), PROC_PIDLISTFDS, 0, nullptr, 0);
  std::vector<::proc_fdinfo> list(static_cast<std::size_t>(bytes) / sizeof(::proc_fdinfo) + more);
  const int told = ::proc_pidinfo(::getpid(), PROC_PIDLISTFDS, 0, list.data(),
                                  static_cast<int>(list.size() * sizeof(::proc_fdinfo)));
  return told < 0 ? 0 : static_cast<std::size_t>(told) / sizeof(::proc_fdinfo);
}

std::string own_program() {
  char path[PROC_PIDPATHINFO_MAXSIZE] = {};
  ::proc_pidpath(::getpid(), path, sizeof path);
  return path;
}

/// There is no such thing: a program that a test leaves behind when it crashes stays.
void end_with_parent() {}

}  // namespace support
