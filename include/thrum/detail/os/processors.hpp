// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many processors the program may use. On Linux: the affinity mask, then the quota of its
// control groups.
//
// A container limits its programs by a quota of CPU time a period, not by a mask; a program that
// runs a thread on each of 64 processors under a quota of 2 is stopped for most of every period.
// The quota stands in files of the control groups the process is in, at every level up to the root,
// and the smallest counts:
//   /proc/self/cgroup      lines "id:controllers:path"; id 0 and no controllers is version 2
//   /proc/self/mountinfo   where each hierarchy is mounted, and which part of it is seen there
//   version 2              <dir>/cpu.max: "max 100000" or "150000 100000"
//   version 1              <dir>/cpu.cfs_quota_us (-1: none) and <dir>/cpu.cfs_period_us
// The parser takes texts and a reader of files, so that tests can feed it machines that are not
// here.
#ifndef THRUM_DETAIL_OS_PROCESSORS_HPP
#define THRUM_DETAIL_OS_PROCESSORS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/base/message.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using file_path = base::message<4096>;

/// Cuts off and returns what stands before the first `separator`, or everything.
constexpr std::string_view take_field(std::string_view& text, char separator) noexcept {
  const std::size_t end = text.find(separator);
  const std::string_view field = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return field;
}

/// True when `word` is an item of the comma-separated `list`.
constexpr bool list_has(std::string_view list, std::string_view word) noexcept {
  while (!list.empty()) {
    if (take_field(list, ',') == word) {
      return true;
    }
  }
  return false;
}

/// The number a text begins with; -1 when it begins with none, or with a negative one.
constexpr std::int64_t leading_number(std::string_view text) noexcept {
  std::int64_t value = -1;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > INT64_MAX / 10 - 10) {
      break;
    }
    value = (value < 0 ? 0 : value * 10) + (c - '0');
  }
  return value;
}

/// Processors that a quota amounts to, rounded up; 0 when there is no quota.
constexpr unsigned quota_processors(std::int64_t quota, std::int64_t period) noexcept {
  if (quota <= 0 || period <= 0) {
    return 0;
  }
  const std::int64_t whole = quota / period + (quota % period != 0);
  return whole > INT32_MAX ? 0 : static_cast<unsigned>(whole);
}

/// The smaller of two limits of which 0 means none.
constexpr unsigned tighter_limit(unsigned a, unsigned b) noexcept {
  return a == 0 ? b : b == 0 || a < b ? a : b;
}

/// The limit that the files of one directory state; 0 for none.
/// read_file(path, buffer, size) returns the number of bytes read, or a negative number.
template <class ReadFile>
unsigned directory_quota(std::string_view directory, bool version_2, ReadFile& read_file) noexcept {
  const auto read = [&](std::string_view name, char(&buffer)[128]) -> std::string_view {
    file_path path(directory);
    path.append("/").append(name);
    const std::ptrdiff_t length = read_file(path.view(), buffer, sizeof buffer);
    return {buffer, length < 0 ? 0 : static_cast<std::size_t>(length)};
  };
  char first[128];
  char second[128];
  if (version_2) {
    std::string_view text = read("cpu.max", first);
    const std::int64_t quota = leading_number(take_field(text, ' '));
    return quota_processors(quota, leading_number(text));
  }
  return quota_processors(leading_number(read("cpu.cfs_quota_us", first)),
                          leading_number(read("cpu.cfs_period_us", second)));
}

