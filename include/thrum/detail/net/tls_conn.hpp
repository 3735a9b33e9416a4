// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// tls_conn: TLS over a connection, by OpenSSL 3. To be included by net/tls.hpp.
//
// Locks
//   OpenSSL's object is one for both directions. It stands under `lock`, which no caller holds while it
//   waits: the object turns bytes into bytes in memory (tls_session.hpp). A reader has the turn `reading`,
//   a writer the turn `writing`, and keeps it while it waits for the connection; the handshake has both. A
//   wait for a turn ends when its owner's wait does, which deadlines, close() and the end of the runtime
//   see to, or with the stop of the call that waits. Order: reading, writing, lock.
//
// What a read has to send
//   The answer to a change of keys, or an alert. If no writer has its turn, the read sends as much as it
//   can at once; the next write sends the rest first, which is what RFC 8446 (section 4.6.3) asks for.
//
// A write that is cut short, by a deadline for example, has made records of which some are not sent.
//   They lie in `sending`, and the next write goes on with them: the stream stays whole. (Go's
//   crypto/tls takes it for broken then.)
//
// Which goroutine receives
//   A write needs input where the peer has sent a part of a message (a ticket, a change of keys): OpenSSL
//   reads the rest before it writes. So what the connection has is received for both directions:
//   one goroutine receives at a time, `receives` under the lock says for which direction, and others
//   that want input wait for `news`. Each of them then tries again; the first that still wants input
//   receives next. The deadline of a receive is that of its direction, both deadlines in a handshake:
//   where it is not the one for reading, the connection below has it for that time.
//
// What try_read and try_write cannot send stays in `sending` likewise. A piece of the handshake among it
//   is `owed`: the peer waits for it, so a read that waits sends it first.
//
// System calls: as many as the plain connection makes, one receive and one send a round trip, since
// what is received at once is kept, and a write of up to 64 KiB is sent as one.
#ifndef THRUM_DETAIL_NET_TLS_CONN_HPP
#define THRUM_DETAIL_NET_TLS_CONN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/tls_context.hpp>  // IWYU pragma: export
#include <thrum/detail/net/tls_error.hpp>    // IWYU pragma: export
#include <thrum/detail/net/tls_session.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/stop_condition.hpp>
#include <thrum/sync/condition_variable.hpp>
#include <thrum/sync/mutex.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// A stream through TLS. Move-only. Reading, writing, closing and moving deadlines may be done from
/// several goroutines and threads at the same time; two that read (or write) take turns, each with a
/// whole operation. Moving and destroying it needs it alone. Reading, writing and the handshake are
/// cancellation points. Closes when destroyed.
class tls_conn : public io::stream_reading<tls_conn>, public io::stream_writing<tls_conn> {
 public:
  /// Holds none: every operation fails with errc::bad_file_descriptor.
  tls_conn() noexcept = default;
  tls_conn(tls_conn&&) noexcept = default;
  tls_conn& operator=(tls_conn&& other) noexcept {
    if (this != &other) {
      close();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~tls_conn() { close(); }

  /// The client's side on a connection. The server's certificate must list `host`, a name or an IP
  /// address, unless the context does not verify; its common name does not count.
  /// std::errc::invalid_argument: `host` is neither, or is empty and the context verifies. Sends
  /// nothing: the handshake comes with the first operation, or with handshake(). An lvalue: the
  /// connection stays its owner's, must outlive this one, and is closed by it.
  static tls_conn client(const tls_context& context, conn&& transport, std::string_view host) {
    return made("tls_conn::client", context, true, &transport, nullptr, host);
  }
  static tls_conn client(const tls_context& context, conn& transport, std::string_view host) {
    return made("tls_conn::client", context, true, nullptr, &transport, host);
  }
  static tls_conn client(const tls_context& context, conn&& transport, std::string_view host,
                         std::error_code& error) {
    return tls_conn(context, true, &transport, nullptr, host, error);
  }
  static tls_conn client(const tls_context& context, conn& transport, std::string_view host,
                         std::error_code& error) {
    return tls_conn(context, true, nullptr, &transport, host, error);
  }

  /// The server's side on a connection that was accepted; likewise.
  static tls_conn server(const tls_context& context, conn&& transport) {
    return made("tls_conn::server", context, false, &transport, nullptr, {});
  }
  static tls_conn server(const tls_context& context, conn& transport) {
    return made("tls_conn::server", context, false, nullptr, &transport, {});
  }
  static tls_conn server(const tls_context& context, conn&& transport, std::error_code& error) {
    return tls_conn(context, false, &transport, nullptr, {}, error);
  }
  static tls_conn server(const tls_context& context, conn& transport, std::error_code& error) {
    return tls_conn(context, false, nullptr, &transport, {}, error);
  }

  /// Agrees with the peer on keys, and sees who it is; does nothing if that is done. Both deadlines
  /// hold for it. An error of tls_category() (see tls_error), errc::unexpected_end if the peer hangs
  /// up, or of the connection. After an error of TLS every operation fails with it.
  void handshake() {
    io_detail::or_fail(*this, "handshake", [&](std::error_code& error) {
      handshake(error);
      return 0;
    });
  }
  void handshake(std::error_code& error);
  /// handshake() until a stop: then std::errc::operation_canceled; a later call goes on with it.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
  void handshake(const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return handshake(code), 0; };
    io_detail::until_stopped(*this, "handshake", stop, call, error...);
  }

  // read, read_full, read_all, read_v, try_read and write, write_v, try_write of stream.hpp. A read
  // gives the end when the peer has said that it writes no more; errc::unexpected_end: the connection
  // ended without that, so something may be missing. What a write that fails says it has written is
  // sent by the next one, if not before.
  //
  // try_read and try_write do as much of the handshake as can be done at once, and are none until it
  // is done. What try_write has taken it may keep, a record of 16 KiB at most: the next operation that
  // writes sends that first, a write of nothing too, and try_write of nothing is none until it is sent.

  /// Tells the peer that no more comes: it reads the end of the stream. Reading goes on; writing
  /// fails with errc::broken_pipe.
  void close_write() {
    io_detail::or_fail(*this, "close_write", [&](std::error_code& error) {
      close_write(error);
      return 0;
    });
  }
  void close_write(std::error_code& error);

  /// Ends whatever others do with it: that fails with errc::operation_canceled, as does what comes
  /// later. Tells the peer, if that can be done at once. Closing again does nothing.
  void close() noexcept;

  /// Sets the moment from which reading and writing fail with errc::deadline_exceeded, also calls that
  /// wait, also if there is data, until it is moved: then they go on. time_point::max(): never.
  void set_deadline(time_point when) noexcept {
    set_read_deadline(when);
    set_write_deadline(when);
  }
  void set_read_deadline(time_point when) noexcept;
  void set_write_deadline(time_point when) noexcept;

  /// The application protocol that both have agreed on (ALPN); empty: none, or no handshake yet.
  std::string protocol() const;
  /// "TLSv1.3", and the name of the cipher suite.
  std::string version() const;
  std::string cipher() const;
  /// The name by which the client asked (SNI); empty: by none.
  std::string server_name() const;
  /// Whether the handshake was short, from a session that both sides had before.
  bool resumed() const;
  /// What a read would give without looking at the connection: it was received with something else. A
  /// caller that waits with the connection alone must see that this is 0.
  std::size_t buffered() const;

  /// The connection below: for its options, not for reading and writing. There must be one.
  conn& transport() noexcept { return *state_->transport; }
  /// The addresses of this end and of the other; none after close().
  endpoint local() const noexcept { return state_ ? state_->transport->local() : endpoint(); }
  endpoint remote() const noexcept { return state_ ? state_->transport->remote() : endpoint(); }

  /// OpenSSL's object, for what else it knows (the peer's certificate), while no call reads or writes. Null
  /// if there is none. It stays the connection's.
  ::SSL* native_session() const noexcept { return state_ ? state_->session.native() : nullptr; }

  /// Whether it holds a connection, open or closed.
  explicit operator bool() const noexcept { return state_ != nullptr; }

  /// The operations that stream.hpp makes the members with texts and error codes of. Programs have no
  /// need of them.
  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error);
  std::size_t read_some_v(std::span<const std::span<std::byte>> pieces, std::error_code& error);
  std::optional<std::size_t> try_read_some(std::span<std::byte> buffer, std::error_code& error);
  void write_all(std::span<const std::byte> bytes, std::size_t& done, std::error_code& error);
  void write_all_v(std::span<const std::span<const std::byte>> pieces, std::size_t& done,
                   std::error_code& error);
  std::optional<std::size_t> try_write_some(std::span<const std::byte> bytes,
                                            std::error_code& error);
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const;

