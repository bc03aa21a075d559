// SPDX-License-Identifier: Apache-2.0
// Implementation of credentials.h.
#include "kubernetes/credentials.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/input_file.h"
#include "api/json.h"
#include "berth/api/time.h"
#include "berth/api/value.h"
#include "kubernetes/subprocess.h"

namespace berth {
namespace {

// client-go v0.35 transport/token_source.go and cert_rotation.go.
constexpr absl::Duration kTokenFilePeriod = absl::Minutes(1);
constexpr absl::Duration kCertificateFilePeriod = absl::Minutes(5);

// libcurl takes no more than 8 MB.
constexpr size_t kMaxPemBytes = size_t{4} << 20;

absl::StatusOr<std::string> ReadPem(const PemSource& source, absl::string_view field) {
  if (source.file.empty()) {
    if (source.data.size() <= kMaxPemBytes) return source.data;
    return absl::FailedPreconditionError(absl::StrCat(
        "the kubeconfig's ", field, "-data is larger than ", kMaxPemBytes >> 20, " MiB"));
  }
  absl::StatusOr<std::string> text = ReadInputFile(source.file);
  if (!text.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(source.file, ": ", text.status().message(),
                                                      ". It is the kubeconfig's ", field, "."));
  }
  if (text->size() > kMaxPemBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(source.file, ": is larger than ", kMaxPemBytes >> 20, " MiB"));
  }
  if (!absl::StrContains(*text, "-----BEGIN ")) {
    return absl::FailedPreconditionError(
        absl::StrCat(source.file, ": is not PEM: there is no \"-----BEGIN\" in it"));
  }
  return text;
}

// The bearer token that the files of `connection` give.
absl::StatusOr<std::string> ReadToken(const Connection& connection) {
  if (connection.token_file.empty()) return connection.token;
  const absl::StatusOr<std::string> read = ReadInputFile(connection.token_file);
  if (read.ok() && !absl::StripAsciiWhitespace(*read).empty()) {
    return std::string(absl::StripAsciiWhitespace(*read));
  }
  if (!connection.token.empty()) return connection.token;
  return absl::FailedPreconditionError(absl::StrCat(
      connection.token_file, ": ", read.ok() ? "is empty" : std::string(read.status().message()),
      ". It should hold the bearer token of the kubeconfig's tokenFile or of the "
      "service account."));
}

absl::Status Refuse(const ExecPlugin& plugin, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat("exec plugin ", plugin.command, ": ", what));
}

absl::StatusOr<Credentials> RunPlugin(const Connection& connection, absl::string_view authority_pem,
                                      const std::atomic<bool>& give_up) {
  const ExecPlugin& plugin = *connection.exec;
  ProcessRun run;
  run.command = plugin.command;
  run.args = plugin.args;
  run.env = plugin.env;
  run.env.emplace_back("KUBERNETES_EXEC_INFO", ExecInfo(connection, authority_pem));
  run.give_up = &give_up;
  const absl::StatusOr<std::string> output = RunProcess(run);
  if (absl::IsNotFound(output.status())) {
    return Refuse(plugin,
                  absl::StrCat("there is no such program. ",
                               plugin.install_hint.empty()
                                   ? "Install it, or give its path in users[].user.exec.command."
                                   : plugin.install_hint));
  }
  if (!output.ok()) return output.status();
  return ParseExecCredential(*output, plugin);
}

}  // namespace

absl::Status CheckFiles(const Connection& connection) {
  for (const auto& [source, field] :
       {std::pair(&connection.certificate_authority, "certificate-authority"),
        std::pair(&connection.client_certificate, "client-certificate"),
        std::pair(&connection.client_key, "client-key")}) {
    absl::Status read = ReadPem(*source, field).status();
    if (!read.ok()) return read;
  }
  return ReadToken(connection).status();
}

absl::Time CertificateEnd(absl::string_view pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> reader(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free_all);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(reader.get(), nullptr, nullptr, const_cast<char*>("")), &X509_free);
  ERR_clear_error();
  std::tm end = {};
  if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) {
    return absl::InfiniteFuture();
  }
  return absl::FromTM(end, absl::UTCTimeZone());
}

