// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// support/process.hpp, as Windows says it.
#ifndef THRUM_TESTS_SUPPORT_WINDOWS_PROCESS_HPP
#define THRUM_TESTS_SUPPORT_WINDOWS_PROCESS_HPP

#include <thrum/os/windows/api.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include <psapi.h>
#include <tlhelp32.h>

// Names that tests have for other things.
#undef far
#undef near
#undef small

namespace support {

[[gnu::noinline]] inline long os_thread() { return static_cast<long>(::GetCurrentThreadId()); }

inline std::chrono::nanoseconds cpu_time() {
  ::FILETIME ignored{};
  ::FILETIME in_system{};
  ::FILETIME in_program{};
  ::GetProcessTimes(::GetCurrentProcess(), &ignored, &ignored, &in_system, &in_program);
  const auto number = [](const ::FILETIME& time) {
    return static_cast<std::int64_t>(time.dwHighDateTime) << 32 | time.dwLowDateTime;
  };
  return std::chrono::nanoseconds(100 * (number(in_system) + number(in_program)));
}

/// Calls f(number) for each thread of this process.
template <class F>
void for_each_thread(F f) {
  const ::HANDLE all = ::CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
  ::THREADENTRY32 one{};
  one.dwSize = sizeof one;
  for (int found = ::Thread32First(all, &one); found != 0; found = ::Thread32Next(all, &one)) {
    if (one.th32OwnerProcessID == ::GetCurrentProcessId()) {
      f(one.th32ThreadID);
    }
  }
  ::CloseHandle(all);
}

inline std::size_t thread_count() {
  std::size_t n = 0;
  for_each_thread([&](::DWORD) { ++n; });
  return n;
}

inline std::multiset<std::string> thread_names() {
  using get = ::HRESULT __stdcall(::HANDLE, wchar_t**);
  auto* const ask = reinterpret_cast<get*>(reinterpret_cast<void*>(
      ::GetProcAddress(::GetModuleHandleW(L"kernelbase.dll"), "GetThreadDescription")));
  std::multiset<std::string> names;
  for_each_thread([&](::DWORD number) {
    const ::HANDLE thread = ::OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, number);
    wchar_t* text = nullptr;
    if (thread != nullptr && ask != nullptr && ask(thread, &text) >= 0) {
      std::string name;
      for (const wchar_t* at = text; *at != L'\0'; ++at) {
        name += static_cast<char>(*at);
      }
      names.insert(name);
      ::LocalFree(text);
    }
    ::CloseHandle(thread);
  });
  return names;
}

/// Pieces of address space that differ in their state.
inline std::size_t mapping_count() {
  std::size_t n = 0;
  ::MEMORY_BASIC_INFORMATION about;
  for (const char* at = nullptr; ::VirtualQuery(at, &about, sizeof about) != 0; ++n) {
    at = static_cast<const char*>(about.BaseAddress) + about.RegionSize;
  }
  return n;
}

inline ::PROCESS_MEMORY_COUNTERS memory_of_this_process() {
  ::PROCESS_MEMORY_COUNTERS counters{};
  ::K32GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof counters);
  return counters;
}

/// What is committed: what is only reserved costs nothing.
inline std::size_t address_space_bytes() { return memory_of_this_process().PagefileUsage; }

inline std::size_t resident_bytes() { return memory_of_this_process().WorkingSetSize; }

inline std::size_t heap_bytes() { return 0; }

inline void use_one_heap() {}

/// Of files, pipes and sockets; not of threads and other objects.
inline std::size_t open_descriptors() {
  ::DWORD left = 0;
  ::GetProcessHandleCount(::GetCurrentProcess(), &left);
  constexpr std::uintptr_t step = 4;
  constexpr std::uintptr_t last = step << 18;
  std::size_t n = 0;
  for (std::uintptr_t h = step; left != 0 && h != last; h += step) {
    ::DWORD flags = 0;
    if (::GetHandleInformation(reinterpret_cast<::HANDLE>(h), &flags) != 0) {
      --left;
      const ::DWORD type = ::GetFileType(reinterpret_cast<::HANDLE>(h));
      n += type == FILE_TYPE_DISK || type == FILE_TYPE_PIPE ? 1 : 0;
    }
  }
  return n;
}

inline std::string own_program() { return _pgmptr; }

}  // namespace support

#endif
