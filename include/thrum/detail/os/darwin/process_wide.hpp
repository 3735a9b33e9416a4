// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What exists once in a process, where the linker makes one variable of all of a name: in every shared
// object that does not hide its symbols. Those that do have a library of their own each.
#ifndef THRUM_DETAIL_OS_DARWIN_PROCESS_WIDE_HPP
#define THRUM_DETAIL_OS_DARWIN_PROCESS_WIDE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_MACOS

#include <thrum/detail/base/order.hpp>

#include <atomic>
#include <type_traits>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// The one T of the process. T() does not throw, T is never destroyed. What needs code to be made is made
/// while the first shared object that uses it is loaded, or by its first use, if that is earlier.
template <class T>
class process_wide {
 public:
  [[gnu::visibility("default")]] static T& get() noexcept {
    if constexpr (is_constant<T>) {
      return own.object;
    } else {
      static_cast<void>(&made_early);  // makes it exist
      static place made;
      return made.object;
    }
  }

 private:
  template <class U>
  static constexpr bool is_constant = requires {
    typename std::bool_constant<(U(), true)>;
  };

  union place {  // never destroyed
    constexpr place() noexcept : object() {}
    ~place() {}
    T object;
  };
  [[gnu::visibility("default")]] static inline place own;
  static inline const bool made_early = (get(), true);
};

/// The function of whichever shared object was the first to bring one: a handler that each of them
/// would install, and that all of them must know.
template <class Function>
Function* first_in_process(std::atomic<Function*>& first,
                           std::type_identity_t<Function>* own) noexcept {
  Function* known = nullptr;
  // relaxed: a constant once set
  return first.compare_exchange_strong(known, own, relaxed, relaxed) ? own : known;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_MACOS
#endif  // THRUM_DETAIL_OS_DARWIN_PROCESS_WIDE_HPP
