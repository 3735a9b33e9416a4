// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// tls_context: what the connections of a client, or of a server, have in common: certificates, keys,
// whom they trust, application protocols, and the sessions that a client may resume.
//
// Sessions
//   A server hands out tickets and keeps nothing itself. A client keeps the last few sessions with
//   each host and port. One of TLS 1.3 is used once, as RFC 8446 (appendix C.4) wants it; those of
//   TLS 1.2 are used again and again.
//   They come while a connection reads, in a call of OpenSSL: there a goroutine must not park, since
//   OpenSSL keeps things per thread. So the store has a std::mutex, held for a few instructions.
#ifndef THRUM_DETAIL_NET_TLS_CONTEXT_HPP
#define THRUM_DETAIL_NET_TLS_CONTEXT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/net/tls_error.hpp>
#include <thrum/detail/os/parts.hpp>

#include <cstddef>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// Versions of the protocol.
enum class tls_version {
  tls_1_2 = TLS1_2_VERSION,
  tls_1_3 = TLS1_3_VERSION,
};

/// What a server asks of its clients.
enum class client_certificate {
  none,      ///< nothing
  optional,  ///< a certificate, which is verified if there is one
  required,  ///< a certificate, verified, or there is no connection
};

/// What a context is made of. Certificates and keys: the path of a PEM file, or a text in PEM
/// itself, which is what has "-----BEGIN" in it.
struct tls_options {
  /// One's own certificate, and behind it those that lead to one that others trust. A server needs
  /// one, a client only where the server asks for it.
  std::string certificate{};
  /// Its private key. Empty: it stands beside the certificate.
  std::string key{};
  /// The password of an encrypted key.
  std::string key_password{};
  /// The certificates that are trusted, or a folder with hashed names of some (openssl rehash).
  /// Empty: those that the system trusts, which SSL_CERT_FILE and SSL_CERT_DIR replace.
  std::string trust{};
  /// A client's: whether the server must prove that it is the one that was asked for. Without that an
  /// attacker on the way can read and change everything.
  bool verify = true;
  /// A server's.
  client_certificate ask_client = client_certificate::none;
  /// Application protocols (ALPN), the one that is wanted most in front: {"h2", "http/1.1"}. The
  /// server's order counts.
  std::vector<std::string> protocols{};
  /// Older versions than this are refused.
  tls_version minimum = tls_version::tls_1_2;
  /// A client: with how many hosts it can resume a session. 0: never. A server: whether it hands out
  /// tickets.
  std::size_t sessions = 64;
};

}}}  // namespace thrum::THRUM_ABI::net

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

using namespace net;

/// Frees what OpenSSL has made.
struct tls_free {
  void operator()(::SSL_CTX* what) const noexcept { SSL_CTX_free(what); }
  void operator()(::SSL* what) const noexcept { SSL_free(what); }
  void operator()(::SSL_SESSION* what) const noexcept { SSL_SESSION_free(what); }
  void operator()(::BIO* what) const noexcept { BIO_free(what); }
  void operator()(::X509* what) const noexcept { X509_free(what); }
  void operator()(::EVP_PKEY* what) const noexcept { EVP_PKEY_free(what); }
};
template <class T>
using tls_owner = std::unique_ptr<T, tls_free>;

/// The sessions that a client may resume, by host and port; the host that was not used for longest
/// makes room.
class tls_sessions {
 public:
  explicit tls_sessions(std::size_t most) noexcept : most_(most) {}

  void keep(std::string_view host, tls_owner<::SSL_SESSION> session) {
    const std::lock_guard guard(lock_);
    entry& known = entry_of(host);
    if (known.sessions.size() == most_for_a_host) {
      known.sessions.erase(known.sessions.begin());
    }
    known.sessions.push_back(std::move(session));
    if (hosts_.size() > most_) {
      hosts_.pop_back();
    }
  }

