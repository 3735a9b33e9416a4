// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// support/process.hpp, as Windows says it.
#ifndef THRUM_TESTS_SUPPORT_WINDOWS_PROCESS_HPP
#define THRUM_TESTS_SUPPORT_WINDOWS_PROCESS_HPP

#include <thrum/detail/os/windows/api.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include <psapi.h>
#include <tlhelp32.h>
#include <winternl.h>

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

inline std::size_t reserved_bytes() {
  std::size_t n = 0;
  ::MEMORY_BASIC_INFORMATION about;
  for (const char* at = nullptr; ::VirtualQuery(at, &about, sizeof about) != 0;) {
    n += about.State == MEM_FREE ? 0 : about.RegionSize;
    at = static_cast<const char*>(about.BaseAddress) + about.RegionSize;
  }
  return n;
}

inline std::size_t resident_bytes() { return memory_of_this_process().WorkingSetSize; }

inline std::size_t heap_bytes() { return 0; }

inline void use_one_heap() {}

/// Calls f(handle) for each handle of this process. Wine does not say how many there are, but gives out the
/// lowest number that is free: behind many that are, there is no other.
template <class F>
void for_each_handle(F f) {
  ::DWORD left = 0;
  const bool is_known = ::GetProcessHandleCount(::GetCurrentProcess(), &left) != 0 && left != 0;
  constexpr std::uintptr_t step = 4;
  constexpr std::uintptr_t last = step << 18;
  constexpr int most_free = 2'000;
  int free = 0;
  for (std::uintptr_t h = step; (is_known ? left != 0 : free != most_free) && h != last;
       h += step) {
    ::DWORD flags = 0;
    ++free;
    if (::GetHandleInformation(reinterpret_cast<::HANDLE>(h), &flags) != 0) {
      free = 0;
      --left;
      f(reinterpret_cast<::HANDLE>(h));
    }
  }
}

/// All objects of the system: also threads, events, ports.
inline std::size_t open_handles() {
  std::size_t n = 0;
  for_each_handle([&](::HANDLE) { ++n; });
  return n;
}

inline bool is_event(::HANDLE handle) {
  struct {
    ::UNICODE_STRING name;
    char rest[512];
  } about{};
  ::ULONG bytes = 0;
  constexpr auto type =
      static_cast<::OBJECT_INFORMATION_CLASS>(2);  // documented, and not named here
  return ::NtQueryObject(handle, type, &about, sizeof about, &bytes) >= 0 &&
         std::wstring_view(about.name.Buffer, about.name.Length / sizeof(wchar_t)) == L"Event";
}

inline std::size_t open_events() {
  std::size_t n = 0;
  for_each_handle([&](::HANDLE h) { n += is_event(h) ? 1 : 0; });
  return n;
}

/// Of files, pipes and sockets; not of threads and other objects.
inline std::size_t open_descriptors() {
  std::size_t n = 0;
  for_each_handle([&](::HANDLE h) {
    const ::DWORD type = ::GetFileType(h);
    n += type == FILE_TYPE_DISK || type == FILE_TYPE_PIPE ? 1 : 0;
  });
  return n;
}

inline std::string own_program() { return _pgmptr; }

}  // namespace support

#endif
