// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Look-ups: what the system's resolver is asked, by threads of their own.
//
// Purpose
//   getaddrinfo() blocks its thread for as long as name servers are silent, ten seconds and more,
//   and nothing ends it. So no goroutine and no thread of a runtime is inside it: the caller waits
//   here, and may give up at a deadline or when its runtime stops; the call goes on without it.
//
// The parts
//   A look-up is one question and, later, its answer. A caller that asks what another one is asking
//   already shares that look-up. All askers and the thread that works on it own it together, so an
//   owner that ends does not take it from the others.
//   The threads take look-ups from a queue, in the order in which they came. There is one for each
//   look-up up to a limit. One that finds the queue empty waits for a moment (a name of /etc/hosts
//   takes 3 us, and a thread for it 30 to 60), and ends: so a runtime can still see that nothing
//   but itself is left (deadlock.hpp).
//
// Giving up
//   A look-up that is still queued when the last of its askers has given up leaves the queue. One
//   that has begun goes on; a caller that asks the same meanwhile shares it, so a name whose
//   servers are silent holds one thread, however often it is asked for.
//
// Ends of others
//   The look-ups belong to the process and are never destroyed: at exit a thread may still be
//   inside the resolver, which then ends with the process. A runtime that stops withdraws its
//   askers, as from every wait, and the thread that brings an answer finds only those that still
//   wait. After fork() the child has none of the threads, so it has look-ups of its own.
//
// No thread to be had
//   Then those that run have to do. If there is none, the asker itself works on the queue until it
//   is empty, inside blocking().
#ifndef THRUM_DETAIL_NET_LOOK_UP_HPP
#define THRUM_DETAIL_NET_LOOK_UP_HPP

#include <thrum/blocking.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/net/errors.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/socket_types.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/errc.hpp>
#include <thrum/sync/condition_variable.hpp>
#include <thrum/sync/mutex.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

using namespace net;

/// What look-ups ask of the system. Tests have another one.
struct look_up_system {
  /// As getaddrinfo() for any family and kind of socket; `service` may be null.
  static int ask(const char* host, const char* service, ::addrinfo** list) noexcept {
    ::addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    os::start_sockets();
    return ::getaddrinfo(host, service, &hints, list);
  }
  static void free(::addrinfo* list) noexcept { ::freeaddrinfo(list); }
  /// 0 or an errno value.
  static int start_thread(void* (*entry)(void*), void* argument) noexcept {
    return os::start_detached_thread(entry, argument);
  }
};

template <class System>
class basic_look_ups;

/// One question, and its answer once it is there.
template <class System>
class basic_look_up : public base::list_node<basic_look_up<System>> {
 public:
  /// An empty service asks for addresses only.
  basic_look_up(std::string_view host, std::string_view service) {
    question_.append(host).append(1, '\0').append(service);
  }
  basic_look_up(const basic_look_up&) = delete;
  basic_look_up& operator=(const basic_look_up&) = delete;
  ~basic_look_up() {
    if (list_ != nullptr) {
      System::free(list_);
    }
  }

  /// The answer: may be asked for once it is there. The list lives as long as this, and is null if
  /// there is an error, one of resolver_category() or of the system.
  const ::addrinfo* list() const noexcept { return list_; }
  std::error_code error() const noexcept {
    return returned_ == 0 ? std::error_code() : resolver_error(returned_, cause_);
  }

 private:
  friend class basic_look_ups<System>;

  /// Asks the system's resolver. Called by one thread.
  void work() noexcept {
    const char* const service = question_.c_str() + question_.find('\0') + 1;
    returned_ = System::ask(question_.c_str(), *service != '\0' ? service : nullptr, &list_);
    cause_ = os::resolver_cause(returned_);
    if (returned_ != 0) {
      list_ = nullptr;  // undefined after a failure
    }
  }

  void announce() noexcept {
    const sched::section here;
    lock_.lock();
    is_answered_ = true;
    sched::wake_list released;
    waiters_.take_all(sched::wake_cause::notified, released);
    lock_.unlock();
    released.wake_all();
  }

