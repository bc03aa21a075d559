// SPDX-License-Identifier: Apache-2.0
// What tests of served clusters have in common: options, and messages in few words.
#ifndef BERTH_TESTS_SERVE_SERVE_STAGE_H_
#define BERTH_TESTS_SERVE_SERVE_STAGE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/builtin_plugins.h"
#include "berth/cluster_server.h"
#include "berth/configuration.h"
#include "berth/v1/cluster.pb.h"

namespace berth::testing {

inline const Registry& ServeRegistry() {
  static const Registry& registry = *new Registry(BuiltinRegistry({}).value());
  return registry;
}

inline ClusterServerOptions ServeOptions(const std::string& configuration = "") {
  ClusterServerOptions options;
  options.registry = &ServeRegistry();
  options.configuration =
      configuration.empty()
          ? DefaultConfiguration(ServeRegistry())
          : ParseConfiguration(configuration, "config.yaml", ServeRegistry()).configuration;
  return options;
}

inline v1::Change Json(const std::string& json, v1::Change::Type type = v1::Change::ADDED) {
  v1::Change change;
  change.set_type(type);
  change.mutable_object()->set_json(json);
  return change;
}

inline std::string NodeJson(absl::string_view name, int cpu) {
  return absl::StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")", name,
                      R"("},"status":{"allocatable":{"cpu":")", cpu,
                      R"(","memory":"64Gi","pods":"100000"}}})");
}

// `more` are further fields of the spec: "\"priority\":5,".
inline std::string PodJson(absl::string_view name, int cpu, absl::string_view more = "",
                           absl::string_view metadata = "") {
  return absl::StrCat(R"({"apiVersion":"v1","kind":"Pod","metadata":{)", metadata, R"("name":")",
                      name, R"("},"spec":{)", more,
                      R"("containers":[{"name":"c","resources":{"requests":{"cpu":")", cpu,
                      R"("}}}]}})");
}

inline v1::Change Gone(const std::string& kind, const std::string& name) {
  v1::Change change;
  change.set_type(v1::Change::DELETED);
  change.mutable_object()->set_api_version("v1");
  change.mutable_object()->set_kind(kind);
  change.mutable_object()->mutable_name()->set_name(name);
  return change;
}

inline v1::Changes Changes(uint64_t sequence, std::vector<v1::Change> list, bool synced = false) {
  v1::Changes changes;
  changes.set_sequence(sequence);
  changes.set_synced(synced);
  for (v1::Change& change : list) *changes.add_changes() = std::move(change);
  return changes;
}

inline v1::Hello Hello(const std::string& cluster) {
  v1::Hello hello;
  hello.set_protocol_version(1);
  hello.set_cluster(cluster);
  return hello;
}

}  // namespace berth::testing

#endif  // BERTH_TESTS_SERVE_SERVE_STAGE_H_
