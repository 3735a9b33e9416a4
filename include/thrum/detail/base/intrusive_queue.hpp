// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A singly linked queue through the member `queue_next` of its elements, with a count.
#ifndef THRUM_DETAIL_BASE_INTRUSIVE_QUEUE_HPP
#define THRUM_DETAIL_BASE_INTRUSIVE_QUEUE_HPP

#include <cstddef>

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// A queue of T, which has a public member `T* queue_next`. Does not own its elements; an element
/// is in one queue at a time. Not thread-safe: the owner's lock, or ownership, protects it. All
/// operations take constant time except pop_front_n.
template <class T>
class intrusive_queue {
 public:
  constexpr intrusive_queue() noexcept = default;
  intrusive_queue(intrusive_queue&& other) noexcept
      : head_(other.head_), tail_(other.tail_), size_(other.size_) {
    other.reset();
  }
  /// Takes the elements of `other`; this queue must be empty.
  intrusive_queue& operator=(intrusive_queue&& other) noexcept {
    THRUM_ASSERT(queue_is_empty_when_assigned, empty() || this == &other);
    if (this != &other) {
      head_ = other.head_;
      tail_ = other.tail_;
      size_ = other.size_;
      other.reset();
    }
    return *this;
  }

  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The first element, or nullptr.
  [[nodiscard]] T* front() const noexcept { return head_; }

  void push_back(T* element) noexcept {
    element->queue_next = nullptr;
    (tail_ != nullptr ? tail_->queue_next : head_) = element;
    tail_ = element;
    ++size_;
  }

  void push_front(T* element) noexcept {
    element->queue_next = head_;
    head_ = element;
    if (tail_ == nullptr) {
      tail_ = element;
    }
    ++size_;
  }

  /// Moves all elements of `other`, in order, behind those of this queue.
  void append(intrusive_queue&& other) noexcept {
    if (other.empty()) {
      return;
    }
    (tail_ != nullptr ? tail_->queue_next : head_) = other.head_;
    tail_ = other.tail_;
    size_ += other.size_;
    other.reset();
  }

  /// Moves all elements of `other`, in order, before those of this queue.
  void prepend(intrusive_queue&& other) noexcept {
    other.append(static_cast<intrusive_queue&&>(*this));
    *this = static_cast<intrusive_queue&&>(other);
  }

  /// Takes out the first element; nullptr when the queue is empty.
  [[nodiscard]] THRUM_INLINE T* pop_front() noexcept {
    T* const first = head_;
    if (first == nullptr) {
      return nullptr;
    }
    head_ = first->queue_next;
    if (head_ == nullptr) {
      tail_ = nullptr;
    }
    first->queue_next = nullptr;
    --size_;
    return first;
  }

  /// Takes out the first n elements, or all if there are fewer, in order. Linear in n.
  [[nodiscard]] intrusive_queue pop_front_n(std::size_t n) noexcept {
    intrusive_queue taken;
    if (n >= size_) {
      taken.append(static_cast<intrusive_queue&&>(*this));
      return taken;
    }
    if (n == 0) {
      return taken;
    }
    T* last = head_;
    for (std::size_t i = 1; i < n; ++i) {
      last = last->queue_next;
    }
    taken.head_ = head_;
    taken.tail_ = last;
    taken.size_ = n;
    head_ = last->queue_next;
    size_ -= n;
    last->queue_next = nullptr;
    return taken;
  }

  /// Takes out the first element for which `is_it(element)`; nullptr if there is none. Linear.
  template <class Predicate>
  [[nodiscard]] T* take_first(Predicate is_it) noexcept {
    T* before = nullptr;
    for (T* e = head_; e != nullptr; before = e, e = e->queue_next) {
      if (is_it(*e)) {
        (before != nullptr ? before->queue_next : head_) = e->queue_next;
        if (tail_ == e) {
          tail_ = before;
        }
        e->queue_next = nullptr;
        --size_;
        return e;
      }
    }
    return nullptr;
  }

 private:
  void reset() noexcept {
    head_ = tail_ = nullptr;
    size_ = 0;
  }

  T* head_ = nullptr;
  T* tail_ = nullptr;
  std::size_t size_ = 0;
};

}}}  // namespace thrum::THRUM_ABI::base

#endif  // THRUM_DETAIL_BASE_INTRUSIVE_QUEUE_HPP
