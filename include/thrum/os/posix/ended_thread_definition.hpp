// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/ended_thread.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_ENDED_THREAD_DEFINITION_HPP
#define THRUM_OS_POSIX_ENDED_THREAD_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_PORTABLE

#include <thrum/base/order.hpp>
#include <thrum/os/posix/ended_thread.hpp>

#include <atomic>
#include <cerrno>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

struct thread::life {
  void* (*entry)(void*);
  void* argument;
  std::atomic<bool> has_ended{false};
};

THRUM_OUT_OF_LINE int thread::start(thread& out, void* (*entry)(void*), void* argument) noexcept {
  auto* const fresh = new (std::nothrow) life{entry, argument};
  if (fresh == nullptr) {
    return ENOMEM;
  }
  const int error = joinable_thread::start(
      out,
      [](void* its) -> void* {
        life& own = *static_cast<life*>(its);
        void* const result = own.entry(own.argument);
        own.has_ended.store(true, release);  // [th.end >] release: all that the thread has done
        return result;
      },
      fresh);
  if (error != 0) {
    delete fresh;
    return error;
  }
  out.life_ = fresh;
  return 0;
}

THRUM_OUT_OF_LINE void thread::join() noexcept {
  joinable_thread::join();
  delete life_;
  life_ = nullptr;
}

THRUM_OUT_OF_LINE bool thread::try_join() noexcept {
  if (!joinable() || !life_->has_ended.load(acquire)) {  // [th.end <] acquire: what it has done
    return false;
  }
  join();
  return true;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_PORTABLE
#endif
