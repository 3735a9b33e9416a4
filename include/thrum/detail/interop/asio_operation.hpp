// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// An operation of Asio that a goroutine waits for, and which Asio that is.
//
// How a wait ends early
//   The goroutine emits the operation's cancellation signal, and waits for the operation's end: the kernel may
//   still write to the caller's buffers. Asio wants both on the executor of the I/O object, since a composed
//   operation changes the slot from there. So the signal is posted to the executor that the operation asked the
//   handler about, and the goroutine waits for that function, too.
//
// AW1  an operation outlives its handler and each posted signal: all of them are counted, and the destructor
//      waits for the count to be zero. A handler that Asio destroys without a call counts down.
#ifndef THRUM_DETAIL_INTEROP_ASIO_OPERATION_HPP
#define THRUM_DETAIL_INTEROP_ASIO_OPERATION_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/stoppable.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/stop_condition.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#if !THRUM_EXCEPTIONS
#error "thrum: <thrum/interop/asio.hpp> needs exceptions"
#endif

#ifndef THRUM_ASIO_BOOST
#if defined(ASIO_VERSION)
#define THRUM_ASIO_BOOST 0
#elif defined(BOOST_ASIO_VERSION)
#define THRUM_ASIO_BOOST 1
#elif __has_include(<asio/version.hpp>)
#define THRUM_ASIO_BOOST 0
#else
#define THRUM_ASIO_BOOST 1
#endif
#endif

#if THRUM_ASIO_BOOST
#define THRUM_ASIO_NAMES boost_asio
#define THRUM_ASIO_LIBRARY ::boost::asio
#define THRUM_ASIO_SYSTEM ::boost::system
#include <boost/asio/version.hpp>
#if BOOST_ASIO_VERSION >= 102000
#define THRUM_ASIO_CANCELS 1
#include <boost/asio/cancellation_signal.hpp>
#endif
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#else
#define THRUM_ASIO_NAMES standalone_asio
#define THRUM_ASIO_LIBRARY ::asio
#define THRUM_ASIO_SYSTEM ::asio
#include <asio/version.hpp>
#if ASIO_VERSION >= 102000
#define THRUM_ASIO_CANCELS 1
#include <asio/cancellation_signal.hpp>
#endif
#include <asio/any_io_executor.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/error.hpp>
#include <asio/error_code.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/post.hpp>
#include <asio/system_error.hpp>
#endif

// Each Asio has names of its own: a program may use both in different files.
namespace thrum { inline namespace THRUM_ABI { inline namespace THRUM_ASIO_NAMES {
namespace asio_detail {

namespace lib = THRUM_ASIO_LIBRARY;
using error_code = THRUM_ASIO_SYSTEM::error_code;
using system_error = THRUM_ASIO_SYSTEM::system_error;

using namespace base::orders;
using namespace sched;

/// What one goroutine waits for: the end of each part that was counted.
class countdown {
 public:
  explicit countdown(std::size_t parts) noexcept : parts_(parts) {}
  countdown(const countdown&) = delete;
  countdown& operator=(const countdown&) = delete;
  ~countdown() = default;

  /// Counts one more part. False: it is closed.
  bool add() noexcept {
    const section here;
    const scoped held(lock_);
    if (!is_closed_) {
      ++parts_;
    }
    return !is_closed_;
  }
  void close() noexcept {
    const section here;
    const scoped held(lock_);
    is_closed_ = true;
  }

  /// A part has ended. After the last one the owner may destroy this.
  void drop() noexcept {
    const section here;
    wait_point* waits = nullptr;
    lock_.lock();
    if (--parts_ == 0) {
      waits = waiter_.pop(wake_cause::notified);
    }
    lock_.unlock();
    if (waits != nullptr) {
      wake(here.m(), *waits);
    }
  }

  /// Waits until the count is zero. Any thread.
  wake_cause wait(std::int64_t deadline) noexcept {
    section here;
    sync_detail::waiting self(here, waiter_);
    lock_.lock();
    if (parts_ == 0) {
      lock_.unlock();
      return wake_cause::notified;
    }
    return self.wait({wait_reason::io_read, true, deadline});
  }
  /// Not a cancellation point.
  void wait_to_the_end() noexcept {
    const sched::uncancellable to_the_end;
    wait(no_deadline);
  }

