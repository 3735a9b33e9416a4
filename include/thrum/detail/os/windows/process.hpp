// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Child processes: how one is started, and how it ended.
//
// A child's number stands for it as long as a handle of it is open. So a table keeps those handles, from
// the start of a child until it is reaped. There are no signals: two ask for an end, SIGTERM and SIGKILL,
// and both end a child at once. Its end is then reported as if they were signals.
#ifndef THRUM_DETAIL_OS_WINDOWS_PROCESS_HPP
#define THRUM_DETAIL_OS_WINDOWS_PROCESS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>
#include <thrum/detail/os/windows/spawn.hpp>  // IWYU pragma: export

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// False: the streams of a child are its own handles.
constexpr bool is_replaced_before(handle, int) noexcept { return false; }

/// Whether a child can lead a process group.
inline constexpr bool has_process_groups = false;

/// Sends a signal to a process group.
io_result signal_group(std::int64_t group, int signal) noexcept;
/// Ends all that are in it.
io_result kill_group(std::int64_t group) noexcept;
/// Asks them to end.
io_result ask_group_to_end(std::int64_t group) noexcept;

/// A new terminal of the program's own: this end, which does not block, and the path of the other; or an
/// error.
io_result open_terminal(char* path, std::size_t room) noexcept;
/// How many rows and columns of characters programs think that it shows.
io_result resize_terminal(handle fd, unsigned rows, unsigned columns) noexcept;
/// Whether a read has found that no program has the other end open any more.
bool is_terminal_end(io_result result) noexcept;

/// The number of this process.
std::int64_t own_process() noexcept;

/// Starts a program; its number, or an error below zero. It has these handles and no others of ours. A
/// name without a folder is looked for as the system does. Blocks until the program has been loaded.
io_result spawn(const spawn_request& request) noexcept;

/// How a child ended: by exit(code), or killed by one of the two signals.
struct process_end {
  int code = 0;
  int signal = 0;
  bool dumped_core = false;
};

/// A handle of its own for a child, which is taken for readable when that has ended.
io_result open_process(std::int64_t pid) noexcept;

/// Waits for the end of a child: 0, or would_block if it may not block and the child runs; or
/// no_such_process. `reap`: the child's number is given back.
io_result wait_process(std::int64_t pid, handle child, bool may_block, bool reap,
                       process_end& end) noexcept;

/// SIGTERM and SIGKILL; with 0 only says whether there is such a child. `invalid` for others.
io_result signal_process(std::int64_t pid, handle child, int signal) noexcept;

/// Ends it, whatever it does.
io_result kill_process(std::int64_t pid, handle child) noexcept;

/// Ends it as well.
io_result ask_process_to_end(std::int64_t pid, handle child) noexcept;

// child_watch: one thread sleeps at a port until any of many children has ended.

/// The port, and for each child a wait of the system's own threads, which post to it. A child is
/// removed before its handle is closed. All members but sleep() and wake() by one thread at a time.
class child_watch {
 public:
  constexpr child_watch() noexcept = default;

  bool is_open() const noexcept { return port_ != no_handle; }

  /// 0, or an error below zero.
  io_result open() noexcept;

  void close() noexcept;

  /// Has sleep() find `who`, one time, once the child has ended. 0, or an error below zero.
  io_result add(handle child, void* who) noexcept;
  void remove(handle child) noexcept;

  /// Ends the sleep that is under way, or the next one.
  void wake() noexcept;

  /// Sleeps until the first `who` is found, for at most timeout_ms if that is not below 0. Returns
  /// how many were found; perhaps none.
  std::size_t sleep(void** found, std::size_t most, int timeout_ms) noexcept;

 private:
  struct watched;

  handle port_ = no_handle;
  watched* first_ = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/process_wide.hpp>
#include <thrum/detail/os/windows/wide_text.hpp>

#include <new>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Children that have not been reaped.
struct child_table {
  static constexpr std::string_view process_name = "os::child_table";
  static constexpr int sigterm = 15;
  static constexpr int sigkill = 9;

  struct child {
    ::DWORD pid;
    ::HANDLE process;
    int killed_by;  // by us
    child* next;
  };

  ::SRWLOCK lock = {};
  child* first = nullptr;

  static child_table& known() noexcept { return process_wide<child_table>::get(); }

