// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Certificates for tests, made as they are needed: an authority, and what it vouches for.
#ifndef THRUM_TESTS_TLS_CERTIFICATES_HPP
#define THRUM_TESTS_TLS_CERTIFICATES_HPP

#include <thrum/net/tls.hpp>

#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace support {

/// Both as PEM.
struct identity {
  std::string certificate;
  std::string key;
};

/// What a certificate says.
struct certificate_request {
  std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1";
  long valid_from = -3600;  // in seconds from now
  long valid_until = 3600;
  bool is_authority = false;
  std::string subject = "thrum's test";  // its common name
};

class authority {
 public:
  authority()
      : key_(new_key()),
        own_(sign({"", -3600, 3600, true, "thrum's authority"}, key_.get(), nullptr)) {}

  /// The authority's own certificate: who trusts it trusts all that it has issued.
  std::string certificate() const { return text_of(own_.get()); }

  identity issue(const certificate_request& what = {}) const {
    const key_owner key = new_key();
    const certificate_owner made = sign(what, key.get(), own_.get());
    return {text_of(made.get()), text_of(key.get())};
  }

 private:
  using key_owner = thrum::net_detail::tls_owner<::EVP_PKEY>;
  using certificate_owner = thrum::net_detail::tls_owner<::X509>;
  using bio_owner = thrum::net_detail::tls_owner<::BIO>;

  static void must(bool done) {
    if (!done) {
      std::abort();
    }
  }

  static key_owner new_key() { return key_owner(EVP_EC_gen("P-256")); }

  static std::string text_in(::BIO* bio) {
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio, &text);
    return {text, static_cast<std::size_t>(size)};
  }
  static std::string text_of(::X509* certificate) {
    const bio_owner to(BIO_new(BIO_s_mem()));
    must(PEM_write_bio_X509(to.get(), certificate) == 1);
    return text_in(to.get());
  }
  static std::string text_of(::EVP_PKEY* key) {
    const bio_owner to(BIO_new(BIO_s_mem()));
    must(PEM_write_bio_PrivateKey(to.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
    return text_in(to.get());
  }

  static void extend(::X509* certificate, ::X509* issuer, int what, const std::string& value) {
    ::X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    ::X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
    must(made != nullptr && X509_add_ext(certificate, made, -1) == 1);
    X509_EXTENSION_free(made);
  }

  certificate_owner sign(const certificate_request& what, ::EVP_PKEY* key, ::X509* issuer) const {
    static long serial = 0;
    certificate_owner made(X509_new());
    ::X509* const x = made.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x), what.valid_from);
    X509_gmtime_adj(X509_getm_notAfter(x), what.valid_until);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(what.subject.c_str()), -1, -1,
                               0);
    X509_set_issuer_name(x, X509_get_subject_name(issuer != nullptr ? issuer : x));
    extend(x, issuer != nullptr ? issuer : x, NID_basic_constraints,
           what.is_authority ? "critical,CA:TRUE" : "CA:FALSE");
    if (!what.names.empty()) {
      extend(x, issuer != nullptr ? issuer : x, NID_subject_alt_name, what.names);
    }
    must(X509_sign(x, key_.get(), EVP_sha256()) != 0);
    return made;
  }

  key_owner key_;
  certificate_owner own_;
};

}  // namespace support

#endif