std::string ExecInfo(const Connection& connection, absl::string_view authority_pem) {
  JsonWriter json;
  json.BeginObject().Key("apiVersion").String(connection.exec->api_version);
  json.Key("kind").String("ExecCredential").Key("spec").BeginObject();
  if (connection.exec->provide_cluster_info) {
    json.Key("cluster").BeginObject().Key("server").String(connection.server);
    if (!connection.tls_server_name.empty()) {
      json.Key("tls-server-name").String(connection.tls_server_name);
    }
    if (connection.insecure_skip_tls_verify) json.Key("insecure-skip-tls-verify").Bool(true);
    if (!authority_pem.empty()) {
      json.Key("certificate-authority-data").String(absl::Base64Escape(authority_pem));
    }
    if (!connection.proxy_url.empty()) json.Key("proxy-url").String(connection.proxy_url);
    if (connection.disable_compression) json.Key("disable-compression").Bool(true);
    if (!connection.exec_config.empty()) {
      Problems problems;
      const std::vector<Document> config = ReadDocuments(connection.exec_config, "", problems);
      if (config.size() == 1) WriteValue(config[0].root(), json.Key("config"));
    }
    json.EndObject();
  }
  json.Key("interactive").Bool(false).EndObject().EndObject();
  return std::string(json.text());
}

absl::StatusOr<Credentials> ParseExecCredential(absl::string_view output,
                                                const ExecPlugin& plugin) {
  Problems problems;
  const std::vector<Document> documents = ReadDocuments(output, plugin.command, problems);
  if (!problems.ok()) return Refuse(plugin, problems.ToString());
  if (documents.size() != 1) return Refuse(plugin, "does not print one ExecCredential");
  const Value root = documents[0].root();
  if (root.Find("kind").text() != "ExecCredential") {
    return Refuse(plugin, "does not print an ExecCredential: its kind is another");
  }
  if (root.Find("apiVersion").text() != plugin.api_version) {
    return Refuse(plugin, absl::StrCat("prints apiVersion ", root.Find("apiVersion").text(),
                                       ", but ", plugin.api_version, " is configured"));
  }
  const Value status = root.Find("status");
  Credentials credentials;
  credentials.token = std::string(status.Find("token").text());
  credentials.certificate_pem = std::string(status.Find("clientCertificateData").text());
  credentials.key_pem = std::string(status.Find("clientKeyData").text());
  if (credentials.certificate_pem.empty() != credentials.key_pem.empty()) {
    return Refuse(plugin,
                  "prints one of clientCertificateData and clientKeyData without the other");
  }
  if (credentials.token.empty() && credentials.key_pem.empty()) {
    return Refuse(plugin, "prints neither status.token nor status.clientCertificateData");
  }
  const absl::string_view expiration = status.Find("expirationTimestamp").text();
  if (!expiration.empty()) {
    const absl::StatusOr<absl::Time> time = ParseTime(expiration);
    if (!time.ok())
      return Refuse(plugin, absl::StrCat("expirationTimestamp: ", time.status().message()));
    credentials.read_again = *time;
  }
  return credentials;
}

absl::StatusOr<Credentials> ReadCredentials(const Connection& connection, absl::Time now,
                                            const std::atomic<bool>& give_up) {
  Credentials read;
  const absl::StatusOr<std::string> authority =
      ReadPem(connection.certificate_authority, "certificate-authority");
  if (!authority.ok()) return authority.status();
  if (connection.exec.has_value()) {
    absl::StatusOr<Credentials> printed = RunPlugin(connection, *authority, give_up);
    if (!printed.ok()) return printed.status();
    read = *std::move(printed);
  }
  read.authority_pem = *authority;
  // A plugin is not run again for the authority's sake.
  if (!connection.certificate_authority.file.empty() && !connection.exec.has_value()) {
    read.read_again = std::min(read.read_again, now + kCertificateFilePeriod);
  }
  if (!connection.client_certificate.empty()) {
    const absl::StatusOr<std::string> certificate =
        ReadPem(connection.client_certificate, "client-certificate");
    const absl::StatusOr<std::string> key = ReadPem(connection.client_key, "client-key");
    if (!certificate.ok()) return certificate.status();
    if (!key.ok()) return key.status();
    read.certificate_pem = *certificate;
    read.key_pem = *key;
    if (!connection.client_certificate.file.empty() || !connection.client_key.file.empty()) {
      read.read_again = std::min(read.read_again, now + kCertificateFilePeriod);
    }
  }
  const absl::StatusOr<std::string> token = ReadToken(connection);
  if (!token.ok()) return token.status();
  if (!token->empty()) read.token = *token;
  if (!connection.token_file.empty()) {
    read.read_again = std::min(read.read_again, now + kTokenFilePeriod);
  }
  return read;
}

}  // namespace berth
