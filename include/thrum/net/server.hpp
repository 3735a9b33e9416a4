// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// server: accepts connections, a goroutine for each; graceful shutdown.
//
// Purpose
//   A loop over accept() is three lines, and then come the questions that every server meets: how
//   many connections at most, and how it ends without cutting off a client in the middle of an
//   answer. Both are the same bookkeeping: which connections there are.
//
// The parts
//   A session is one connection, from accept() until its handler has ended and the connection is
//   closed. Sessions are in one list, under the server's mutex; its length is what the limit
//   counts.
//   A session waits either for a request (session::wait_request) or works. What it waits with, its
//   read deadline, is under a lock of its own: requests of different connections share nothing.
//
// How it stops, in this order
//   1. No new ones. The listener is closed. What a call of accept has at that moment becomes a
//      session as any other; what waits in the system's queue is reset by the system.
//   2. The server tells its sessions. A session that works goes on until its next wait for a request.
//      A session that waits for a request has `idle_grace` for one that is on its way, then its wait
//      ends. So does every later wait. Then the stop token is requested, for handlers that wait for
//      other things.
//   3. The stop waits until the last session has ended, or for its deadline.
//   4. At the deadline the connections that are left are closed: what their handlers do with them
//      fails with errc::operation_canceled. The stop waits until these handlers have ended, too.
//
// Why idle connections are not closed at once
//   A client that keeps its connection sends its next request as soon as it has the last answer.
//   For as long as that is under way, the server cannot tell it from none: one that closes then
//   resets the connection and loses the request. So there is a grace; with 0 that is what happens.
//
// Ends of others
//   The destructor waits for all who are inside: handlers, serve() and stop(). Each of them says
//   last of all, under the mutex, that it has left.
//   The closing of a connection may take time, so it is done without the mutex. A session that is
//   being closed is pinned: its own end waits for that.
#ifndef THRUM_NET_SERVER_HPP
#define THRUM_NET_SERVER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/go.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/listener.hpp>
#include <thrum/runtime.hpp>
#include <thrum/stop_condition.hpp>
#include <thrum/sync/condition_variable.hpp>
#include <thrum/sync/latch.hpp>
#include <thrum/sync/mutex.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// How a server treats its connections.
struct server_options {
  /// At one time. While there are so many, further ones wait in the system's queue. 0: any number.
  std::size_t max_connections = 0;
  /// When a stop begins, a connection between requests waits so long for one that is on its way.
  std::chrono::nanoseconds idle_grace = std::chrono::milliseconds(250);
  /// Gets each exception that leaves a handler, in its goroutine, but goroutine_exit. Without it, a
  /// std::system_error only ends that connection, as a client that is gone should; others go
  /// where those of every goroutine go, to options::on_panic.
  std::function<void(std::exception_ptr)> on_error{};
};

/// Accepts connections of a listener and runs a handler for each, in a goroutine of its own. All
/// members may be called from any goroutine and thread, at the same time. The destructor stops it:
/// connections that are there are closed at once, and it waits for their handlers, and for calls of
/// its members. So it must not be destroyed by one of its handlers.
class server {
 public:
  /// What a handler knows of its connection beside the connection.
  class session;

  /// Does not accept yet, and does not wait: connections queue up until serve(). Any thread.
  explicit server(listener from, server_options how = {});
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server();

  /// Runs handler(conn&) or handler(conn&, session&) as a goroutine for each connection that comes;
  /// the connection is closed when it returns. The handler is moved or copied once, and called by
  /// many goroutines at the same time. Returns when the server was stopped and the last
  /// handler has ended. If accept() fails for good, or a goroutine cannot be started for another
  /// reason than memory, it fails at once: `error`, or std::system_error; connections that are there
  /// go on. What passes is waited for: memory, and what listener says. May be called several times,
  /// each takes a share of the connections. A cancellation point. usage_error outside of a runtime.
  template <go_detail::not_runtime Handler>
  void serve(Handler&& handler) {
    std::error_code error;
    serve(std::forward<Handler>(handler), error);
    throw_if(error);
  }
  template <go_detail::not_runtime Handler>
  void serve(Handler&& handler, std::error_code& error) {
    static_cast<void>(
        go_detail::own_scheduler("server::serve", "name one: serve(runtime, handler)"));
    accept_all([](auto&& task) { thrum::go(std::forward<decltype(task)>(task)); },
               std::forward<Handler>(handler), error);
  }

  /// serve(handler) with goroutines of the runtime `where`, from any thread.
  template <class Handler>
  void serve(runtime& where, Handler&& handler) {
    std::error_code error;
    serve(where, std::forward<Handler>(handler), error);
    throw_if(error);
  }
  template <class Handler>
  void serve(runtime& where, Handler&& handler, std::error_code& error) {
    accept_all([&where](auto&& task) { where.go(std::forward<decltype(task)>(task)); },
               std::forward<Handler>(handler), error);
  }