  /// `is_stopped`: why it timed out.
  sched::wake_cause wait(std::int64_t deadline, bool& is_stopped) noexcept {
    sched::section here;
    sync_detail::waiting self(here, waiters_);
    lock_.lock();
    if (is_answered_) {
      lock_.unlock();
      return sched::wake_cause::notified;
    }
    const sched::io_deadline until(here, deadline);
    const sched::wake_cause cause =
        self.wait({sched::wait_reason::name_look_up, true, until.until()});
    is_stopped = until.is_stopped();
    return cause;
  }

  std::string question_;                       // host, a zero byte, service
  std::shared_ptr<basic_look_up> next_known_;  // of its bucket; under the mutex of basic_look_ups
  std::size_t askers_ = 0;                     // under the mutex of basic_look_ups
  sched::spin_lock lock_{sched::lock_rank::waiters};
  sync_detail::wait_list waiters_{lock_};
  bool is_answered_ = false;  // under lock_; then these do not change any more
  int returned_ = 0;
  os::io_result cause_ = 0;  // of the system, below zero, if that is what it returned
  ::addrinfo* list_ = nullptr;
};

/// All look-ups of a process.
template <class System>
class basic_look_ups {
 public:
  /// One of them.
  using look_up = basic_look_up<System>;

  /// Threads at one time. Each may wait for a silent server; more of them than a busy program has
  /// silent names would only cost memory.
  static constexpr std::size_t most_threads = 64;

  /// How long a thread waits for the next one.
  static constexpr std::chrono::milliseconds linger{50};

  basic_look_ups() = default;
  basic_look_ups(const basic_look_ups&) = delete;
  basic_look_ups& operator=(const basic_look_ups&) = delete;

