// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// An intrusive_list of one word, for objects that are to be small: the first element's `prev` leads
// to the last one.
#ifndef THRUM_DETAIL_BASE_INTRUSIVE_RING_HPP
#define THRUM_DETAIL_BASE_INTRUSIVE_RING_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/intrusive_list.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// As intrusive_list.
template <class T>
class intrusive_ring {
 public:
  constexpr intrusive_ring() noexcept = default;

  /// The first element, or nullptr.
  [[nodiscard]] T* front() const noexcept { return first_; }

  void push_back(T& element) noexcept {
    list_node<T>& node = links(element);
    THRUM_ASSERT(ring_element_is_free, !node.linked);
    node.linked = true;
    node.next = nullptr;
    if (first_ == nullptr) {
      node.prev = &element;
      first_ = &element;
      return;
    }
    T* const last = links(*first_).prev;
    node.prev = last;
    links(*last).next = &element;
    links(*first_).prev = &element;
  }

  /// Takes out the first element; nullptr when there is none.
  T* pop_front() noexcept {
    T* const first = first_;
    if (first != nullptr) {
      remove(*first);
    }
    return first;
  }

  /// Takes out an element of this ring.
  void remove(T& element) noexcept {
    list_node<T>& node = links(element);
    THRUM_ASSERT(ring_element_is_linked, node.linked);
    T* const last = links(*first_).prev;
    if (&element == first_) {
      first_ = node.next;
      if (first_ != nullptr) {
        links(*first_).prev = last;
      }
    } else {
      links(*node.prev).next = node.next;
      links(node.next != nullptr ? *node.next : *first_).prev = node.prev;
    }
    node = list_node<T>{};
  }

  /// All elements, as a list.
  [[nodiscard]] intrusive_list<T> take_all() noexcept {
    if (first_ == nullptr) {
      return {};
    }
    T* const last = links(*first_).prev;
    links(*first_).prev = nullptr;
    T* const first = first_;
    first_ = nullptr;
    return intrusive_list<T>(first, last);
  }

 private:
  static list_node<T>& links(T& element) noexcept { return element; }

  T* first_ = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::base

#endif
