// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The public surface, name by name: of the library this file includes
// <thrum.hpp> alone (and the one header that only tests want), and it compiles only if every name is
// there in the form that programs use. What the names do is tested elsewhere.

#include <thrum.hpp>
#include <thrum/coroutine.hpp>
#include <thrum/generator.hpp>
#include <thrum/io/directory.hpp>
#include <thrum/io/file_watch.hpp>
#include <thrum/io/pseudo_terminal.hpp>
#include <thrum/io/temporary.hpp>
#include <thrum/sync/pool.hpp>
#include <thrum/sync/recursive_mutex.hpp>
#include <thrum/sync/singleflight.hpp>
#include <thrum/sync/weighted_semaphore.hpp>
#include <thrum/testing/bubble.hpp>
#include <thrum/testing/fake_net.hpp>
#include <thrum/time/rate_limiter.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace {

template <class A, class B>
inline constexpr bool same = std::is_same_v<A, B>;

// The types of what the expressions give.
#define GIVES(type, ...) static_assert(same<type, decltype(__VA_ARGS__)>, #__VA_ARGS__)

struct move_only {
  explicit move_only(int v) noexcept : value(v) {}
  move_only(move_only&& other) noexcept : value(other.value) {}
  move_only& operator=(move_only&& other) noexcept {
    value = other.value;
    return *this;
  }
  ~move_only() = default;
  int value;
};

using namespace std::chrono_literals;
using std::declval;
using thrum::time_point;

// ---- start and stop -----------------------------------------------------------------------------

GIVES(int, thrum::run([] {}));
GIVES(int, thrum::run([] { return 7; }));
GIVES(int, thrum::run(thrum::options{}, [] {}));
static_assert(same<bool, decltype(thrum::options::main_thread)>);
GIVES(std::size_t, declval<thrum::runtime&>().poll());
GIVES(std::size_t, declval<thrum::runtime&>().run_for(1ms));
GIVES(std::size_t, declval<thrum::runtime&>().run_until_idle());
GIVES(void, declval<thrum::runtime&>().go(thrum::on_host, [] {}));
GIVES(thrum::join_handle<int>, declval<thrum::runtime&>().spawn(thrum::on_host, [] { return 1; }));
GIVES(void, thrum::go(thrum::on_host, [] {}));
GIVES(void, thrum::go(
                thrum::on_host, {.name = "x"}, [](int) {}, 1));
GIVES(thrum::join_handle<int>, thrum::spawn(
                                   thrum::on_host, [](int i) { return i; }, 1));
static_assert(same<const thrum::on_host_t, decltype(thrum::on_host)>);
GIVES(int, thrum::run(thrum::options::from_environment(), [m = move_only(1)] { return m.value; }));

static_assert(same<unsigned, decltype(thrum::options::procs)>);
static_assert(same<unsigned, decltype(thrum::options::max_threads)>);
static_assert(same<std::size_t, decltype(thrum::options::stack_size)>);
static_assert(same<thrum::memory_hooks, decltype(thrum::options::memory)>);
static_assert(same<void* (*)(std::size_t, std::size_t, thrum::memory_use, void*) noexcept,
                   decltype(thrum::memory_hooks::allocate)>);
static_assert(same<void (*)(void*, std::size_t, std::size_t, thrum::memory_use, void*) noexcept,
                   decltype(thrum::memory_hooks::deallocate)>);
static_assert(same<void*, decltype(thrum::memory_hooks::context)>);
static_assert(same<std::size_t, decltype(thrum::memory_hooks::stack_guard)>);
static_assert(thrum::memory_use::stack != thrum::memory_use::object);
static_assert(same<std::chrono::nanoseconds, decltype(thrum::options::time_slice)>);
static_assert(same<thrum::preemption, decltype(thrum::options::preempt)>);
static_assert(same<thrum::poller_kind, decltype(thrum::options::poller)>);
static_assert(thrum::poller_kind::usual != thrum::poller_kind::io_uring);
static_assert(same<std::chrono::milliseconds, decltype(thrum::options::schedtrace)>);
static_assert(same<bool, decltype(thrum::options::scheddetail)>);
static_assert(same<bool, decltype(thrum::options::detect_deadlock)>);
static_assert(same<std::string, decltype(thrum::options::name)>);
static_assert(same<std::function<void(unsigned)>, decltype(thrum::options::on_thread_start)>);
static_assert(same<std::function<void()>, decltype(thrum::options::on_host_work)>);
static_assert(same<std::function<void(unsigned)>, decltype(thrum::options::on_thread_stop)>);
static_assert(same<std::function<void(std::exception_ptr, thrum::goroutine_id)>,
                   decltype(thrum::options::on_panic)>);
static_assert(thrum::preemption::none != thrum::preemption::cooperative &&
              thrum::preemption::cooperative != thrum::preemption::async);
GIVES(unsigned, thrum::default_procs());
static_assert(noexcept(thrum::default_procs()));

static_assert(std::is_default_constructible_v<thrum::runtime>);
static_assert(std::is_constructible_v<thrum::runtime, thrum::options>);
static_assert(!std::is_convertible_v<thrum::options, thrum::runtime>);
static_assert(!std::is_move_constructible_v<thrum::runtime> &&
              !std::is_copy_constructible_v<thrum::runtime>);
GIVES(void, declval<thrum::runtime&>().go([] {}));
GIVES(void, declval<thrum::runtime&>().go([](int, move_only) {}, 1, move_only(2)));
GIVES(thrum::join_handle<int>, declval<thrum::runtime&>().spawn([](int i) { return i; }, 1));
GIVES(move_only, declval<thrum::runtime&>().block_on([] { return move_only(1); }));
GIVES(void, declval<thrum::runtime&>().block_on([] {}));
GIVES(void, declval<thrum::runtime&>().stop());
GIVES(unsigned, declval<const thrum::runtime&>().procs());
GIVES(void, declval<thrum::runtime&>().procs(2U));
GIVES(thrum::stats_snapshot, declval<const thrum::runtime&>().stats());
GIVES(thrum::runtime*, thrum::runtime::current());
static_assert(noexcept(thrum::runtime::current()));

static_assert(!std::is_base_of_v<std::exception, thrum::goroutine_exit>);
static_assert(std::is_nothrow_default_constructible_v<thrum::uncancellable>);
static_assert(!std::is_copy_constructible_v<thrum::uncancellable>);

// ---- goroutines ---------------------------------------------------------------------------------

