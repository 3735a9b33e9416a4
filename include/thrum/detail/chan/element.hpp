// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What may be an element of a channel, and how it lies there.
//
// Elements move without throwing: a type whose move may throw is kept in a box, allocated before
// the channel is locked, so that an exception leaves the channel as it was.
#ifndef THRUM_DETAIL_CHAN_ELEMENT_HPP
#define THRUM_DETAIL_CHAN_ELEMENT_HPP

#include <thrum/detail/base/config.hpp>

#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum { inline namespace THRUM_ABI { namespace chan_detail {

/// T; or, if that cannot be an element, what the compiler goes on with after it has said so once.
template <class T>
using element_or_other = std::conditional_t<
    std::is_reference_v<T> || std::is_const_v<T>, std::remove_cvref_t<T>,
    std::conditional_t<std::is_object_v<T> && std::is_move_constructible_v<T>, T, void>>;

/// Says so.
template <class T>
consteval bool must_be_element() {
  static_assert(!std::is_reference_v<T>,
                "chan<T>: T must not be a reference; send a pointer or a std::reference_wrapper");
  static_assert(
      !std::is_const_v<T>,
      "chan<T>: T must not be const, as elements are moved; receive into a const variable");
  static_assert(
      std::is_reference_v<T> || std::is_const_v<T> || std::is_same_v<T, element_or_other<T>>,
      "chan<T>: elements move from one goroutine to another, so T must be movable; send "
      "a std::unique_ptr<T>");
  return true;
}

/// How an element of type T lies in a channel: as itself, as nothing, or in a box.
template <class T>
struct chan_element {
  static constexpr bool is_boxed = !std::is_nothrow_move_constructible_v<T>;
  using type = std::conditional_t<is_boxed, std::unique_ptr<T>, T>;

  template <class From>
  static type wrap(From&& from) {
    if constexpr (is_boxed) {
      return std::make_unique<T>(std::forward<From>(from));
    } else {
      return type(std::forward<From>(from));
    }
  }
  static T&& unwrap(type& element) noexcept {
    if constexpr (is_boxed) {
      return std::move(*element);
    } else {
      return std::move(element);
    }
  }
};

template <>
struct chan_element<void> {
  using type = std::monostate;
};

/// Gives a value that was not sent back to where it came from. Throws what its assignment throws;
/// what cannot be assigned is made anew, and ends the program if that throws: its owner would
/// destroy a value that is none.
template <class T>
void put_back(T& value, T& from) {
  if constexpr (std::is_move_assignable_v<T>) {
    value = std::move(from);
  } else {
    [&]() noexcept {
      std::destroy_at(&value);
      std::construct_at(&value, std::move(from));
    }();
  }
}

}}}  // namespace thrum::THRUM_ABI::chan_detail

#endif