 private:
  using outcome = net_detail::tls_session::outcome;

  static constexpr std::size_t piece =
      std::size_t{64} * 1024;  // of plain text, made and sent at once
  static constexpr std::size_t record = std::size_t{16} * 1024;  // RFC 8446, section 5.1
  // What may lie there to be sent while only reading goes on: a peer may ask and never listen.
  static constexpr std::size_t most_unsent = std::size_t{64} * 1024;

  /// For whom a goroutine receives.
  enum class direction { none, read, write, both };

  struct state {
    state(conn* owned, conn* borrowed, std::shared_ptr<net_detail::tls_context_state> context)
        : own(owned != nullptr ? std::move(*owned) : conn()),
          transport(owned != nullptr ? &own : borrowed),
          session(std::move(context)) {}

    conn own;
    conn* transport;
    mutable mutex lock;
    mutex reading;
    mutex writing;

    // Under `lock`.
    net_detail::tls_session session;
    time_point read_deadline = time_point::max();
    time_point write_deadline = time_point::max();
    bool closed = false;
    bool owed = false;  // of the handshake something is in `sending`
    direction receives = direction::none;
    std::uint64_t news_count = 0;  // receives that have ended, deadlines that were moved, closes
    condition_variable news;

    // The writer's: records, and how much of them is sent.
    std::vector<std::byte> sending;
    std::size_t sent = 0;

