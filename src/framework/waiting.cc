// SPDX-License-Identifier: Apache-2.0
// Names and sentences of waiting.h.
#include "berth/extensions/waiting.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/resources.h"
#include "berth/api/time.h"
#include "framework/failure_messages.h"

namespace berth {
namespace {

std::string Needs(const WaitingFor& w) {
  return absl::StrCat("needs ", AmountText(w.resource, w.needed), ", most free on a node is ",
                      AmountText(w.resource, w.most_free));
}

std::string OnNodes(const WaitingFor& w) {
  std::string what = !w.detail.empty() ? w.detail
                                       : absl::StrCat("rejected", w.plugin.empty() ? "" : " by ",
                                                      w.plugin, " without a reason");
  if (w.nodes == 0) return what;
  return absl::StrCat(what, " on ", w.rejecting_nodes, " of ", w.nodes,
                      w.nodes == 1 ? " node" : " nodes");
}

// What keeps one pod from its place.
std::string PodSentence(const WaitingFor& w) {
  switch (w.reason) {
    case WaitingReason::kNotTried:
      if (w.blocking_pod.empty()) return "not tried yet";
      return absl::StrCat("waits behind ", w.blocking_pod,
                          ", which does not fit yet: its quota is strict");
    case WaitingReason::kBackoff:
      return absl::StrCat("in backoff", w.detail.empty() ? "" : " after: ", w.detail);
    case WaitingReason::kInsufficientResources:
      return absl::StrCat(OnNodes(w), w.resource.empty() ? "" : absl::StrCat("; ", Needs(w)));
    case WaitingReason::kGangFragmented:
      return absl::StrCat(Needs(w), " though ", AmountText(w.resource, w.all_free), " ", w.resource,
                          " are free");
    case WaitingReason::kQuotaMax:
    case WaitingReason::kWaitingForQuota:
    case WaitingReason::kQuotaMisconfigured:
      // In a tree of quotas the plugin's own words have the numbers.
      if (w.resource.empty() || absl::StrContains(w.detail, "; needs ")) return w.detail;
      return absl::StrCat(w.detail, "; needs ", AmountText(w.resource, w.needed), " ", w.resource,
                          ", ", AmountText(w.resource, w.quota_used), " of ",
                          AmountText(w.resource, w.quota_limit), " are used");
    case WaitingReason::kWaitingForVictims:
      return absl::StrCat("waiting for ", w.victims, w.victims == 1 ? " pod" : " pods",
                          " to leave node ", w.node);
    case WaitingReason::kMinRuntime:
      return absl::StrCat(OnNodes(w), "; the pods that would have to go may not be evicted before ",
                          TimeToString(w.until));
    case WaitingReason::kWaitingForPermit:
      return absl::StrCat("placed on ", w.node, ", waiting to be permitted by ", w.plugin);
    case WaitingReason::kBinding:
      if (w.detail.empty()) return absl::StrCat("being bound to ", w.node);
      return absl::StrCat("placed on ", w.node, ", bound when ", w.detail,
                          w.until == absl::InfiniteFuture()
                              ? ""
                              : absl::StrCat("; until ", TimeToString(w.until), " at the latest"));
    default:
      return OnNodes(w);
  }
}

// What keeps the pod, or its group, from going on.
std::string Sentence(const WaitingFor& w) {
  if (w.reason == WaitingReason::kWaitingForMembers && w.members_needed > 0) {
    return absl::StrCat(w.members_placeable, " of ", w.members_needed, " pods are there");
  }
  if (w.members_needed == 0 || w.blocking_pod.empty()) return PodSentence(w);
  const std::string besides =
      w.members_running == 0 ? ""
                             : absl::StrCat(" besides the ", w.members_running,
                                            w.members_running == 1 ? " that runs" : " that run");
  return absl::StrCat("needs ", w.members_needed, w.members_needed == 1 ? " pod" : " pods at once",
                      besides, ", ", w.members_placeable,
                      w.members_placeable == 1 ? " fits; " : " fit; ", w.blocking_pod, ": ",
                      PodSentence(w));
}

}  // namespace

absl::string_view WaitingReasonName(WaitingReason reason) {
  switch (reason) {
    case WaitingReason::kNotTried:
      return "NOT_TRIED";
    case WaitingReason::kBackoff:
      return "BACKOFF";
    case WaitingReason::kGated:
      return "GATED";
    case WaitingReason::kWaitingForMembers:
      return "WAITING_FOR_MEMBERS";
    case WaitingReason::kGroupNotFound:
      return "GROUP_NOT_FOUND";
    case WaitingReason::kGangFragmented:
      return "GANG_FRAGMENTED";
    case WaitingReason::kInsufficientResources:
      return "INSUFFICIENT_RESOURCES";
    case WaitingReason::kNoNodes:
      return "NO_NODES";
    case WaitingReason::kAffinity:
      return "AFFINITY";
    case WaitingReason::kTaints:
      return "TAINTS";
    case WaitingReason::kTopology:
      return "TOPOLOGY";
    case WaitingReason::kPorts:
      return "PORTS";
    case WaitingReason::kVolumes:
      return "VOLUMES";
    case WaitingReason::kDevices:
      return "DEVICES";
    case WaitingReason::kQuotaMax:
      return "QUOTA_MAX";
    case WaitingReason::kWaitingForQuota:
      return "WAITING_FOR_QUOTA";
    case WaitingReason::kQuotaMisconfigured:
      return "QUOTA_MISCONFIGURED";
    case WaitingReason::kReserved:
      return "RESERVED";
    case WaitingReason::kWaitingForVictims:
      return "WAITING_FOR_VICTIMS";
    case WaitingReason::kMinRuntime:
      return "MIN_RUNTIME";
    case WaitingReason::kWaitingForPermit:
      return "WAITING_FOR_PERMIT";
    case WaitingReason::kBinding:
      return "BINDING";
    case WaitingReason::kBindingFailed:
      return "BINDING_FAILED";
    case WaitingReason::kPluginError:
      return "PLUGIN_ERROR";
    case WaitingReason::kUnknownProfile:
      return "UNKNOWN_PROFILE";
    case WaitingReason::kRejected:
      return "REJECTED";
  }
  return "";
}

std::string WaitingFor::ToString() const {
  std::string sentence = Sentence(*this);
  if (!reserved_nodes.empty()) {
    absl::StrAppend(&sentence, "; ", reserved_nodes.size(),
                    reserved_nodes.size() == 1 ? " node is" : " nodes are", " reserved from ",
                    TimeToString(reserved_from));
  }
  return absl::StrCat(sentence, alone.empty() ? "" : "; placed on its own: ", alone);
}

}  // namespace berth
