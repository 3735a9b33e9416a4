// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The handlers of others that were installed for a signal before ours.
//
// Our handler must be the one that is installed; so one that is installed later is found, kept
// here, and ours is put on top of it again. It may have kept ours, and call it: it is polite to
// pass a signal on. If we then called it again, a signal would go round for ever, and so it would
// between two copies of this library that each want to be on top.
//
// So a signal comes by each of them once. They stand in the order in which they came. Our handler
// passes a signal on to the latest; called once more while that one runs, on the same thread and
// for the same signal, it passes it on to the one before, and so on. Which is what each of them
// wanted when it kept ours.
//
// Which handler has a signal under way is noted by thread, without thread-local storage: its first
// use after a dlopen may allocate. A handler may never return (siglongjmp). So a call belongs to
// the one that is noted only if its frame lies below: a new signal on the same stack comes to the
// same place.
#ifndef THRUM_OS_POSIX_HANDLER_CHAIN_HPP
#define THRUM_OS_POSIX_HANDLER_CHAIN_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <atomic>
#include <cstdint>

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

class handler_chain {
 public:
  constexpr handler_chain() noexcept = default;
  handler_chain(const handler_chain&) = delete;
  handler_chain& operator=(const handler_chain&) = delete;

  /// It was installed in the place of ours, or before. One thread at a time.
  void found(const struct ::sigaction& action) noexcept;

  /// By our handler, for a signal that is not ours: calls the next of the others, if there is one.
  /// `info` and `context` are as they came to us.
  void pass_on(int number, ::siginfo_t* info, void* context) noexcept;

 private:
  static constexpr std::uint32_t most = 8;
  static constexpr std::size_t most_threads = 64;

  struct link {
    std::atomic<void (*)(int, ::siginfo_t*, void*)> with_info{nullptr};
    std::atomic<void (*)(int)> plain{nullptr};
  };

  /// A signal that is on its way through the chain. The thread's own.
  struct visit {
    std::atomic<std::uintptr_t> thread{0};  // as pthread_self() says
    const ::siginfo_t* info = nullptr;
    const void* frame = nullptr;
    std::uint32_t depth = 0;
  };

  void call(std::uint32_t depth, int number, ::siginfo_t* info, void* context) noexcept;

  link links_[most];
  std::atomic<std::uint32_t> size_{0};
  std::atomic<std::uint32_t> latest_{0};
  visit visits_[most_threads];
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/handler_chain_definition.hpp>
#endif

#endif  // THRUM_OS_POSIX
#endif
