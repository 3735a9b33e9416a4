// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a receive returns by value: a std::optional that checks its dereference.
//
// `*c.recv()` of a std::optional reads an element that is not there when the channel is closed, and the
// program goes on with it. Here it is a usage_error. The check is a branch at the dereference alone, and the
// compiler drops it after `if (v)`.
//
// It is derived, so that a function template of a std::optional<T> takes it. The standard's comparisons take
// a derived class for a value, to which an empty optional is never equal; so `==` with its like is here.
#ifndef THRUM_DETAIL_CHAN_RECV_RESULT_HPP
#define THRUM_DETAIL_CHAN_RECV_RESULT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace chan_detail {

/// `function` is what the compiler calls throw_no_element, at whose end it says what T is.
[[noreturn]] THRUM_COLD inline void throw_no_element_of(std::string_view function) {
  constexpr std::string_view before = "T = ";
  std::string text = "chan";
  const std::size_t at = function.find(before);
  const std::size_t end = function.rfind(']');
  if (at < end && end != std::string_view::npos) {
    const std::size_t begin = at + before.size();
    text.append("<").append(function.substr(begin, end - begin)).append(">");
  }
  text.append(
      "::recv: `*` or `->` of a receive that got no element: the channel is closed, or nothing "
      "came in time; test the result first, as in `if (auto v = c.recv())`");
  base::throw_usage(text.c_str());
}

template <class T>
[[noreturn]] THRUM_COLD void throw_no_element() {
  throw_no_element_of(static_cast<const char*>(__PRETTY_FUNCTION__));
}

}  // namespace chan_detail

/// An element received by value: a std::optional<T>, empty if there was none. Converts to
/// std::optional<T>. `*` and `->` of an empty one are a usage_error.
template <class T>
class recv_result : public std::optional<T> {
  using optional = std::optional<T>;

 public:
  /// Nothing.
  recv_result() noexcept = default;
  recv_result(std::nullopt_t) noexcept {}  // NOLINT: as an optional
  /// For the library.
  template <class... Args>
  explicit recv_result(std::in_place_t in_place, Args&&... args)
      : optional(in_place, std::forward<Args>(args)...) {}

  /// As std::optional's.
  template <class U>
  requires(!std::is_same_v<std::remove_cvref_t<U>, recv_result> &&
           std::is_assignable_v<optional&, U>) recv_result&
  operator=(U&& value) {
    optional::operator=(std::forward<U>(value));
    return *this;
  }

  /// The element. usage_error if there is none.
  T& operator*() & {
    check();
    return optional::operator*();
  }
  const T& operator*() const& {
    check();
    return optional::operator*();
  }
  T&& operator*() && {
    check();
    return std::move(optional::operator*());
  }
  const T&& operator*() const&& {
    check();
    return std::move(optional::operator*());
  }
  T* operator->() {
    check();
    return optional::operator->();
  }
  const T* operator->() const {
    check();
    return optional::operator->();
  }

 private:
  void check() const {
    if (!this->has_value()) [[unlikely]] {
      chan_detail::throw_no_element<T>();
    }
  }
};

/// Equal if both are empty or have equal elements.
template <std::equality_comparable T>
bool operator==(const recv_result<T>& a, const recv_result<T>& b) {
  return static_cast<const std::optional<T>&>(a) == static_cast<const std::optional<T>&>(b);
}
template <std::equality_comparable T>
bool operator==(const recv_result<T>& a, const std::optional<T>& b) {
  return static_cast<const std::optional<T>&>(a) == b;
}
template <std::equality_comparable T>
bool operator==(const std::optional<T>& a, const recv_result<T>& b) {
  return b == a;
}

namespace chan_detail {

/// What a receive returns: a plain std::optional of a T that can be made of anything that converts to bool
/// (bool, std::any), since a std::optional<bool> made of a recv_result<bool> would hold whether there is one.
template <class T>
using received_value = std::conditional_t<std::is_constructible_v<T, recv_result<T>>,
                                          std::optional<T>, recv_result<T>>;

}  // namespace chan_detail

}}  // namespace thrum::THRUM_ABI

#endif
