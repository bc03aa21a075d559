// SPDX-License-Identifier: Apache-2.0
// Expectations of scenarios: how each is read, and when it holds.
#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/time.h"
#include "google/protobuf/map.h"
#include "testing/scenario_reader.h"

namespace berth::testing {
namespace {

constexpr absl::string_view kNoPod = "(no such pod)";
constexpr absl::string_view kNoSuchKey = "(no such key)";

std::string NodeOf(ScenarioRun& run, const std::string& pod) {
  const auto found = run.FindPod(pod);
  return found == nullptr ? std::string(kNoPod) : found->spec().node_name();
}

// Where a pod is, with the reason if it is nowhere.
std::string Whereabouts(ScenarioRun& run, const std::string& pod) {
  const std::string node = NodeOf(run, pod);
  if (node == kNoPod) return "it does not exist";
  if (!node.empty()) return absl::StrCat("it is on ", node);
  const std::optional<UnboundPod> unbound = run.FindUnbound(pod);
  if (!unbound.has_value()) return "it is pending, and the scheduler does not know it";
  if (unbound->message.empty()) return "it is pending";
  return absl::StrCat("it is pending (", unbound->plugin, ": ", unbound->message, ")");
}

void CheckCount(ScenarioRun& run, SourceLocation at, const WantedCount& wanted,
                absl::string_view what, int64_t count) {
  if (wanted.Holds(count)) return;
  run.Fail(at, absl::StrCat("expected ", wanted.ToString(), " ", what, ", there are ", count));
}

// --- Counts --------------------------------------------------------------------------------------

int64_t CountBound(ScenarioRun& run) {
  int64_t bound = 0;
  for (const Object& object : run.cluster().List(Kind::kPod)) {
    const api::Pod& pod = object.As<api::Pod>();
    if (!pod.spec().node_name().empty() && !HasEnded(pod.status())) ++bound;
  }
  return bound;
}

struct Counted {
  absl::string_view what;
  int64_t (*all)(ScenarioRun&);
  int64_t (*of_pod)(ScenarioRun&, const std::string&);  // null: not counted by pod
};

const std::map<absl::string_view, Counted>& CountedThings() {
  static const auto& things = *new std::map<absl::string_view, Counted>{
      {"bound", {"pods with a node that have not ended", &CountBound, nullptr}},
      {"unbound",
       {"pods without a node",
        [](ScenarioRun& run) {
          return static_cast<int64_t>(run.simulation().scheduler().Unbound().size());
        },
        nullptr}},
      {"evictions",
       {"evictions",
        [](ScenarioRun& run) { return static_cast<int64_t>(run.cluster().Evictions().size()); },
        [](ScenarioRun& run, const std::string& pod) { return run.history().evictions_of(pod); }}},
      {"attempts",
       {"attempts", [](ScenarioRun& run) { return run.history().attempts(); },
        [](ScenarioRun& run, const std::string& pod) { return run.history().attempts_of(pod); }}},
      {"bindings",
       {"bindings", [](ScenarioRun& run) { return run.history().bindings(); },
        [](ScenarioRun& run, const std::string& pod) { return run.history().bindings_of(pod); }}},
      {"refusedBindings",
       {"refused bindings", [](ScenarioRun& run) { return run.history().refusals(); },
        [](ScenarioRun& run, const std::string& pod) { return run.history().refusals_of(pod); }}},
  };
  return things;
}

const std::map<absl::string_view, int64_t SchedulerCounters::*>& Counters() {
  static const auto& counters = *new std::map<absl::string_view, int64_t SchedulerCounters::*>{
      {"attempts", &SchedulerCounters::attempts},
      {"cycles", &SchedulerCounters::cycles},
      {"bound", &SchedulerCounters::bound},
      {"bindFailures", &SchedulerCounters::bind_failures},
      {"evictions", &SchedulerCounters::evictions},
      {"evictionFailures", &SchedulerCounters::eviction_failures},
      {"pluginFaults", &SchedulerCounters::plugin_faults},
      {"incrementalCycles", &SchedulerCounters::incremental_cycles},
      {"rememberedCycles", &SchedulerCounters::incremental_cycles},  // of scenarios for 0.1.0
      {"unconfirmed", &SchedulerCounters::unconfirmed},
      {"unusableObjects", &SchedulerCounters::unusable_objects},
  };
  return counters;
}

void ReadCounters(ScenarioReader& reader, Value value, std::vector<ScenarioAction>& actions) {
  reader.ForEach(value, "counters", [&](const Value::Item& item) {
    const auto counter = Counters().find(item.key);
    if (counter == Counters().end()) {
      return reader.Report(item.where, absl::StrCat("unknown counter ", item.key));
    }
    const auto wanted = reader.Count(item.value, item.key);
    if (!wanted.has_value()) return;
    actions.push_back([at = item.value.where(), wanted = *wanted, name = std::string(item.key),
                       member = counter->second](ScenarioRun& run) {
      CheckCount(run, at, wanted, name, run.simulation().scheduler().counters().*member);
    });
  });
}

void ReadCount(ScenarioReader& reader, const Value::Item& item, const Counted& counted,
               std::vector<ScenarioAction>& actions) {
  if (!item.value.IsMap() || counted.of_pod == nullptr) {
    const auto wanted = reader.Count(item.value, item.key);
    if (!wanted.has_value()) return;
    actions.push_back([at = item.value.where(), wanted = *wanted, counted](ScenarioRun& run) {
      CheckCount(run, at, wanted, counted.what, counted.all(run));
    });
    return;
  }
  reader.ForEach(item.value, item.key, [&](const Value::Item& pod) {
    const auto wanted = reader.Count(pod.value, item.key);
    if (!wanted.has_value()) return;
    actions.push_back([at = pod.value.where(), wanted = *wanted, counted,
                       key = ScenarioReader::PodKey(pod.key)](ScenarioRun& run) {
      CheckCount(run, at, wanted, absl::StrCat(counted.what, " of ", key),
                 counted.of_pod(run, key));
    });
  });
}

// --- Places --------------------------------------------------------------------------------------

// {pod: node}; a node of "*" is any.
void ReadPlaced(ScenarioReader& reader, Value value, std::vector<ScenarioAction>& actions) {
  reader.ForEach(value, "placed", [&](const Value::Item& item) {
    const std::string wanted = reader.Text(item.value, "a node's name");
    actions.push_back([at = item.value.where(), wanted,
                       pod = ScenarioReader::PodKey(item.key)](ScenarioRun& run) {
      const std::string node = NodeOf(run, pod);
      if (wanted == "*" ? !node.empty() && node != kNoPod : node == wanted) return;
      run.Fail(at, absl::StrCat("expected ", pod, " on ", wanted, ", ", Whereabouts(run, pod)));
    });
  });
}

void CheckPending(ScenarioRun& run, SourceLocation at, const std::string& pod,
                  absl::string_view reason) {
  const std::optional<UnboundPod> unbound = run.FindUnbound(pod);
  if (!unbound.has_value()) {
    run.Fail(at, absl::StrCat("expected ", pod, " pending, ", Whereabouts(run, pod)));
  } else if (!absl::StrContains(unbound->message, reason)) {
    run.Fail(at, absl::StrCat("expected ", pod, " to wait with \"", reason, "\", the reason is \"",
                              unbound->message, "\" by ", unbound->plugin));
  }
}

// {pod: part of the reason}, or a list of pods.
void ReadPending(ScenarioReader& reader, Value value, std::vector<ScenarioAction>& actions) {
  if (!value.IsMap()) {
    for (const auto& [pod, at] : reader.Pods(value, "pending")) {
      actions.push_back([at = at, pod = pod](ScenarioRun& run) { CheckPending(run, at, pod, ""); });
    }
    return;
  }
  reader.ForEach(value, "pending", [&](const Value::Item& item) {
    actions.push_back([at = item.value.where(), reason = reader.Text(item.value, "a reason"),
                       pod = ScenarioReader::PodKey(item.key)](ScenarioRun& run) {
      CheckPending(run, at, pod, reason);
    });
  });
}

std::optional<WaitingReason> FindReason(absl::string_view name) {
  for (int i = 0; i <= static_cast<int>(WaitingReason::kRejected); ++i) {
    const auto reason = static_cast<WaitingReason>(i);
    if (WaitingReasonName(reason) == name) return reason;
  }
  return std::nullopt;
}

struct WantedWaiting {
  std::optional<WaitingReason> reason;
  std::string text;  // part of the sentence
  std::optional<absl::Duration> until;
};

void CheckWaitingFor(ScenarioRun& run, SourceLocation at, const std::string& pod,
                     const WantedWaiting& wanted) {
  const auto message = run.FindPod(pod);
  if (message == nullptr) return run.Fail(at, absl::StrCat("there is no pod ", pod));
  const Object object(Kind::kPod, message);
  const std::optional<WaitingFor> waiting =
      run.simulation().scheduler().ExplainWaiting(object.uid());
  if (!waiting.has_value()) {
    return run.Fail(at, absl::StrCat("expected ", pod, " to wait, ", Whereabouts(run, pod)));
  }
  const auto expected = [&](const auto&... what) {
    run.Fail(at, absl::StrCat("expected ", pod, " to wait ", what..., ", it waits for ",
                              WaitingReasonName(waiting->reason), ": ", waiting->ToString()));
  };
  if (wanted.reason.has_value() && waiting->reason != *wanted.reason) {
    return expected("for ", WaitingReasonName(*wanted.reason));
  }
  if (!absl::StrContains(waiting->ToString(), wanted.text)) {
    return expected("with \"", wanted.text, "\"");
  }
  if (!wanted.until.has_value() || waiting->until == absl::UnixEpoch() + *wanted.until) return;
  expected("until ", absl::FormatDuration(*wanted.until), ", not ",
           absl::FormatDuration(waiting->until - absl::UnixEpoch()));
}

// {pod: REASON}, as in docs/explained_waiting.md, or {pod: {reason, text, until}}.
void ReadWaitingFor(ScenarioReader& reader, Value value, std::vector<ScenarioAction>& actions) {
  const auto read_reason = [&](Value name, WantedWaiting& wanted) {
    wanted.reason = FindReason(name.text());
    if (wanted.reason.has_value()) return;
    reader.Report(name.where(), absl::StrCat("unknown reason ", name.text(), " to wait"));
  };
  reader.ForEach(value, "waitingFor", [&](const Value::Item& item) {
    WantedWaiting wanted;
    if (!item.value.IsMap()) {
      read_reason(item.value, wanted);
    } else {
      reader.ForEach(item.value, "waitingFor", [&](const Value::Item& field) {
        if (field.key == "reason") {
          read_reason(field.value, wanted);
        } else if (field.key == "text") {
          wanted.text = reader.Text(field.value, "text");
        } else if (field.key == "until") {
          wanted.until = reader.Duration(field.value, "until");
        } else {
          reader.Report(field.where, absl::StrCat("unknown field of waitingFor ", field.key));
        }
      });
    }
    actions.push_back([at = item.value.where(), wanted, pod = ScenarioReader::PodKey(item.key)](
                          ScenarioRun& run) { CheckWaitingFor(run, at, pod, wanted); });
  });
}

// Lists of pods: each list on one node, or each pod of a list on a node of its own.
void ReadNeighbours(ScenarioReader& reader, Value lists, bool together,
                    std::vector<ScenarioAction>& actions) {
  if (!lists.IsSequence()) {
    return reader.Report(lists.where(), "lists of pods are needed: [[a, b], [c, d]]");
  }
  for (const Value list : lists.elements()) {
    std::vector<std::string> pods;
    for (auto& [pod, at] : reader.Pods(list, "a list of pods")) pods.push_back(std::move(pod));
    actions.push_back([at = list.where(), pods, together](ScenarioRun& run) {
      std::map<std::string, int> pods_on;
      for (const std::string& pod : pods) ++pods_on[NodeOf(run, pod)];
      const bool placed = !pods_on.contains("") && !pods_on.contains(std::string(kNoPod));
      const bool holds = together ? pods_on.size() == 1 : pods_on.size() == pods.size();
      if (placed && holds) return;
      run.Fail(at, absl::StrCat("expected the pods ",
                                together ? "on one node" : "on different nodes", ", they are on ",
                                absl::StrJoin(pods_on, ", ", [](std::string* out, const auto& on) {
                                  absl::StrAppend(out, on.first.empty() ? "no node" : on.first,
                                                  " (", on.second, ")");
                                })));
    });
  }
}

void ReadEvicted(ScenarioReader& reader, Value value, std::vector<ScenarioAction>& actions) {
  std::vector<std::string> wanted;
  for (auto& [pod, at] : reader.Pods(value, "evicted")) wanted.push_back(std::move(pod));
  std::sort(wanted.begin(), wanted.end());
  actions.push_back([at = value.where(), wanted](ScenarioRun& run) {
    std::vector<std::string> got = run.cluster().Evictions();
    std::sort(got.begin(), got.end());
    if (got == wanted) return;
    run.Fail(at, absl::StrCat("expected the evictions [", absl::StrJoin(wanted, ", "),
                              "], they are [", absl::StrJoin(got, ", "), "]"));
  });
}

void ReadGone(ScenarioReader& reader, Value value, std::vector<ScenarioAction>& actions) {
  for (const auto& [text, at] : reader.List(value, "gone")) {
    const std::optional<ObjectName> name = reader.Name(text, at);
    if (!name.has_value()) continue;
    actions.push_back([at = at, name = *name](ScenarioRun& run) {
      if (run.cluster().Find(name.kind, name.key) == nullptr) return;
      run.Fail(at, absl::StrCat(name.ToString(), " is still there"));
    });
  }
}

// The devices of the pod's claims, in the order of its references, and those of its special claim.
std::string DevicesOf(ScenarioRun& run, const api::Pod& pod) {
  std::vector<std::string> names;
  for (const api::PodResourceClaim& reference : pod.spec().resource_claims()) {
    names.push_back(reference.resource_claim_name());
    for (const api::PodResourceClaimStatus& status : pod.status().resource_claim_statuses()) {
      if (status.name() == reference.name()) names.back() = status.resource_claim_name();
    }
  }
  if (pod.status().has_extended_resource_claim_status()) {
    names.push_back(pod.status().extended_resource_claim_status().resource_claim_name());
  }
  std::vector<std::string> devices;
  for (const std::string& name : names) {
    const auto claim = std::static_pointer_cast<const api::ResourceClaim>(run.cluster().Find(
        Kind::kResourceClaim, absl::StrCat(pod.metadata().namespace_(), "/", name)));
    if (claim == nullptr) continue;
    for (const auto& result : claim->status().allocation().devices().results()) {
      devices.push_back(result.device());
    }
  }
  return absl::StrJoin(devices, ", ");
}

// {pod: devices}, one or a list.
void ReadDevices(ScenarioReader& reader, Value value, std::vector<ScenarioAction>& actions) {
  reader.ForEach(value, "devices", [&](const Value::Item& item) {
    std::vector<std::string> names;
    for (auto& [name, at] : reader.List(item.value, "devices of a pod")) names.push_back(name);
    actions.push_back([at = item.value.where(), wanted = absl::StrJoin(names, ", "),
                       pod = ScenarioReader::PodKey(item.key)](ScenarioRun& run) {
      const auto found = run.FindPod(pod);
      const std::string got = found == nullptr ? std::string(kNoPod) : DevicesOf(run, *found);
      if (got == wanted) return;
      run.Fail(at, absl::StrCat("expected ", pod, " with the devices ", wanted, ", it has ",
                                got.empty() ? "none" : got));
    });
  });
}

// --- What the cluster received -------------------------------------------------------------------

// {pod: text}, of one field of the pod.
void ReadField(ScenarioReader& reader, const Value::Item& item, absl::string_view what,
               std::string (*field)(const api::Pod&), std::vector<ScenarioAction>& actions) {
  reader.ForEach(item.value, item.key, [&](const Value::Item& entry) {
    actions.push_back([at = entry.value.where(), wanted = reader.Text(entry.value, item.key), field,
                       what, pod = ScenarioReader::PodKey(entry.key)](ScenarioRun& run) {
      const auto found = run.FindPod(pod);
      const std::string got = found == nullptr ? std::string(kNoPod) : field(*found);
      if (got == wanted) return;
      run.Fail(at, absl::StrCat("expected ", what, " \"", wanted, "\" of ", pod, ", it is \"", got,
                                "\""));
    });
  });
}

// {pod: {key: text}}, of the pod's annotations or labels; null: there is no such key.
using Metadata = google::protobuf::Map<std::string, std::string>;
void ReadMetadata(ScenarioReader& reader, const Value::Item& item,
                  const Metadata& (*map_of)(const api::ObjectMeta&),
                  std::vector<ScenarioAction>& actions) {
  reader.ForEach(item.value, item.key, [&](const Value::Item& of_pod) {
    reader.ForEach(of_pod.value, item.key, [&](const Value::Item& entry) {
      const std::string wanted =
          entry.value.IsNull() ? std::string(kNoSuchKey) : reader.Text(entry.value, item.key);
      actions.push_back([at = entry.value.where(), wanted, map_of, key = std::string(entry.key),
                         pod = ScenarioReader::PodKey(of_pod.key)](ScenarioRun& run) {
        const auto found = run.FindPod(pod);
        std::string got(kNoPod);
        if (found != nullptr) {
          const Metadata& map = map_of(found->metadata());
          const auto entry = map.find(key);
          got = entry == map.end() ? std::string(kNoSuchKey) : entry->second;
        }
        if (got == wanted) return;
        run.Fail(at, absl::StrCat("expected ", key, " of ", pod, " to be \"", wanted,
                                  "\", it is \"", got, "\""));
      });
    });
  });
}

// {pod: ["Reason: part of the note"]}: each is among the events about the pod, or about "Kind
// namespace/name".
void ReadEvents(ScenarioReader& reader, Value value, std::vector<ScenarioAction>& actions) {
  reader.ForEach(value, "events", [&](const Value::Item& item) {
    std::string object = ScenarioReader::PodKey(item.key);
    if (absl::StrContains(item.key, ' ')) {
      const std::optional<ObjectName> name = reader.Name(item.key, item.where);
      if (!name.has_value()) return;
      object = absl::StrCat(KindName(name->kind), " ", name->key);
    }
    for (const auto& [text, at] : reader.List(item.value, "an event")) {
      const size_t colon = text.find(": ");
      const std::string reason = text.substr(0, colon);
      const std::string note = colon == std::string::npos ? "" : text.substr(colon + 2);
      actions.push_back([at = at, reason, note, object](ScenarioRun& run) {
        std::string seen;
        for (const RecordedEvent& other : run.history().EventsOf(object)) {
          if (other.reason == reason && absl::StrContains(other.note(), note)) return;
          absl::StrAppend(&seen, "\n    ", other.reason, ": ", other.note());
        }
        run.Fail(at, absl::StrCat("expected an event ", reason, " of ", object, " with \"", note,
                                  "\", there ", seen.empty() ? "is none" : "are", seen));
      });
    }
  });
}

struct WantedCondition {
  std::string status, reason, message;
};

void CheckCondition(ScenarioRun& run, SourceLocation at, const std::string& pod,
                    const std::string& type, const WantedCondition& wanted) {
  const auto found = run.FindPod(pod);
  if (found == nullptr) return run.Fail(at, absl::StrCat("there is no pod ", pod));
  for (const api::PodCondition& condition : found->status().conditions()) {
    if (condition.type() != type) continue;
    if ((wanted.status.empty() || condition.status() == wanted.status) &&
        (wanted.reason.empty() || condition.reason() == wanted.reason) &&
        absl::StrContains(condition.message(), wanted.message)) {
      return;
    }
    return run.Fail(at, absl::StrCat("the condition ", type, " of ", pod, " is ",
                                     condition.status(), ", reason \"", condition.reason(),
                                     "\", message \"", condition.message(), "\""));
  }
  run.Fail(at, absl::StrCat(pod, " has no condition ", type));
}

// {pod: {type: {status, reason, message}}}.
void ReadConditions(ScenarioReader& reader, Value value, std::vector<ScenarioAction>& actions) {
  reader.ForEach(value, "conditions", [&](const Value::Item& pod) {
    reader.ForEach(pod.value, "conditions of a pod", [&](const Value::Item& type) {
      WantedCondition wanted;
      reader.ForEach(type.value, "a condition", [&](const Value::Item& field) {
        if (field.key == "status") {
          wanted.status = reader.Text(field.value, "status");
        } else if (field.key == "reason") {
          wanted.reason = reader.Text(field.value, "reason");
        } else if (field.key == "message") {
          wanted.message = reader.Text(field.value, "message");
        } else {
          reader.Report(field.where, absl::StrCat("unknown field of a condition ", field.key));
        }
      });
      actions.push_back([at = type.where, key = ScenarioReader::PodKey(pod.key),
                         name = std::string(type.key),
                         wanted](ScenarioRun& run) { CheckCondition(run, at, key, name, wanted); });
    });
  });
}

// --- What must not have happened -----------------------------------------------------------------

void ReadNeverTo(ScenarioReader& reader, const Value::Item& item,
                 std::vector<ScenarioAction>& actions) {
  if (item.key == "placed") {  // {pod: node}
    return reader.ForEach(item.value, "placed", [&](const Value::Item& entry) {
      actions.push_back([at = entry.value.where(), node = reader.Text(entry.value, "a node"),
                         pod = ScenarioReader::PodKey(entry.key)](ScenarioRun& run) {
        if (!run.history().WasBound(pod, node)) return;
        run.Fail(at, absl::StrCat(pod, " was bound to ", node));
      });
    });
  }
  using CountOf = int64_t (ScenarioHistory::*)(const std::string&) const;
  const std::map<absl::string_view, std::pair<CountOf, absl::string_view>> counted = {
      {"bound", {&ScenarioHistory::bindings_of, "bound"}},
      {"evicted", {&ScenarioHistory::evictions_of, "evicted"}},
      {"tried", {&ScenarioHistory::attempts_of, "tried"}}};
  const auto found = counted.find(item.key);
  if (found == counted.end()) {
    return reader.Report(item.where, absl::StrCat("unknown thing that never happens: ", item.key));
  }
  for (const auto& [pod, at] : reader.Pods(item.value, item.key)) {
    actions.push_back([at = at, pod = pod, count = found->second](ScenarioRun& run) {
      const int64_t times = (run.history().*count.first)(pod);
      if (times == 0) return;
      run.Fail(at, absl::StrCat(pod, " was ", count.second, times == 1 ? "" : " several times"));
    });
  }
}

// A list of "overcommitted", "boundTwice" and {evicted, bound, tried: pods}, {placed: {pod: node}}.
void ReadNever(ScenarioReader& reader, Value value, std::vector<ScenarioAction>& actions) {
  if (!value.IsSequence()) {
    return reader.Report(value.where(), "never is a list, such as [overcommitted, boundTwice]");
  }
  for (const Value element : value.elements()) {
    if (element.IsMap()) {
      reader.ForEach(element, "never",
                     [&](const Value::Item& item) { ReadNeverTo(reader, item, actions); });
      continue;
    }
    const bool overcommitted = element.text() == "overcommitted";
    if (!overcommitted && element.text() != "boundTwice") {
      reader.Report(element.where(),
                    absl::StrCat("unknown thing that never happens: ", element.text()));
      continue;
    }
    actions.push_back([at = element.where(), overcommitted](ScenarioRun& run) {
      const std::string& what =
          overcommitted ? run.history().overcommitted() : run.history().bound_twice();
      if (what.empty()) return;
      run.Fail(at, overcommitted ? what : absl::StrCat("bound twice: ", what));
    });
  }
}

}  // namespace

void ScenarioReader::ReadExpectations(Value expectations, std::vector<ScenarioAction>& actions) {
  ForEach(expectations, "expect", [&](const Value::Item& item) {
    if (const auto counted = CountedThings().find(item.key); counted != CountedThings().end()) {
      ReadCount(*this, item, counted->second, actions);
    } else if (item.key == "placed") {
      ReadPlaced(*this, item.value, actions);
    } else if (item.key == "pending") {
      ReadPending(*this, item.value, actions);
    } else if (item.key == "waitingFor") {
      ReadWaitingFor(*this, item.value, actions);
    } else if (item.key == "together" || item.key == "apart") {
      ReadNeighbours(*this, item.value, item.key == "together", actions);
    } else if (item.key == "evicted") {
      ReadEvicted(*this, item.value, actions);
    } else if (item.key == "gone") {
      ReadGone(*this, item.value, actions);
    } else if (item.key == "devices") {
      ReadDevices(*this, item.value, actions);
    } else if (item.key == "nominated") {
      ReadField(
          *this, item, "the nominated node",
          [](const api::Pod& pod) { return pod.status().nominated_node_name(); }, actions);
    } else if (item.key == "phase") {
      ReadField(
          *this, item, "the phase", [](const api::Pod& pod) { return pod.status().phase(); },
          actions);
    } else if (item.key == "annotations") {
      ReadMetadata(
          *this, item,
          [](const api::ObjectMeta& meta) -> const Metadata& { return meta.annotations(); },
          actions);
    } else if (item.key == "labels") {
      ReadMetadata(
          *this, item, [](const api::ObjectMeta& meta) -> const Metadata& { return meta.labels(); },
          actions);
    } else if (item.key == "events") {
      ReadEvents(*this, item.value, actions);
    } else if (item.key == "conditions") {
      ReadConditions(*this, item.value, actions);
    } else if (item.key == "counters") {
      ReadCounters(*this, item.value, actions);
    } else if (item.key == "never") {
      ReadNever(*this, item.value, actions);
    } else {
      Report(item.where, absl::StrCat("unknown expectation ", item.key));
    }
  });
}

}  // namespace berth::testing
