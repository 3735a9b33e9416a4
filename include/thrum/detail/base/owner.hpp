// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A pointer that owns its object, for members whose type is only declared where they stand.
//
// std::unique_ptr does the same; but each type that it points to costs a user's compiler 12 ms, of
// the 600 that all standard headers here take, for deleters and tuples that are not needed here.
#ifndef THRUM_DETAIL_BASE_OWNER_HPP
#define THRUM_DETAIL_BASE_OWNER_HPP

#include <thrum/detail/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// Deletes what it points to. Move-only; null once moved from. T is complete where it is destroyed.
template <class T>
class owner {
 public:
  constexpr owner() noexcept = default;
  /// Takes over what `new` has made; null is nothing.
  explicit owner(T* object) noexcept : object_(object) {}
  owner(owner&& other) noexcept : object_(other.release()) {}
  owner& operator=(owner&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~owner() { delete object_; }

  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

  /// Deletes the object and points to another, or to none.
  void reset(T* other = nullptr) noexcept {
    T* const before = object_;
    object_ = other;
    delete before;
  }
  /// Gives the object up without deleting it.
  [[nodiscard]] T* release() noexcept {
    T* const object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  T* object_ = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::base

#endif
