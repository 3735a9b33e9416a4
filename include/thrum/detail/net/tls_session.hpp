// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// tls_session: OpenSSL's state machine of one connection, in memory. It knows of no socket: what was
// received is given to it, and what is to be sent lies in `output`. So no call of it ever waits, and
// no caller holds its lock around it during a wait (tls_conn.hpp).
//
// OpenSSL keeps its errors per thread. Each call reads them before it returns, and none parks: a
// goroutine that parks may wake on another thread.
//
// Input   OpenSSL takes what was received from `input_` through a BIO of ours, in two copies a record
//         (its head, its body). That costs less than the second system call for each read that a BIO
//         over the socket would make to find out that there is no more.
//         The buffer begins small and grows while whole buffers come, so that idle connections hold
//         little and busy ones need few calls.
// Failure The first one stays: every later call fails with it. But what was read before it is given
//         out first.
// End     The peer's close_notify. A connection that ends without it was perhaps cut by an attacker in
//         between, which must not be able to pass that off as an end: errc::unexpected_end.
// Host    A certificate is for the names and addresses that it lists (subjectAltName), never for its
//         common name. Whether a text is an address is decided by the functions that dial asks, so
//         that the peer is verified by the address that was connected to.
#ifndef THRUM_DETAIL_NET_TLS_SESSION_HPP
#define THRUM_DETAIL_NET_TLS_SESSION_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/address_text.hpp>
#include <thrum/detail/net/tls_context.hpp>
#include <thrum/detail/net/tls_error.hpp>
#include <thrum/errc.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

class tls_session {
 public:
  enum class outcome {
    done,
    wants_input,  // give it some, and call again
    ended,        // the peer sends no more
    failed,       // see failure()
  };

  /// Bytes that are to be sent. The caller takes them.
  std::vector<std::byte> output;

  explicit tls_session(std::shared_ptr<tls_context_state> context)
      : context_(std::move(context)), native_(SSL_new(context_->native.get())) {}
  tls_session(const tls_session&) = delete;
  tls_session& operator=(const tls_session&) = delete;
  ~tls_session() {
    if (native_ != nullptr && !failure_) {
      // Else OpenSSL takes the session for one that was cut, and would not resume it.
      SSL_set_shutdown(native_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    }
  }

  /// Before anything else. `host`: whom a client expects, a name or an address.
  std::error_code begin(std::string_view host, unsigned port);

  outcome shake_hands();
  /// At least one byte of `to`, which is not empty.
  outcome read(std::span<std::byte> to, std::size_t& n);
  /// Writes all of it. In the middle of a message that belongs to no handshake (a ticket, a change of
  /// keys) OpenSSL writes nothing before it has read the rest: wants_input, and nothing is written.
  outcome write(std::span<const std::byte> from);
  /// Says that no more is written; wants_input as write(). Once it is done, does nothing.
  outcome end_writing();

  /// Whether read() would want input: then it need not be asked.
  bool is_starved() const noexcept {
    return first_ == last_ && !has_ended_ && SSL_pending(native_.get()) == 0;
  }

  /// Whether there is input that OpenSSL has not taken yet.
  bool has_input() const noexcept { return first_ != last_; }

  /// When input is wanted and there is none: where to put it, then how much it was. The connection has
  /// ended: 0.
  std::span<std::byte> room();
  void received(std::size_t n) noexcept;

  bool has_agreed() const noexcept { return has_agreed_; }
  bool has_ended_writing() const noexcept { return has_ended_writing_; }
  const std::error_code& failure() const noexcept { return failure_; }
  ::SSL* native() const noexcept { return native_.get(); }

 private:
  static constexpr std::size_t smallest_room = 4096;
  static constexpr std::size_t largest_room = std::size_t{64} * 1024;

  static const ::BIO_METHOD* method() noexcept;
  static int take_input(::BIO* bio, char* to, int size) noexcept;
  static int put_output(::BIO* bio, const char* from, int size) noexcept;
  static long control(::BIO* bio, int what, long number, void* pointer) noexcept;
  static tls_session& of(::BIO* bio) noexcept {
    return *static_cast<tls_session*>(BIO_get_data(bio));
  }

  std::error_code expect(std::string_view host);
  /// What a call's result below 1 means.
  outcome outcome_of(int result) noexcept;
  outcome fail(std::error_code why) noexcept {
    failure_ = why;
    return outcome::failed;
  }

  std::shared_ptr<tls_context_state> context_;
  tls_owner<::SSL> native_;
  tls_session_place place_;  // a client's
  std::unique_ptr<std::byte[]> input_;
  std::size_t room_ = 0;
  std::size_t wanted_room_ = smallest_room;
  std::size_t first_ = 0;  // of what was received and not taken
  std::size_t last_ = 0;
  std::error_code failure_;
  bool has_agreed_ = false;
  bool has_ended_ = false;
  bool has_ended_writing_ = false;
};

inline const ::BIO_METHOD* tls_session::method() noexcept {
  static const ::BIO_METHOD* const made = [] {
    ::BIO_METHOD* const made_here =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "thrum");
    if (made_here != nullptr) {
      BIO_meth_set_read(made_here, &take_input);
      BIO_meth_set_write(made_here, &put_output);
      BIO_meth_set_ctrl(made_here, &control);
    }
    return made_here;
  }();
  return made;
}

