// SPDX-License-Identifier: Apache-2.0
// How a profile comes to a remote plugin: from its arguments, and from what the process says of
// itself.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/remote_plugins.h"
#include "remote/plugin/arguments_schema.h"
#include "remote/plugin/remote_plugin.h"
#include "remote/plugin/session.h"

namespace berth {
namespace {

// For plugins whose scores are normalized: the interface of the class says so.
class NormalizingRemotePlugin final : public RemotePlugin, public ScoreExtensions {
 public:
  using RemotePlugin::RemotePlugin;
  NormalizingRemotePlugin(std::string name, RemotePluginArgs args, RemoteDescription description,
                          PointMask points, Handle& handle)
      : RemotePlugin(std::move(name), std::move(args), std::move(description), points, handle) {}

  absl::Status NormalizeScores(const CycleState&, const PodInfo&, absl::Span<const NodeRow>,
                               absl::Span<int64_t> scores) const override {
    DefaultNormalizeScores(*description().normalization, scores);
    return absl::OkStatus();
  }
};

class PlainRemotePlugin final : public RemotePlugin {
 public:
  PlainRemotePlugin(std::string name, RemotePluginArgs args, RemoteDescription description,
                    PointMask points, Handle& handle)
      : RemotePlugin(std::move(name), std::move(args), std::move(description), points, handle) {}
};

absl::StatusOr<RemoteDescription> FindDescription(const RemotePluginArgs& args) {
  const bool has_file = !args.description_file.empty();
  const absl::StatusOr<v1::Description> said = DescribeRemotePlugin(
      args, has_file ? std::min(args.start_timeout, absl::Seconds(1)) : args.start_timeout,
      has_file ? Patience::kFailsAtOnce : Patience::kWaits);
  if (said.ok()) return ReadDescription(*said);
  if (has_file && !absl::IsInvalidArgument(said.status())) {
    absl::StatusOr<RemoteDescription> read = ReadDescriptionFile(args.description_file);
    if (read.ok()) read->is_saved = true;
    return read;
  }
  if (!absl::IsUnavailable(said.status())) return said.status();
  return absl::UnavailableError(
      absl::StrCat(said.status().message(),
                   "; start it, or name a descriptionFile, which `berth describe-plugin` writes"));
}

absl::StatusOr<PointMask> ChoosePoints(const RemotePluginArgs& args,
                                       const RemoteDescription& description) {
  if (args.points.empty()) return description.points;
  PointMask points = 0;
  for (const std::string& name : args.points) {
    const absl::StatusOr<ExtensionPoint> point = RemotePointNamed(name);
    if (!point.ok()) return point.status();
    if (!description.Serves(*point)) {
      return absl::InvalidArgumentError(
          absl::StrCat("points: ", description.Title(), " does not serve ", name));
    }
    points |= BitOf(*point);
  }
  return points;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> RemotePlugin::Create(absl::string_view name,
                                                             const PluginArgs& args,
                                                             Handle& handle) {
  const auto& remote = args.As<RemotePluginArgs>();
  // The arguments are at fault, which was reported.
  if (remote.address.empty()) return CreateUnasked(name, args, handle);
  const auto because = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat("the remote plugin ", name, " at ",
                                                    remote.address, ": ", status.message()));
  };
  absl::StatusOr<RemoteDescription> description = FindDescription(remote);
  if (!description.ok()) return because(description.status());
  const absl::StatusOr<PointMask> points = ChoosePoints(remote, *description);
  if (!points.ok()) return because(points.status());
  if (absl::Status status =
          CheckArguments(description->message.arguments_schema(), remote.args.json);
      !status.ok()) {
    return because(status);
  }
  if (!description->is_saved) {
    const absl::Status taken = CheckStart(remote, MakeStart(name, remote, *points, handle),
                                          std::max(remote.start_timeout, absl::Seconds(1)));
    if (!taken.ok()) return because(taken);
  }
  if (description->normalization.has_value()) {
    return std::make_unique<NormalizingRemotePlugin>(std::string(name), remote,
                                                     *std::move(description), *points, handle);
  }
  return std::make_unique<PlainRemotePlugin>(std::string(name), remote, *std::move(description),
                                             *points, handle);
}

std::unique_ptr<Plugin> RemotePlugin::CreateUnasked(absl::string_view name, const PluginArgs& args,
                                                    Handle& handle) {
  return std::make_unique<PlainRemotePlugin>(std::string(name), args.As<RemotePluginArgs>(),
                                             UnknownDescription(), UnknownDescription().points,
                                             handle);
}

PluginRegistration WithRemotePlugin(absl::string_view name, RemoteCheck check) {
  return WithPlugin(
      name,
      [name = std::string(name), check](const PluginArgs& args,
                                        Handle& handle) -> absl::StatusOr<std::unique_ptr<Plugin>> {
        if (check == RemoteCheck::kFieldsOnly) {
          return RemotePlugin::CreateUnasked(name, args, handle);
        }
        return RemotePlugin::Create(name, args, handle);
      },
      RemotePluginArgs::Fields());
}

namespace {

void AddRemotePlugins(absl::string_view configuration, bool is_wrapped, RemoteCheck check,
                      std::set<std::string>& names,
                      std::vector<PluginRegistration>& registrations) {
  Problems none;  // the reader of the configuration reports them
  const std::vector<Document> documents = ReadDocuments(configuration, "", none);
  for (const Document& document : documents) {
    if (!is_wrapped && document.root().Find("kind").text() == "ConfigMap") {
      for (const Value::Item item : document.root().Find("data").items()) {
        AddRemotePlugins(item.value.text(), true, check, names, registrations);
      }
    }
    for (const Value profile : document.root().Find("profiles").elements()) {
      for (const Value entry : profile.Find("pluginConfig").elements()) {
        const Value name = entry.Find("name");
        if (entry.Find("args").Find("kind").text() != RemotePluginArgs::Fields().name()) continue;
        if (!name.IsString() || !names.emplace(name.text()).second) continue;
        registrations.push_back(WithRemotePlugin(name.text(), check));
      }
    }
  }
}

}  // namespace

std::vector<PluginRegistration> RemotePluginsIn(absl::string_view configuration,
                                                RemoteCheck check) {
  std::vector<PluginRegistration> registrations;
  std::set<std::string> names;
  AddRemotePlugins(configuration, /*is_wrapped=*/false, check, names, registrations);
  return registrations;
}

absl::StatusOr<std::string> DescribeRemotePlugin(const std::string& address,
                                                 const std::string& ca_file,
                                                 const std::string& cert_file,
                                                 const std::string& key_file) {
  RemotePluginArgs args;
  args.address = address;
  args.ca_file = ca_file;
  args.cert_file = cert_file;
  args.key_file = key_file;
  const absl::StatusOr<v1::Description> said = DescribeRemotePlugin(args, args.start_timeout);
  if (!said.ok()) return said.status();
  const absl::StatusOr<RemoteDescription> read = ReadDescription(*said);
  if (!read.ok()) return read.status();
  return DescriptionToJson(read->message);
}

}  // namespace berth