 private:
  spin_lock lock_{lock_rank::waiters};
  std::size_t parts_;
  bool is_closed_ = false;
  sync_detail::wait_list waiter_{lock_};
};

/// A counted part: ends it when it is destroyed.
class part {
 public:
  explicit part(countdown& of) noexcept : of_(&of) {}
  part(part&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  part& operator=(part&&) = delete;
  ~part() { end(); }

  void end() noexcept {
    if (of_ != nullptr) {
      std::exchange(of_, nullptr)->drop();
    }
  }

 private:
  countdown* of_;
};

/// No end of its own.
struct endless {};

/// Why a wait has ended.
enum class outcome : std::uint8_t { ended, stopped, timed_out };

/// The memory of an operation, in the frame of the goroutine that waits for it: Asio has freed it when it calls
/// the handler. A composed operation has one inner operation at a time; what else it asks for comes from the heap.
class frame_memory {
 public:
  void* take(std::size_t size) {
    // [asio.memory <] acquire: the last owner of the bytes has left them
    if (size <= sizeof(bytes_) && !is_taken_.exchange(true, acquire)) {
      return bytes_;
    }
    return ::operator new(size);
  }
  void give_back(void* memory) noexcept {
    if (memory == bytes_) {
      is_taken_.store(false, release);  // [asio.memory >] release: we have left the bytes
    } else {
      ::operator delete(memory);
    }
  }

 private:
  std::atomic<bool> is_taken_{false};
  alignas(std::max_align_t) std::byte bytes_[512];
};

/// The associated allocator of a handler.
template <class T>
class frame_allocator {
 public:
  using value_type = T;
  explicit frame_allocator(frame_memory& from) noexcept : from_(&from) {}
  template <class U>
  frame_allocator(const frame_allocator<U>& other) noexcept : from_(other.from()) {}

  T* allocate(std::size_t n) {
    if constexpr (alignof(T) > alignof(std::max_align_t)) {
      return std::allocator<T>().allocate(n);
    } else {
      return static_cast<T*>(from_->take(n * sizeof(T)));
    }
  }
  void deallocate(T* memory, std::size_t n) noexcept {
    if constexpr (alignof(T) > alignof(std::max_align_t)) {
      std::allocator<T>().deallocate(memory, n);
    } else {
      from_->give_back(memory);
    }
  }
  frame_memory* from() const noexcept { return from_; }

  template <class U>
  friend bool operator==(const frame_allocator& a, const frame_allocator<U>& b) noexcept {
    return a.from() == b.from();
  }
  template <class U>
  friend bool operator!=(const frame_allocator& a, const frame_allocator<U>& b) noexcept {
    return a.from() != b.from();
  }

 private:
  frame_memory* from_;
};

/// An operation that a goroutine waits for. Lies in its frame.
class operation_base {
 public:
  operation_base() = default;
  operation_base(const operation_base&) = delete;
  operation_base& operator=(const operation_base&) = delete;
  ~operation_base() { left_.wait_to_the_end(); }  // AW1

  countdown& left() noexcept { return left_; }
  frame_memory& memory() noexcept { return memory_; }

  /// Waits for the operation's end. A cancellation point.
  outcome wait(const endless& /*end*/) {
    end_by(left_.wait(no_deadline));
    return outcome::ended;
  }
  template <until_condition Until>
  outcome wait(const Until& until) {
    wake_cause cause = wake_cause::none;
    const bool has_ended = stop_detail::until_stopped(until, [&](std::int64_t deadline) {
      cause = left_.wait(deadline);
      return cause == wake_cause::notified || cause == wake_cause::cancelled;
    });
    end_by(cause);
    return has_ended ? outcome::ended : end_of<Until>;
  }

  /// What a wait ended by that an end of this kind ended.
  template <class Until>
  static constexpr outcome end_of = stop_condition<Until> ? outcome::stopped : outcome::timed_out;

#if THRUM_ASIO_CANCELS
  lib::cancellation_slot slot() noexcept { return signal_.slot(); }
#endif

  /// The operation asks for its handler's executor: `of_object` is that of the I/O object.
  template <class Executor>
  void learn_executor([[maybe_unused]] const Executor& of_object) noexcept {
#if THRUM_ASIO_CANCELS
    if constexpr (std::is_convertible_v<const Executor&, lib::any_io_executor>) {
      // relaxed: is_known_ publishes what the first one writes
      if (!is_asked_.exchange(true, relaxed)) {
        on_ = of_object;
        is_known_.store(true, release);  // [asio.executor >] release: `on_`
      }
    }
#endif
  }

