// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Why TLS has failed, as std::error_code in the words of OpenSSL; and what programs may want to tell
// apart, as std::error_condition.
//
// Values of codes: OpenSSL's own, as its functions give them (ERR_get_error); and for a certificate
// that was not accepted the reason of its verification (X509_V_ERR_...), in a range of its own.
#ifndef THRUM_DETAIL_NET_TLS_ERROR_HPP
#define THRUM_DETAIL_NET_TLS_ERROR_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>

#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// What a program may do something about. `error == tls_error::expired` works for each std::error_code
/// of this part.
enum class tls_error {
  wrong_host = 1,      ///< the peer's certificate is for another name or address
  expired,             ///< a certificate is not valid any more, or not yet
  untrusted,           ///< no certificate that is trusted vouches for the peer's, or it sent none
  no_common_protocol,  ///< both sides name application protocols, and share none
  refused_by_peer,     ///< the peer has said that it does not want to go on, and why
  protocol,            ///< anything else: what came is no TLS, or of no version that both have
};

/// See tls_category().
class tls_category_type final : public std::error_category {
 public:
  /// The name by which all shared objects of the process find one and the same category: errors compare
  /// equal.
  static constexpr std::string_view process_name = "net::tls_category";
  /// Reasons of verification begin behind it, above the values of tls_error and far below OpenSSL's.
  static constexpr int verification = 0x1000;

  const char* name() const noexcept override { return "tls"; }
  THRUM_OUT_OF_LINE std::string message(int value) const override;
  THRUM_OUT_OF_LINE std::error_condition default_error_condition(int value) const noexcept override;
};

/// The category of errors of TLS, called "tls".
inline const std::error_category& tls_category() noexcept {
  return os::process_wide<tls_category_type>::get();
}

/// Makes `error == tls_error::untrusted` work.
inline std::error_condition make_error_condition(tls_error condition) noexcept {
  return {static_cast<int>(condition), tls_category()};
}

}}}  // namespace thrum::THRUM_ABI::net

template <>
struct std::is_error_condition_enum<thrum::net::tls_error> : std::true_type {};

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

using namespace net;

/// An alert of the peer has its number behind this, as a reason of OpenSSL.
inline constexpr int tls_alert_reasons = 1000;

inline const char* text_of(tls_error condition) noexcept {
  switch (condition) {
    case tls_error::wrong_host: return "the certificate is for another host";
    case tls_error::expired: return "a certificate is not valid at this time";
    case tls_error::untrusted: return "the peer's certificate is not trusted";
    case tls_error::no_common_protocol:
      return "the two sides have no application protocol in common";
    case tls_error::refused_by_peer: return "the peer refuses the connection";
    case tls_error::protocol: break;
  }
  return "TLS failed";
}

/// The condition of a reason that OpenSSL's library for TLS gives.
inline tls_error condition_of_reason(int reason) noexcept {
  constexpr int no_application_protocol = 120;  // SSL_AD_NO_APPLICATION_PROTOCOL
  switch (reason) {
    case SSL_R_NO_APPLICATION_PROTOCOL:
    case tls_alert_reasons + no_application_protocol: return tls_error::no_common_protocol;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return tls_error::untrusted;
    default: return reason >= tls_alert_reasons ? tls_error::refused_by_peer : tls_error::protocol;
  }
}

inline tls_error condition_of_verification(int reason) noexcept {
  switch (reason) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return tls_error::wrong_host;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID: return tls_error::expired;
    default: return tls_error::untrusted;
  }
}

/// What others have left on this thread would be taken for ours. Mostly there is nothing, which is
/// seen sooner than it is removed.
inline void forget_tls_errors() noexcept {
  if (ERR_peek_error() != 0) [[unlikely]] {
    ERR_clear_error();
  }
}

/// What OpenSSL says on this thread that failed first; `verified`: the result of verifying a
/// certificate, which is the error if that is among what failed. To be called where nothing has
/// parked since.
inline std::error_code take_tls_error(long verified = X509_V_OK) noexcept {
  const unsigned long first = ERR_get_error();
  for (unsigned long code = first; code != 0; code = ERR_get_error()) {
    if (verified != X509_V_OK && ERR_GET_LIB(code) == ERR_LIB_SSL &&
        ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
      ERR_clear_error();
      return {tls_category_type::verification + static_cast<int>(verified), tls_category()};
    }
  }
  if (first == 0) {
    return {static_cast<int>(tls_error::protocol), tls_category()};
  }
  return ERR_SYSTEM_ERROR(first) ? std::error_code(ERR_GET_REASON(first), std::generic_category())
                                 : std::error_code(static_cast<int>(first), tls_category());
}

}}}  // namespace thrum::THRUM_ABI::net_detail

namespace thrum { inline namespace THRUM_ABI { namespace net {

inline std::error_condition tls_category_type::default_error_condition(int value) const noexcept {
  if (value <= static_cast<int>(tls_error::protocol)) {
    return {value, *this};
  }
  if (value < 2 * verification) {
    return net_detail::condition_of_verification(value - verification);
  }
  const auto code = static_cast<unsigned long>(value);
  return ERR_GET_LIB(code) == ERR_LIB_SSL ? net_detail::condition_of_reason(ERR_GET_REASON(code))
                                          : tls_error::protocol;
}

inline std::string tls_category_type::message(int value) const {
  if (value <= static_cast<int>(tls_error::protocol)) {
    return net_detail::text_of(static_cast<tls_error>(value));
  }
  if (value < 2 * verification) {
    return std::string("certificate verify failed: ") +
           X509_verify_cert_error_string(value - verification);
  }
  const auto code = static_cast<unsigned long>(value);
  const int reason = ERR_GET_REASON(code);
  if (ERR_GET_LIB(code) == ERR_LIB_SSL && reason >= net_detail::tls_alert_reasons) {
    return std::string("the peer refuses: ") +
           SSL_alert_desc_string_long(reason - net_detail::tls_alert_reasons);
  }
  if (ERR_GET_LIB(code) == ERR_LIB_SSL &&
      (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST)) {
    return "TLS failed: the peer does not speak TLS on this port";
  }
  const char* const text = ERR_reason_error_string(code);
  return std::string("TLS failed: ") +
         (text != nullptr ? text : "OpenSSL's error " + std::to_string(code));
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
