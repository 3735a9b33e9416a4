// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many processors this process may use.
#ifndef THRUM_DETAIL_OS_WINDOWS_PROCESSORS_HPP
#define THRUM_DETAIL_OS_WINDOWS_PROCESSORS_HPP

#include <thrum/detail/base/config.hpp>

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
#endif  // THRUM_DETAIL_OS_WINDOWS_PROCESSORS_HPP
