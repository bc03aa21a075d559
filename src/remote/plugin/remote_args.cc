// SPDX-License-Identifier: Apache-2.0
// Implementation of remote_args.h.
#include "remote/plugin/remote_args.h"

#include <cmath>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "remote/plugin/description.h"

namespace berth {
namespace {

void AppendJsonString(absl::string_view text, std::string& out) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", absl::string_view(&c, 1));
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<int>(c));
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void AppendJson(Value value, std::string& out) {
  absl::string_view separator;
  switch (value.kind()) {
    case Value::Kind::kNull:
      out += "null";
      return;
    case Value::Kind::kBool:
      out += value.AsBool().value_or(false) ? "true" : "false";
      return;
    case Value::Kind::kInt:
    case Value::Kind::kFloat:
      if (const auto whole = value.AsInt64(); whole.has_value()) {
        absl::StrAppend(&out, *whole);
      } else {
        const double number = value.AsDouble().value_or(0);
        if (std::isfinite(number)) {
          absl::StrAppendFormat(&out, "%.17g", number);
        } else {
          AppendJsonString(value.text(), out);
        }
      }
      return;
    case Value::Kind::kString:
      AppendJsonString(value.text(), out);
      return;
    case Value::Kind::kSequence:
      out.push_back('[');
      for (const Value element : value.elements()) {
        absl::StrAppend(&out, std::exchange(separator, ","));
        AppendJson(element, out);
      }
      out.push_back(']');
      return;
    case Value::Kind::kMap:
      out.push_back('{');
      for (const Value::Item item : value.items()) {
        absl::StrAppend(&out, std::exchange(separator, ","));
        AppendJsonString(item.key, out);
        out.push_back(':');
        AppendJson(item.value, out);
      }
      out.push_back('}');
  }
}

}  // namespace

std::string ToJson(Value value) {
  std::string out;
  AppendJson(value, out);
  return out;
}

template <>
FieldType FieldTypeOf<AnyArguments>() {
  FieldType type;
  type.name = "map";
  type.read = [](Value value, const std::string& path, void* out, Problems& problems) {
    if (!value.IsMap()) {
      problems.AddError(value.where(), path,
                        absl::StrCat("must be a map, and is ", value.KindText()));
      return;
    }
    static_cast<AnyArguments*>(out)->json = ToJson(value);
  };
  type.check = [](const void*, const FieldCheck&, const std::string&, FieldProblems&) {};
  type.print = [](const void* object) { return static_cast<const AnyArguments*>(object)->json; };
  return type;
}

const FieldTable& RemotePluginArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<RemotePluginArgs>(
          "RemotePluginArgs", "Arguments of a plugin in another process; docs/remote_plugins.md.")
          .Field("kind", &RemotePluginArgs::kind,
                 "RemotePluginArgs: makes the plugin a remote one.", OneOf({"RemotePluginArgs"}))
          .Field("address", &RemotePluginArgs::address,
                 "Where the process listens: unix:/PATH or HOST:PORT.")
          .Field("caFile", &RemotePluginArgs::ca_file,
                 "PEM file of the authority of the process's certificate, for mutual TLS.")
          .Field("certFile", &RemotePluginArgs::cert_file, "PEM file of one's own certificate.")
          .Field("keyFile", &RemotePluginArgs::key_file, "PEM file of its key.")
          .Field("serverName", &RemotePluginArgs::server_name,
                 "The name in the process's certificate, if it is not that of the address.")
          .Field("deadline", &RemotePluginArgs::deadline,
                 "How long a call may take from PreFilter to Permit.", InRange(0.001, 30))
          .Field("bindDeadline", &RemotePluginArgs::bind_deadline,
                 "How long PreBind or Bind may take.", InRange(0.001, 600))
          .Field("startTimeout", &RemotePluginArgs::start_timeout,
                 "How long the scheduler waits for the process when it starts.", InRange(0, 300))
          .Field("failurePolicy", &RemotePluginArgs::failure_policy,
                 "Fail: a pod's cycle fails if the process does not answer as it should. Ignore: "
                 "the cycle goes on as if the plugin were not there.",
                 OneOf({"Fail", "Ignore"}))
          .Field("points", &RemotePluginArgs::points,
                 "At which points it takes part. Empty: all that it serves.")
          .Field("descriptionFile", &RemotePluginArgs::description_file,
                 "The plugin's description as `berth describe-plugin` wrote it, for a process that "
                 "cannot be reached yet.")
          .Field("args", &RemotePluginArgs::args, "The plugin's own arguments.")
          .Check([](const RemotePluginArgs& args, FieldProblems& problems) {
            if (args.address.empty()) {
              problems.Required("address", "unix:/PATH or HOST:PORT of the process");
            } else if (const auto address = WireAddress::Parse(args.address); !address.ok()) {
              problems.Add("address", address.status().message());
            } else if (absl::Status trust = CheckTrust(*address, args.tls()); !trust.ok()) {
              problems.Add("address", trust.message());
            }
            std::set<std::string> seen;
            for (size_t i = 0; i < args.points.size(); ++i) {
              const absl::StatusOr<ExtensionPoint> point = RemotePointNamed(args.points[i]);
              const std::string field = absl::StrCat("points[", i, "]");
              if (!point.ok()) problems.Add(field, point.status().message());
              if (!seen.insert(args.points[i]).second) problems.Duplicate(field, args.points[i]);
            }
          }));
  return table;
}

}  // namespace berth