  /// Those of this process.
  static basic_look_ups& of_process() {
    // [lu.process <] acquire: what it consists of.
    basic_look_ups* all = shared.load(std::memory_order_acquire);
    while (all == nullptr || all->process_ != os::own_process()) {
      base::owner<basic_look_ups> fresh(new basic_look_ups);
      // [lu.process <>] acq_rel: what it consists of, to each thread that finds it.
      if (shared.compare_exchange_strong(all, fresh.get(), std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
        all = fresh.release();
      }
    }
    return *all;
  }

  /// The answer, or null and in `error`, which is not touched else, errc::deadline_exceeded, or
  /// operation_canceled if the stop of the caller's call has come. A
  /// cancellation point. Neither text contains a zero byte.
  std::shared_ptr<const look_up> find(std::string_view host, std::string_view service,
                                      std::int64_t deadline, std::error_code& error) {
    if (deadline <= sched::traits::now()) {
      error = errc::deadline_exceeded;
      return nullptr;
    }
    std::shared_ptr<look_up> asked = ask(host, service);
    bool is_stopped = false;
    const sched::wake_cause cause = asked->wait(deadline, is_stopped);
    give_up(*asked);
    if (cause == sched::wake_cause::notified) {
      return asked;
    }
    asked.reset();  // without exceptions the goroutine ends where it stands
    sched::exit_if_cancelled(cause);
    error = is_stopped ? std::make_error_code(std::errc::operation_canceled)
                       : std::error_code(errc::deadline_exceeded);
    return nullptr;
  }

  /// Threads that there are now, asking or waiting for a question.
  std::size_t threads() {
    const std::lock_guard guard(mutex_);
    return threads_;
  }
  /// Questions that have no answer yet, in a thread or in the queue.
  std::size_t unanswered() {
    const std::lock_guard guard(mutex_);
    return unanswered_;
  }
  /// Questions that there ever were; one that several asked together is counted once.
  std::uint64_t count() {
    const std::lock_guard guard(mutex_);
    return count_;
  }

 private:
  std::shared_ptr<look_up> ask(std::string_view host, std::string_view service) {
    const auto fresh = std::make_shared<look_up>(host, service);
    std::shared_ptr<look_up> asked;
    bool starts_thread = false;
    {
      const std::lock_guard guard(mutex_);
      std::shared_ptr<look_up>& known = find_known(fresh->question_);
      const bool is_new = known == nullptr;
      if (is_new) {
        known = fresh;
      }
      asked = known;
      ++asked->askers_;
      if (is_new) {
        ++unanswered_;
        ++count_;
        queue_.push_back(*asked);
        // idle_ counts a thread that was notified and has not run yet; queued_ counts what it is
        // to take. So the two stay comparable.
        if (++queued_ <= idle_) {
          changed_.notify_one();
        } else if (threads_ < most_threads) {
          ++threads_;
          starts_thread = true;
        }
      }
    }
    if (starts_thread && System::start_thread(&serve_as_thread, this) != 0) {
      do_without_thread();
    }
    return asked;
  }

  /// The caller asks no more.
  void give_up(look_up& asked) {
    const std::lock_guard guard(mutex_);
    if (--asked.askers_ == 0 && asked.linked) {
      queue_.remove(asked);
      --queued_;
      forget(asked.question_);  // the caller has it still
    }
  }

  /// Where the question is, or where it would be added: null. Caller holds the mutex.
  std::shared_ptr<look_up>& find_known(std::string_view question) noexcept {
    std::shared_ptr<look_up>* at = &known_[std::hash<std::string_view>()(question) % buckets];
    while (*at != nullptr && (*at)->question_ != question) {
      at = &(*at)->next_known_;
    }
    return *at;
  }

  /// Caller holds the mutex.
  void forget(std::string_view question) noexcept {
    std::shared_ptr<look_up>& place = find_known(question);
    if (const std::shared_ptr<look_up> gone = std::move(place)) {  // always, but gcc cannot know
      place = std::move(gone->next_known_);
      --unanswered_;
    }
  }

  /// The thread that the caller has counted could not be made.
  THRUM_COLD void do_without_thread() {
    {
      const std::lock_guard guard(mutex_);
      if (threads_ != 1) {
        --threads_;
        return;
      }
    }
    blocking([this] { serve(false); });
  }

  static void* serve_as_thread(void* all) noexcept {
    os::set_thread_name("thrum-look-up");
    static_cast<basic_look_ups*>(all)->serve(true);
    return nullptr;
  }

  /// Until the queue is empty. Counted in threads_ so far.
  void serve(bool lingers) noexcept {
    for (;;) {
      std::shared_ptr<look_up> next;
      {
        std::unique_lock guard(mutex_);
        if (lingers) {
          ++idle_;
          changed_.wait_for(guard, linger, [this] { return queued_ != 0; });
          --idle_;
        }
        look_up* const first = queue_.pop_front();
        if (first == nullptr) {
          --threads_;
          return;
        }
        --queued_;
        next = find_known(first->question_);
      }
      next->work();
      {
        const std::lock_guard guard(mutex_);
        forget(next->question_);  // the next caller asks anew
      }
      next->announce();
    }
  }

  static inline constinit std::atomic<basic_look_ups*> shared{nullptr};

  const std::int64_t process_ = os::own_process();
  mutex mutex_;
  condition_variable changed_;  // for threads: there is something in the queue
  // -- under the mutex --
  // Not answered yet, by hash. std::unordered_map would cost each user's compiler 4 % of this library.
  static constexpr std::size_t buckets = 64;
  std::shared_ptr<look_up> known_[buckets];
  std::size_t unanswered_ = 0;           // how many
  base::intrusive_list<look_up> queue_;  // those of them that no thread works on
  std::size_t queued_ = 0;               // its size
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;  // of these, that wait for the queue
  std::uint64_t count_ = 0;
};

/// Those that ask the system's resolver.
using look_ups = basic_look_ups<look_up_system>;

}}}  // namespace thrum::THRUM_ABI::net_detail

#endif  // THRUM_DETAIL_NET_LOOK_UP_HPP