/// The tightest limit between the group `path` and what is mounted at `mount_point`, whose own
/// place in the hierarchy is `root`; 0 for none.
template <class ReadFile>
unsigned hierarchy_quota(std::string_view mount_point, std::string_view root, std::string_view path,
                         bool version_2, ReadFile& read_file) noexcept {
  if (root.size() > 1 && path.starts_with(root) &&
      (path.size() == root.size() || path[root.size()] == '/')) {
    path.remove_prefix(root.size());
  } else if (root.size() > 1) {
    path = {};  // the group is not below the part that is mounted: ask that part only
  }
  if (mount_point == "/") {
    mount_point = {};
  }
  unsigned limit = 0;
  for (;;) {
    while (path.ends_with('/')) {
      path.remove_suffix(1);
    }
    file_path directory(mount_point);
    directory.append(path);
    limit = tighter_limit(limit, directory_quota(directory.view(), version_2, read_file));
    if (path.empty()) {
      return limit;
    }
    path = path.substr(0, path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/'));
  }
}

/// The group of the process in one hierarchy, from the text of /proc/self/cgroup; empty when it has
/// none.
constexpr std::string_view group_path(std::string_view self_cgroup, bool version_2) noexcept {
  while (!self_cgroup.empty()) {
    std::string_view line = take_field(self_cgroup, '\n');
    const std::string_view id = take_field(line, ':');
    const std::string_view controllers = take_field(line, ':');
    if (version_2 ? id == "0" && controllers.empty() : list_has(controllers, "cpu")) {
      return line;
    }
  }
  return {};
}

/// Processors that the control groups of a process allow, rounded up, from the texts of its cgroup
/// and mountinfo files; 0 when they set no limit. read_file as for directory_quota.
template <class ReadFile>
unsigned cgroup_quota(std::string_view self_cgroup, std::string_view mountinfo,
                      ReadFile&& read_file) noexcept {
  unsigned limit = 0;
  while (!mountinfo.empty()) {
    std::string_view line = take_field(mountinfo, '\n');
    for (int skipped = 0; skipped < 3; ++skipped) {  // mount id, parent id, device
      take_field(line, ' ');
    }
    const std::string_view root = take_field(line, ' ');
    const std::string_view mount_point = take_field(line, ' ');
    const std::size_t options_end = line.find(" - ");
    if (options_end == std::string_view::npos) {
      continue;
    }
    line.remove_prefix(options_end + 3);
    const std::string_view type = take_field(line, ' ');
    take_field(line, ' ');  // source
    const bool version_2 = type == "cgroup2";
    if (!version_2 && !(type == "cgroup" && list_has(line, "cpu"))) {
      continue;
    }
    const std::string_view path = group_path(self_cgroup, version_2);
    if (!path.empty()) {
      limit = tighter_limit(limit, hierarchy_quota(mount_point, root, path, version_2, read_file));
    }
  }
  return limit;
}

/// Processors in the affinity mask of the calling thread, at least 1.
unsigned affinity_processors() noexcept;

/// Processors that the program may use: the affinity mask of the calling thread, or the quota of
/// its control groups rounded up where that is less; at least 1. Reads files: for the start of a
/// scheduler.
unsigned available_processors() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/memory.hpp>

#include <bit>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Reads a file from its beginning until the buffer is full; the number of bytes, or -1.
inline std::ptrdiff_t read_small_file(std::string_view path, char* buffer,
                                      std::size_t size) noexcept {
  file_path name(path);
  name.append(std::string_view("\0", 1));
  const int fd = ::open(name.view().data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return -1;
  }
  std::size_t length = 0;
  while (length < size) {
    const ssize_t got = ::read(fd, buffer + length, size - length);
    if (got <= 0) {
      break;
    }
    length += static_cast<std::size_t>(got);
  }
  ::close(fd);
  return static_cast<std::ptrdiff_t>(length);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE unsigned affinity_processors() noexcept {
  constexpr std::size_t mask_words = 128;  // 8,192 processors: the kernel's largest NR_CPUS
  unsigned long mask[mask_words] = {};
  const long bytes = ::syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
  unsigned count = 0;
  for (std::size_t i = 0; bytes > 0 && i < mask_words; ++i) {
    count += static_cast<unsigned>(std::popcount(mask[i]));
  }
  return count == 0 ? 1 : count;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE unsigned available_processors() noexcept {
  constexpr std::size_t text_size = std::size_t{1} << 20;  // mountinfo of a busy container host
  unsigned quota = 0;
  if (char* const texts = static_cast<char*>(map(2 * text_size)); texts != nullptr) {
    const std::ptrdiff_t cgroup = read_small_file("/proc/self/cgroup", texts, text_size);
    const std::ptrdiff_t mounts =
        read_small_file("/proc/self/mountinfo", texts + text_size, text_size);
    if (cgroup > 0 && mounts > 0) {
      quota = cgroup_quota({texts, static_cast<std::size_t>(cgroup)},
                           {texts + text_size, static_cast<std::size_t>(mounts)}, read_small_file);
    }
    unmap(texts, 2 * text_size);
  }
  return tighter_limit(affinity_processors(), quota);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX

#if THRUM_OS_BSD

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Those that are switched on; at least 1.
unsigned available_processors() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#if THRUM_OS_FREEBSD
#include <sys/param.h>

#include <sys/cpuset.h>
#endif
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

#if THRUM_OS_MACOS
THRUM_NOINLINE THRUM_OUT_OF_LINE unsigned available_processors() noexcept {
  const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : static_cast<unsigned>(count);
}
#elif THRUM_OS_FREEBSD
THRUM_NOINLINE THRUM_OUT_OF_LINE unsigned available_processors() noexcept {
  ::cpuset_t mask;
  CPU_ZERO(&mask);
  long count = 0;
  // Refused where the kernel has more processors than the mask of these headers.
  if (::cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof mask, &mask) == 0) {
    count = CPU_COUNT(&mask);
  } else {
    count = ::sysconf(_SC_NPROCESSORS_ONLN);
  }
  return count < 1 ? 1 : static_cast<unsigned>(count);
}
#endif

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_BSD

#if THRUM_OS_WINDOWS

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Those of the process's mask, fewer where a job has a hard limit of CPU time; at least 1.
unsigned available_processors() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>

#include <bit>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE unsigned available_processors() noexcept {
  ::DWORD_PTR own = 0;
  ::DWORD_PTR all = 0;
  const unsigned active = ::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  ::GetProcessAffinityMask(::GetCurrentProcess(), &own, &all);
  // The mask is of one group, or zero for a process that has threads in several.
  unsigned count = static_cast<unsigned>(std::popcount(std::uint64_t{own}));
  if (own == 0 || (own == all && ::GetActiveProcessorGroupCount() > 1)) {
    count = active;
  }
  ::JOBOBJECT_CPU_RATE_CONTROL_INFORMATION limit{};
  constexpr ::DWORD hard =
      JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
  if (::QueryInformationJobObject(nullptr, JobObjectCpuRateControlInformation, &limit, sizeof limit,
                                  nullptr) != 0 &&
      (limit.ControlFlags & hard) == hard) {
    constexpr unsigned all_cpus = 10'000;  // the rate's hundredths of a percent
    const unsigned whole = (limit.CpuRate * active + all_cpus - 1) / all_cpus;
    count = whole < count ? whole : count;
  }
  return count == 0 ? 1 : count;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_PROCESSORS_HPP
