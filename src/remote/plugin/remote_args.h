// SPDX-License-Identifier: Apache-2.0
// RemotePluginArgs: what a profile says of a plugin in another process.
#ifndef BERTH_SRC_REMOTE_PLUGIN_REMOTE_ARGS_H_
#define BERTH_SRC_REMOTE_PLUGIN_REMOTE_ARGS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/framework/args.h"
#include "remote/wire/address.h"

namespace berth {

// Any YAML value, as JSON text; what it means is the process's affair.
struct AnyArguments {
  std::string json = "{}";
};

template <>
FieldType FieldTypeOf<AnyArguments>();

// The value as JSON text.
std::string ToJson(Value value);

struct RemotePluginArgs {
  std::string kind = "RemotePluginArgs";  // printed, so that a printed configuration reads back
  std::string address;
  std::string ca_file, cert_file, key_file, server_name;
  absl::Duration deadline = absl::Milliseconds(100);
  absl::Duration bind_deadline = absl::Seconds(10);
  absl::Duration start_timeout = absl::Seconds(5);
  std::string failure_policy = "Fail";
  std::vector<std::string> points;
  std::string description_file;
  AnyArguments args;

  bool ignores_failures() const { return failure_policy == "Ignore"; }
  TlsFiles tls() const { return {ca_file, cert_file, key_file, server_name}; }

  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_REMOTE_ARGS_H_
