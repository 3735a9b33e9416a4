// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// support/process.hpp, as FreeBSD says it: sysctl.
#include "support/bsd_process.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include <malloc_np.h>
#include <pthread.h>
#include <pthread_np.h>
#include <sys/param.h>
#include <sys/proc.h>
#include <sys/procctl.h>
#include <sys/sysctl.h>
#include <sys/thr.h>
#include <sys/user.h>
#include <unistd.h>

namespace support {

long os_thread() {
  long tid = 0;
  ::thr_self(&tid);
  return tid;
}

/// What the system says of a process. What comes new meanwhile finds room, too.
std::vector<char> ask_of_process(int what, std::int64_t pid) {
  int name[] = {CTL_KERN, KERN_PROC, what, static_cast<int>(pid)};
  std::size_t bytes = 0;
  if (::sysctl(name, std::size(name), nullptr, &bytes, nullptr, 0) != 0) {
    return {};
  }
  std::vector<char> answer(bytes * 2);
  bytes = answer.size();
  answer.resize(::sysctl(name, std::size(name), answer.data(), &bytes, nullptr, 0) == 0 ? bytes
                                                                                        : 0);
  return answer;
}

/// Calls f(record) for records of one after the other, each of which begins with its own size.
template <class Record, class F>
void for_each_sized_record(int what, F f) {
  const std::vector<char> answer = ask_of_process(what, ::getpid());
  Record record{};
  int bytes = 0;
  for (std::size_t at = 0; at + sizeof bytes <= answer.size();
       at += static_cast<std::size_t>(bytes)) {
    std::memcpy(&bytes, answer.data() + at, sizeof bytes);
    if (bytes <= 0 || at + static_cast<std::size_t>(bytes) > answer.size()) {
      return;
    }
    record = {};  // the name at its end is as long as it has to be
    std::memcpy(&record, answer.data() + at,
                static_cast<std::size_t>(bytes) < sizeof record ? static_cast<std::size_t>(bytes)
                                                                : sizeof record);
    f(record);
  }
}

/// Calls f(record) for the process, or for each of its threads.
template <class F>
void for_each_process_record(int what, std::int64_t pid, F f) {
  const std::vector<char> answer = ask_of_process(what, pid);
  ::kinfo_proc record{};
  for (std::size_t at = 0; at + sizeof record <= answer.size(); at += sizeof record) {
    std::memcpy(&record, answer.data() + at, sizeof record);
    f(record);
  }
}

constexpr int all_threads = KERN_PROC_PID | KERN_PROC_INC_THREAD;

std::size_t thread_count() {
  std::size_t n = 0;
  for_each_process_record(all_threads, ::getpid(), [&](const ::kinfo_proc&) { ++n; });
  return n;
}

std::multiset<std::string> thread_names() {
  std::multiset<std::string> names;
  for_each_process_record(all_threads, ::getpid(), [&](const ::kinfo_proc& thread) {
    names.insert(std::string(thread.ki_tdname) + thread.ki_moretdname);
  });
  return names;
}

std::vector<long> threads_to_signal() {
  std::vector<long> all;
  for_each_process_record(all_threads, ::getpid(),
                          [&](const ::kinfo_proc& thread) { all.push_back(thread.ki_tid); });
  return all;
}

void signal_thread(long thread, int signal) { ::thr_kill(thread, signal); }

void this_stack(const void*& low, std::size_t& bytes) {
  ::pthread_attr_t about;
  void* begin = nullptr;
  ::pthread_attr_init(&about);
  ::pthread_attr_get_np(::pthread_self(), &about);
  ::pthread_attr_getstack(&about, &begin, &bytes);
  ::pthread_attr_destroy(&about);
  low = begin;
}

std::size_t mapping_count() {
  std::size_t n = 0;
  for_each_sized_record<::kinfo_vmentry>(KERN_PROC_VMMAP, [&](const ::kinfo_vmentry&) { ++n; });
  return n;
}

std::size_t address_space_bytes() {
  std::size_t bytes = 0;
  for_each_process_record(KERN_PROC_PID, ::getpid(),
                          [&](const ::kinfo_proc& process) { bytes = process.ki_size; });
  return bytes;
}

std::size_t resident_bytes_of(std::int64_t pid) {
  std::size_t pages = 0;
  for_each_process_record(KERN_PROC_PID, pid, [&](const ::kinfo_proc& process) {
    pages = static_cast<std::size_t>(process.ki_rssize);
  });
  return pages * static_cast<std::size_t>(::getpagesize());
}

std::size_t resident_bytes() { return resident_bytes_of(::getpid()); }

std::size_t heap_bytes() {
  std::uint64_t epoch = 1;  // what follows is as old as the last such call
  ::mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);
  std::size_t bytes = 0;
  std::size_t size = sizeof bytes;
  return ::mallctl("stats.allocated", &bytes, &size, nullptr, 0) == 0 ? bytes : 0;
}

void use_one_heap() {}

std::size_t open_descriptors() {
  std::size_t n = 0;
  for_each_sized_record<::kinfo_file>(
      KERN_PROC_FILEDESC, [&](const ::kinfo_file& file) { n += file.kf_fd >= 0 ? 1 : 0; });
  return n;
}

std::string own_program() {
  const std::vector<char> path = ask_of_process(KERN_PROC_PATHNAME, -1);
  return path.data() == nullptr ? std::string() : std::string(path.data());
}

void end_with_parent() {
  int signal = SIGKILL;
  ::procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &signal);
}

}  // namespace support