  /// The link to it; to null if there is none. Under the lock.
  child** find(std::int64_t pid) noexcept {
    child** link = &first;
    while (*link != nullptr && (*link)->pid != static_cast<::DWORD>(pid)) {
      link = &(*link)->next;
    }
    return link;
  }
};

/// Calls call(child) under the lock, or says no_such_process.
template <class Call>
io_result with_child(std::int64_t pid, Call call) noexcept {
  child_table& all = child_table::known();
  ::AcquireSRWLockExclusive(&all.lock);
  child_table::child* const found = *all.find(pid);
  const io_result result = found != nullptr ? call(*found) : io_result{no_such_process};
  ::ReleaseSRWLockExclusive(&all.lock);
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::int64_t own_process() noexcept {
  return ::GetCurrentProcessId();
}

THRUM_OUT_OF_LINE io_result signal_group(std::int64_t /*group*/, int /*signal*/) noexcept {
  return not_supported;
}

THRUM_OUT_OF_LINE io_result kill_group(std::int64_t /*group*/) noexcept { return not_supported; }

THRUM_OUT_OF_LINE io_result ask_group_to_end(std::int64_t /*group*/) noexcept {
  return not_supported;
}

THRUM_OUT_OF_LINE io_result open_terminal(char* /*path*/, std::size_t /*room*/) noexcept {
  return not_supported;
}

THRUM_OUT_OF_LINE io_result resize_terminal(handle /*fd*/, unsigned /*rows*/,
                                            unsigned /*columns*/) noexcept {
  return not_supported;
}

THRUM_OUT_OF_LINE bool is_terminal_end(io_result /*result*/) noexcept { return false; }

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result spawn(const spawn_request& request) noexcept {
  if (request.new_group || request.extras != 0 || request.terminal != nullptr) {
    return not_supported;
  }
  growing_text line;
  for (char* const* each = request.arguments; *each != nullptr; ++each) {
    const wide_text argument(*each);
    if (argument.error() != 0) {
      return argument.error();
    }
    if (each != request.arguments) {
      line.add(L' ');
    }
    line.add_argument(argument.c_str());
  }
  line.add(L'\0');
  growing_text environment;
  for (char* const* each = request.environment; each != nullptr && *each != nullptr; ++each) {
    const wide_text one(*each);
    if (one.error() != 0) {
      return one.error();
    }
    environment.add(one.c_str());
    environment.add(L'\0');
  }
  environment.add(L'\0');
  environment.add(L'\0');
  auto* const fresh = new (std::nothrow) child_table::child{};
  inherited_streams streams(request);
  constexpr std::size_t most_bytes = 256;
  alignas(std::max_align_t) char memory[most_bytes];
  auto* const attributes = reinterpret_cast<::LPPROC_THREAD_ATTRIBUTE_LIST>(memory);
  std::size_t bytes = most_bytes;
  io_result result = streams.error();
  if (fresh == nullptr || line.has_failed() || environment.has_failed()) {
    result = no_memory;
  }
  if (result == 0) {
    result = result_of(::InitializeProcThreadAttributeList(attributes, 1, 0, &bytes) != 0, 0);
  }
  if (result < 0) {
    delete fresh;
    return result;
  }
  ::PROCESS_INFORMATION started{};
  if (streams.bytes() != 0) {
    result = result_of(
        ::UpdateProcThreadAttribute(attributes, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                    streams.list(), streams.bytes(), nullptr, nullptr) != 0,
        0);
  }
  if (result == 0) {
    result = start_program(request, streams, attributes, line,
                           request.environment != nullptr ? environment.data() : nullptr, started);
  }
  ::DeleteProcThreadAttributeList(attributes);
  if (result < 0) {
    delete fresh;
    return result;
  }
  ::CloseHandle(started.hThread);
  child_table& all = child_table::known();
  ::AcquireSRWLockExclusive(&all.lock);
  *fresh = {started.dwProcessId, started.hProcess, 0, all.first};
  all.first = fresh;
  ::ReleaseSRWLockExclusive(&all.lock);
  return started.dwProcessId;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_process(std::int64_t pid) noexcept {
  return with_child(pid, [&](child_table::child& child) noexcept {
    const ::HANDLE own = ::GetCurrentProcess();
    ::HANDLE copy = nullptr;
    const bool worked =
        ::DuplicateHandle(own, child.process, own, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS) != 0;
    return result_of(worked, static_cast<io_result>(reinterpret_cast<std::uintptr_t>(copy)));
  });
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result wait_process(std::int64_t pid, handle, bool may_block,
                                                        bool reap, process_end& end) noexcept {
  ::HANDLE process = nullptr;
  const ::HANDLE own = ::GetCurrentProcess();
  io_result result = with_child(pid, [&](child_table::child& child) noexcept {
    // A handle of its own: another thread may reap the child meanwhile.
    return result_of(
        ::DuplicateHandle(own, child.process, own, &process, 0, FALSE, DUPLICATE_SAME_ACCESS) != 0,
        0);
  });
  if (result < 0) {
    return result;
  }
  const ::DWORD waited = ::WaitForSingleObject(process, may_block ? INFINITE : 0);
  ::DWORD code = 0;
  ::GetExitCodeProcess(process, &code);
  ::CloseHandle(process);
  if (waited != WAIT_OBJECT_0) {
    return would_block;
  }
  child_table& all = child_table::known();
  ::AcquireSRWLockExclusive(&all.lock);
  child_table::child** const link = all.find(pid);
  child_table::child* const found = *link;
  if (found == nullptr) {
    result = no_such_process;
  } else {
    end = {};
    (found->killed_by != 0 ? end.signal : end.code) =
        found->killed_by != 0 ? found->killed_by : static_cast<int>(code);
    if (reap) {
      *link = found->next;
    }
  }
  ::ReleaseSRWLockExclusive(&all.lock);
  if (found != nullptr && reap) {
    ::CloseHandle(found->process);
    delete found;
  }
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result signal_process(std::int64_t pid, handle,
                                                          int signal) noexcept {
  if (signal != 0 && signal != child_table::sigterm && signal != child_table::sigkill) {
    return invalid;
  }
  return with_child(pid, [&](child_table::child& child) noexcept -> io_result {
    const bool has_ended = ::WaitForSingleObject(child.process, 0) == WAIT_OBJECT_0;
    if (signal == 0 || has_ended || child.killed_by != 0) {
      return 0;
    }
    constexpr ::UINT as_shells_say = 128;
    const bool worked =
        ::TerminateProcess(child.process, as_shells_say + static_cast<::UINT>(signal)) != 0;
    child.killed_by = worked ? signal : 0;
    return result_of(worked, 0);
  });
}

THRUM_OUT_OF_LINE io_result kill_process(std::int64_t pid, handle child) noexcept {
  return signal_process(pid, child, child_table::sigkill);
}

THRUM_OUT_OF_LINE io_result ask_process_to_end(std::int64_t pid, handle child) noexcept {
  return signal_process(pid, child, child_table::sigterm);
}

struct child_watch::watched {
  handle child;
  void* who;
  ::HANDLE port;
  ::HANDLE wait;
  watched* next;
};

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result child_watch::open() noexcept {
  const ::HANDLE port = ::CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 1);
  if (port != nullptr) {
    port_ = reinterpret_cast<handle>(port);
  }
  return result_of(port != nullptr, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void child_watch::close() noexcept {
  while (first_ != nullptr) {
    remove(first_->child);
  }
  if (port_ != no_handle) {
    ::CloseHandle(native(port_));
    port_ = no_handle;
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result child_watch::add(handle child, void* who) noexcept {
  auto* const fresh = new (std::nothrow) watched{child, who, native(port_), nullptr, first_};
  if (fresh == nullptr) {
    return no_memory;
  }
  const auto tell = [](void* of, ::BOOLEAN) {
    const auto* const one = static_cast<const watched*>(of);
    ::PostQueuedCompletionStatus(one->port, 0, reinterpret_cast<std::uintptr_t>(one->who), nullptr);
  };
  if (::RegisterWaitForSingleObject(&fresh->wait, native(child), tell, fresh, INFINITE,
                                    WT_EXECUTEONLYONCE) == 0) {
    const io_result error = result_of(false, 0);
    delete fresh;
    return error;
  }
  first_ = fresh;
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void child_watch::remove(handle child) noexcept {
  watched** link = &first_;
  while (*link != nullptr && (*link)->child != child) {
    link = &(*link)->next;
  }
  if (watched* const found = *link) {
    *link = found->next;
    ::UnregisterWaitEx(found->wait, INVALID_HANDLE_VALUE);  // and it does not tell any more
    delete found;
  }
}

THRUM_OUT_OF_LINE void child_watch::wake() noexcept {
  ::PostQueuedCompletionStatus(native(port_), 0, 0, nullptr);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::size_t child_watch::sleep(void** found, std::size_t most,
                                                                int timeout_ms) noexcept {
  constexpr ::ULONG at_once = 64;
  ::OVERLAPPED_ENTRY packets[at_once];
  ::ULONG n = 0;
  const ::DWORD wait = timeout_ms < 0 ? INFINITE : static_cast<::DWORD>(timeout_ms);
  if (::GetQueuedCompletionStatusEx(native(port_), packets,
                                    most < at_once ? static_cast<::ULONG>(most) : at_once, &n, wait,
                                    FALSE) == 0) {
    return 0;
  }
  std::size_t count = 0;
  for (::ULONG i = 0; i != n; ++i) {
    if (packets[i].lpCompletionKey != 0) {
      found[count++] = reinterpret_cast<void*>(packets[i].lpCompletionKey);
    }
  }
  return count;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_PROCESS_HPP