  /// Null: there is none.
  tls_owner<::SSL_SESSION> take(std::string_view host) {
    const std::lock_guard guard(lock_);
    for (entry& each : hosts_) {
      if (each.host == host && !each.sessions.empty()) {
        tls_owner<::SSL_SESSION>& last = each.sessions.back();
        if (SSL_SESSION_get_protocol_version(last.get()) < TLS1_3_VERSION) {
          SSL_SESSION_up_ref(last.get());
          return tls_owner<::SSL_SESSION>(last.get());
        }
        tls_owner<::SSL_SESSION> taken = std::move(last);
        each.sessions.pop_back();
        return taken;
      }
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t most_for_a_host = 4;

  struct entry {
    std::string host;
    std::vector<tls_owner<::SSL_SESSION>> sessions;
  };

  /// In front from now on.
  entry& entry_of(std::string_view host) {
    for (auto at = hosts_.begin(); at != hosts_.end(); ++at) {
      if (at->host == host) {
        hosts_.splice(hosts_.begin(), hosts_, at);
        return hosts_.front();
      }
    }
    return hosts_.emplace_front(entry{std::string(host), {}});
  }

  std::mutex lock_;
  std::list<entry> hosts_;
  const std::size_t most_;
};

/// What a context is, for itself and for its connections.
struct tls_context_state {
  explicit tls_context_state(bool client, const tls_options& how)
      : native(SSL_CTX_new(client ? TLS_client_method() : TLS_server_method())),
        sessions(how.sessions),
        verifies(how.verify),
        is_client(client) {}

  tls_owner<::SSL_CTX> native;
  std::string protocols;  // as they are sent: each behind its length
  tls_sessions sessions;
  const bool verifies;
  const bool is_client;
};

inline bool is_pem(const std::string& source) noexcept {
  return source.find("-----BEGIN") != std::string::npos;
}

/// Says in a message which one it is; of a text nothing, as it may be a key.
inline void name_source(base::message<512>& text, std::string_view what,
                        const std::string& source) noexcept {
  text.append(" ").append(what).append(" ");
  is_pem(source) ? text.append("text") : text.append_quoted(source);
}

/// Reads a file into memory. Null, and OpenSSL says why. OpenSSL would open it without close-on-exec: a
/// child that another thread starts meanwhile would hold the key's file.
inline tls_owner<::BIO> read_pem(const char* path) {
  tls_owner<::BIO> text(BIO_new(BIO_s_mem()));
  if (text == nullptr) {
    return nullptr;
  }
  os::io_result got = os::open_file(path, os::open_mode::read, 0);
  if (got >= 0) {
    const os::handle file = os::handle_of(got);
    char some[4096];
    do {
      got = os::read(file, some, sizeof some);
      if (got > 0 && BIO_write(text.get(), some, static_cast<int>(got)) != got) {
        got = os::no_memory;
      }
    } while (got > 0 || got == os::interrupted);
    OPENSSL_cleanse(some, sizeof some);
    os::close(file);
  }
  if (got < 0) {
    ERR_raise(ERR_LIB_SYS, os::error_code_of(got).default_error_condition().value());
    return nullptr;
  }
  return text;
}

/// Opens a PEM file, or text. Null, and OpenSSL says why.
inline tls_owner<::BIO> open_pem(const std::string& source) {
  return is_pem(source)
             ? tls_owner<::BIO>(BIO_new_mem_buf(source.data(), static_cast<int>(source.size())))
             : read_pem(source.c_str());
}

/// f(certificate) for each that the source has, at least one. False, and OpenSSL says why.
template <class F>
bool for_each_certificate(const std::string& source, F f) {
  const tls_owner<::BIO> from = open_pem(source);
  if (from == nullptr) {
    return false;
  }
  for (bool is_first = true;; is_first = false) {
    const tls_owner<::X509> one(PEM_read_bio_X509(from.get(), nullptr, nullptr, nullptr));
    if (one == nullptr) {
      const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      if (!is_first && is_end) {
        forget_tls_errors();
      }
      return !is_first && is_end;
    }
    if (!f(one.get(), is_first)) {
      return false;
    }
  }
}

inline bool use_certificate(::SSL_CTX* context, const std::string& source) {
  return for_each_certificate(source, [&](::X509* one, bool is_own) {
    return (is_own ? SSL_CTX_use_certificate(context, one)
                   : static_cast<int>(SSL_CTX_add1_chain_cert(context, one))) == 1;
  });
}

/// OpenSSL would ask at the terminal.
inline int give_key_password(char* to, int size, int /*encrypts*/, void* options) noexcept {
  const std::string& known = static_cast<const tls_options*>(options)->key_password;
  if (known.empty() || known.size() > static_cast<std::size_t>(size)) {
    return -1;
  }
  known.copy(to, known.size());
  return static_cast<int>(known.size());
}

inline bool use_key(::SSL_CTX* context, const std::string& source, const tls_options& how) {
  const tls_owner<::BIO> from = open_pem(source);
  if (from == nullptr) {
    return false;
  }
  const tls_owner<::EVP_PKEY> key(PEM_read_bio_PrivateKey(from.get(), nullptr, &give_key_password,
                                                          const_cast<tls_options*>(&how)));
  return key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
         SSL_CTX_check_private_key(context) == 1;
}

inline bool trust(::SSL_CTX* context, const std::string& source) {
  std::error_code no_folder;
  if (source.empty()) {
    return SSL_CTX_set_default_verify_paths(context) == 1;
  }
  if (std::filesystem::is_directory(source, no_folder)) {
    return SSL_CTX_load_verify_locations(context, nullptr, source.c_str()) == 1;
  }
  ::X509_STORE* const store = SSL_CTX_get_cert_store(context);
  return for_each_certificate(
      source, [&](::X509* one, bool) { return X509_STORE_add_cert(store, one) == 1; });
}

/// False: it is empty or too long.
inline bool append_protocol(std::string& to, const std::string& protocol) {
  constexpr std::size_t longest = 255;
  if (protocol.empty() || protocol.size() > longest) {
    return false;
  }
  to.push_back(static_cast<char>(static_cast<unsigned char>(protocol.size())));
  to += protocol;
  return true;
}

/// A server's choice among what the client names.
inline int choose_protocol(::SSL* /*session*/, const unsigned char** chosen,
                           unsigned char* chosen_size, const unsigned char* offered,
                           unsigned offered_size, void* argument) noexcept {
  const std::string& own = static_cast<const tls_context_state*>(argument)->protocols;
  unsigned char* found = nullptr;
  const int result =
      SSL_select_next_proto(&found, chosen_size, reinterpret_cast<const unsigned char*>(own.data()),
                            static_cast<unsigned>(own.size()), offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// Where the sessions of one connection belong; what OpenSSL gives keep_session() back.
struct tls_session_place {
  tls_sessions* store = nullptr;
  std::string host;
};

/// OpenSSL has a session that may be resumed. Whether it is kept, and then ours.
inline int keep_session(::SSL* session, ::SSL_SESSION* given) noexcept {
  if (SSL_SESSION_is_resumable(given) != 1) {
    return 0;
  }
  auto& place = *static_cast<tls_session_place*>(SSL_get_app_data(session));
  place.store->keep(place.host, tls_owner<::SSL_SESSION>(given));
  return 1;
}

/// Sets up a context; what it fails at is appended to `text`.
inline std::error_code set_up(tls_context_state& state, const tls_options& how,
                              base::message<512>& text) {
  forget_tls_errors();
  ::SSL_CTX* const context = state.native.get();
  if (context == nullptr ||
      SSL_CTX_set_min_proto_version(context, static_cast<int>(how.minimum)) != 1) {
    return take_tls_error();
  }
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  // Else each idle connection would hold OpenSSL's buffers for two whole records.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  for (const std::string& each : how.protocols) {
    if (!append_protocol(state.protocols, each)) {
      text.append(" protocol ").append_quoted(each);
      return std::make_error_code(std::errc::invalid_argument);
    }
  }
  if (how.certificate.empty() ? !state.is_client : !use_certificate(context, how.certificate)) {
    name_source(text, "certificate", how.certificate);
    return how.certificate.empty() ? std::make_error_code(std::errc::invalid_argument)
                                   : take_tls_error();
  }
  const std::string& key = how.key.empty() ? how.certificate : how.key;
  if (!key.empty() && !use_key(context, key, how)) {
    name_source(text, "key", key);
    return take_tls_error();
  }
  const bool verifies = state.is_client ? how.verify : how.ask_client != client_certificate::none;
  if (verifies && !trust(context, how.trust)) {
    name_source(text, "trust", how.trust);
    return take_tls_error();
  }
  const int must = how.ask_client == client_certificate::required && !state.is_client
                       ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                       : 0;
  SSL_CTX_set_verify(context, verifies ? SSL_VERIFY_PEER | must : SSL_VERIFY_NONE, nullptr);
  if (state.is_client) {
    const auto* const names = reinterpret_cast<const unsigned char*>(state.protocols.data());
    SSL_CTX_set_alpn_protos(context, names, static_cast<unsigned>(state.protocols.size()));
    const long keeps =
        how.sessions != 0 ? SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL : SSL_SESS_CACHE_OFF;
    SSL_CTX_set_session_cache_mode(context, keeps);
    SSL_CTX_sess_set_new_cb(context, &keep_session);
  } else {
    if (!state.protocols.empty()) {
      SSL_CTX_set_alpn_select_cb(context, &choose_protocol, &state);
    }
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    constexpr unsigned char name[] = {'t', 'h', 'r', 'u', 'm'};  // of sessions with a certificate
    SSL_CTX_set_session_id_context(context, name, sizeof name);
    if (how.sessions == 0) {
      SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
      SSL_CTX_set_num_tickets(context, 0);
    }
  }
  return {};
}

}}}  // namespace thrum::THRUM_ABI::net_detail

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// What connections of one kind have in common. A shared handle, cheap to copy; may be used from any
/// goroutine and thread, and its connections keep it alive. Made once, since reading certificates
/// takes time: it blocks the thread for that.
class tls_context {
 public:
  /// Holds none: connections cannot be made with it.
  tls_context() noexcept = default;

