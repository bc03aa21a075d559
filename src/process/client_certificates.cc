// SPDX-License-Identifier: Apache-2.0
// Implementation of client_certificates.h.
#include "process/client_certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

constexpr char kCredentialId[] = "authentication.kubernetes.io/credential-id";

template <class T, void (*free)(T*)>
struct Free {
  void operator()(T* object) const { free(object); }
};
using CertificatePtr = std::unique_ptr<X509, Free<X509, X509_free>>;
using ReaderPtr = std::unique_ptr<BIO, Free<BIO, BIO_free_all>>;
using VerificationPtr = std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX, X509_STORE_CTX_free>>;

void FreeAll(STACK_OF(X509) * certificates) { sk_X509_pop_free(certificates, X509_free); }
using StackPtr = std::unique_ptr<STACK_OF(X509), Free<STACK_OF(X509), FreeAll>>;

CertificatePtr FromDer(const std::string& der) {
  auto* at = reinterpret_cast<const unsigned char*>(der.data());
  return CertificatePtr(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
}

// Every value of the subject's attribute.
std::vector<std::string> SubjectValues(const X509* certificate, int attribute) {
  std::vector<std::string> values;
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  for (int i = -1; (i = X509_NAME_get_index_by_NID(subject, attribute, i)) >= 0;) {
    unsigned char* text = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i)));
    if (size < 0) continue;
    values.emplace_back(reinterpret_cast<const char*>(text), size);
    OPENSSL_free(text);
  }
  return values;
}

std::string Fingerprint(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  X509_digest(certificate, EVP_sha256(), digest, &size);
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest), size});
}

}  // namespace

absl::StatusOr<ClientAuthorities> ClientAuthorities::Parse(absl::string_view pem) {
  const std::shared_ptr<X509_STORE> store(X509_STORE_new(), X509_STORE_free);
  const ReaderPtr reader(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  int count = 0;
  while (const CertificatePtr certificate{
      PEM_read_bio_X509(reader.get(), nullptr, nullptr, const_cast<char*>(""))}) {
    if (X509_STORE_add_cert(store.get(), certificate.get()) == 1) ++count;
  }
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (ERR_GET_LIB(code) != ERR_LIB_PEM || ERR_GET_REASON(code) != PEM_R_NO_START_LINE) {
    return absl::InvalidArgumentError("holds a certificate that cannot be read");
  }
  if (count == 0) return absl::InvalidArgumentError("holds no certificate");
  // As Go: an authority that is trusted ends the chain, whatever signed it.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  return ClientAuthorities(store);
}

absl::StatusOr<UserInfo> ClientAuthorities::Verify(absl::Span<const std::string> chain) const {
  const CertificatePtr own = chain.empty() ? nullptr : FromDer(chain.front());
  const StackPtr others(sk_X509_new_null());
  for (size_t i = 1; i < chain.size(); ++i) {
    CertificatePtr certificate = FromDer(chain[i]);
    if (certificate != nullptr) sk_X509_push(others.get(), certificate.release());
  }
  const VerificationPtr verification(X509_STORE_CTX_new());
  if (own == nullptr ||
      X509_STORE_CTX_init(verification.get(), store_.get(), own.get(), others.get()) != 1) {
    ERR_clear_error();
    return absl::UnauthenticatedError("the client certificate cannot be read");
  }
  X509_STORE_CTX_set_default(verification.get(), "ssl_client");
  const bool verified = X509_verify_cert(verification.get()) == 1;
  ERR_clear_error();
  if (!verified) {
    return absl::UnauthenticatedError(
        absl::StrCat("verifying the client certificate failed: ",
                     X509_verify_cert_error_string(X509_STORE_CTX_get_error(verification.get()))));
  }
  const std::vector<std::string> names = SubjectValues(own.get(), NID_commonName);
  // Go takes the last one.
  if (names.empty() || names.back().empty()) {
    return absl::NotFoundError("the client certificate has no common name");
  }
  return UserInfo{
      .name = names.back(),
      .groups = SubjectValues(own.get(), NID_organizationName),
      .extra = {{kCredentialId, {absl::StrCat("X509SHA256=", Fingerprint(own.get()))}}}};
}

}  // namespace berth
