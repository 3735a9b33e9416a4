// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where a scheduler has its Ps, hosts and tables from. Not inside a section (SC2 of section.hpp): both
// operator new and a hook may wait for a lock that user code holds.
#ifndef THRUM_DETAIL_SCHED_CORE_MEMORY_SOURCE_HPP
#define THRUM_DETAIL_SCHED_CORE_MEMORY_SOURCE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/memory_hooks.hpp>

#include <cstddef>
#include <new>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class memory_source {
 public:
  /// The system, and operator new.
  constexpr memory_source() noexcept = default;
  /// The hooks, which live on, if they are set.
  constexpr explicit memory_source(const memory_hooks& hooks) noexcept
      : hooks_(hooks.allocate != nullptr ? &hooks : nullptr) {}

  /// A table of so many T, none of which is made. Null: there is no memory.
  template <class T>
  T* take_table(std::size_t n) const noexcept {
    return static_cast<T*>(hooks_ != nullptr ? take<T>(n) : os::map(n * sizeof(T)));
  }
  template <class T>
  void give_back_table(T* table, std::size_t n) const noexcept {
    if (table == nullptr) {
      return;
    }
    if (hooks_ != nullptr) {
      give_back(table, n);
    } else {
      os::unmap(table, n * sizeof(T));
    }
  }

  /// Null: there is no memory.
  template <class T, class... Args>
  T* make(Args&&... args) const noexcept {
    if (hooks_ == nullptr) {
      return new (std::nothrow) T(std::forward<Args>(args)...);
    }
    void* const place = take<T>(1);
    return place != nullptr ? ::new (place) T(std::forward<Args>(args)...) : nullptr;
  }
  template <class T>
  void destroy(T* object) const noexcept {
    if (hooks_ == nullptr) {
      delete object;
    } else {
      object->~T();
      give_back(object, 1);
    }
  }

 private:
  template <class T>
  void* take(std::size_t n) const noexcept {
    return hooks_->allocate(n * sizeof(T), alignof(T), memory_use::object, hooks_->context);
  }
  template <class T>
  void give_back(T* memory, std::size_t n) const noexcept {
    hooks_->deallocate(memory, n * sizeof(T), alignof(T), memory_use::object, hooks_->context);
  }

  const memory_hooks* hooks_ = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
