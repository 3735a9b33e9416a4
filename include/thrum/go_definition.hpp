// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What go.hpp declares: the bodies that are not inlined.
#ifndef THRUM_GO_DEFINITION_HPP
#define THRUM_GO_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/go.hpp>
#include <thrum/runtime.hpp>
#include <thrum/task.hpp>

#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

THRUM_OUT_OF_LINE void panic(goroutine& g, std::exception_ptr error) noexcept {
  static_cast<runtime*>(g.scheduler->config().user)->panic(std::move(error), g.id);
}

}}}  // namespace thrum::THRUM_ABI::go_detail

#endif
