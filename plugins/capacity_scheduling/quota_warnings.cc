// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_warnings.h.
#include "plugins/capacity_scheduling/quota_warnings.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/amounts.h"
#include "berth/api/gpu_milli.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/columns/node_table.h"
#include "berth/quota/quota_tree.h"

namespace berth {

void QuotaWarnings::Begin() {
  begun_ = true;
  QuotasChanged();
  NodesChanged();
  TellAll();
}

bool QuotaWarnings::QuotasChanged() {
  const ObjectStore& objects = handle_.objects();
  const uint64_t elastic = objects.version(Kind::kElasticQuota);
  const uint64_t cluster = objects.version(Kind::kClusterQuota);
  const uint64_t classes = objects.version(Kind::kDeviceClass);
  const bool changed = elastic != elastic_version_ || cluster != cluster_version_ ||
                       (has_quotas_ && classes != class_version_);
  elastic_version_ = elastic;
  cluster_version_ = cluster;
  class_version_ = classes;
  return changed;
}

bool QuotaWarnings::NodesChanged() {
  const NodeTable& nodes = handle_.nodes();
  if (nodes_version_ == nodes.version()) return false;
  const auto changes =
      nodes_version_.has_value() ? nodes.ChangesSince(*nodes_version_) : std::nullopt;
  nodes_version_ = nodes.version();
  return !changes.has_value() || absl::c_any_of(*changes, [](const RowChange& change) {
    return (change.aspects & (Aspect::kNodeAllocatable | Aspect::kNodeLabels)) != 0;
  });
}

void QuotaWarnings::Look() {
  if (!begun_) return;
  if (QuotasChanged()) TellSoon();
  const bool may_ask_nodes = has_quotas_ && handle_.clock().Now() >= last_ + kPauseOfNodes;
  if (may_ask_nodes && NodesChanged()) TellAll();
}

// A tree is applied quota by quota: half of it is not what its author meant.
void QuotaWarnings::TellSoon() {
  if (timer_is_set_) return;
  timer_is_set_ = true;
  const absl::Time now = handle_.clock().Now();
  handle_.RunAt(plugin_, std::max(now + absl::Seconds(1), last_ + kPause), [this] {
    timer_is_set_ = false;
    TellAll();
  });
}

QuotaAmounts QuotaWarnings::Capacity(absl::Span<const QuotaSpec> specs) const {
  const QuotaTree tree(std::vector<QuotaSpec>(specs.begin(), specs.end()));
  const NodeTable& nodes = handle_.nodes();
  std::vector<int64_t> amounts(tree.lines().size(), 0);
  QuotaDevices devices;
  devices.Read(handle_.objects().List(Kind::kResourceSlice), tree.lines());
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    PodAmounts all;
    all.resources = node.allocatable();
    all.gpu_milli = GpuMilliOf(node.allocatable());
    devices.AddGpus(node.name(), all);
    for (size_t i = 0; i < amounts.size(); ++i) {
      amounts[i] = SaturatingAdd(
          amounts[i], tree.lines()[i].OfNode(devices.LabelsOf(node.name(), node.labels()), all,
                                             node.allowed_pods()));
    }
  }
  QuotaAmounts capacity;
  if (nodes.size() == 0) return capacity;  // they are yet to come
  for (size_t i = 0; i < amounts.size(); ++i) {
    if (tree.lines()[i].has_known_capacity()) capacity.Set(tree.lines()[i], amounts[i]);
  }
  return capacity;
}

// What a class says that its devices count as, and cannot be read.
void QuotaWarnings::TellOfClasses() {
  absl::flat_hash_map<std::string, std::string> unreadable;
  for (const Object* object : handle_.objects().List(Kind::kDeviceClass)) {
    const auto& annotations = object->As<api::DeviceClass>().metadata().annotations();
    const auto said = annotations.find(std::string(kGpuMilliOfClass));
    if (!has_quotas_ || said == annotations.end()) continue;
    const absl::StatusOr<int64_t> milli = ParseGpuMilli(said->second);
    if (milli.ok()) continue;
    std::string text =
        absl::StrCat("metadata.annotations[\"", kGpuMilliOfClass, "\"]: ", milli.status().message(),
                     "; its devices count for gpu as if it were not there");
    const std::string uid(object->uid());
    if (told_->classes[uid] != text) handle_.WarnAbout(*object, "UnreadableAnnotation", text);
    unreadable[uid] = std::move(text);
  }
  told_->classes = std::move(unreadable);
}

void QuotaWarnings::TellAll() {
  std::vector<const Object*> quotas = handle_.objects().List(Kind::kClusterQuota);
  for (const Object* quota : handle_.objects().List(Kind::kElasticQuota)) quotas.push_back(quota);
  has_quotas_ = !quotas.empty();
  last_ = has_quotas_ ? handle_.clock().Now() : absl::InfinitePast();
  Problems problems;
  const std::vector<QuotaSpec> specs = ReadQuotas(quotas, problems);
  CheckQuotas(specs, Capacity(specs), problems);
  std::vector<std::string> classes;
  for (const Object* object : handle_.objects().List(Kind::kDeviceClass)) {
    classes.emplace_back(object->name());
  }
  CheckClassesOfLines(specs, classes, problems);
  std::map<std::string, std::string> texts;  // by subject
  for (const Problem& problem : problems) {
    std::string& text = texts[problem.subject];
    absl::StrAppend(&text, text.empty() ? "" : "; ", problem.message);
  }
  absl::flat_hash_map<std::string, std::string> wrong;  // by uid
  int said = 0;
  for (const Object* quota : quotas) {
    const auto text = texts.find(quota->ToString());
    if (text == texts.end()) continue;
    const std::string uid(quota->uid());
    wrong[uid] = text->second;
    std::string& told = told_->texts[uid];
    if (told == text->second) continue;
    if (said == kMostAtOnce) {
      TellSoon();
      continue;
    }
    ++said;
    told = text->second;
    handle_.WarnAbout(*quota, kContradictoryQuota, told);
  }
  TellOfClasses();
  absl::erase_if(told_->texts, [&](const auto& entry) { return !wrong.contains(entry.first); });
  if (told_->wrong == wrong) return;
  told_->wrong = std::move(wrong);
  status_.Touch();
}

}  // namespace berth
