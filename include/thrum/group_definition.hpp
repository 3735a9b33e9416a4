// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What group.hpp declares: the bodies that are not inlined.
#ifndef THRUM_GROUP_DEFINITION_HPP
#define THRUM_GROUP_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/context.hpp>
#include <thrum/group.hpp>
#include <thrum/group/each.hpp>
#include <thrum/request_stop.hpp>
#include <thrum/sched/run/exit.hpp>
#include <thrum/sched/run/uncancellable.hpp>
#include <thrum/sync/wait_group.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

THRUM_COLD THRUM_OUT_OF_LINE void group_detail::throw_no_result(const char* message) {
  if (sched::is_goroutine()) {
    sched::exit_goroutine();
  }
  base::throw_usage(message);
}

THRUM_OUT_OF_LINE task_group::~task_group() {
  // A member that ends lets them in, or on, in memory that is gone.
  slots_.end_waits("task_group: it");
  running_.end_waits("task_group: it");
  // The members are cancelled themselves.
  const sched::uncancellable until_all_have_ended;
  if (!running_.wait_for(std::chrono::nanoseconds(0))) {
    request_stop();  // an exception may be what brought us here, and nobody else will ask them
    running_.wait();
  }
  if (context_.has_value()) {
    context_->node()->let_go();
  }
}

THRUM_OUT_OF_LINE void task_group::wait() {
  running_.wait();
  throw_first();
}

THRUM_OUT_OF_LINE void task_group::throw_first() {
#if THRUM_EXCEPTIONS
  std::exception_ptr error;
  std::optional<thrum::context> old;  // goes without the mutex: its end may call others
  {
    const std::lock_guard guard(mutex_);
    error = std::exchange(error_, nullptr);
    if (error != nullptr) {
      stop_source_ = std::stop_source();
      old.swap(context_);
    }
  }
  if (old.has_value()) {
    old->node()->let_go();
  }
  if (error != nullptr) {
    std::rethrow_exception(std::move(error));
  }
#endif
}

THRUM_OUT_OF_LINE std::stop_token task_group::stop_token() {
  if (!above_.has_value()) {
    return source().get_token();
  }
  const thrum::context own = context();
  return own.node()->stop_token(context_detail::context_node::watched::for_a_while);
}

THRUM_OUT_OF_LINE thrum::context task_group::context() {
  const std::lock_guard guard(mutex_);
  if (!context_.has_value()) {
    const thrum::context from = above_.has_value() ? *above_ : thrum::context::background();
    context_ = from.with_stop_token(stop_source_.get_token());
  }
  return *context_;
}

THRUM_OUT_OF_LINE void task_group::request_stop() {
  std::stop_source own = source();
  static_cast<void>(go_detail::request_stop_here(own));
}

THRUM_OUT_OF_LINE std::ptrdiff_t task_group::to_permits(std::size_t limit) noexcept {
  constexpr auto most = std::numeric_limits<std::ptrdiff_t>::max();
  const bool is_limit = limit != 0 && limit < static_cast<std::size_t>(most);
  return is_limit ? static_cast<std::ptrdiff_t>(limit) : most;
}

THRUM_OUT_OF_LINE std::size_t task_group::limit() const noexcept {
  const std::ptrdiff_t most = slots_.max();
  return most != std::numeric_limits<std::ptrdiff_t>::max() ? static_cast<std::size_t>(most) : 0;
}

THRUM_OUT_OF_LINE void task_group::leave() {
  slots_.release();
  running_.done();
}

THRUM_OUT_OF_LINE std::stop_source task_group::source() {
  const std::lock_guard guard(mutex_);
  return stop_source_;
}

THRUM_OUT_OF_LINE void task_group::fail_unless_exiting() {
#if THRUM_EXCEPTIONS
  try {
    throw;
  } catch (const goroutine_exit&) {
    throw;
  } catch (...) {
    {
      const std::lock_guard guard(mutex_);
      if (error_ == nullptr) {
        error_ = std::current_exception();
      }
    }
    request_stop();
  }
#endif
}

}}  // namespace thrum::THRUM_ABI

#endif