 private:
  void end_by(wake_cause cause) {
    if (cause != wake_cause::notified) [[unlikely]] {
      cancel();
      left_.wait_to_the_end();
      exit_if_cancelled(cause);
    }
  }

#if THRUM_ASIO_CANCELS
  class emission {
   public:
    explicit emission(operation_base& of) noexcept : signal_(&of.signal_), part_(of.left_) {}
    void operator()() { signal_->emit(lib::cancellation_type::all); }

   private:
    lib::cancellation_signal* signal_;
    part part_;
  };

  THRUM_COLD void cancel() noexcept {
    left_.add();
    // [asio.executor <] acquire: `on_`
    if (is_known_.load(acquire)) {
      THRUM_TRY {
        lib::post(on_, emission(*this));
        return;
      }
      THRUM_CATCH_ALL {}  // no memory: from here, as the part has been ended
      left_.add();
    }
    emission (*this)();
  }

  lib::cancellation_signal signal_;
  lib::any_io_executor on_;
  std::atomic<bool> is_asked_{false};
  std::atomic<bool> is_known_{false};
#else
  void cancel() noexcept {}
#endif

  countdown left_{1};
  frame_memory memory_;
};

/// How the arguments of a handler become a result. The first one may say that there is none.
template <class... Args>
struct outcome_of {
  static constexpr bool has_error = false;
  using values = std::tuple<Args...>;
};
template <class... Args>
struct outcome_of<error_code, Args...> {
  static constexpr bool has_error = true;
  using values = std::tuple<Args...>;
};
template <class... Args>
struct outcome_of<std::exception_ptr, Args...> {
  static constexpr bool has_error = true;
  using values = std::tuple<Args...>;
};

template <class Values>
struct result_of {
  using type = Values;
};
template <>
struct result_of<std::tuple<>> {
  using type = void;
};
template <class T>
struct result_of<std::tuple<T>> {
  using type = T;
};

template <class... Args>
class operation : public operation_base {
  using kind = outcome_of<Args...>;
  using values = typename kind::values;

 public:
  using result = typename result_of<values>::type;

  template <class... From>
  void keep(From&&... from) {
    arguments_.emplace(std::forward<From>(from)...);
  }

  /// The result of an operation that has ended. Its error goes to `to`, or is thrown.
  result take(error_code* to, outcome why) {
    error_code error;
    if (!arguments_) {
      error = error_of(why);
    } else if constexpr (kind::has_error) {
      auto& first = std::get<0>(*arguments_);
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(first)>, error_code>) {
        error = first == lib::error::operation_aborted ? error_of(why) : first;
      } else if (first != nullptr) {
        std::rethrow_exception(std::move(first));
      }
    }
    if (to != nullptr) {
      *to = error;
    } else if (error) {
      throw system_error(error);
    }
    if constexpr (!std::is_void_v<result>) {
      if (arguments_) {
        return values_of(std::index_sequence_for<Args...>());
      }
      if constexpr (std::is_default_constructible_v<result>) {
        return result();
      } else {
        throw system_error(error);
      }
    }
  }

 private:
  static error_code error_of(outcome why) noexcept {
    return why == outcome::timed_out ? error_code(lib::error::timed_out)
                                     : error_code(lib::error::operation_aborted);
  }

  template <std::size_t... I>
  result values_of(std::index_sequence<I...> /*all*/) {
    if constexpr (!kind::has_error) {
      return result(std::get<I>(std::move(*arguments_))...);
    } else {
      return behind_first(std::make_index_sequence<sizeof...(I) - 1>());
    }
  }
  template <std::size_t... I>
  result behind_first(std::index_sequence<I...> /*all*/) {
    return result(std::get<I + 1>(std::move(*arguments_))...);
  }

  std::optional<std::tuple<Args...>> arguments_;
};

/// What Asio calls, or destroys, at the end of an operation.
template <class Operation>
class handler {
 public:
  explicit handler(Operation& of) noexcept : of_(&of), part_(of.left()) {}

  template <class... Args>
  void operator()(Args&&... args) {
    of_->keep(std::forward<Args>(args)...);
    part_.end();
  }

  using allocator_type = frame_allocator<void>;
  allocator_type get_allocator() const noexcept { return allocator_type(of_->memory()); }
#if THRUM_ASIO_CANCELS
  using cancellation_slot_type = lib::cancellation_slot;
  cancellation_slot_type get_cancellation_slot() const noexcept { return of_->slot(); }
#endif
  Operation& of() const noexcept { return *of_; }

 private:
  Operation* of_;
  part part_;
};

}}}}  // namespace thrum::THRUM_ABI::THRUM_ASIO_NAMES::asio_detail

#endif
