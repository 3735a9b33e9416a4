// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a child is to be, and what the system is given to start it: its command line and environment in 16-bit
// text, and the three handles that it inherits. For process.hpp alone.
#ifndef THRUM_DETAIL_OS_WINDOWS_SPAWN_HPP
#define THRUM_DETAIL_OS_WINDOWS_SPAWN_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/handle.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a child is to be. Strings and arrays as for execve, in UTF-8.
struct spawn_request {
  char* const* arguments = nullptr;    ///< the first one names the program
  char* const* environment = nullptr;  ///< null: ours
  const char* directory = nullptr;     ///< null: ours
  /// What becomes its standard input, output and error; no_handle: ours.
  handle streams[3] = {no_handle, no_handle, no_handle};
  bool errors_to_output = false;  ///< standard error goes where standard output goes
  bool new_group = false;         ///< it leads a process group of its own
  const handle* extra = nullptr;  ///< what becomes its descriptors from 3 on
  std::size_t extras = 0;
  /// The path of a terminal, or null: what is ours of its streams is that, it leads a session of its
  /// own, and the terminal is the session's, where opening it makes it so.
  const char* terminal = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/result.hpp>
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/wide_text.hpp>

#include <cwchar>
#include <new>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Text of 16 bits a unit that grows; on the heap.
class growing_text {
 public:
  growing_text() noexcept = default;
  ~growing_text() { delete[] text_; }
  growing_text(const growing_text&) = delete;
  growing_text& operator=(const growing_text&) = delete;

  void add(wchar_t one) noexcept {
    if (size_ == room_) {
      const std::size_t more = room_ == 0 ? 256 : 2 * room_;
      auto* const fresh = new (std::nothrow) wchar_t[more];
      if (fresh == nullptr) {
        has_failed_ = true;
        return;
      }
      for (std::size_t i = 0; i != size_; ++i) {
        fresh[i] = text_[i];
      }
      delete[] text_;
      text_ = fresh;
      room_ = more;
    }
    text_[size_++] = one;
  }
  void add(const wchar_t* all) noexcept {
    for (; *all != L'\0'; ++all) {
      add(*all);
    }
  }

  /// As the C library's start code takes a command line apart: a quotation mark ends an argument unless
  /// a backslash stands before it, and backslashes are themselves but in front of one.
  void add_argument(const wchar_t* argument) noexcept {
    const bool is_plain = *argument != L'\0' && std::wcspbrk(argument, L" \t\n\v\"") == nullptr;
    if (is_plain) {
      add(argument);
      return;
    }
    add(L'"');
    for (;; ++argument) {
      std::size_t backslashes = 0;
      for (; *argument == L'\\'; ++argument) {
        ++backslashes;
      }
      const bool is_end = *argument == L'\0';
      const std::size_t written = is_end              ? 2 * backslashes
                                  : *argument == L'"' ? 2 * backslashes + 1
                                                      : backslashes;
      for (std::size_t i = 0; i != written; ++i) {
        add(L'\\');
      }
      if (is_end) {
        break;
      }
      add(*argument);
    }
    add(L'"');
  }

  bool has_failed() const noexcept { return has_failed_; }
  wchar_t* data() noexcept { return text_; }

 private:
  wchar_t* text_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
  bool has_failed_ = false;
};

/// The three streams, as handles that a child gets, and the list that says that it gets no others.
class inherited_streams {
 public:
  explicit inherited_streams(const spawn_request& request) noexcept {
    constexpr ::DWORD names[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    const ::HANDLE own = ::GetCurrentProcess();
    for (int i = 0; i != 3; ++i) {
      const ::HANDLE from = i == 2 && request.errors_to_output ? own_[1]
                            : request.streams[i] != no_handle
                                ? reinterpret_cast<::HANDLE>(request.streams[i])
                                : ::GetStdHandle(names[i]);
      if (from == nullptr || from == INVALID_HANDLE_VALUE) {
        continue;  // a program without a console
      }
      if (::DuplicateHandle(own, from, own, &own_[i], 0, TRUE, DUPLICATE_SAME_ACCESS) == 0) {
        own_[i] = nullptr;
        error_ = result_of(false, 0);
        return;
      }
      list_[count_++] = own_[i];
    }
  }
  ~inherited_streams() {
    for (const ::HANDLE each : own_) {
      if (each != nullptr) {
        ::CloseHandle(each);
      }
    }
  }
  inherited_streams(const inherited_streams&) = delete;
  inherited_streams& operator=(const inherited_streams&) = delete;

  io_result error() const noexcept { return error_; }
  ::HANDLE stream(int i) const noexcept { return own_[i]; }
  ::HANDLE* list() noexcept { return list_; }
  std::size_t bytes() const noexcept { return count_ * sizeof list_[0]; }

 private:
  ::HANDLE own_[3] = {};
  ::HANDLE list_[3] = {};
  std::size_t count_ = 0;
  io_result error_ = 0;
};

/// Starts it with these attributes, which hold the list of its streams.
inline io_result start_program(const spawn_request& request, const inherited_streams& streams,
                               ::LPPROC_THREAD_ATTRIBUTE_LIST attributes, growing_text& line,
                               void* environment, ::PROCESS_INFORMATION& started) noexcept {
  const wide_text directory(request.directory != nullptr ? request.directory : "");
  if (directory.error() != 0) {
    return directory.error();
  }
  ::STARTUPINFOEXW how{};
  how.StartupInfo.cb = sizeof how;
  how.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
  how.StartupInfo.hStdInput = streams.stream(0);
  how.StartupInfo.hStdOutput = streams.stream(1);
  how.StartupInfo.hStdError = streams.stream(2);
  how.lpAttributeList = attributes;
  // On a busy machine wine loses one of some hundred processes before it has started, and says only that there
  // was an error of its own.
  constexpr int most_tries = 4;
  bool worked = false;
  for (int i = 0; i != most_tries && !worked; ++i) {
    worked =
        ::CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE,
                         EXTENDED_STARTUPINFO_PRESENT | CREATE_UNICODE_ENVIRONMENT, environment,
                         request.directory != nullptr ? directory.c_str() : nullptr,
                         &how.StartupInfo, &started) != 0;
    if (!worked && ::GetLastError() != ERROR_INTERNAL_ERROR) {
      break;
    }
  }
  return result_of(worked, 0);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_SPAWN_HPP
