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
#ifndef THRUM_DETAIL_OS_POSIX_HANDLER_CHAIN_HPP
#define THRUM_DETAIL_OS_POSIX_HANDLER_CHAIN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>

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

  /// Calls the next of the others, if there is one. Our handler calls it for a signal that is not ours.
  /// `info` and `context` are as they came to us.
  void pass_on(int number, ::siginfo_t* info, void* context) noexcept;

 private:
  static constexpr std::uint32_t most = 8;
  static constexpr std::size_t most_threads = 64;

  struct link {
    base::one_writer<void (*)(int, ::siginfo_t*, void*)> with_info{nullptr};
    base::one_writer<void (*)(int)> plain{nullptr};
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
  base::one_writer<std::uint32_t> size_{0};
  base::one_writer<std::uint32_t> latest_{0};
  visit visits_[most_threads];
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>

#include <bit>

#include <pthread.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_OUT_OF_LINE void handler_chain::found(const struct ::sigaction& action) noexcept {
  const bool has_info = (action.sa_flags & SA_SIGINFO) != 0;
  const auto with_info = has_info ? action.sa_sigaction : nullptr;
  const auto plain = has_info ? nullptr : action.sa_handler;
  if (!has_info && (plain == SIG_DFL || plain == SIG_IGN)) {
    size_.set(0);
    return;
  }
  const std::uint32_t size = size_.get();
  std::uint32_t at = 0;
  while (at != size &&
         (links_[at].with_info.get() != with_info || links_[at].plain.get() != plain)) {
    ++at;
  }
  if (at == most) {
    at = most - 1;  // so many are no chain any more; the first ones stay
  }
  links_[at].with_info.set(with_info);
  links_[at].plain.set(plain);
  latest_.set(at);
  // [hc.links >] release: the functions, to the handler.
  size_.store(at == size ? size + 1 : size, release);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void handler_chain::pass_on(int number, ::siginfo_t* info,
                                                             void* context) noexcept {
  const void* const frame = __builtin_frame_address(0);
  const auto thread = std::bit_cast<std::uintptr_t>(::pthread_self());
  visit* own = nullptr;
  for (visit& each : visits_) {
    if (each.thread.load(relaxed) == thread) {
      own = &each;
    }
  }
  if (own != nullptr && (info == nullptr || info == own->info) && frame < own->frame) {
    const void* const outer = own->frame;
    own->frame = frame;
    call(++own->depth, number, info, context);
    --own->depth;
    own->frame = outer;
    return;
  }
  for (visit& each : visits_) {
    std::uintptr_t nobody = 0;
    // relaxed: one takes it; what it holds is the thread's own
    if (own == nullptr && each.thread.compare_exchange_strong(nobody, thread, relaxed, relaxed)) {
      own = &each;
    }
  }
  if (own == nullptr) {
    return;  // so many at the same time: whether it would end is not known
  }
  own->info = info;
  own->frame = frame;
  own->depth = 0;
  call(0, number, info, context);
  own->thread.store(0, relaxed);  // relaxed: no other thread reads what it holds
}

THRUM_OUT_OF_LINE void handler_chain::call(std::uint32_t depth, int number, ::siginfo_t* info,
                                           void* context) noexcept {
  const std::uint32_t size = size_.load(acquire);  // [hc.links <] acquire: the functions
  if (depth >= size) {
    return;
  }
  // The latest, then the others from the last one on.
  const std::uint32_t latest = latest_.get();
  std::uint32_t at = latest;
  if (depth != 0) {
    at = size - depth;
    at = at <= latest ? at - 1 : at;
  }
  const link& next = links_[at];
  if (auto* const with_info = next.with_info.get()) {
    with_info(number, info, context);
  } else if (auto* const plain = next.plain.get()) {
    plain(number);
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX
#endif
