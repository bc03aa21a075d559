// SPDX-License-Identifier: Apache-2.0
// Implementation of quotas_of_objects.h.
#include "quota/quotas_of_objects.h"

#include <memory>

#include "berth/api/amounts.h"
#include "berth/api/core_v1.pb.h"
#include "berth/framework/node_info.h"
#include "berth/quota/quota_devices.h"
#include "berth/quota/quota_spec.h"
#include "berth/quota/quota_tree.h"

namespace berth {
namespace {

// By line, what the nodes have.
QuotaAmounts CapacityOf(const std::vector<Object>& objects, absl::Span<const QuotaLine> lines) {
  QuotaAmounts capacity;
  std::vector<const Object*> slices;
  for (const Object& object : objects) {
    if (object.kind() == Kind::kResourceSlice) slices.push_back(&object);
  }
  QuotaDevices devices;
  devices.Read(slices, lines);
  for (const Object& object : objects) {
    if (object.kind() != Kind::kNode) continue;
    const auto node = NodeSpec::Create(object.Share<api::Node>());
    if (!node.ok()) continue;
    PodAmounts amounts;
    amounts.resources = (*node)->allocatable;
    amounts.gpu_milli = GpuMilliOf((*node)->allocatable);
    devices.AddGpus(Symbol::Intern(object.name()), amounts);
    for (const QuotaLine& line : lines) {
      if (!line.has_known_capacity()) continue;
      const int64_t more = line.OfNode((*node)->labels, amounts, (*node)->allowed_pods);
      capacity.Set(line, SaturatingAdd(capacity.Find(line).value_or(0), more));
    }
  }
  return capacity;
}

}  // namespace

Problems CheckQuotasOf(const std::vector<Object>& objects) {
  std::vector<const Object*> quotas;
  for (const Object& object : objects) {
    if (object.kind() == Kind::kElasticQuota || object.kind() == Kind::kClusterQuota) {
      quotas.push_back(&object);
    }
  }
  Problems problems;
  if (quotas.empty()) return problems;
  const std::vector<QuotaSpec> specs = ReadQuotas(quotas, problems);
  const QuotaTree tree(specs);
  CheckQuotas(specs, CapacityOf(objects, tree.lines()), problems);
  return problems;
}

}  // namespace berth
