// SPDX-License-Identifier: Apache-2.0
// Implementation of certificates.h.
#include "remote/wire/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <initializer_list>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Free>;

Bio Reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string TimeText(const ASN1_TIME* time) {
  const Bio out(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(out.get(), time);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

absl::Status Wrong(const std::string& file, absl::string_view what) {
  ERR_clear_error();  // else gRPC finds OpenSSL's error later, on this thread
  return absl::InvalidArgumentError(absl::StrCat(file, what));
}

}  // namespace

absl::Status CheckOwnCertificate(const std::string& cert_pem, const std::string& key_pem,
                                 const TlsFiles& tls) {
  const std::unique_ptr<X509, Free> certificate(
      PEM_read_bio_X509(Reader(cert_pem).get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) return Wrong(tls.cert_file, " has no certificate in PEM form");
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0) {
    return Wrong(tls.cert_file, absl::StrCat(": the certificate expired on ",
                                             TimeText(X509_get0_notAfter(certificate.get()))));
  }
  if (X509_cmp_current_time(X509_get0_notBefore(certificate.get())) > 0) {
    return Wrong(tls.cert_file, absl::StrCat(": the certificate is not valid before ",
                                             TimeText(X509_get0_notBefore(certificate.get()))));
  }
  const std::unique_ptr<EVP_PKEY, Free> key(
      PEM_read_bio_PrivateKey(Reader(key_pem).get(), nullptr, nullptr, nullptr));
  if (key == nullptr) return Wrong(tls.key_file, " has no private key in PEM form");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Wrong(tls.key_file, absl::StrCat(" is not the key of ", tls.cert_file));
  }
  return absl::OkStatus();
}

std::string TlsAdvice(absl::string_view failure, const WireAddress& address, const TlsFiles& tls) {
  if (address.is_unix) return "";
  const std::string text = absl::AsciiStrToLower(failure);
  const auto says = [&](std::initializer_list<absl::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](absl::string_view word) { return absl::StrContains(text, word); });
  };
  const bool was_closed =
      says({"socket closed", "reset by peer", "broken pipe", "endpoint read failed"});
  if (tls.empty()) return was_closed ? "; it may speak TLS: see caFile" : "";
  if (says({"peer name"})) return "; the peer's certificate is for another name: see serverName";
  if (says({"wrong_version_number", "wrong version number"})) return "; the peer speaks no TLS";
  // TLS 1.3 lets the client finish before the server has looked at its certificate.
  if (was_closed || says({"alert"})) {
    return absl::StrCat("; the peer may refuse ", tls.cert_file,
                        ": is it signed by the authority that the peer trusts?");
  }
  if (says({"handshake failed"})) {
    return absl::StrCat("; the peer's certificate has expired, or was not signed by ", tls.ca_file);
  }
  return "";
}

}  // namespace berth