  /// serve(handler) until a stop, which is as request_stop(): returns when the last handler has ended.
  /// Needs <thrum/detail/start/stoppable.hpp>, which <thrum.hpp> includes.
  template <go_detail::not_runtime Handler, until_condition Stop,
            std::same_as<std::error_code>... Error>
  void serve(Handler&& handler, const Stop& stop, Error&... error) {
    static_cast<void>(
        go_detail::own_scheduler("server::serve", "name one: serve(runtime, handler)"));
    const visit here(*this);
    latch has_served(1);
    const auto stopping = thrum::spawn([&] { request_stop_at(stop, has_served); });
    const count_down_at_end at_end{has_served};
    serve(std::forward<Handler>(handler), error...);
  }
  template <class Handler, until_condition Stop, std::same_as<std::error_code>... Error>
  void serve(runtime& where, Handler&& handler, const Stop& stop, Error&... error) {
    const visit here(*this);
    latch has_served(1);
    const auto stopping = where.spawn([&] { request_stop_at(stop, has_served); });
    const count_down_at_end at_end{has_served};
    serve(where, std::forward<Handler>(handler), error...);
  }

  /// Begins to stop: closes the listener and tells the sessions, for which it does not wait. May be
  /// called by a handler. Doing it again does nothing.
  void request_stop();

  /// Begins to stop, and waits until all handlers have ended. Not from a handler, which would wait
  /// for itself: it may call request_stop(). A cancellation point.
  void stop();

  /// stop() until a deadline: then closes the connections that are left, and waits for their handlers.
  /// Returns whether all handlers had ended before. A cancellation point.
  bool stop_until(time_point deadline);
  template <class Rep, class Period>
  bool stop_for(std::chrono::duration<Rep, Period> time) {
    return stop_until(time_point(std::chrono::nanoseconds(time_detail::deadline_after(time))));
  }

  /// stop_until with a stop in place of the deadline. Needs <thrum/detail/start/stoppable.hpp>, which
  /// <thrum.hpp> includes.
  template <until_condition Stop>
  bool stop(const Stop& stop) {
    const visit here(*this);
    request_stop();
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, stop, [this] { return has_ended(); }) || end_at_once(lock);
  }

  /// Whether it has begun to stop.
  bool stopping() const noexcept { return stop_source_.stop_requested(); }
  /// Requested when it begins to stop, after the sessions were told.
  std::stop_token stop_token() const noexcept { return stop_source_.get_token(); }

  /// Connections that there are now.
  std::size_t connections() const;

  /// Where it listens; none once it stops.
  endpoint local() const noexcept { return listener_.local(); }

 private:
  /// A call of a member, for which the destructor waits.
  class visit {
   public:
    explicit visit(server& at);
    ~visit();
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

   private:
    server& at_;
  };

  struct count_down_at_end {
    ~count_down_at_end() { of.count_down(); }
    latch& of;
  };
  template <until_condition Stop>
  void request_stop_at(const Stop& stop, const latch& has_served) {
    if (!has_served.wait(stop)) {
      request_stop();
    }
  }

  template <class Handler>
  static consteval bool is_handler() {
    constexpr bool called = std::is_invocable_v<std::decay_t<Handler>&, conn&, session&> ||
                            std::is_invocable_v<std::decay_t<Handler>&, conn&>;
    static_assert(called,
                  "server::serve: the handler must be callable as handler(conn&) or handler(conn&, "
                  "server::session&): the connection stays the server's, which closes it");
    return called;
  }

  template <class Start, class Handler>
  void accept_all(Start start, Handler&& handler, std::error_code& error);

  /// The next connection; null when there are no more, or `error`.
  base::owner<session> next(std::error_code& error);

  /// There is no memory for a connection, but there may be when others have ended. False: the server
  /// stops. `pause` grows.
  [[gnu::cold]] bool wait_for_memory(std::int64_t& pause_ns);

  void throw_if(const std::error_code& error) const;

  void wait_for_end();

  // Those that follow: with the mutex locked.
  bool has_ended() const noexcept { return connections_ == 0 && accepting_ == 0; }
  void close_sessions(std::unique_lock<mutex>& lock);
  /// Closes what is left and waits for the handlers: false.
  bool end_at_once(std::unique_lock<mutex>& lock);

  listener listener_;
  const server_options how_;
  std::stop_source stop_source_;
  mutable mutex mutex_;
  condition_variable changed_;  // what is here has become less
  // -- under the mutex --
  base::intrusive_list<session> sessions_;
  std::size_t connections_ = 0;  // sessions
  std::size_t accepting_ = 0;    // calls of accept: each may bring one
  std::size_t visits_ = 0;
  bool is_stopping_ = false;  // the listener is closed, or about to be
  bool is_told_ = false;      // so are the sessions, and later ones are when they begin
  bool is_closing_ = false;   // the deadline has passed
  time_point grace_ends_;     // from is_told_ on
};

