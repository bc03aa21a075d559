// SPDX-License-Identifier: Apache-2.0
// What is wrong with certificates, in words for people.
#ifndef BERTH_SRC_REMOTE_WIRE_CERTIFICATES_H_
#define BERTH_SRC_REMOTE_WIRE_CERTIFICATES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "remote/wire/address.h"

namespace berth {

// Whether one's own certificate, the PEM text of `tls.cert_file`, can be used now: its time has
// come and is not over, and `key_pem` is its key. Error: InvalidArgument that names the file.
absl::Status CheckOwnCertificate(const std::string& cert_pem, const std::string& key_pem,
                                 const TlsFiles& tls);

// What to look at if a connection failed with that text of gRPC, and TLS may be why; "" for other
// failures.
std::string TlsAdvice(absl::string_view failure, const WireAddress& address, const TlsFiles& tls);

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_WIRE_CERTIFICATES_H_
