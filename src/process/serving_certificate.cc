// SPDX-License-Identifier: Apache-2.0
// Implementation of serving_certificate.h.
#include "process/serving_certificate.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "api/input_file.h"

namespace berth {
namespace {

using boost::asio::ssl::context;

constexpr absl::Duration kSelfSignedLife = absl::Hours(365 * 24);  // as kube-scheduler's
constexpr absl::Duration kSelfSignedUse = absl::Hours(300 * 24);

template <class T, void (*free)(T*)>
struct Free {
  void operator()(T* object) const { free(object); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Free<X509, X509_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION, X509_EXTENSION_free>>;

std::string TlsError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(code);
  return reason == nullptr ? "TLS library error" : reason;
}

std::shared_ptr<context> NewContext() {
  auto made = std::make_shared<context>(context::tls_server);
  SSL_CTX* const tls = made->native_handle();
  SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
  SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  // A resumed session would not have the client's certificates.
  SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(tls, 0);
  // A certificate is asked for, and who it stands for is found out for each request.
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
  // Never asks the terminal.
  made->set_password_callback([](size_t, context::password_purpose) { return std::string(); });
  return made;
}

bool IsAddress(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

bool AddExtension(X509* certificate, int id, const std::string& value) {
  X509V3_CTX parties;
  X509V3_set_ctx_nodb(&parties);
  X509V3_set_ctx(&parties, certificate, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &parties, id, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool Fill(X509* certificate, EVP_PKEY* key, const std::string& host) {
  uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial));
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1);
  X509_set_version(certificate, X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);  // for clocks that are behind
  X509_gmtime_adj(X509_getm_notAfter(certificate),
                  static_cast<long>(absl::ToInt64Seconds(kSelfSignedLife)));
  X509_NAME* const name = X509_get_subject_name(certificate);
  const std::string common_name = absl::StrCat(host, "@", absl::ToUnixSeconds(absl::Now()));
  const std::string names =
      absl::StrCat(IsAddress(host) ? "IP:" : "DNS:", host, ",DNS:localhost,IP:127.0.0.1,IP:::1");
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
         AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE") &&
         AddExtension(certificate, NID_key_usage, "critical,digitalSignature,keyCertSign") &&
         AddExtension(certificate, NID_ext_key_usage, "serverAuth") &&
         AddExtension(certificate, NID_subject_alt_name, names) &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

absl::StatusOr<std::shared_ptr<context>> SelfSigned(const std::string& host) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const CertificatePtr certificate(X509_new());
  std::shared_ptr<context> made = NewContext();
  const bool ok = key != nullptr && certificate != nullptr &&
                  Fill(certificate.get(), key.get(), host) &&
                  SSL_CTX_use_certificate(made->native_handle(), certificate.get()) == 1 &&
                  SSL_CTX_use_PrivateKey(made->native_handle(), key.get()) == 1;
  if (ok) return made;
  return absl::InvalidArgumentError(
      absl::StrCat("cannot make a self-signed certificate for \"", host, "\": ", TlsError()));
}

// Changes whenever the file does.
std::string StateOf(const std::string& file) {
  struct stat status;
  if (stat(file.c_str(), &status) != 0) return "none";
  return absl::StrCat(status.st_dev, ".", status.st_ino, ".", status.st_size, ".",
                      status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec);
}

}  // namespace

ServingCertificate::ServingCertificate(std::string certificate_file, std::string key_file,
                                       std::string self_signed_host, Warn warn)
    : certificate_file_(std::move(certificate_file)),
      key_file_(std::move(key_file)),
      self_signed_host_(std::move(self_signed_host)),
      warn_(std::move(warn)) {}

absl::StatusOr<ServingCertificate> ServingCertificate::Create(std::string certificate_file,
                                                              std::string key_file,
                                                              std::string self_signed_host,
                                                              Warn warn) {
  if (certificate_file.empty() != key_file.empty()) {
    return absl::InvalidArgumentError(
        "a serving certificate needs both files: --tls-cert-file and --tls-private-key-file");
  }
  if (self_signed_host.find_first_of(",; \n") != std::string::npos || self_signed_host.empty()) {
    self_signed_host = "localhost";
  }
  ServingCertificate made(std::move(certificate_file), std::move(key_file),
                          std::move(self_signed_host), std::move(warn));
  made.loaded_ = made.StateOfFiles();
  absl::StatusOr<TlsContext> loaded = made.Load();
  if (!loaded.ok()) return loaded.status();
  made.context_ = *std::move(loaded);
  made.renew_at_ = absl::Now() + kSelfSignedUse;
  return made;
}

std::string ServingCertificate::StateOfFiles() const {
  if (is_self_signed()) return "";
  return absl::StrCat(StateOf(certificate_file_), " ", StateOf(key_file_));
}

absl::StatusOr<ServingCertificate::TlsContext> ServingCertificate::Load() const {
  if (is_self_signed()) return SelfSigned(self_signed_host_);
  // What the TLS library says of a file that is not there is no help.
  for (const auto& [what, file] :
       {std::pair("certificate ", &certificate_file_), std::pair("private key ", &key_file_)}) {
    const absl::StatusOr<std::string> text = ReadInputFile(*file);
    if (text.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(what, *file, ": ", text.status().message()));
  }
  TlsContext made = NewContext();
  boost::system::error_code error;
  (void)made->use_certificate_chain_file(certificate_file_, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("certificate ", certificate_file_, ": ", error.message()));
  }
  (void)made->use_private_key_file(key_file_, context::pem, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("private key ", key_file_, ": ", error.message()));
  }
  if (SSL_CTX_check_private_key(made->native_handle()) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("private key ", key_file_, " is not that of ",
                                                   certificate_file_, ": ", TlsError()));
  }
  return made;
}

ServingCertificate::TlsContext ServingCertificate::Current() {
  const bool is_due = is_self_signed() && absl::Now() >= renew_at_;
  std::string state = StateOfFiles();
  if (state == loaded_ && !is_due) return context_;
  loaded_ = std::move(state);
  renew_at_ = absl::Now() + kSelfSignedUse;
  absl::StatusOr<TlsContext> loaded = Load();
  if (loaded.ok()) {
    context_ = *std::move(loaded);
  } else {
    warn_(absl::StrCat(loaded.status().message(), "; the one before is shown still"));
  }
  return context_;
}

}  // namespace berth