    std::string host;
  };

  tls_conn(const tls_context& context, bool is_client, conn* owned, conn* borrowed,
           std::string_view host, std::error_code& error);
  static tls_conn made(const char* operation, const tls_context& context, bool is_client,
                       conn* owned, conn* borrowed, std::string_view host);

  /// Those that are not null.
  void set_deadlines(const time_point* read, const time_point* write) noexcept;

  /// With the lock: 0, or why nothing may be done in that direction.
  static std::error_code refusal(const state& s, time_point deadline) noexcept;

  static std::error_code refusal_to_write(const state& s);

  /// Locks it; false, and an error: the stop of the caller's call has come.
  static bool take_turn(std::unique_lock<mutex>& turn, std::error_code& error);

  static bool has_agreed(const state& s);

  enum class pace { waiting, at_once };

  /// Receives what the session wants, or waits until another has. Releases the lock meanwhile. True:
  /// the caller tries again. False: an error, or none: there is nothing at once.
  template <pace Pace>
  static bool receive(state& s, std::unique_lock<mutex>& lock, direction whose,
                      std::error_code& error);
  /// With the lock: waits until another has received, or a deadline is moved.
  static bool await_news(state& s, std::unique_lock<mutex>& lock, direction whose,
                         std::error_code& error);
  /// With the lock: wakes those that wait for news.
  static void tell_news(state& s) noexcept;
  /// With the lock: the deadline of a receive.
  static time_point deadline_of(const state& s, direction whose) noexcept;

  // Called by a writer, with its turn.
  /// With the lock: what the session wants to send is to be sent next. False: it still has something.
  static bool take_output(state& s) noexcept;
  /// With the lock, after take_output: that, and more records, are to be sent next. wants_input: no
  /// record was made; failed: there is an error.
  static outcome make_records(state& s, std::span<const std::byte> from, std::error_code& error);
  static bool send(state& s, std::error_code& error);
  static bool send_all(state& s, std::error_code& error);
  /// Whether all is sent; else an error, or none: there is no room.
  static bool send_at_once(state& s, std::error_code& error);
  static void send_at_once(state& s) noexcept;

  /// Without the lock: whether both have agreed; else an error, or none: it takes a wait.
  static bool agree_at_once(state& s, std::error_code& error);
  /// Whether both have agreed, as agree_at_once. Called by a reader, with its turn.
  static bool has_agreed_at_once(state& s, std::error_code& error);

  /// Called by a reader, without the lock.
  static void send_what_reading_made(state& s) noexcept;

  /// Fills the pieces, one after the other, as far as the session has something.
  static outcome read_session(state& s, std::span<const std::span<std::byte>> pieces,
                              std::size_t& n);

  /// next(done): some of what is to be written, at most `piece`.
  template <class Next>
  void write_from(std::size_t size, std::size_t& done, std::error_code& error, Next next);

  template <class Get>
  auto ask(Get get) const -> decltype(get(std::declval<::SSL*>())) {
    if (state_ == nullptr) {
      return {};
    }
    const std::lock_guard guard(state_->lock);
    return get(state_->session.native());
  }

  std::unique_ptr<state> state_;
};

}}}  // namespace thrum::THRUM_ABI::net

#endif
