// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What this process knows of its own ends of pipes, those that do not block: a table by their handles. For
// pipe.hpp alone, which has the essay.
#ifndef THRUM_DETAIL_OS_WINDOWS_PIPE_TABLE_HPP
#define THRUM_DETAIL_OS_WINDOWS_PIPE_TABLE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/process_wide.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Ends that do not block, by their handles.
struct pipe_table {
  static constexpr std::string_view process_name = "os::pipe_table";
  static constexpr std::size_t rows = 64;
  /// What the pipe itself takes before a writer has to wait, and what one call takes besides.
  static constexpr ::DWORD most_at_once = 64 * 1024;

  struct end {
    handle fd = no_handle;
    end* next = nullptr;
    ::SRWLOCK lock = {};         // over all below
    ::HANDLE written = nullptr;  // set while nothing is being written; null: nothing ever was
    ::PTP_IO ends = nullptr;     // hears of the ends of writings
    ::OVERLAPPED writing = {};
    bool is_writing = false;
    bool is_closed = false;  // then the thread that hears of its end frees it
    io_result ended = 0;     // how the last writing did, until a call asks
    char* bytes = nullptr;
    std::size_t room = 0;
  };

  ::SRWLOCK locks[rows] = {};
  end* first[rows] = {};
  base::shared_figure<std::uint32_t> names{0};
  /// Events for the calls that read, which need one for a moment.
  static constexpr std::size_t most_events = 16;
  std::atomic<::HANDLE> events[most_events] = {};

  static pipe_table& known() noexcept { return process_wide<pipe_table>::get(); }
};

/// The end with that handle, locked; null: there is none.
class locked_pipe_end {
 public:
  explicit locked_pipe_end(handle fd) noexcept {
    pipe_table& all = pipe_table::known();
    const std::size_t row = number_of(fd) % pipe_table::rows;
    ::AcquireSRWLockShared(&all.locks[row]);
    found_ = all.first[row];
    while (found_ != nullptr && found_->fd != fd) {
      found_ = found_->next;
    }
    if (found_ != nullptr) {
      ::AcquireSRWLockExclusive(&found_->lock);
    }
    ::ReleaseSRWLockShared(&all.locks[row]);
  }
  ~locked_pipe_end() {
    if (found_ != nullptr) {
      ::ReleaseSRWLockExclusive(&found_->lock);
    }
  }
  locked_pipe_end(const locked_pipe_end&) = delete;
  locked_pipe_end& operator=(const locked_pipe_end&) = delete;

  explicit operator bool() const noexcept { return found_ != nullptr; }
  pipe_table::end* operator->() const noexcept { return found_; }
  pipe_table::end& operator*() const noexcept { return *found_; }

 private:
  pipe_table::end* found_;
};

inline io_result keep_pipe_end(handle fd) noexcept {
  auto* const fresh = new (std::nothrow) pipe_table::end;
  if (fresh == nullptr) {
    return no_memory;
  }
  fresh->fd = fd;
  pipe_table& all = pipe_table::known();
  const std::size_t row = number_of(fd) % pipe_table::rows;
  ::AcquireSRWLockExclusive(&all.locks[row]);
  fresh->next = all.first[row];
  all.first[row] = fresh;
  ::ReleaseSRWLockExclusive(&all.locks[row]);
  return 0;
}

/// Takes the end out; null: there is none. No other thread uses the handle any more.
inline pipe_table::end* take_pipe_end(handle fd) noexcept {
  pipe_table& all = pipe_table::known();
  const std::size_t row = number_of(fd) % pipe_table::rows;
  ::AcquireSRWLockExclusive(&all.locks[row]);
  pipe_table::end** link = &all.first[row];
  while (*link != nullptr && (*link)->fd != fd) {
    link = &(*link)->next;
  }
  pipe_table::end* const found = *link;
  if (found != nullptr) {
    *link = found->next;
    ::AcquireSRWLockExclusive(&found->lock);  // a thread that found it before has left
    ::ReleaseSRWLockExclusive(&found->lock);
  }
  ::ReleaseSRWLockExclusive(&all.locks[row]);
  return found;
}

inline void free_pipe_end(pipe_table::end* one) noexcept {
  ::CloseHandle(native(one->fd));
  if (one->ends != nullptr) {
    ::CloseThreadpoolIo(one->ends);
  }
  if (one->written != nullptr) {
    ::CloseHandle(one->written);
  }
  delete[] one->bytes;
  delete one;
}

/// An event that no other thread uses; null: there is no memory.
inline ::HANDLE take_event() noexcept {
  for (std::atomic<::HANDLE>& each : pipe_table::known().events) {
    // [pt.event <>] acq_rel: no thread waits for it any more
    if (const ::HANDLE found = each.exchange(nullptr, acq_rel); found != nullptr) {
      return found;
    }
  }
  return ::CreateEventW(nullptr, TRUE, FALSE, nullptr);
}

inline void give_back_event(::HANDLE event) noexcept {
  for (std::atomic<::HANDLE>& each : pipe_table::known().events) {
    ::HANDLE none = nullptr;
    // [pt.event <>] acq_rel: no thread waits for it any more; relaxed: a failure says nothing
    if (each.compare_exchange_strong(none, event, acq_rel, relaxed)) {
      return;
    }
  }
  ::CloseHandle(event);
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_PIPE_TABLE_HPP
