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
#include <thrum/context/node.hpp>
#include <thrum/context/node_definition.hpp>

#include <cstdint>
#include <stop_token>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE context context::with_stop_token(std::stop_token token) const {
  auto* const node = new context_detail::context_token_node(this->node());
  context made = entered(node);
  node->listen(std::move(token));
  return made;
}

THRUM_OUT_OF_LINE void context::cancel() const {
  if (node() == nullptr) {
    base::throw_usage("context::cancel: the background cannot be cancelled");
  }
  node()->cancel(context_detail::context_cause::canceled);
}

THRUM_OUT_OF_LINE std::error_code context::error() const noexcept {
  switch (cause()) {
    case context_detail::context_cause::none: break;
    case context_detail::context_cause::canceled:
      return std::make_error_code(std::errc::operation_canceled);
    case context_detail::context_cause::timed_out: return errc::deadline_exceeded;
  }
  return {};
}

THRUM_OUT_OF_LINE std::stop_token context::stop_token() const {
  return node() != nullptr ? node()->stop_token() : std::stop_token();
}

THRUM_OUT_OF_LINE context context::entered(context_detail::context_node* fresh) noexcept {
  context made;
  made.node_ = chan_detail::chan_handle<void>(chan_detail::adopt_reference{}, fresh);
  fresh->enter();
  return made;
}

THRUM_OUT_OF_LINE context context::child(std::int64_t deadline) const {
  return entered(new context_detail::context_node(node(), deadline));
}

}}  // namespace thrum::THRUM_ABI

#endif
