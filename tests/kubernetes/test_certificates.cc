// SPDX-License-Identifier: Apache-2.0
// Implementation of test_certificates.h.
#include "tests/kubernetes/test_certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

#include "berth/check.h"

namespace berth {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

std::string ToPem(X509* certificate) {
  const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return TextOf(bio.get());
}

std::string ToPem(EVP_PKEY* key) {
  const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(bio.get());
}

void Extend(X509* certificate, int nid, const std::string& value) {
  const std::unique_ptr<X509_EXTENSION, Free> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str()));
  BERTH_CHECK(extension != nullptr) << value;
  X509_add_ext(certificate, extension.get(), -1);
}

Certificate Issue(const std::string& common_name, EVP_PKEY* key, X509* issuer, long serial,
                  absl::Duration life) {
  Certificate made(X509_new());
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), static_cast<long>(absl::ToInt64Seconds(life)));
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer == nullptr ? made.get() : issuer));
  if (issuer == nullptr) Extend(made.get(), NID_basic_constraints, "critical,CA:TRUE");
  return made;
}

}  // namespace

TestCertificates MakeTestCertificates(const std::string& server_name, absl::Duration life) {
  const Key authority_key(EVP_EC_gen("P-256")), server_key(EVP_EC_gen("P-256")),
      client_key(EVP_EC_gen("P-256"));
  const Certificate authority = Issue("authority", authority_key.get(), nullptr, 1, life);
  X509_sign(authority.get(), authority_key.get(), EVP_sha256());
  const Certificate server = Issue("server", server_key.get(), authority.get(), 2, life);
  Extend(server.get(), NID_subject_alt_name, server_name);
  X509_sign(server.get(), authority_key.get(), EVP_sha256());
  const Certificate client = Issue("client", client_key.get(), authority.get(), 3, life);
  X509_sign(client.get(), authority_key.get(), EVP_sha256());
  return {ToPem(authority.get()), ToPem(server.get()), ToPem(server_key.get()), ToPem(client.get()),
          ToPem(client_key.get())};
}

}  // namespace berth
