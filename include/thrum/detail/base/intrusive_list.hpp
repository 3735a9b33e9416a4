// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A doubly linked list through the elements themselves: no allocation, removal from the middle in
// constant time.
#ifndef THRUM_DETAIL_BASE_INTRUSIVE_LIST_HPP
#define THRUM_DETAIL_BASE_INTRUSIVE_LIST_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// What an element of an intrusive_list derives from. Written by the list only; `linked` may be
/// read under the lock of the list.
template <class T>
struct list_node {
  T* next = nullptr;
  T* prev = nullptr;
  bool linked = false;
};

/// A list of T, which derives from list_node<T>. Does not own its elements; an element is in one
/// list at a time. Not thread-safe: the owner's lock protects it. Every operation takes constant
/// time; the size is not kept.
template <class T>
class intrusive_list {
 public:
  constexpr intrusive_list() noexcept = default;
  /// Makes a list of elements that are linked with each other already; both may be null.
  intrusive_list(T* first, T* last) noexcept : head_(first), tail_(last) {}
  intrusive_list(intrusive_list&& other) noexcept : head_(other.head_), tail_(other.tail_) {
    other.head_ = other.tail_ = nullptr;
  }
  /// Takes the elements of `other`; this list must be empty.
  intrusive_list& operator=(intrusive_list&& other) noexcept {
    THRUM_ASSERT(list_is_empty_when_assigned, empty());
    T* const head = other.head_;
    T* const tail = other.tail_;
    other.head_ = other.tail_ = nullptr;
    head_ = head;
    tail_ = tail;
    return *this;
  }

  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }

  /// The first and the last element, or nullptr.
  [[nodiscard]] T* front() const noexcept { return head_; }
  [[nodiscard]] T* back() const noexcept { return tail_; }

  /// The neighbours of an element of this list, or nullptr at the ends.
  [[nodiscard]] static T* next(const T& element) noexcept { return links(element).next; }
  [[nodiscard]] static T* prev(const T& element) noexcept { return links(element).prev; }

  void push_back(T& element) noexcept { link(tail_, element, nullptr); }
  void push_front(T& element) noexcept { link(nullptr, element, head_); }

  /// Takes out the first element; nullptr when the list is empty.
  T* pop_front() noexcept {
    T* const first = head_;
    if (first != nullptr) {
      remove(*first);
    }
    return first;
  }

  /// Takes out an element that is in this list.
  void remove(T& element) noexcept {
    list_node<T>& node = links(element);
    THRUM_ASSERT(list_element_is_linked, node.linked);
    (node.prev != nullptr ? links(*node.prev).next : head_) = node.next;
    (node.next != nullptr ? links(*node.next).prev : tail_) = node.prev;
    node = list_node<T>{};
  }

  /// Takes all elements out, from both ends in turns: first_half(e) for each of the one, from the
  /// front, second_half(e) for each of the other, from the back. A walk through elements that are in
  /// no cache waits for each; so it waits for two at a time.
  template <class FirstHalf, class SecondHalf>
  void take_from_both_ends(FirstHalf first_half, SecondHalf second_half) noexcept {
    T* front = head_;
    T* back = tail_;
    head_ = tail_ = nullptr;
    while (front != nullptr) {
      T* const after = links(*front).next;
      links(*front) = list_node<T>{};
      first_half(*front);
      if (front == back) {
        return;
      }
      T* const before = links(*back).prev;
      links(*back) = list_node<T>{};
      second_half(*back);
      if (after == back) {
        return;
      }
      front = after;
      back = before;
    }
  }

  /// Empties this list into the returned one.
  [[nodiscard]] intrusive_list take_all() noexcept { return static_cast<intrusive_list&&>(*this); }

 private:
  static list_node<T>& links(T& element) noexcept { return element; }
  static const list_node<T>& links(const T& element) noexcept { return element; }

  void link(T* before, T& element, T* after) noexcept {
    list_node<T>& node = links(element);
    THRUM_ASSERT(list_element_is_free, !node.linked);
    node.prev = before;
    node.next = after;
    node.linked = true;
    (before != nullptr ? links(*before).next : head_) = &element;
    (after != nullptr ? links(*after).prev : tail_) = &element;
  }

  T* head_ = nullptr;
  T* tail_ = nullptr;
};

// An intrusive_list of one word, for objects that are to be small: the first element's `prev` leads
// to the last one.

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

#endif  // THRUM_DETAIL_BASE_INTRUSIVE_LIST_HPP
