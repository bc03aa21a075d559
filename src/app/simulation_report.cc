// Implementation of simulation_report.h.
#include "app/simulation_report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "app/json.h"
#include "app/terminal.h"
#include "berth/api/core_v1.pb.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth {
namespace {

constexpr size_t kReasonsShown = 12;

bool IsLive(const api::Pod& pod) {
  return pod.status().phase() != "Succeeded" && pod.status().phase() != "Failed";
}

std::string Percent(int64_t part, int64_t whole) {
  if (whole == 0) return "-";
  return absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string Amount(const std::string& resource, int64_t amount) {
  if (resource == "cpu") return absl::StrFormat("%.1f", static_cast<double>(amount) / 1000);
  if (resource == "memory" || resource == "ephemeral-storage") {
    return absl::StrFormat("%.1f GiB", static_cast<double>(amount) / (1 << 30));
  }
  return Thousands(amount);
}

}  // namespace

std::string DominantReason(const std::string& message) {
  const size_t list = message.find("nodes are available: ");
  if (list == std::string::npos) return message;
  absl::string_view reasons = absl::string_view(message).substr(list + 21);
  // PostFilter's words follow the list's full stop.
  if (const size_t end = reasons.find(". "); end != absl::string_view::npos) {
    reasons = reasons.substr(0, end);
  }
  reasons = absl::StripSuffix(reasons, ".");
  int64_t most = -1;
  absl::string_view dominant = reasons;
  for (absl::string_view part : absl::StrSplit(reasons, ", ")) {
    const size_t space = part.find(' ');
    int64_t count = 0;
    if (space == absl::string_view::npos || !absl::SimpleAtoi(part.substr(0, space), &count)) {
      continue;
    }
    if (count > most) {
      most = count;
      dominant = part.substr(space + 1);
    }
  }
  return std::string(dominant);
}

SimulationReport::SimulationReport(Simulation& simulation) : simulation_(simulation) {
  for (const Object& object : simulation.cluster().List(Kind::kPod)) {
    const auto& pod = object.As<api::Pod>();
    if (pod.spec().node_name().empty() && IsLive(pod)) {
      pods_.push_back({std::string(object.key()), "", ""});
    }
  }
}

void SimulationReport::Finish(const RunFigures& figures) {
  figures_ = figures;
  std::map<std::string, std::string> reasons;
  for (const UnboundPod& pod : simulation_.scheduler().Unbound()) {
    reasons[pod.pod] = pod.message.empty() ? "not tried yet" : pod.message;
  }
  evicted_ = simulation_.cluster().Evictions();
  ReadPods(reasons);
  ReadNodes();
  groups_ = simulation_.scheduler().PodGroups();
}

void SimulationReport::ReadPods(const std::map<std::string, std::string>& reasons) {
  const std::set<std::string> evicted(evicted_.begin(), evicted_.end());
  for (PodLine& line : pods_) {
    const auto pod =
        std::static_pointer_cast<const api::Pod>(simulation_.cluster().Find(Kind::kPod, line.pod));
    if (pod != nullptr) line.node = pod->spec().node_name();
    if (!line.node.empty()) {
      ++bound_;
      continue;
    }
    const auto reason = reasons.find(line.pod);
    if (evicted.contains(line.pod)) {
      line.reason = "evicted";
    } else if (reason != reasons.end()) {
      line.reason = reason->second;
    } else if (pod != nullptr && pod->metadata().has_deletion_timestamp()) {
      line.reason = "the pod is being deleted";
    } else if (pod != nullptr) {
      line.reason = absl::StrCat("no profile is named ", pod->spec().scheduler_name().empty()
                                                             ? "default-scheduler"
                                                             : pod->spec().scheduler_name());
    }
  }
}

// Sums what nodes have and what their pods ask for, in one pass over each.
void SimulationReport::ReadNodes() {
  std::map<std::string, ResourceVector> used;
  for (const Object& object : simulation_.cluster().List(Kind::kPod)) {
    const auto& pod = object.As<api::Pod>();
    if (pod.spec().node_name().empty() || !IsLive(pod)) continue;
    const auto info = PodInfo::Create(object.Share<api::Pod>());
    if (info.ok()) used[pod.spec().node_name()].Add((*info)->requests());
  }
  for (const Object& object : simulation_.cluster().List(Kind::kNode)) {
    const auto spec = NodeSpec::Create(object.Share<api::Node>());
    if (!spec.ok()) continue;
    ++nodes_;
    const ResourceVector& taken = used[std::string((*spec)->name.view())];
    (*spec)->allocatable.ForEach([&](ResourceId id, int64_t amount) {
      const std::string name(ResourceName(id));
      resources_[name].allocatable += amount;
      resources_[name].used += taken.Get(id);
      if (IsExtendedResourceName(name)) ++free_by_node_[name][amount - taken.Get(id)];
    });
  }
}

// --- JSON ---------------------------------------------------------------------------------------

std::string SimulationReport::ToJson() const {
  JsonWriter json;
  json.BeginObject().Key("placements").BeginArray();
  for (const PodLine& line : pods_) {
    json.BeginObject().Key("pod").String(line.pod).Key("node");
    if (line.node.empty()) {
      json.Null();
    } else {
      json.String(line.node);
    }
    json.Key("reason").String(line.reason).EndObject();
  }
  json.EndArray().Key("groups").BeginArray();
  for (const PodGroupState& group : groups_) {
    json.BeginObject().Key("group").String(group.group).Key("minMember").Int(group.min_member);
    json.Key("bound").Int(group.assigned).Key("pending").Int(group.pending).EndObject();
  }
  json.EndArray().Key("evicted").StringArray(evicted_);
  const int64_t pods = pending_at_start();
  json.Key("summary").BeginObject();
  json.Key("pods").Int(pods).Key("bound").Int(bound_).Key("pending").Int(pods - bound_);
  json.Key("evicted").Int(static_cast<int64_t>(evicted_.size()));
  json.Key("load_seconds").Double(figures_.load_seconds);
  json.Key("schedule_seconds").Double(figures_.schedule_seconds);
  json.Key("pods_per_second")
      .Double(figures_.schedule_seconds > 0
                  ? static_cast<double>(bound_) / figures_.schedule_seconds
                  : 0);
  json.Key("cycle_us").BeginObject();
  json.Key("p50").Double(figures_.cycle_us.p50).Key("p90").Double(figures_.cycle_us.p90);
  json.Key("p99").Double(figures_.cycle_us.p99).Key("max").Double(figures_.cycle_us.max);
  json.EndObject().Key("peak_rss_bytes").Int(figures_.peak_rss_bytes);
  json.EndObject().EndObject();
  return std::string(json.text());
}

// --- Tables -------------------------------------------------------------------------------------

std::string SimulationReport::ToTable() const {
  const int64_t pods = pending_at_start();
  const int64_t pending = pods - bound_;
  std::string text = absl::StrCat(
      Styled(Style::kGood,
             absl::StrCat(Thousands(bound_), bound_ == 1 ? " pod placed" : " pods placed")),
      ", ",
      Styled(pending > 0 ? Style::kBad : Style::kGood,
             absl::StrCat(Thousands(pending), " pending")),
      evicted_.empty() ? "" : absl::StrCat(", ", Thousands(evicted_.size()), " evicted"), ", on ",
      Thousands(nodes_), nodes_ == 1 ? " node\n" : " nodes\n");
  if (!groups_.empty()) {
    int64_t whole = 0;
    int64_t part = 0;
    for (const PodGroupState& group : groups_) {
      if (group.assigned >= group.min_member) {
        ++whole;
      } else if (group.assigned > 0) {
        ++part;
      }
    }
    absl::StrAppend(&text, Thousands(whole), " of ", Thousands(groups_.size()), " groups run, ",
                    Thousands(part), " in part\n");
  }
  absl::StrAppend(&text, "\n", ResourceTable(), FragmentTables(), PendingTable());
  const double seconds = figures_.schedule_seconds;
  absl::StrAppend(&text, "Loaded in ", ShortDuration(absl::Seconds(figures_.load_seconds)),
                  ", scheduled in ", ShortDuration(absl::Seconds(seconds)));
  if (seconds > 0) {
    absl::StrAppend(&text, " (",
                    Thousands(static_cast<int64_t>(static_cast<double>(bound_) / seconds)),
                    " pods/s; cycle p50 ", ShortDuration(absl::Microseconds(figures_.cycle_us.p50)),
                    ", p99 ", ShortDuration(absl::Microseconds(figures_.cycle_us.p99)), ")");
  }
  absl::StrAppend(&text, ", peak memory ", figures_.peak_rss_bytes >> 20, " MiB\n");
  return text;
}

std::string SimulationReport::ResourceTable() const {
  if (resources_.empty()) return "";
  TextTable table({"RESOURCE", "ALLOCATABLE", "REQUESTED", "SHARE"});
  for (const auto& [name, line] : resources_) {
    if (line.allocatable == 0 || (line.used == 0 && name == "ephemeral-storage")) continue;
    table.AddRow({name, Amount(name, line.allocatable), Amount(name, line.used),
                  Percent(line.used, line.allocatable)});
  }
  return absl::StrCat(table.ToString(), "\n");
}

// How the free units of each extended resource are spread: eight GPUs on one node serve a pod that
// asks for eight, one on each of eight nodes do not.
std::string SimulationReport::FragmentTables() const {
  std::string text;
  for (const auto& [name, nodes_with] : free_by_node_) {
    int64_t total = 0;
    for (const auto& [free, nodes] : nodes_with) total += std::max<int64_t>(0, free) * nodes;
    if (total == 0) continue;
    TextTable table({absl::StrCat("FREE ", name), "NODES", "UNITS", "OF ALL FREE"});
    for (const auto& [free, nodes] : nodes_with) {
      if (free <= 0) continue;
      table.AddRow({absl::StrCat(free, " on a node"), Thousands(nodes), Thousands(free * nodes),
                    Percent(free * nodes, total)});
    }
    absl::StrAppend(&text, table.ToString(), "\n");
  }
  return text;
}

std::string SimulationReport::PendingTable() const {
  std::map<std::string, std::pair<int64_t, std::string>> pods_by_reason;
  for (const PodLine& line : pods_) {
    if (!line.node.empty()) continue;
    auto& [count, example] = pods_by_reason[DominantReason(line.reason)];
    if (count++ == 0) example = line.pod;
  }
  if (pods_by_reason.empty()) return "";
  std::vector<std::pair<std::string, std::pair<int64_t, std::string>>> rows(pods_by_reason.begin(),
                                                                            pods_by_reason.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  TextTable table({"PENDING", "FOR EXAMPLE", "MAIN REASON"});
  for (size_t i = 0; i < std::min(rows.size(), kReasonsShown); ++i) {
    table.AddRow({Thousands(rows[i].second.first), rows[i].second.second, rows[i].first});
  }
  std::string text = table.ToString();
  if (rows.size() > kReasonsShown) {
    absl::StrAppend(&text, "and ", rows.size() - kReasonsShown, " more reasons\n");
  }
  return absl::StrCat(text, "\n");
}

}  // namespace berth
