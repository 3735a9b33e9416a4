// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The public surface, name by name: of the library this file includes
// <thrum.hpp> alone, and it compiles only if every name is there in the form
// that programs use. What the names do is tested elsewhere.

#include <thrum.hpp>

#include "support/catch.hpp"

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

// ---- start and stop
// ----------------------------------------------------------------------------

GIVES(int, thrum::run([] {}));
GIVES(int, thrum::run([] { return 7; }));
GIVES(int, thrum::run(thrum::options{}, [] {}));
GIVES(int, thrum::run(thrum::options::from_environment(), [m = move_only(1)] { return m.value; }));

static_assert(same<unsigned, decltype(thrum::options::procs)>);
static_assert(same<unsigned, decltype(thrum::options::max_threads)>);
static_assert(same<std::size_t, decltype(thrum::options::stack_size)>);
static_assert(same<std::chrono::nanoseconds, decltype(thrum::options::time_slice)>);
static_assert(same<thrum::preemption, decltype(thrum::options::preempt)>);
static_assert(same<thrum::poller_kind, decltype(thrum::options::poller)>);
static_assert(thrum::poller_kind::usual != thrum::poller_kind::io_uring);
static_assert(same<std::chrono::milliseconds, decltype(thrum::options::schedtrace)>);
static_assert(same<bool, decltype(thrum::options::scheddetail)>);
static_assert(same<bool, decltype(thrum::options::detect_deadlock)>);
static_assert(same<std::string, decltype(thrum::options::name)>);
static_assert(same<std::function<void(unsigned)>, decltype(thrum::options::on_thread_start)>);
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
static_assert(std::is_base_of_v<std::logic_error, thrum::usage_error>);
static_assert(std::is_nothrow_default_constructible_v<thrum::uncancellable>);
static_assert(!std::is_copy_constructible_v<thrum::uncancellable>);

// ---- goroutines
// --------------------------------------------------------------------------------

GIVES(void, thrum::go([] {}));
GIVES(void, thrum::go([](int&&, const move_only&) {}, 1, move_only(2)));
GIVES(void, thrum::go(
                thrum::attributes{.stack_size = 65'536, .name = "loader"}, [](int) {}, 1));
GIVES(thrum::join_handle<void>, thrum::spawn([] {}));
GIVES(thrum::join_handle<move_only>, thrum::spawn([](int i) { return move_only(i); }, 1));

GIVES(void, thrum::dump_goroutines());
GIVES(void, thrum::dump_goroutines(stdout));
GIVES(void, thrum::dump_goroutines(stdout, thrum::dump_form::counts));
GIVES(void, thrum::runtime::current()->dump_goroutines());
GIVES(void, thrum::go(*thrum::runtime::current(), [] {}));
GIVES(thrum::join_handle<int>, thrum::spawn(*thrum::runtime::current(), [] { return 1; }));
GIVES(thrum::timer, thrum::after_func(*thrum::runtime::current(), 1ms, [] {}));
GIVES(void, thrum::runtime::current()->dump_goroutines(stdout, thrum::dump_form::full));
GIVES(thrum::stats_snapshot, thrum::stats());
static_assert(std::is_nothrow_default_constructible_v<thrum::thread_lock>);
static_assert(!std::is_move_constructible_v<thrum::thread_lock>);

using handle = thrum::join_handle<int>;
static_assert(std::is_nothrow_move_constructible_v<handle> && std::is_move_assignable_v<handle>);
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
GIVES(void, thrum::this_goroutine::exit());
GIVES(std::stop_token, thrum::this_goroutine::stop_token());
GIVES(int, thrum::blocking([] { return 1; }));
GIVES(void, thrum::blocking([] {}));

static_assert(std::is_default_constructible_v<thrum::goroutine_local<int>> &&
              std::is_default_constructible_v<thrum::goroutine_local<std::string>>);

// ---- channels
// ----------------------------------------------------------------------------------

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
GIVES(std::optional<move_only>, declval<owners&>().recv());
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
GIVES(std::optional<move_only>, declval<owners&>().try_recv());
GIVES(std::optional<move_only>, declval<owners&>().recv_for(1s));
GIVES(std::optional<move_only>, declval<owners&>().recv_until(time_point()));
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
GIVES(thrum::recv_status, declval<signals&>().try_recv());
GIVES(thrum::recv_status, declval<signals&>().recv_for(1ms));
GIVES(thrum::recv_status, declval<signals&>().recv_until(time_point()));

[[maybe_unused]] void channels_are_ranges(ints c, owners d, thrum::recv_chan<int> view) {
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
}

// ---- select
// ------------------------------------------------------------------------------------

GIVES(std::size_t, thrum::select());
GIVES(std::size_t, thrum::select(declval<std::span<thrum::select_case>>()));
GIVES(std::size_t, thrum::select(thrum::otherwise()));

[[maybe_unused]] void select_takes_cases(const ints& c, const owners& d, const signals& s,
                                         std::stop_token token, const thrum::context& context) {
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

// ---- synchronisation
// ---------------------------------------------------------------------------

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

template <class B>
struct barrier_members {
  static_assert(!std::is_copy_constructible_v<B> && B::max() > 0);
  GIVES(typename B::arrival_token, declval<B&>().arrive());
  GIVES(typename B::arrival_token, declval<B&>().arrive(2));
  GIVES(void, declval<const B&>().wait(declval<typename B::arrival_token>()));
  GIVES(void, declval<B&>().arrive_and_wait());
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

static_assert(std::is_default_constructible_v<thrum::wait_group> &&
              !std::is_copy_constructible_v<thrum::wait_group>);
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
static_assert(same<std::stop_token,
                   std::remove_cvref_t<decltype(declval<thrum::task_group&>().stop_token())>>);

// ---- errors, network and files
// -----------------------------------------------------------------------------------

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
static_assert(thrum::io::exit_status::none == -1);

using udp = thrum::net::udp_socket;
GIVES(std::size_t, declval<udp&>().send_many(declval<std::span<const udp::outgoing>>()));
GIVES(std::size_t, declval<udp&>().send_many(declval<std::span<const udp::outgoing>>(),
                                             declval<std::error_code&>()));
GIVES(std::size_t, declval<udp&>().recv_many(declval<std::span<udp::incoming>>()));
GIVES(std::size_t,
      declval<udp&>().recv_many(declval<std::span<udp::incoming>>(), declval<std::error_code&>()));
static_assert(same<udp::datagram, decltype(udp::incoming::result)>);

// ---- context and time
// --------------------------------------------------------------------------

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
GIVES(thrum::timer, thrum::after_func(1h, [m = move_only(1)] { (void)m; }));

[[maybe_unused]] void members_that_need_no_result(context c, thrum::timer t) {
  c.cancel();
  t.stop();
  t.reset(1s);
}

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