GIVES(void, thrum::go([] {}));
GIVES(void, thrum::go([](int&&, const move_only&) {}, 1, move_only(2)));
GIVES(void, thrum::go(
                thrum::attributes{.stack_size = 65'536, .name = "loader"}, [](int) {}, 1));
GIVES(void, thrum::go(thrum::attributes{.priority = thrum::priority::background}, [] {}));
GIVES(void, thrum::go({.runtime = thrum::runtime::current(), .on_host = true}, [] {}));
GIVES(void, thrum::go(
                thrum::on_host, [](int) {}, 1));
GIVES(void, thrum::go(thrum::on_host, declval<const thrum::attributes&>(), [] {}));
GIVES(void, thrum::go(*thrum::runtime::current(), thrum::on_host, [] {}));
GIVES(thrum::join_handle<int>,
      thrum::spawn(*thrum::runtime::current(), declval<thrum::attributes&>(), [] { return 1; }));
GIVES(thrum::join_handle<int>,
      thrum::runtime::current()->spawn(
          thrum::attributes{.name = "loader"}, [](int i) { return i; }, 1));
GIVES(thrum::join_handle<void>, thrum::spawn([] {}));
GIVES(thrum::join_handle<move_only>, thrum::spawn([](int i) { return move_only(i); }, 1));

GIVES(void, thrum::dump_goroutines());
GIVES(void, thrum::dump_goroutines(stdout));
GIVES(void, thrum::dump_goroutines(stdout, thrum::dump_form::counts));
GIVES(void, thrum::runtime::current()->dump_goroutines());
GIVES(void, thrum::go(*thrum::runtime::current(), [] {}));
GIVES(void, thrum::go(*thrum::runtime::current(), {.name = "loader"}, [] {}));
GIVES(void, thrum::runtime::current()->go(
                thrum::attributes{.name = "loader"}, [](int) {}, 1));
GIVES(void, thrum::runtime::current()->go(
                {.name = "loader"}, [](int) {}, 1));
GIVES(thrum::join_handle<int>,
      thrum::runtime::current()->spawn(thrum::attributes{.name = "loader"}, [] { return 1; }));
GIVES(thrum::join_handle<int>,
      thrum::spawn(*thrum::runtime::current(), {.name = "loader"}, [] { return 1; }));
GIVES(thrum::join_handle<int>, thrum::spawn(thrum::on_host, {.name = "loader"}, [] { return 1; }));
GIVES(thrum::join_handle<int>, thrum::spawn(*thrum::runtime::current(), [] { return 1; }));
GIVES(thrum::timer, thrum::after_func(*thrum::runtime::current(), 1ms, [] {}));
GIVES(void, thrum::runtime::current()->dump_goroutines(stdout, thrum::dump_form::full));
GIVES(thrum::stats_snapshot, thrum::stats());
static_assert(std::is_nothrow_default_constructible_v<thrum::thread_lock>);
static_assert(!std::is_move_constructible_v<thrum::thread_lock>);

using handle = thrum::join_handle<int>;
static_assert(std::is_nothrow_move_constructible_v<handle> &&
              std::is_nothrow_move_assignable_v<handle> && std::is_default_constructible_v<handle>);
static_assert(!std::is_copy_constructible_v<handle>);
GIVES(int, declval<handle&>().join());
GIVES(void, declval<thrum::join_handle<void>&>().join());
GIVES(bool, declval<const handle&>().done());
GIVES(bool, declval<const handle&>().joinable());
GIVES(void, declval<handle&>().detach());
GIVES(thrum::goroutine_id, declval<const handle&>().id());
GIVES(bool, declval<handle&>().wait_for(1ms));
GIVES(bool, declval<handle&>().wait_until(time_point()));
GIVES(bool, declval<handle&>().wait_until(std::chrono::system_clock::now()));

static_assert(same<std::uint64_t, thrum::goroutine_id>);
GIVES(thrum::goroutine_id, thrum::this_goroutine::id());
static_assert(noexcept(thrum::this_goroutine::id()));
GIVES(void, thrum::this_goroutine::yield());
GIVES(void, thrum::this_goroutine::sleep_for(1ms));
GIVES(void, thrum::this_goroutine::sleep_until(time_point()));
GIVES(void, thrum::this_goroutine::preemption_point());
static_assert(noexcept(thrum::this_goroutine::preemption_point()));
GIVES(void, thrum::this_goroutine::name("name"));
GIVES(void, thrum::this_goroutine::name(std::string("name")));
GIVES(std::string_view, thrum::this_goroutine::name());
GIVES(thrum::priority, thrum::this_goroutine::priority());
GIVES(void, thrum::this_goroutine::priority(thrum::priority::normal));
static_assert(noexcept(thrum::this_goroutine::priority()));
static_assert(noexcept(thrum::this_goroutine::priority(thrum::priority::normal)));
GIVES(void, thrum::this_goroutine::exit());
GIVES(std::stop_token, thrum::this_goroutine::stop_token());
GIVES(int, thrum::blocking([] { return 1; }));
GIVES(void, thrum::blocking([] {}));

GIVES(const int&, declval<const thrum::goroutine_local<int>&>().get());
GIVES(const int&, *declval<const thrum::goroutine_local<int>&>());
GIVES(const int*, declval<const thrum::goroutine_local<int>&>().operator->());
static_assert(std::is_default_constructible_v<thrum::goroutine_local<int>> &&
              std::is_default_constructible_v<thrum::goroutine_local<std::string>>);

// ---- channels -----------------------------------------------------------------------------------

using ints = thrum::chan<int>;
using owners = thrum::chan<move_only>;
using signals = thrum::chan<void>;

static_assert(std::is_default_constructible_v<ints> && std::is_copy_constructible_v<ints> &&
              std::is_copy_assignable_v<ints>);
static_assert(std::is_constructible_v<ints, std::size_t> &&
              !std::is_convertible_v<std::size_t, ints>);
GIVES(bool, declval<ints&>() == declval<ints&>());
GIVES(bool, declval<ints&>() != declval<ints&>());
GIVES(void, declval<ints&>().send(1));
GIVES(void, declval<owners&>().send(move_only(1)));
GIVES(bool, declval<ints&>().try_send(declval<int&>()));
GIVES(bool, declval<ints&>().try_send(declval<const int&>()));
GIVES(bool, declval<ints&>().try_send(1));
GIVES(bool, declval<owners&>().try_send(move_only(1)));
GIVES(thrum::recv_result<move_only>, declval<owners&>().recv());
GIVES(thrum::recv_status, declval<ints&>().recv(declval<int&>()));
GIVES(thrum::recv_status, declval<ints&>().try_recv(declval<int&>()));
GIVES(bool, declval<ints&>().send_for(declval<int&>(), 1ms));
GIVES(bool, declval<ints&>().send_for(declval<const int&>(), 1ms));
GIVES(bool, declval<ints&>().send_for(1, 1ms));
GIVES(bool, declval<owners&>().send_for(move_only(1), 1ms));
GIVES(bool, declval<ints&>().send_until(declval<const int&>(), time_point()));
GIVES(bool, declval<ints&>().send_until(1, std::chrono::system_clock::now()));
GIVES(bool, declval<owners&>().send_until(move_only(1), time_point()));
GIVES(thrum::recv_status, declval<ints&>().recv_for(declval<int&>(), 1s));
GIVES(thrum::recv_status, declval<ints&>().recv_until(declval<int&>(), time_point()));
GIVES(thrum::recv_status,
      declval<ints&>().recv_until(declval<int&>(), std::chrono::system_clock::now()));
GIVES(thrum::recv_result<move_only>, declval<owners&>().try_recv());
GIVES(thrum::recv_result<move_only>, declval<owners&>().recv_for(1s));
GIVES(thrum::recv_result<move_only>, declval<owners&>().recv_until(time_point()));
GIVES(void, declval<ints&>().close());
GIVES(std::size_t, declval<const ints&>().size());
GIVES(std::size_t, declval<const ints&>().capacity());
GIVES(bool, declval<const ints&>().is_closed());
static_assert(std::is_constructible_v<bool, ints> && !std::is_convertible_v<ints, bool>);
GIVES(thrum::send_chan<int>, declval<const ints&>().sender());
GIVES(thrum::recv_chan<int>, declval<const ints&>().receiver());
static_assert(std::is_convertible_v<ints, thrum::send_chan<int>> &&
              std::is_convertible_v<ints, thrum::recv_chan<int>>);
GIVES(ints, thrum::make_chan<int>());
GIVES(signals, thrum::make_chan<void>(3));
static_assert(thrum::recv_status::ok != thrum::recv_status::closed &&
              thrum::recv_status::empty != thrum::recv_status::timeout);
GIVES(void, declval<signals&>().send());
GIVES(void, declval<signals&>().close());
static_assert(std::is_constructible_v<bool, decltype(declval<signals&>().recv())>);
GIVES(bool, declval<signals&>().try_send());
GIVES(bool, declval<signals&>().send_for(1ms));
GIVES(bool, declval<signals&>().send_until(time_point()));
GIVES(thrum::signal_status, declval<signals&>().try_recv());
GIVES(thrum::signal_status, declval<signals&>().recv_for(1ms));
GIVES(thrum::signal_status, declval<signals&>().recv_until(time_point()));

[[maybe_unused]] void channels_are_ranges(ints c, owners d, const thrum::recv_chan<int>& view) {
  for (auto& value : c) {
    value = 0;
  }
  for (auto& value : d) {
    value.value = 0;
  }
  for (const int value : view) {
    c.send(value);
  }
  c.begin();
  c.end();
  const signals s(1);
  for ([[maybe_unused]] const auto signal : s) {
  }
  for ([[maybe_unused]] const auto& signal : s.receiver()) {
  }
}

GIVES(std::size_t, std::hash<ints>()(declval<const ints&>()));
GIVES(std::size_t, std::hash<thrum::send_chan<int>>()(declval<const thrum::send_chan<int>&>()));
GIVES(std::size_t, std::hash<thrum::recv_chan<void>>()(declval<const signals&>()));

// ---- select -------------------------------------------------------------------------------------

GIVES(std::size_t, thrum::select());
GIVES(std::size_t, thrum::select(declval<std::span<thrum::select_case>>()));
GIVES(std::size_t, thrum::select(thrum::otherwise()));

[[maybe_unused]] void select_takes_cases(const ints& c, const owners& d, const signals& s,
                                         const std::stop_token& token,
                                         const thrum::context& context) {
  using namespace thrum;
  const time_point soon = std::chrono::steady_clock::now() + 1s;
  int value = 1;
  move_only owner(2);
  select(on_recv(c), on_recv(c, [] {}), on_recv(c, [](std::optional<int>) {}),
         on_recv(c, [](int&&, bool) {}), on_recv(c.receiver(), [](std::optional<int>) {}));
  select(on_recv(d, [](std::optional<move_only>) {}), on_recv(s), on_recv(s, [] {}));
  select(on_send(c, 1), on_send(c, value), on_send(c, 1, [] {}), on_send(c.sender(), 1),
         on_send(d, std::move(owner)), on_send(d, move_only(3), [] {}), on_send(s),
         on_send(s, [] {}));
  select(on_timeout(1ms), on_timeout(1h, [] {}), on_deadline(soon), on_deadline(soon, [] {}),
         on_deadline(std::chrono::system_clock::now()));
  select(on_done(token), on_done(token, [] {}), on_done(context), on_done(context, [] {}));
  const thrum::join_handle<int> ended;
  select(on_join(ended), on_join(ended, [] {}));
  const thrum::net::conn conn;
  const thrum::net::listener listener;
  select(thrum::io::on_readable(conn), thrum::io::on_readable(listener, [] {}),
         thrum::io::on_readable(thrum::os::no_handle), thrum::io::on_writable(conn, [] {}),
         thrum::io::on_writable(thrum::os::no_handle, [] {}));
  select(on_recv(c), otherwise());
  select(otherwise([] {}));
  std::vector<select_case> cases;
  cases.push_back(on_recv(c));
  cases.push_back(on_send(d, move_only(4)));
  cases.push_back(on_timeout(1s, [] {}));
  cases.push_back(on_deadline(soon));
  cases.push_back(on_done(token));
  cases.push_back(on_done(context));
  cases.push_back(otherwise());
  select(std::span<select_case>(cases));
  select(cases);
}

// ---- synchronisation ----------------------------------------------------------------------------

template <class M>
concept lockable =
    same<void, decltype(declval<M&>().lock())> && same<void, decltype(declval<M&>().unlock())> &&
    same<bool, decltype(declval<M&>().try_lock())> && std::is_default_constructible_v<M> &&
    !std::is_copy_constructible_v<M> &&
    !std::is_move_constructible_v<M>;

static_assert(lockable<thrum::mutex> && lockable<thrum::recursive_mutex> &&
              lockable<thrum::shared_mutex>);
GIVES(bool, declval<thrum::mutex&>().try_lock_for(1ms));
GIVES(bool, declval<thrum::mutex&>().try_lock_until(time_point()));
GIVES(void, declval<thrum::shared_mutex&>().lock_shared());
GIVES(void, declval<thrum::shared_mutex&>().unlock_shared());
GIVES(bool, declval<thrum::shared_mutex&>().try_lock_shared());

template <class Mutex>
struct locks_of_the_standard {
  static void work(Mutex& a, Mutex& b) {
    { const std::lock_guard lock(a); }
    { const std::unique_lock lock(a, std::defer_lock); }
    { const std::scoped_lock lock(a, b); }
    std::lock(a, b);
  }
};
template struct locks_of_the_standard<thrum::mutex>;
template struct locks_of_the_standard<thrum::recursive_mutex>;
template struct locks_of_the_standard<thrum::shared_mutex>;

[[maybe_unused]] void timed_and_shared_locks_work(thrum::mutex& timed,
                                                  thrum::shared_mutex& shared) {
  const std::unique_lock by_duration(timed, 1ms);
  const std::unique_lock by_time(timed, time_point());
  const std::shared_lock reader(shared);
}

using timed_lock = std::unique_lock<thrum::mutex>;
using condition = thrum::condition_variable;
inline constexpr auto holds = [] { return true; };
static_assert(std::is_default_constructible_v<condition> &&
              !std::is_copy_constructible_v<condition>);
GIVES(void, declval<condition&>().notify_one());
GIVES(void, declval<condition&>().notify_all());
GIVES(void, declval<condition&>().wait(declval<timed_lock&>()));
GIVES(void, declval<condition&>().wait(declval<timed_lock&>(), holds));
GIVES(std::cv_status, declval<condition&>().wait_for(declval<timed_lock&>(), 1ms));
GIVES(bool, declval<condition&>().wait_for(declval<timed_lock&>(), 1ms, holds));
GIVES(std::cv_status, declval<condition&>().wait_until(declval<timed_lock&>(), time_point()));
GIVES(bool, declval<condition&>().wait_until(declval<timed_lock&>(), time_point(), holds));

using any_lock = std::shared_lock<thrum::shared_mutex>;
using any = thrum::condition_variable_any;
static_assert(std::is_default_constructible_v<any> && !std::is_copy_constructible_v<any>);
GIVES(void, declval<any&>().notify_one());
GIVES(void, declval<any&>().notify_all());
GIVES(void, declval<any&>().wait(declval<any_lock&>()));
GIVES(void, declval<any&>().wait(declval<thrum::mutex&>(), holds));
GIVES(bool, declval<any&>().wait(declval<any_lock&>(), std::stop_token(), holds));
GIVES(std::cv_status, declval<any&>().wait_for(declval<any_lock&>(), 1ms));
GIVES(bool, declval<any&>().wait_for(declval<any_lock&>(), 1ms, holds));
GIVES(bool, declval<any&>().wait_for(declval<any_lock&>(), std::stop_token(), 1ms, holds));
GIVES(std::cv_status, declval<any&>().wait_until(declval<any_lock&>(), time_point()));
GIVES(bool, declval<any&>().wait_until(declval<any_lock&>(), time_point(), holds));
GIVES(bool,
      declval<any&>().wait_until(declval<any_lock&>(), std::stop_token(), time_point(), holds));

template <class S>
struct semaphore_members {
  static_assert(std::is_constructible_v<S, std::ptrdiff_t> &&
                !std::is_convertible_v<std::ptrdiff_t, S> && !std::is_copy_constructible_v<S>);
  static_assert(S::max() >= 1);
  GIVES(void, declval<S&>().acquire());
  GIVES(void, declval<S&>().release());
  GIVES(void, declval<S&>().release(1));
  GIVES(bool, declval<S&>().try_acquire());
  GIVES(bool, declval<S&>().try_acquire_for(1ms));
  GIVES(bool, declval<S&>().try_acquire_until(time_point()));
};
template struct semaphore_members<thrum::counting_semaphore<>>;
template struct semaphore_members<thrum::counting_semaphore<10>>;
template struct semaphore_members<thrum::binary_semaphore>;

// ---- waits that end with a stop

using stop = std::stop_token;
// NOLINTNEXTLINE(performance-unnecessary-value-param): as users write it
GIVES(thrum::join_handle<int>, thrum::spawn([](stop, int i) { return i; }, 1));
GIVES(bool, declval<thrum::join_handle<int>&>().request_stop());
GIVES(std::stop_source, declval<const thrum::join_handle<int>&>().get_stop_source());
GIVES(stop, declval<const thrum::join_handle<int>&>().get_stop_token());
GIVES(bool, declval<thrum::mutex&>().lock(stop()));
GIVES(bool, declval<thrum::mutex&>().lock(thrum::context()));
GIVES(bool, declval<thrum::recursive_mutex&>().lock(stop()));
GIVES(bool, declval<thrum::shared_mutex&>().lock(stop()));
GIVES(bool, declval<thrum::shared_mutex&>().lock_shared(thrum::context()));
GIVES(bool, declval<thrum::counting_semaphore<>&>().acquire(stop()));
GIVES(bool, declval<thrum::weighted_semaphore&>().acquire(2, thrum::context()));
GIVES(bool, declval<thrum::wait_group&>().wait(stop()));
GIVES(bool, declval<const thrum::latch&>().wait(stop()));
GIVES(bool, declval<thrum::barrier<>&>().wait(declval<thrum::barrier<>::arrival_token>(), stop()));
GIVES(bool, declval<thrum::condition_variable&>().wait(declval<std::unique_lock<thrum::mutex>&>(),
                                                       thrum::context(), [] { return true; }));
GIVES(bool,
      declval<thrum::condition_variable_any&>().wait(declval<std::unique_lock<thrum::mutex>&>(),
                                                     thrum::context(), [] { return true; }));
GIVES(bool, declval<thrum::join_handle<int>&>().wait(stop()));
GIVES(bool, thrum::sleep_for(1ms, stop()));
GIVES(bool, thrum::sleep_until(time_point(), thrum::context()));
GIVES(thrum::recv_result<int>, declval<const thrum::chan<int>&>().recv(stop()));
GIVES(thrum::recv_status, declval<const thrum::chan<int>&>().recv(declval<int&>(), stop()));
GIVES(bool, declval<const thrum::chan<int>&>().send(1, thrum::context()));
GIVES(thrum::signal_status, declval<const thrum::chan<void>&>().recv(stop()));
GIVES(bool, declval<const thrum::chan<void>&>().send(stop()));
static_assert(thrum::recv_status::stopped != thrum::recv_status::timeout);
static_assert(thrum::stop_condition<stop> && thrum::stop_condition<thrum::context>);

GIVES(bool, declval<thrum::task_group&>().wait(stop()));
GIVES(thrum::net::conn, declval<thrum::net::listener&>().accept(stop()));
GIVES(thrum::net::conn,
      declval<thrum::net::listener&>().accept(thrum::context(), declval<std::error_code&>()));
GIVES(thrum::net::conn, thrum::net::dial("host:service", stop()));
GIVES(thrum::net::conn, thrum::net::dial("host:service", stop(), {.head_start = 1ms}));
GIVES(thrum::net::conn, thrum::net::dial(declval<const std::vector<thrum::net::endpoint>&>(),
                                         thrum::context(), declval<std::error_code&>()));
GIVES(std::vector<thrum::net::endpoint>, thrum::net::resolve("host:service", stop()));
GIVES(std::vector<thrum::net::endpoint>,
      thrum::net::resolve("host", "service", thrum::context(), declval<std::error_code&>()));
GIVES(std::size_t, declval<thrum::net::conn&>().read(declval<std::span<char>>(), stop()));
GIVES(std::size_t, declval<thrum::net::conn&>().read_full(declval<std::span<std::byte>>(), stop()));
GIVES(std::string, declval<thrum::net::conn&>().read_all(thrum::context()));
GIVES(std::size_t,
      declval<thrum::net::conn&>().read_v(declval<std::span<const std::span<std::byte>>>(),
                                          stop()));
GIVES(std::size_t, declval<thrum::net::conn&>().write("text", stop(), declval<std::error_code&>()));
GIVES(std::size_t,
      declval<thrum::net::conn&>().write_v(declval<std::span<const std::span<const std::byte>>>(),
                                           stop()));
GIVES(std::uint64_t, declval<thrum::net::conn&>().send_file(0, 0, 1, stop()));
GIVES(void, declval<thrum::net::conn&>().wait_readable(stop()));
GIVES(void, thrum::io::wait_readable(0, stop()));
GIVES(void, thrum::io::wait_writable(0, thrum::context(), declval<std::error_code&>()));
GIVES(std::size_t, declval<thrum::net::udp_socket&>().recv(declval<std::span<char>>(), stop()));
GIVES(thrum::net::udp_socket::datagram,
      declval<thrum::net::udp_socket&>().recv_from(declval<std::span<char>>(), stop()));
GIVES(std::size_t, declval<thrum::net::udp_socket&>().send("text", stop()));
GIVES(std::size_t,
      declval<thrum::net::udp_socket&>().send_to("text", thrum::net::endpoint(), stop()));

GIVES(void, thrum::atomic_wait(declval<const std::atomic<int>*>(), 1));
GIVES(bool, thrum::atomic_wait(declval<const std::atomic<int>*>(), 1, stop()));
GIVES(bool, thrum::atomic_wait_for(declval<const std::atomic<int>*>(), 1, 1s));
GIVES(bool, thrum::atomic_wait_until(declval<const std::atomic<int>*>(), 1, time_point()));
GIVES(void, thrum::atomic_notify_one(declval<const std::atomic<int>*>()));
GIVES(void, thrum::atomic_notify_all(declval<const std::atomic<int>*>()));

static_assert(std::is_default_constructible_v<thrum::generator<int>> &&
              std::is_move_constructible_v<thrum::generator<int>> &&
              !std::is_copy_constructible_v<thrum::generator<int>>);
GIVES(thrum::generator<int>,
      thrum::generator<int>([](thrum::generator<int>::yielder& yield) { yield(1); }));
GIVES(thrum::generator<int>,
      thrum::generator<int>(*thrum::runtime::current(), [](auto& yield) { yield(1); }));
GIVES(std::optional<int>, declval<thrum::generator<int>&>().next());
GIVES(int&, *declval<thrum::generator<int>&>().begin());

static_assert(std::is_default_constructible_v<thrum::pool<std::string>> &&
              !std::is_copy_constructible_v<thrum::pool<std::string>>);
GIVES(thrum::pool<std::string>::handle, declval<thrum::pool<std::string>&>().get());
GIVES(void, declval<thrum::pool<std::string>&>().put(std::string()));
GIVES(std::string&, *declval<const thrum::pool<std::string>::handle&>());
GIVES(void, declval<thrum::pool<std::string>::handle&>().put_back());
GIVES(void, declval<thrum::pool<std::string>::handle&>().discard());

static_assert(std::is_constructible_v<thrum::weighted_semaphore, std::ptrdiff_t> &&
              !std::is_convertible_v<std::ptrdiff_t, thrum::weighted_semaphore> &&
              !std::is_copy_constructible_v<thrum::weighted_semaphore>);
GIVES(std::ptrdiff_t, declval<const thrum::weighted_semaphore&>().max());
GIVES(void, declval<thrum::weighted_semaphore&>().max(2));
GIVES(void, declval<thrum::weighted_semaphore&>().acquire());
GIVES(void, declval<thrum::weighted_semaphore&>().acquire(2));
GIVES(bool, declval<thrum::weighted_semaphore&>().try_acquire());
GIVES(bool, declval<thrum::weighted_semaphore&>().try_acquire(2));
GIVES(bool, declval<thrum::weighted_semaphore&>().try_acquire_for(2, 1ms));
GIVES(bool, declval<thrum::weighted_semaphore&>().try_acquire_until(2, time_point()));
GIVES(void, declval<thrum::weighted_semaphore&>().release());
GIVES(void, declval<thrum::weighted_semaphore&>().release(2));

static_assert(std::is_constructible_v<thrum::latch, std::ptrdiff_t> &&
              !std::is_convertible_v<std::ptrdiff_t, thrum::latch> &&
              !std::is_copy_constructible_v<thrum::latch>);
static_assert(thrum::latch::max() > 0);
GIVES(void, declval<thrum::latch&>().count_down());
GIVES(void, declval<thrum::latch&>().count_down(2));
GIVES(bool, declval<const thrum::latch&>().try_wait());
GIVES(void, declval<const thrum::latch&>().wait());
GIVES(void, declval<thrum::latch&>().arrive_and_wait());
GIVES(void, declval<thrum::latch&>().arrive_and_wait(2));
GIVES(bool, declval<thrum::latch&>().arrive_and_wait(2, stop()));

template <class B>
struct barrier_members {
  static_assert(!std::is_copy_constructible_v<B> && B::max() > 0);
  GIVES(typename B::arrival_token, declval<B&>().arrive());
  GIVES(typename B::arrival_token, declval<B&>().arrive(2));
  GIVES(void, declval<const B&>().wait(declval<typename B::arrival_token>()));
  GIVES(void, declval<B&>().arrive_and_wait());
  GIVES(bool, declval<B&>().arrive_and_wait(stop()));
  GIVES(void, declval<B&>().arrive_and_drop());
};
struct completion {
  void operator()() const noexcept {}
};
template struct barrier_members<thrum::barrier<>>;
template struct barrier_members<thrum::barrier<completion>>;
static_assert(std::is_constructible_v<thrum::barrier<>, std::ptrdiff_t> &&
              std::is_constructible_v<thrum::barrier<completion>, std::ptrdiff_t, completion>);

static_assert(std::is_default_constructible_v<thrum::once_flag> &&
              !std::is_copy_constructible_v<thrum::once_flag>);
GIVES(void, thrum::call_once(declval<thrum::once_flag&>(), [] {}));
GIVES(void, thrum::call_once(
                declval<thrum::once_flag&>(), [](int, move_only&&) {}, 1, move_only(2)));

inline const thrum::once_value a_once_value([] { return 5L; });
static_assert(!std::is_copy_constructible_v<decltype(a_once_value)>);
static_assert(same<const long&, decltype(a_once_value.get())>);
static_assert(same<const long&, decltype(a_once_value())>);

using flights_of_names = thrum::singleflight<std::string, int>;
static_assert(std::is_default_constructible_v<flights_of_names> &&
              !std::is_copy_constructible_v<flights_of_names>);
GIVES(flights_of_names::result, declval<flights_of_names&>().do_("name", [] { return 1; }));
GIVES(std::optional<flights_of_names::result>, declval<flights_of_names&>().do_(
                                                   "name", [] { return 1; }, stop()));
GIVES(int, declval<flights_of_names::result>().value + 0);
static_assert(same<bool, decltype(flights_of_names::result::shared)>);
GIVES(void, declval<flights_of_names&>().forget("name"));

static_assert(std::is_default_constructible_v<thrum::wait_group> &&
              !std::is_copy_constructible_v<thrum::wait_group>);
static_assert(std::is_constructible_v<thrum::wait_group, int> &&
              !std::is_convertible_v<int, thrum::wait_group>);
GIVES(bool, declval<thrum::wait_group&>().wait_until(time_point()));
GIVES(void, declval<thrum::wait_group&>().add());
GIVES(void, declval<thrum::wait_group&>().add(2));
GIVES(void, declval<thrum::wait_group&>().done());
GIVES(void, declval<thrum::wait_group&>().wait());
GIVES(bool, declval<thrum::wait_group&>().wait_for(1ms));
GIVES(void, declval<thrum::wait_group&>().go([](int, move_only) {}, 1, move_only(2)));

static_assert(std::is_default_constructible_v<thrum::task_group> &&
              std::is_constructible_v<thrum::task_group, std::size_t> &&
              !std::is_convertible_v<std::size_t, thrum::task_group> &&
              !std::is_copy_constructible_v<thrum::task_group>);
GIVES(void, declval<thrum::task_group&>().go([](int, move_only) {}, 1, move_only(2)));
GIVES(void, declval<thrum::task_group&>().wait());
static_assert(std::is_constructible_v<thrum::task_group, thrum::context, std::size_t>);
GIVES(bool, declval<thrum::task_group&>().try_go([](int, move_only) {}, 1, move_only(2)));
GIVES(void, declval<thrum::task_group&>().limit(2));
GIVES(std::size_t, declval<const thrum::task_group&>().limit());
GIVES(thrum::context, declval<thrum::task_group&>().context());
GIVES(std::vector<std::string>,
      thrum::task_group::map(declval<std::vector<int>&>(), 2, [](int) { return std::string(); }));
GIVES(int, thrum::task_group::first_success(declval<std::vector<int>&>(), 2,
                                            // NOLINTNEXTLINE(performance-unnecessary-value-param)
                                            [](int& n, std::stop_token) -> int& { return n; }));
static_assert(same<std::stop_token,
                   std::remove_cvref_t<decltype(declval<thrum::task_group&>().stop_token())>>);

using number_and_text = std::pair<int, std::string>;
using two_nothings = std::pair<std::monostate, std::monostate>;
GIVES(number_and_text, thrum::fork_join([] { return 1; }, [] { return std::string(); }));
GIVES(two_nothings, thrum::fork_join([] {}, [] {}));
GIVES(void, thrum::parallel_for(0, 10, [](int) {}));
GIVES(void, thrum::parallel_for(
                std::size_t{0}, std::size_t{10}, [](std::size_t) {}, 5));
GIVES(void, thrum::parallel_for(
                declval<std::vector<int>&>(), [](int&) {}, thrum::automatic));
GIVES(void, thrum::parallel_for(declval<int*>(), declval<int*>(), [](int&) {}));
GIVES(long, thrum::parallel_reduce(declval<const std::vector<int>&>(), 0L, std::plus<>()));
GIVES(long, thrum::parallel_reduce(
                declval<std::span<int>>(), 0L, std::plus<>(), [](int each) { return long{each}; },
                thrum::automatic));
GIVES(int, thrum::parallel_reduce(declval<int*>(), declval<int*>(), 0, std::plus<>()));
GIVES(int, thrum::parallel_reduce(0, 10, 0, std::plus<>()));

// ---- errors, network and files ------------------------------------------------------------------

GIVES(std::error_code, make_error_code(thrum::errc::deadline_exceeded));
GIVES(const std::error_category&, thrum::error_category());
static_assert(std::is_error_code_enum_v<thrum::errc>);
static_assert(std::is_base_of_v<std::logic_error, thrum::usage_error>);
GIVES(std::vector<thrum::net::endpoint>, thrum::net::resolve("host", "service"));
GIVES(std::vector<thrum::net::endpoint>, thrum::net::resolve("host:service"));
GIVES(std::vector<thrum::net::endpoint>,
      thrum::net::resolve_until("host", "service", declval<time_point>()));
GIVES(std::vector<thrum::net::endpoint>,
      thrum::net::resolve_until("host:service", declval<time_point>()));
GIVES(std::vector<thrum::net::endpoint>,
      thrum::net::resolve_until("host:service", declval<time_point>(),
                                declval<std::error_code&>()));
GIVES(std::uint64_t, declval<thrum::net::conn&>().send_file(0, std::uint64_t{0}, std::uint64_t{1}));
GIVES(bool, declval<const thrum::net::conn&>().is_readable());
GIVES(std::optional<std::size_t>,
      declval<thrum::net::conn&>().try_read(declval<std::span<std::byte>>()));
GIVES(std::optional<std::size_t>,
      declval<thrum::net::conn&>().try_write(declval<std::string_view>(),
                                             declval<std::error_code&>()));
GIVES(std::size_t,
      declval<thrum::net::conn&>().read_v(declval<std::span<const std::span<std::byte>>>()));
GIVES(std::size_t,
      declval<thrum::net::conn&>().write_v(declval<std::span<const std::span<const std::byte>>>()));
GIVES(std::size_t,
      declval<thrum::io::pipe_reader&>().read_v(declval<std::span<const std::span<std::byte>>>()));
GIVES(std::size_t,
      declval<thrum::io::pipe_writer&>().write_v(
          declval<std::span<const std::span<const std::byte>>>(), declval<std::error_code&>()));
GIVES(std::optional<std::size_t>,
      declval<thrum::io::pipe_reader&>().try_read(declval<std::span<char>>()));
GIVES(std::optional<std::size_t>,
      declval<thrum::io::pipe_writer&>().try_write(declval<std::span<const std::byte>>()));

using thrum::net::endpoint;
static_assert(same<endpoint, decltype(thrum::net::dial_options::local)>);
static_assert(same<std::chrono::nanoseconds, decltype(thrum::net::dial_options::head_start)>);
static_assert(same<thrum::until, decltype(thrum::net::dial_options::until)>);
GIVES(thrum::net::conn, thrum::net::dial("host:service"));
GIVES(thrum::net::conn, thrum::net::dial(declval<std::string_view>(), declval<std::error_code&>()));
GIVES(thrum::net::conn, thrum::net::dial(endpoint(), {.until = stop()}));
GIVES(thrum::net::conn, thrum::net::dial(endpoint(), {.until = 1s}, declval<std::error_code&>()));
GIVES(thrum::net::conn, thrum::net::dial(endpoint(), std::chrono::system_clock::now()));
GIVES(thrum::net::conn, thrum::net::dial("host:service", 1s, {.head_start = 1ms}));
GIVES(thrum::net::conn, thrum::net::dial(endpoint(), 1s, declval<std::error_code&>()));
GIVES(thrum::net::conn, thrum::net::dial(endpoint(), 1s, {}, declval<std::error_code&>()));
GIVES(thrum::net::conn, thrum::net::dial(declval<const std::vector<endpoint>&>(), 1s));
GIVES(thrum::net::conn, thrum::net::dial(declval<std::span<const endpoint>>(), 1s, {}));
GIVES(thrum::net::conn, thrum::net::dial("host:service", declval<time_point>()));
GIVES(thrum::net::conn, thrum::net::dial(declval<const std::string&>(), declval<time_point>(), {},
                                         declval<std::error_code&>()));
GIVES(thrum::net::conn, thrum::net::dial(declval<const std::vector<endpoint>&>(),
                                         declval<time_point>(), declval<std::error_code&>()));
GIVES(thrum::net::conn, thrum::net::dial(endpoint(), declval<time_point>(), {.local = {}}));

using server = thrum::net::server;
static_assert(std::is_constructible_v<server, thrum::net::listener> &&
              std::is_constructible_v<server, thrum::net::listener, thrum::net::server_options> &&
              !std::is_convertible_v<thrum::net::listener, server> &&
              !std::is_move_constructible_v<server>);
static_assert(same<std::size_t, decltype(thrum::net::server_options::max_connections)>);
static_assert(same<std::chrono::nanoseconds, decltype(thrum::net::server_options::idle_grace)>);
static_assert(
    same<std::function<void(std::exception_ptr)>, decltype(thrum::net::server_options::on_error)>);
GIVES(void, declval<server&>().serve([](thrum::net::conn&) {}));
GIVES(void, declval<server&>().serve([](thrum::net::conn&, server::session&) {}));
GIVES(void, declval<server&>().serve([](thrum::net::conn&) {}, declval<std::error_code&>()));
GIVES(void, declval<server&>().serve(declval<thrum::runtime&>(), [](thrum::net::conn&) {}));
GIVES(void, declval<server&>().serve([](thrum::net::conn&) {}, stop()));
GIVES(void, declval<server&>().serve(
                declval<thrum::runtime&>(), [](thrum::net::conn&) {}, thrum::context(),
                declval<std::error_code&>()));
GIVES(void, declval<server&>().request_stop());
GIVES(void, declval<server&>().stop());
GIVES(bool, declval<server&>().stop(stop()));
GIVES(bool, declval<server&>().stop_for(1s));
GIVES(bool, declval<server&>().stop_until(declval<time_point>()));
GIVES(bool, declval<const server&>().stopping());
GIVES(std::stop_token, declval<const server&>().stop_token());
GIVES(std::size_t, declval<const server&>().connections());
GIVES(endpoint, declval<const server&>().local());
GIVES(bool, declval<server::session&>().wait_request());
GIVES(bool, declval<server::session&>().wait_request(thrum::context()));
GIVES(bool, declval<server::session&>().wait_request_for(1s));
GIVES(bool, declval<server::session&>().wait_request_until(declval<time_point>()));
GIVES(bool, declval<const server::session&>().stopping());
GIVES(std::stop_token, declval<const server::session&>().stop_token());
static_assert(thrum::io::exit_status::none == -1);

using udp = thrum::net::udp_socket;
GIVES(std::size_t, declval<udp&>().send_many(declval<std::span<const udp::outgoing>>()));
GIVES(std::size_t, declval<udp&>().send_many(declval<std::span<const udp::outgoing>>(),
                                             declval<std::error_code&>()));
GIVES(std::size_t, declval<udp&>().recv_many(declval<std::span<udp::incoming>>()));
GIVES(std::size_t,
      declval<udp&>().recv_many(declval<std::span<udp::incoming>>(), declval<std::error_code&>()));
static_assert(same<udp::datagram, decltype(udp::incoming::result)>);

// ---- streams ------------------------------------------------------------------------------------

namespace io = thrum::io;
static_assert(io::readable_stream<thrum::net::conn> && io::writable_stream<thrum::net::conn&>);
using reader_of_pipe = io::buffered_reader<io::pipe_reader>;
using writer_of_pipe = io::buffered_writer<io::pipe_writer&>;
static_assert(reader_of_pipe::default_limit > 0 && writer_of_pipe::default_size > 0);
GIVES(reader_of_pipe, io::buffered_reader(declval<io::pipe_reader>()));
GIVES(reader_of_pipe, io::buffered_reader(declval<io::pipe_reader>(), 100));
GIVES(writer_of_pipe, io::buffered_writer(declval<io::pipe_writer&>()));
GIVES(writer_of_pipe, io::buffered_writer(declval<io::pipe_writer&>(), 100));
GIVES(std::optional<std::string>, declval<reader_of_pipe&>().read_line());
GIVES(std::optional<std::string>,
      declval<reader_of_pipe&>().read_line(declval<std::error_code&>()));
GIVES(bool, declval<reader_of_pipe&>().read_line(declval<std::string&>()));
GIVES(bool,
      declval<reader_of_pipe&>().read_line(declval<std::string&>(), declval<std::error_code&>()));
GIVES(std::optional<std::string>, declval<reader_of_pipe&>().read_until(';'));
GIVES(std::optional<std::string>, declval<reader_of_pipe&>().read_until("\r\n\r\n"));
GIVES(std::size_t, declval<reader_of_pipe&>().read_exactly(declval<std::span<char>>()));
GIVES(std::string_view, declval<reader_of_pipe&>().peek(4));
GIVES(std::uint64_t, declval<reader_of_pipe&>().discard(4));
GIVES(std::optional<std::string>, declval<reader_of_pipe&>().read_until(';', stop()));
GIVES(std::size_t, declval<reader_of_pipe&>().read_exactly(declval<std::span<char>>(), stop()));
GIVES(std::string_view, declval<reader_of_pipe&>().peek(4, stop(), declval<std::error_code&>()));
GIVES(std::uint64_t, declval<reader_of_pipe&>().discard(4, thrum::context()));
GIVES(std::size_t, declval<const reader_of_pipe&>().buffered());
GIVES(io::pipe_reader&, declval<reader_of_pipe&>().stream());
GIVES(std::size_t, declval<reader_of_pipe&>().read(declval<std::span<std::byte>>()));
GIVES(std::size_t, declval<writer_of_pipe&>().write("text"));
GIVES(void, declval<writer_of_pipe&>().put('c'));
GIVES(void, declval<writer_of_pipe&>().flush());
GIVES(bool, declval<writer_of_pipe&>().flush(declval<std::error_code&>()));
GIVES(bool, declval<writer_of_pipe&>().flush(stop(), declval<std::error_code&>()));
GIVES(std::size_t, declval<const writer_of_pipe&>().buffered());
GIVES(std::uint64_t, io::copy(declval<io::file&>(), declval<thrum::net::conn&>()));
GIVES(std::uint64_t, io::copy(declval<reader_of_pipe&>(), declval<writer_of_pipe&>(),
                              declval<std::error_code&>()));
GIVES(std::uint64_t, io::copy(declval<io::file&>(), declval<thrum::net::conn&>(), stop()));
GIVES(std::uint64_t, io::copy(declval<reader_of_pipe&>(), declval<writer_of_pipe&>(),
                              thrum::context(), declval<std::error_code&>()));
GIVES(std::string, io::read_all(declval<io::pipe_reader&>(), 100));
GIVES(std::string, io::read_all(declval<io::pipe_reader&>(), 100, stop()));
GIVES(std::string, io::read_all(declval<io::pipe_reader&>(), 100, declval<std::error_code&>()));
GIVES(io::limited<io::file&>, io::limited(declval<io::file&>(), 100));
GIVES(std::uint64_t, declval<const io::limited<io::file&>&>().left());
GIVES(io::file&, declval<io::limited<io::file&>&>().stream());
static_assert(same<io::memory_pipe_end, decltype(io::memory_pipe::first)> &&
              same<io::memory_pipe_end, decltype(io::memory_pipe::second)>);
static_assert(io::readable_stream<io::memory_pipe_end> && io::writable_stream<io::memory_pipe_end>);
GIVES(void, declval<io::memory_pipe_end&>().set_deadline(time_point()));
GIVES(void, declval<io::memory_pipe_end&>().set_read_deadline(time_point()));
GIVES(void, declval<io::memory_pipe_end&>().set_write_deadline(time_point()));
GIVES(void, declval<io::memory_pipe_end&>().close_write());
GIVES(void, declval<io::memory_pipe_end&>().close());
static_assert(!std::is_copy_constructible_v<io::memory_pipe_end> &&
              std::is_nothrow_move_constructible_v<io::memory_pipe_end>);
using tee_of_pipes = io::tee<io::pipe_reader, io::pipe_writer&>;
GIVES(tee_of_pipes, io::tee(declval<io::pipe_reader>(), declval<io::pipe_writer&>()));
using writer_of_several = io::multi_writer<io::pipe_writer&, io::file>;
GIVES(writer_of_several, io::multi_writer(declval<io::pipe_writer&>(), declval<io::file>()));

// ---- context and time ---------------------------------------------------------------------------

using thrum::context;
static_assert(std::is_copy_constructible_v<context> && std::is_copy_assignable_v<context>);
GIVES(context, context::background());
GIVES(context, declval<context&>().with_cancel());
GIVES(context, declval<context&>().with_timeout(1s));
GIVES(context, declval<context&>().with_deadline(time_point()));
GIVES(context, declval<context&>().with_value(std::string("x")));
GIVES(context, declval<context&>().with_value(1).with_value(2L).with_cancel());
GIVES(const std::string*, declval<const context&>().template value<std::string>());
GIVES(void, declval<context&>().cancel());
GIVES(void, declval<const context&>().cancel(declval<std::error_code>()));
GIVES(void, declval<const context&>().cancel(thrum::errc::deadline_exceeded));
GIVES(std::error_code, declval<const context&>().cause());
GIVES(context, declval<const context&>().with_timeout(1s, declval<std::error_code>()));
GIVES(context, declval<const context&>().with_deadline(time_point(), declval<std::error_code>()));
GIVES(context, declval<const context&>().without_cancel());
GIVES(thrum::context_call, declval<const context&>().after_func([m = move_only(1)] { (void)m; }));
GIVES(thrum::context_call, declval<const context&>().after_func(declval<thrum::runtime&>(), [] {}));
static_assert(std::is_nothrow_default_constructible_v<thrum::context_call> &&
              std::is_copy_constructible_v<thrum::context_call>);
GIVES(bool, declval<const thrum::context_call&>().stop());
static_assert(std::is_nothrow_default_constructible_v<context>);
GIVES(bool, declval<const context&>() == declval<const context&>());
GIVES(bool, declval<const context&>() != context());
GIVES(bool, declval<const context&>().cancelled());
GIVES(std::error_code, declval<const context&>().error());
GIVES(thrum::recv_chan<void>, declval<const context&>().done());
GIVES(std::optional<time_point>, declval<const context&>().deadline());
GIVES(std::stop_token, declval<const context&>().stop_token());

static_assert(same<std::chrono::steady_clock::time_point, time_point>);
GIVES(void, thrum::sleep_for(1ms));
GIVES(void, thrum::sleep_until(time_point()));
GIVES(thrum::recv_chan<time_point>, thrum::after(1ms));
static_assert(std::is_constructible_v<thrum::timer, std::chrono::milliseconds> &&
              !std::is_convertible_v<std::chrono::milliseconds, thrum::timer>);
GIVES(thrum::recv_chan<time_point>, declval<thrum::timer&>().chan());
GIVES(bool, declval<thrum::timer&>().stop());
GIVES(bool, declval<thrum::timer&>().reset(1h));
static_assert(std::is_constructible_v<thrum::ticker, std::chrono::seconds> &&
              !std::is_convertible_v<std::chrono::seconds, thrum::ticker>);
GIVES(thrum::recv_chan<time_point>, declval<thrum::ticker&>().chan());
GIVES(void, declval<thrum::ticker&>().stop());
GIVES(void, declval<thrum::ticker&>().reset(1h));

static_assert(std::is_constructible_v<thrum::rate_limiter, double, std::size_t> &&
              std::is_constructible_v<thrum::rate_limiter, std::chrono::seconds, std::size_t> &&
              !std::is_copy_constructible_v<thrum::rate_limiter>);
GIVES(bool, declval<thrum::rate_limiter&>().allow());
GIVES(bool, declval<thrum::rate_limiter&>().allow(2));
GIVES(void, declval<thrum::rate_limiter&>().wait());
GIVES(void, declval<thrum::rate_limiter&>().wait(2));
GIVES(bool, declval<thrum::rate_limiter&>().wait(2, std::stop_token()));
GIVES(bool, declval<thrum::rate_limiter&>().wait(2, thrum::context()));
GIVES(bool, declval<thrum::rate_limiter&>().wait_for(2, 1s));
GIVES(bool, declval<thrum::rate_limiter&>().wait_until(2, time_point()));
GIVES(thrum::rate_reservation, declval<thrum::rate_limiter&>().reserve());
GIVES(std::chrono::nanoseconds, declval<const thrum::rate_reservation&>().delay());
GIVES(void, declval<thrum::rate_reservation&>().cancel());
GIVES(double, declval<const thrum::rate_limiter&>().rate());
GIVES(void, declval<thrum::rate_limiter&>().rate(1.0));
GIVES(void, declval<thrum::rate_limiter&>().rate(1s));
GIVES(std::size_t, declval<const thrum::rate_limiter&>().burst());
GIVES(void, declval<thrum::rate_limiter&>().burst(1));
GIVES(double, declval<const thrum::rate_limiter&>().tokens());
static_assert(thrum::rate_limiter::unlimited > 1e300);
GIVES(thrum::timer, thrum::after_func(1h, [m = move_only(1)] { (void)m; }));

[[maybe_unused]] void members_that_need_no_result(const context& c, const thrum::timer& t) {
  c.cancel();
  t.stop();
  t.reset(1s);
}

// ---- descriptors of others, groups of receivers, figures of TCP ---------------------------------

GIVES(thrum::net::conn, thrum::net::conn::adopt(0, declval<std::error_code&>()));
GIVES(thrum::net::listener, thrum::net::listener::adopt(0, declval<std::error_code&>()));
GIVES(thrum::net::udp_socket, thrum::net::udp_socket::adopt(0, declval<std::error_code&>()));
GIVES(io::file, io::file::adopt(0, "name", declval<std::error_code&>()));
GIVES(io::pipe_reader, io::pipe_reader::adopt(0, declval<std::error_code&>()));
GIVES(io::pipe_writer, io::pipe_writer::adopt(0, declval<std::error_code&>()));
GIVES(io::native_handle_type, declval<thrum::net::conn&>().release());
GIVES(io::native_handle_type, declval<thrum::net::listener&>().release());
GIVES(io::native_handle_type, declval<thrum::net::udp_socket&>().release());
GIVES(io::native_handle_type, declval<io::file&>().release());
GIVES(io::native_handle_type, declval<io::pipe_reader&>().release());
GIVES(io::native_handle_type, declval<io::pipe_writer&>().release());
GIVES(thrum::net::tcp_info, declval<const thrum::net::conn&>().tcp_info());
GIVES(std::chrono::microseconds, thrum::net::tcp_info().rtt);
GIVES(int, thrum::net::listen_options().fast_open);
GIVES(thrum::net::udp_socket,
      thrum::net::udp_socket::bind(thrum::net::endpoint(),
                                   thrum::net::udp_options{.reuse_address = true}));
GIVES(void, declval<thrum::net::udp_socket&>().join(thrum::net::endpoint()));
GIVES(void, declval<thrum::net::udp_socket&>().leave(thrum::net::endpoint(), 1));
GIVES(void, declval<thrum::net::udp_socket&>().multicast_interface(1));
GIVES(void, declval<thrum::net::udp_socket&>().multicast_hops(1));
GIVES(void, declval<thrum::net::udp_socket&>().multicast_loop(true));
GIVES(unsigned, thrum::net::interface_number("lo"));

// ---- directories, whole files -------------------------------------------------------------------

GIVES(std::vector<io::directory_entry>, io::read_directory("."));
GIVES(bool, io::directory_entry().is_directory());
static_assert(io::entry_kind::file != io::entry_kind::link);
GIVES(std::optional<io::directory_entry>, declval<io::directory_walk&>().next());
GIVES(void, declval<io::directory_walk&>().skip());
GIVES(std::size_t, declval<io::directory_walk&>().depth());
GIVES(std::string, io::read_file("name", 7));
GIVES(void, io::write_file("name", "text", {.atomic = true, .sync = true, .permissions = 0600}));
GIVES(io::temporary_file, io::temporary_file::make());
GIVES(io::file&, declval<io::temporary_file&>().get());
GIVES(std::string, declval<io::temporary_file&>().keep());
GIVES(io::temporary_directory, io::temporary_directory::make("prefix", "."));
GIVES(std::string, declval<io::temporary_directory&>() / "name");
GIVES(std::string, declval<io::temporary_directory&>().keep());
GIVES(void, declval<io::file_watch&>().add("."));
GIVES(void, declval<io::file_watch&>().remove("."));
GIVES(io::file_change, declval<io::file_watch&>().next());
GIVES(io::file_change, declval<io::file_watch&>().next(stop(), declval<std::error_code&>()));
GIVES(void, declval<io::file_watch&>().set_deadline(time_point()));
GIVES(void, declval<io::file_watch&>().close());
static_assert(io::file_change::kind_type::created != io::file_change::kind_type::removed);

// ---- programs -----------------------------------------------------------------------------------

GIVES(io::exec_result, io::exec({"name"}, {.input = "text",
                                           .errors_to_output = true,
                                           .most_output = 7,
                                           .deadline = time_point(),
                                           .grace = 1s}));
GIVES(io::exec_result, io::exec({"name"}, {}, thrum::context(), declval<std::error_code&>()));
GIVES(io::exit_status, io::exec_result().status);
GIVES(std::string, io::exec_result().output);
GIVES(std::string, io::exec_result().errors);
GIVES(io::process,
      io::process::spawn({"name"}, {.new_group = true, .extra = {1}, .terminal = nullptr}));
GIVES(void, declval<io::process&>().signal_group(1));
GIVES(void, declval<io::process&>().terminate_group());
GIVES(void, declval<io::process&>().kill_group());
GIVES(io::exit_status, declval<io::process&>().wait(stop()));
GIVES(io::exit_status, declval<io::process&>().wait(thrum::context(), declval<std::error_code&>()));
GIVES(io::exit_status,
      declval<io::process&>().wait_until(time_point(), stop(), declval<std::error_code&>()));
GIVES(io::exit_status,
      declval<io::process&>().wait_or_stop(thrum::context(), 1s, declval<std::error_code&>()));
GIVES(io::exit_status, declval<io::process&>().stop(1s));
GIVES(io::exit_status,
      declval<io::process&>().wait_or_stop(time_point(), 1s, declval<std::error_code&>()));
GIVES(void, declval<io::pseudo_terminal&>().resize(1, 1));
GIVES(const std::string&, declval<const io::pseudo_terminal&>().path());
static_assert(io::readable_stream<io::pseudo_terminal> && io::writable_stream<io::pseudo_terminal>);

// ---- coroutines ---------------------------------------------------------------------------------

static_assert(std::is_move_constructible_v<thrum::co_task<int>> &&
              std::is_default_constructible_v<thrum::co_handle<int>>);
GIVES(thrum::co_handle<int>, thrum::co_spawn(declval<thrum::co_task<int>>()));
GIVES(thrum::co_handle<int>,
      thrum::co_spawn(*thrum::runtime::current(), declval<thrum::co_task<int>>()));
GIVES(int, declval<thrum::co_handle<int>&>().join());
GIVES(thrum::recv_result<int>, thrum::async_recv(thrum::chan<int>()).await_resume());
GIVES(thrum::signal_status, thrum::async_recv(thrum::chan<void>(), 1s).await_resume());
GIVES(void, thrum::async_send(thrum::chan<int>(), 1).await_resume());
GIVES(bool, thrum::async_send(thrum::chan<int>(), 1, context()).await_resume());
GIVES(void, thrum::async_send(thrum::chan<void>()).await_resume());
GIVES(void, thrum::async_sleep_for(1s).await_resume());
GIVES(std::unique_lock<thrum::mutex>, thrum::async_lock(declval<thrum::mutex&>()).await_resume());
GIVES(bool, thrum::async_acquire(declval<thrum::binary_semaphore&>(), 1s).await_resume());
GIVES(void, thrum::async_wait(declval<thrum::wait_group&>()).await_resume());
GIVES(bool, thrum::async_sleep_for(1s, std::stop_token()).await_resume());

// ---- tests --------------------------------------------------------------------------------------

GIVES(void, thrum::testing::bubble([] {}));
GIVES(int, thrum::testing::bubble(thrum::options{}, [] { return 7; }));
GIVES(int, thrum::testing::bubble({.runtime = {.procs = 2}, .seed = 1}, [] { return 7; }));
GIVES(void, thrum::testing::wait());
GIVES(time_point, thrum::testing::now());
GIVES(std::uint64_t, thrum::testing::seed());
static_assert(std::is_base_of_v<std::runtime_error, thrum::testing::deadlock>);

using fake_net = thrum::testing::fake_net;
constexpr thrum::testing::fake_net_options fake_options{.link = {.latency = 1ms,
                                                                 .jitter = 1ms,
                                                                 .loss = 0.1,
                                                                 .duplicate = 0.1,
                                                                 .reorder = 0.1,
                                                                 .reorder_by = 1ms,
                                                                 .bandwidth = 1},
                                                        .seed = 1,
                                                        .buffer = 1,
                                                        .give_up = 1s};
static_assert(fake_options.link.loss > 0);
static_assert(std::is_constructible_v<fake_net, const thrum::testing::fake_net_options&> &&
              !std::is_move_constructible_v<fake_net>);
GIVES(void, declval<fake_net&>().add_host("name", "10.0.0.1", "2001:db8::1"));
GIVES(int, declval<fake_net&>().on("name", [] { return 7; }));
GIVES(void, declval<fake_net&>().go("name", [] {}));
GIVES(void, declval<fake_net&>().set_link("a", "b", thrum::testing::fake_link()));
GIVES(void, declval<fake_net&>().set_link_one_way("a", "b", thrum::testing::fake_link()));
GIVES(void, declval<fake_net&>().cut("a", "b"));
GIVES(void, declval<fake_net&>().cut_one_way("a", "b"));
GIVES(void, declval<fake_net&>().partition({"a", "b"}, {"c"}));
GIVES(void, declval<fake_net&>().heal("a", "b"));
GIVES(void, declval<fake_net&>().heal());
GIVES(thrum::testing::fake_net_stats, declval<const fake_net&>().stats());

}  // namespace

TEST_CASE("the names of the public surface work together in one small program") {
  const int status = thrum::run([] {
    const auto numbers = thrum::make_chan<int>(1);
    const context all = context::background().with_timeout(1h).with_value(std::string("seven"));
    thrum::task_group group;
    thrum::mutex mutex;
    int sum = 0;
    group.go([&] {
      for (int i = 0; i != 8; ++i) {
        thrum::select(thrum::on_send(numbers, i), thrum::on_done(all));
      }
      numbers.close();
    });
    group.go([&] {
      for (const int number : numbers) {
        const std::lock_guard lock(mutex);
        sum += number;
      }
    });
    group.wait();
    return *all.value<std::string>() == "seven" ? sum : 0;
  });
  CHECK(status == 28);
}
