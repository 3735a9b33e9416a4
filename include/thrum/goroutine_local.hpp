// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// goroutine_local: a variable of which each goroutine has its own.
//
// A goroutine's values form a list, the newest first, that hangs on its G; a foreign thread's hang
// on the thread. The list is searched from the front: cheap for the few that a program has. A value
// belongs to the goroutine and not to the goroutine_local object, whose number is never used again:
// so either may go first.
#ifndef THRUM_GOROUTINE_LOCAL_HPP
#define THRUM_GOROUTINE_LOCAL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sched/core/g.hpp>

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace go_detail {

/// Where the caller's values hang.
sched::local_value*& callers_locals();

THRUM_OUT_OF_LINE std::uint64_t next_local_key() noexcept;

}  // namespace go_detail

/// Like a thread_local variable, but for each goroutine, whatever thread it runs on; a foreign
/// thread has one too. A value is made when its goroutine first asks for it and destroyed when that
/// ends, the newest first, before a join of it returns. Different goroutines may use the
/// object at the same time.
///
/// When not to use: for what could be a parameter, or a value in a context.
template <class T>
class goroutine_local {
 public:
  /// Values start as T().
  goroutine_local() requires std::is_default_constructible_v<T> : make_([] { return T(); }) {}

  /// Values start as a copy of `initial`.
  explicit goroutine_local(T initial) requires std::is_copy_constructible_v<T>
      : make_([value = std::move(initial)] { return value; }) {}

  /// Values start as what `make()` returns.
  template <class F>
  requires(std::is_invocable_r_v<T, F&> &&
           !std::is_convertible_v<F, T>) explicit goroutine_local(F make)
      : make_(std::move(make)) {}

  goroutine_local(const goroutine_local&) = delete;
  goroutine_local& operator=(const goroutine_local&) = delete;

  /// The caller's value. The reference holds while the goroutine lives. Throws what making one
  /// throws.
  T& get() { return of_caller(); }

  /// The caller's value, for reading only. Made at the first use, too.
  const T& get() const { return of_caller(); }

  /// As get(): makes the caller's value at the first use.
  T& operator*() { return get(); }
  T* operator->() { return &get(); }
  const T& operator*() const { return get(); }
  const T* operator->() const { return &get(); }

 private:
  T& of_caller() const {
    for (sched::local_value* v = go_detail::callers_locals(); v != nullptr; v = v->next) {
      if (v->key == key_) {
        return static_cast<value*>(v)->held;
      }
    }
    auto* const made = new value(key_, make_);
    sched::local_value*& first = go_detail::callers_locals();
    made->next = first;
    first = made;
    return made->held;
  }

  struct value final : sched::local_value {
    value(std::uint64_t number, const std::function<T()>& make) : held(make()) {
      this->key = number;
      this->destroy = [](sched::local_value& self) noexcept { delete static_cast<value*>(&self); };
    }
    T held;
  };

  const std::uint64_t key_ = go_detail::next_local_key();
  const std::function<T()> make_;
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/sched/core/current.hpp>

#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

using namespace sched;

/// The values of a thread that is no goroutine's; destroyed when it ends.
struct thread_locals {
  local_value* first = nullptr;
  ~thread_locals() { destroy_locals(first); }
};

THRUM_NOINLINE THRUM_OUT_OF_LINE local_value*& callers_locals() {
  asm volatile("");
  auto* const m = current_m();
  if (m != nullptr && m->g != nullptr) {
    return m->g->locals;
  }
  return os::of_this_thread<thread_locals>().first;
}

/// A goroutine may come by several shared objects, which have one row of keys.
struct last_local_key {
  static constexpr std::string_view process_name = "go_detail::last_local_key";
  base::shared_figure<std::uint64_t> last{0};
};

THRUM_OUT_OF_LINE std::uint64_t next_local_key() noexcept {
  auto& last = os::process_wide<last_local_key>::get().last;
  return last.add() + 1;
}

}}}  // namespace thrum::THRUM_ABI::go_detail
#endif

#endif
