// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What context.hpp declares: the bodies that are not inlined.
#ifndef THRUM_CONTEXT_DEFINITION_HPP
#define THRUM_CONTEXT_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/errc.hpp>
#include <thrum/base/error.hpp>
#include <thrum/context.hpp>
#include <thrum/context/function.hpp>
#include <thrum/context/node.hpp>
#include <thrum/context/node_definition.hpp>
#include <thrum/runtime.hpp>
#include <thrum/time/timer.hpp>

#include <memory>
#include <stop_token>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace context_detail {

/// The error of a context that is done so.
inline std::error_code error_of(context_cause how) noexcept {
  switch (how) {
    case context_cause::none: break;
    case context_cause::canceled: return std::make_error_code(std::errc::operation_canceled);
    case context_cause::timed_out: return errc::deadline_exceeded;
  }
  return {};
}

}  // namespace context_detail

THRUM_OUT_OF_LINE context context::with_stop_token(std::stop_token token) const {
  auto* const node = new context_detail::context_token_node(this->node());
  context made = entered(node);
  node->listen(std::move(token));
  return made;
}

THRUM_OUT_OF_LINE void context::cancel(std::error_code cause) const {
  if (node() == nullptr) {
    base::throw_usage("context::cancel: the background cannot be cancelled");
  }
  node()->cancel(context_detail::context_cause::canceled, cause);
}

THRUM_OUT_OF_LINE std::error_code context::error() const noexcept {
  return context_detail::error_of(how());
}

THRUM_OUT_OF_LINE std::error_code context::cause() const noexcept {
  const auto known = how();
  if (known == context_detail::context_cause::none || !node()->told()) {
    return context_detail::error_of(known);
  }
  return node()->told();
}

THRUM_OUT_OF_LINE context context::without_cancel() const {
  using node_type = context_detail::context_node;
  return entered(new node_type(node(), {}, node_type::follows::nothing));
}

THRUM_OUT_OF_LINE std::stop_token context::stop_token() const {
  return node() != nullptr ? node()->stop_token(context_detail::context_node::watched::until_done)
                           : std::stop_token();
}

THRUM_OUT_OF_LINE bool context_call::stop() const noexcept {
  return function_ != nullptr &&
         static_cast<context_detail::context_node*>(context_.core())->take_back(*function_);
}

THRUM_OUT_OF_LINE runtime& context::current_runtime() {
  runtime* const own = runtime::current();
  if (own == nullptr) {
    base::throw_usage(
        "context::after_func: called outside of a runtime; name one before the function");
  }
  return *own;
}

THRUM_OUT_OF_LINE context_call
context::called_when_done(runtime& where, time_detail::func_timer_handle function) const {
  const context of = node() != nullptr ? *this : with_cancel();  // which nobody cancels
  auto made = std::make_shared<context_detail::context_function>(std::move(function));
  of.node()->call_when_done(made, where.scheduler());
  return {of.node_, std::move(made)};
}

THRUM_OUT_OF_LINE context context::entered(context_detail::context_node* fresh) noexcept {
  context made;
  made.node_ = chan_detail::chan_handle<void>(chan_detail::adopt_reference{}, fresh);
  fresh->enter();
  return made;
}

THRUM_OUT_OF_LINE context
context::child(const context_detail::context_node::own_deadline& deadline) const {
  return entered(new context_detail::context_node(node(), deadline));
}

}}  // namespace thrum::THRUM_ABI

#endif