inline int tls_session::take_input(::BIO* bio, char* to, int size) noexcept {
  tls_session& self = of(bio);
  BIO_clear_retry_flags(bio);
  const std::size_t n = std::min(self.last_ - self.first_, static_cast<std::size_t>(size));
  if (n == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  std::memcpy(to, self.input_.get() + self.first_, n);
  self.first_ += n;
  return static_cast<int>(n);
}

inline int tls_session::put_output(::BIO* bio, const char* from, int size) noexcept {
  const auto* const first = reinterpret_cast<const std::byte*>(from);
  std::vector<std::byte>& output = of(bio).output;
  output.insert(output.end(), first, first + size);
  return size;
}

inline long tls_session::control(::BIO* /*bio*/, int what, long /*number*/,
                                 void* /*pointer*/) noexcept {
  return what == BIO_CTRL_FLUSH ? 1 : 0;
}

inline std::error_code tls_session::begin(std::string_view host, unsigned port) {
  forget_tls_errors();
  const ::BIO_METHOD* const how = method();
  ::BIO* const bio = native_ != nullptr && how != nullptr ? BIO_new(how) : nullptr;
  if (bio == nullptr) {
    return std::make_error_code(std::errc::not_enough_memory);
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(native_.get(), bio, bio);
  if (!context_->is_client) {
    SSL_set_accept_state(native_.get());
    return {};
  }
  SSL_set_connect_state(native_.get());
  place_.store = &context_->sessions;
  place_.host.assign(host).append(" ").append(std::to_string(port));
  SSL_set_app_data(native_.get(), &place_);
  if (const tls_owner<::SSL_SESSION> known = context_->sessions.take(place_.host);
      known != nullptr) {
    SSL_set_session(native_.get(), known.get());
  }
  return expect(host);
}

/// Whether a certificate may be for it: letters, digits, '-', '_' and bytes of UTF-8 between dots. A zero
/// byte would cut the name short for OpenSSL, and OpenSSL takes a dot in front for any name below.
inline bool is_host_name(std::string_view text) noexcept {
  bool begins = true;
  for (const char each : text) {
    const char lower = static_cast<char>(each | 0x20);
    const bool may_stand = (lower >= 'a' && lower <= 'z') || (each >= '0' && each <= '9') ||
                           each == '-' || each == '_' || (each & 0x80) != 0;
    if (!may_stand && (each != '.' || begins)) {
      return false;
    }
    begins = each == '.';
  }
  return !begins;
}

inline std::error_code tls_session::expect(std::string_view host) {
  if (host.empty() && !context_->verifies) {
    return {};
  }
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (has_brackets) {
    host = host.substr(1, host.size() - 2);
  }
  ::X509_VERIFY_PARAM* const expected = SSL_get0_param(native_.get());
  std::error_code no_address;
  // Without the interface by which an address is to be reached, which this system need not have.
  const scoped_v6_address v6 = read_v6(host.substr(0, host.find('%')), no_address);
  if (!no_address) {
    X509_VERIFY_PARAM_set1_ip(expected, v6.bytes.data(), v6.bytes.size());
    return {};  // and no name is sent: RFC 6066, section 3
  }
  const v4_address v4 = read_v4(host, no_address);
  if (!no_address && !has_brackets) {
    X509_VERIFY_PARAM_set1_ip(expected, v4.data(), v4.size());
    return {};
  }
  const std::string name(host.substr(0, host.size() - std::size_t{host.ends_with('.')}));
  if (has_brackets || !is_host_name(name)) {
    return std::make_error_code(std::errc::invalid_argument);
  }
  forget_tls_errors();
  X509_VERIFY_PARAM_set_hostflags(
      expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  // SSL_set1_host would read 010.0.0.1 as an address that a resolver reads otherwise.
  if (X509_VERIFY_PARAM_set1_host(expected, name.data(), name.size()) != 1 ||
      SSL_set_tlsext_host_name(native_.get(), name.c_str()) != 1) {
    return take_tls_error();
  }
  return {};
}

THRUM_NOINLINE inline tls_session::outcome tls_session::outcome_of(int result) noexcept {
  switch (SSL_get_error(native_.get(), result)) {
    case SSL_ERROR_NONE: return outcome::done;
    case SSL_ERROR_WANT_READ: return outcome::wants_input;
    case SSL_ERROR_ZERO_RETURN: has_ended_ = true; return outcome::ended;
    default: return fail(take_tls_error(SSL_get_verify_result(native_.get())));
  }
}

THRUM_NOINLINE inline tls_session::outcome tls_session::shake_hands() {
  if (failure_) {
    return outcome::failed;
  }
  forget_tls_errors();
  const int result = SSL_do_handshake(native_.get());
  if (result != 1) {
    return outcome_of(result);
  }
  has_agreed_ = true;
  return outcome::done;
}

THRUM_NOINLINE inline tls_session::outcome tls_session::read(std::span<std::byte> to,
                                                             std::size_t& n) {
  n = 0;
  while (!failure_) {
    forget_tls_errors();
    std::size_t got = 0;
    const int result = SSL_read_ex(native_.get(), to.data() + n, to.size() - n, &got);
    n += got;
    if (result != 1) {
      const outcome why = outcome_of(result);
      return n != 0 ? outcome::done : why;
    }
    if (n == to.size() || is_starved()) {
      return outcome::done;
    }
  }
  return outcome::failed;
}

THRUM_NOINLINE inline tls_session::outcome tls_session::write(std::span<const std::byte> from) {
  if (failure_) {
    return outcome::failed;
  }
  forget_tls_errors();
  std::size_t n = 0;
  const int result = SSL_write_ex(native_.get(), from.data(), from.size(), &n);
  const outcome made = result == 1 ? outcome::done : outcome_of(result);
  return made == outcome::ended ? fail(std::make_error_code(std::errc::broken_pipe)) : made;
}

THRUM_NOINLINE inline tls_session::outcome tls_session::end_writing() {
  if (failure_) {
    return outcome::failed;
  }
  if (has_ended_writing_) {
    return outcome::done;
  }
  forget_tls_errors();
  if (SSL_in_init(native_.get()) != 0) {  // in the middle of a message
    const int result = SSL_do_handshake(native_.get());
    if (result != 1) {
      return outcome_of(result);
    }
  }
  SSL_shutdown(native_.get());  // 0: the peer has not said it
  has_ended_writing_ = true;
  forget_tls_errors();
  return outcome::done;
}

inline std::span<std::byte> tls_session::room() {
  if (room_ != wanted_room_) {
    input_.reset(new std::byte[wanted_room_]);
    room_ = wanted_room_;
  }
  first_ = last_ = 0;
  return {input_.get(), room_};
}

inline void tls_session::received(std::size_t n) noexcept {
  if (n == 0) {
    fail(errc::unexpected_end);
  }
  last_ = n;
  wanted_room_ = n == room_ ? std::min(2 * room_, largest_room) : wanted_room_;
}

}}}  // namespace thrum::THRUM_ABI::net_detail

#endif