  /// For connections that this program makes. Fails if a file cannot be read, is no PEM, or does not
  /// go with the others: an error of the system, or of tls_category().
  static tls_context client(const tls_options& how = {}) { return make(true, how); }
  static tls_context client(const tls_options& how, std::error_code& error) {
    return make(true, how, error);
  }
  /// For connections that it accepts. Needs a certificate: errc::invalid_argument.
  static tls_context server(const tls_options& how) { return make(false, how); }
  static tls_context server(const tls_options& how, std::error_code& error) {
    return make(false, how, error);
  }

  /// OpenSSL's, for what tls_options does not know: to be set before there are connections. It stays
  /// the context's.
  ::SSL_CTX* native_handle() const noexcept {
    return state_ != nullptr ? state_->native.get() : nullptr;
  }

  /// Whether it holds one.
  explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  friend class tls_conn;

  static tls_context try_make(bool is_client, const tls_options& how, std::error_code& error,
                              base::message<512>& text) {
    tls_context made;
    made.state_ = std::make_shared<net_detail::tls_context_state>(is_client, how);
    error = net_detail::set_up(*made.state_, how, text);
    return error ? tls_context() : made;
  }
  static tls_context make(bool is_client, const tls_options& how, std::error_code& error) {
    base::message<512> text("");
    return try_make(is_client, how, error, text);
  }
  static tls_context make(bool is_client, const tls_options& how) {
    base::message<512> text(is_client ? "tls_context::client" : "tls_context::server");
    std::error_code error;
    tls_context made = try_make(is_client, how, error, text);
    if (error) {
      base::throw_system(error, text.view());
    }
    return made;
  }

  std::shared_ptr<net_detail::tls_context_state> state_;
};

}}}  // namespace thrum::THRUM_ABI::net

#endif