/// One connection of a server, for its handler. Not for other goroutines, but stopping().
class server::session : public base::list_node<server::session> {
 public:
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  /// Says that the connection is between requests, and waits for the next one: true when there is
  /// something to be read, or the end of the stream. False: the handler should return, as nothing
  /// has come until the deadline, or the server stops and nothing came within
  /// server_options::idle_grace, or the connection has failed. `deadline` stays the connection's
  /// read deadline. A cancellation point.
  bool wait_request() { return wait_request_until(time_point::max()); }
  bool wait_request_until(time_point deadline);
  template <class Rep, class Period>
  bool wait_request_for(std::chrono::duration<Rep, Period> time) {
    return wait_request_until(
        time_point(std::chrono::nanoseconds(time_detail::deadline_after(time))));
  }

  /// wait_request() until a stop; false then, too.
  template <until_condition Stop>
  bool wait_request(const Stop& stop) {
    begin_idle(time_point::max());
    std::error_code error;
    conn_.wait_readable(stop, error);
    return end_idle(time_point::max(), error);
  }

  /// Whether the server has begun to stop: the answer at hand should be the last, and say so.
  bool stopping() const;

  /// The server's, for handlers that wait for other things than requests.
  std::stop_token stop_token() const noexcept { return server_.stop_token(); }

 private:
  friend class server;

  /// With the server's mutex locked; the caller counts it.
  session(server& of, conn connection);

  /// Around a wait for a request. The second: whether there is one.
  void begin_idle(time_point deadline);
  bool end_idle(time_point deadline, const std::error_code& error);

  /// The server has begun to stop.
  void tell(time_point grace_ends);

  template <class Handler>
  void call(Handler& handler) {
    if constexpr (std::is_invocable_v<Handler&, conn&, session&>) {
      std::invoke(handler, conn_, *this);
    } else {
      std::invoke(handler, conn_);
    }
  }

  /// The goroutine of the connection.
  template <class Handler>
  void run() {
    Handler& handler = *static_cast<Handler*>(handler_.get());
#if THRUM_EXCEPTIONS
    if (server_.how_.on_error) {
      std::exception_ptr error;
      try {
        call(handler);
      } catch (const goroutine_exit&) {
        throw;
      } catch (...) {
        error = std::current_exception();
      }
      if (error != nullptr) {
        server_.how_.on_error(std::move(error));
      }
      return;
    }
    // Others are not caught: the report of a panic shows where they were thrown.
    try {
      call(handler);
    } catch (const std::system_error&) {
    }
#else
    call(handler);
#endif
  }

  server& server_;
  conn conn_;
  std::shared_ptr<void> handler_;
  // -- under the server's mutex --
  bool is_closed_ = false;  // by the server
  bool is_pinned_ = false;
  // -- under lock_ --
  mutable mutex lock_;
  bool is_idle_ = false;
  bool is_told_ = false;
  time_point idle_until_;  // while it is idle: what the handler has said
  time_point grace_ends_;  // once is_told_
};

template <class Start, class Handler>
void server::accept_all(Start start, Handler&& handler, std::error_code& error) {
  if constexpr (is_handler<Handler>()) {
    const visit here(*this);
    error.clear();
    using kept = std::decay_t<Handler>;
    // Lives as long as the last of the goroutines, which may outlive this call.
    const std::shared_ptr<void> shared = std::make_shared<kept>(std::forward<Handler>(handler));
    while (base::owner<session> each = next(error)) {
      each->handler_ = shared;
      // Its goroutine owns it, but only once there is one.
      const auto run = [one = each.get()] {
        const base::owner<session> own(one);
        own->template run<kept>();
      };
#if THRUM_EXCEPTIONS
      for (std::int64_t pause_ns = listener::first_pause_ns; each;) {
        error.clear();
        try {
          start(run);
          static_cast<void>(each.release());
        } catch (const std::system_error& failed) {
          error = failed.code();
        }
        if (error && error != std::errc::not_enough_memory) {
          return;
        }
        if (error && !wait_for_memory(pause_ns)) {
          each.reset();
          error.clear();
        }
      }
#else
      start(run);
      static_cast<void>(each.release());
#endif
    }
    if (!error) {
      wait_for_end();
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::net

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/net/server_session.hpp>  // IWYU pragma: keep: bodies

#include <algorithm>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE server::server(listener from, server_options how)
    : listener_(std::move(from)), how_(std::move(how)) {}

THRUM_COLD THRUM_OUT_OF_LINE bool server::wait_for_memory(std::int64_t& pause_ns) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(pause_ns), [this] { return is_stopping_; });
  pause_ns = std::min(2 * pause_ns, listener::longest_pause_ns);
  return !is_stopping_;
}

THRUM_OUT_OF_LINE void server::throw_if(const std::error_code& error) const {
  if (error) {
    base::message<512> text("server::serve ");
    base::throw_system(error, text.append(local().to_string()).view());
  }
}

THRUM_OUT_OF_LINE std::size_t server::connections() const {
  const std::lock_guard guard(mutex_);
  return connections_;
}

}}}  // namespace thrum::THRUM_ABI::net
#endif

#endif
