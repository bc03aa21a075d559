// SPDX-License-Identifier: Apache-2.0
// Implementation of simulation_report.h.
#include "app/simulation_report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/group_marks.h"
#include "api/json.h"
#include "app/terminal.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/api/time.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth {
namespace {

// Rows of a table where not all are wanted.
constexpr size_t kReasonsShown = 12;
constexpr size_t kPodsShown = 30;

// How many of `rows` a table shows.
size_t Shown(size_t rows, size_t some, Rows which) {
  return which == Rows::kAll ? rows : std::min(rows, some);
}

// The last line of a table that shows `shown` of `rows`.
std::string Rest(size_t rows, size_t shown, absl::string_view what) {
  if (shown == rows) return "\n";
  return absl::StrCat("and ", Thousands(static_cast<int64_t>(rows - shown)), " more ", what,
                      " (--all prints every one, -o json is for programs)\n\n");
}

bool IsLive(const api::Pod& pod) { return !HasEnded(pod.status()); }

std::string Percent(double part, double whole) {
  return whole == 0 ? "-" : absl::StrFormat("%.1f %%", 100 * part / whole);
}

// 2500 as "2.5"
std::string UnitsText(int64_t milli) {
  if (milli % 1000 == 0) return Thousands(milli / 1000);
  std::string fraction = absl::StrFormat("%03d", milli % 1000);
  fraction.resize(fraction.find_last_not_of('0') + 1);
  return absl::StrCat(Thousands(milli / 1000), ".", fraction);
}

std::string Amount(const std::string& resource, int64_t amount) {
  if (resource == "cpu") return absl::StrFormat("%.1f", static_cast<double>(amount) / 1000);
  if (resource == "memory" || resource == "ephemeral-storage") {
    return absl::StrFormat("%.1f GiB", static_cast<double>(amount) / (1 << 30));
  }
  return Thousands(amount);
}

void WriteWaiting(const std::optional<WaitingFor>& waiting, JsonWriter& json) {
  if (!waiting.has_value()) return;
  const WaitingFor& w = *waiting;
  json.Key("waiting").BeginObject().Key("reason").String(WaitingReasonName(w.reason));
  json.Key("text").String(w.ToString());
  const auto text = [&](absl::string_view key, const std::string& value) {
    if (!value.empty()) json.Key(key).String(value);
  };
  text("plugin", w.plugin);
  text("detail", w.detail);
  text("alone", w.alone);
  if (w.nodes > 0) {
    json.Key("nodes").Int(w.nodes).Key("rejectingNodes").Int(w.rejecting_nodes);
    json.Key("nodesByPlugin").BeginObject();
    for (const WaitingFor::PluginNodes& by : w.nodes_by_plugin) json.Key(by.plugin).Int(by.nodes);
    json.EndObject();
  }
  if (!w.resource.empty()) {
    json.Key("resource").String(w.resource).Key("needed").Int(w.needed);
    if (w.quota_limit > 0 || w.quota_used > 0) {
      text("quota", w.quota);
      json.Key("quotaUsed").Int(w.quota_used).Key("quotaLimit").Int(w.quota_limit);
    } else {
      json.Key("mostFree").Int(w.most_free).Key("allFree").Int(w.all_free);
    }
  }
  if (w.members_needed > 0) {
    json.Key("membersNeeded").Int(w.members_needed);
    json.Key("membersRunning").Int(w.members_running);
    json.Key("membersPlaceable").Int(w.members_placeable);
    text("blockingPod", w.blocking_pod);
  }
  if (!w.reserved_nodes.empty()) {
    json.Key("reservedNodes").StringArray(w.reserved_nodes);
    json.Key("reservedFrom").String(TimeToString(w.reserved_from));
  }
  text("node", w.node);
  if (w.victims > 0) json.Key("victims").Int(w.victims);
  if (w.until < absl::InfiniteFuture()) json.Key("until").String(TimeToString(w.until));
  json.Key("nextEvents").StringArray(w.next_events).EndObject();
}

}  // namespace

SimulationReport::SimulationReport(Simulation& simulation)
    : simulation_(simulation), start_(simulation.now()) {
  for (const Object& object : simulation.cluster().List(Kind::kPod)) {
    const std::shared_ptr<const PackedPod> pod = object.packed();
    bool is_pending = false, names_gang = false;
    pod->ReadOwn([&](const api::Pod& own) {
      is_pending = own.spec().node_name().empty() && IsLive(own);
      names_gang = is_pending && GroupMarkOf(own.metadata(), pod->shape()->spec()) != nullptr;
    });
    if (!is_pending) continue;
    PodLine& line = pods_.emplace_back();
    line.pod = std::string(object.key());
    line.uid = std::string(object.uid());
    if (!names_gang) continue;
    const auto info = PodInfo::Create(pod);
    if (info.ok()) line.alone = simulation.scheduler().WhyAlone(**info);
  }
}

void SimulationReport::Finish(const RunFigures& figures) {
  figures_ = figures;
  evicted_ = simulation_.cluster().Evictions();
  ReadPods();
  ReadNodes();
  groups_ = simulation_.scheduler().PodGroups();
  SchedulerCounters counters = simulation_.scheduler().counters();
  troubles_ = {std::move(counters.troubles), counters.unconfirmed};
  plugin_counters_ = simulation_.scheduler().PluginCounters();
}

void SimulationReport::ReadPods() {
  std::map<std::string, UnboundPod> unbound;
  for (UnboundPod& pod : simulation_.scheduler().Unbound()) {
    std::string key = pod.pod;
    unbound.emplace(std::move(key), std::move(pod));
  }
  const std::set<std::string> evicted(evicted_.begin(), evicted_.end());
  for (PodLine& line : pods_) {
    const auto pod =
        std::static_pointer_cast<const api::Pod>(simulation_.cluster().Find(Kind::kPod, line.pod));
    if (pod != nullptr) line.node = pod->spec().node_name();
    if (pod != nullptr && pod->status().has_start_time()) {
      line.after = ToTime(pod->status().start_time()) - start_;
    }
    if (!line.node.empty()) {
      ++bound_;
      continue;
    }
    const auto known = unbound.find(line.pod);
    if (evicted.contains(line.pod)) {
      line.reason = "evicted";
    } else if (known != unbound.end()) {
      const std::string& message = known->second.message;
      line.reason = message.empty() ? known->second.waiting.ToString() : message;
      line.group = known->second.group;
      line.waiting = std::move(known->second.waiting);
    } else if (pod != nullptr && pod->metadata().has_deletion_timestamp()) {
      line.reason = "the pod is being deleted";
    } else if (pod != nullptr) {
      line.waiting = simulation_.scheduler().ExplainWaiting(line.uid);
      const std::string& profile = pod->spec().scheduler_name();
      line.reason =
          line.waiting.has_value() && line.waiting->reason == WaitingReason::kUnknownProfile
              ? absl::StrCat("no profile is named ",
                             profile.empty() ? "default-scheduler" : profile)
              : "the scheduler does not know the pod";
    }
  }
}

// Sums what nodes have and what their pods ask for, in one pass over each.
void SimulationReport::ReadNodes() {
  std::map<std::string, ResourceVector> used;
  for (const Object& object : simulation_.cluster().List(Kind::kPod)) {
    const auto info = PodInfo::Create(object.packed());
    if (!info.ok() || (*info)->node_name().empty() || (*info)->terminal()) continue;
    used[(*info)->node_name()].Add((*info)->requests());
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
      if (IsExtendedResourceName(name)) ++free_[name].by_node[amount - taken.Get(id)];
    });
  }
  for (const ResourceUsage& usage : simulation_.scheduler().Usage()) ReadParts(usage);
}

// What a plugin says counts instead of the sums of requests.
void SimulationReport::ReadParts(const ResourceUsage& usage) {
  ResourceLine line;
  FreeLines free;
  for (const ResourceUsage::Node& node : usage.nodes) {
    line.allocatable += node.milli_all / 1000;
    line.milli_used += node.milli_used;
    ++free.by_node[node.whole_free];
    const int64_t parts = node.milli_all - node.milli_used - node.whole_free * 1000;
    if (parts <= 0) continue;
    free.milli_of_parts += parts;
    ++free.nodes_with_parts;
  }
  line.used = std::exchange(line.milli_used, line.milli_used % 1000) / 1000;
  resources_[usage.resource] = line;
  free_[usage.resource] = std::move(free);
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
    json.Key("reason").String(line.reason);
    if (!line.alone.empty()) json.Key("alone").String(line.alone);
    WriteWaiting(line.waiting, json);
    json.EndObject();
  }
  json.EndArray().Key("groups").BeginArray();
  for (const PodGroupState& group : groups_) {
    json.BeginObject().Key("group").String(group.group).Key("minMember").Int(group.min_member);
    json.Key("bound").Int(group.bound).Key("waitingPods").Int(group.waiting_pods);
    json.Key("pending").Int(group.pending);
    WriteWaiting(group.waiting, json);
    json.EndObject();
  }
  json.EndArray().Key("evicted").StringArray(evicted_);
  troubles_.WriteTo(json);
  json.Key("pluginCounters").BeginObject();
  for (const auto& [name, value] : plugin_counters_) json.Key(name).Int(value);
  json.EndObject();
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
  if (figures_.interrupted) json.Key("interrupted").Bool(true);
  if (!simulation_.gave_up().empty()) json.Key("gave_up").String(simulation_.gave_up());
  json.EndObject().EndObject();
  return std::string(json.text());
}

// --- Tables -------------------------------------------------------------------------------------

std::string SimulationReport::ToTable(Rows rows) const {
  const int64_t pods = pending_at_start();
  const int64_t pending = pods - bound_;
  std::string text = absl::StrCat(
      figures_.interrupted
          ? absl::StrCat(Styled(Style::kBad, "Interrupted: this is what was decided so far."), "\n")
          : "",
      simulation_.gave_up().empty()
          ? ""
          : absl::StrCat(Styled(Style::kBad, simulation_.gave_up()), "\n"),
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
      if (group.bound >= group.min_member) {
        ++whole;
      } else if (group.bound > 0) {
        ++part;
      }
    }
    absl::StrAppend(&text, Thousands(whole), " of ", Thousands(groups_.size()), " groups run, ",
                    Thousands(part), " in part\n");
  }
  absl::StrAppend(&text, "\n", ResourceTable(), FragmentTables(), PlacementTable(rows),
                  EvictionTable(rows), GroupTable(rows), AloneTable(rows), PendingTable(rows),
                  troubles_.ToTable(), CounterTable());
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
    const double used =
        static_cast<double>(line.used) + static_cast<double>(line.milli_used) / 1000;
    table.AddRow({name, Amount(name, line.allocatable),
                  line.milli_used == 0 ? Amount(name, line.used)
                                       : UnitsText(line.used * 1000 + line.milli_used),
                  Percent(used, static_cast<double>(line.allocatable))});
  }
  return absl::StrCat(table.ToString(), "\n");
}

// How the free units of each extended resource are spread: eight GPUs on one node serve a pod that
// asks for eight, one on each of eight nodes do not, and what is left of a card serves shares only.
std::string SimulationReport::FragmentTables() const {
  std::string text;
  for (const auto& [name, lines] : free_) {
    int64_t total = lines.milli_of_parts;
    for (const auto& [free, nodes] : lines.by_node) {
      total += std::max<int64_t>(0, free) * nodes * 1000;
    }
    if (total == 0) continue;
    TextTable table({absl::StrCat("FREE ", name), "NODES", "UNITS", "OF ALL FREE"});
    const auto add = [&](std::string what, int nodes, int64_t milli) {
      table.AddRow({std::move(what), Thousands(nodes), UnitsText(milli),
                    Percent(static_cast<double>(milli), static_cast<double>(total))});
    };
    if (lines.milli_of_parts > 0) add("in parts", lines.nodes_with_parts, lines.milli_of_parts);
    for (const auto& [free, nodes] : lines.by_node) {
      if (free > 0) add(absl::StrCat(free, " on a node"), nodes, free * nodes * 1000);
    }
    absl::StrAppend(&text, table.ToString(), "\n");
  }
  return text;
}

// Pods, bound or not, that name a gang and are placed one by one all the same.
std::string SimulationReport::AloneTable(Rows rows) const {
  std::map<std::string, std::vector<const PodLine*>> by_reason;
  for (const PodLine& pod : pods_) {
    if (!pod.alone.empty()) by_reason[pod.alone].push_back(&pod);
  }
  if (by_reason.empty()) return "";
  TextTable table({"NOT AS A GANG", "FOR EXAMPLE", "WHY"});
  const size_t shown = Shown(by_reason.size(), kReasonsShown, rows);
  auto next = by_reason.begin();
  for (size_t i = 0; i < shown; ++i, ++next) {
    const auto& [why, pods] = *next;
    table.AddRow({Thousands(static_cast<int64_t>(pods.size())), pods.front()->pod, why});
  }
  return absl::StrCat(table.ToString(), Rest(by_reason.size(), shown, "reasons"));
}

std::string SimulationReport::CounterTable() const {
  if (plugin_counters_.empty()) return "";
  TextTable table({"COUNTED BY PLUGINS", "NUMBER"});
  for (const auto& [name, value] : plugin_counters_) table.AddRow({name, Thousands(value)});
  return absl::StrCat(table.ToString(), "\n");
}

// Which pod went where, in the order in which they were bound, then those without a node.
std::string SimulationReport::PlacementTable(Rows rows) const {
  if (pods_.empty()) return "";
  std::vector<const PodLine*> lines;
  bool at_once = true;  // everything was bound at the start
  for (const PodLine& pod : pods_) {
    lines.push_back(&pod);
    at_once = at_once && (pod.node.empty() || pod.after < absl::Milliseconds(1));
  }
  std::stable_sort(lines.begin(), lines.end(), [](const PodLine* a, const PodLine* b) {
    if (a->node.empty() != b->node.empty()) return b->node.empty();
    return !a->node.empty() && a->after < b->after;
  });
  std::vector<std::string> header = {"POD", "NODE"};
  if (!at_once) header.push_back("AFTER");
  TextTable table(std::move(header));
  const size_t shown = Shown(lines.size(), kPodsShown, rows);
  for (size_t i = 0; i < shown; ++i) {
    std::vector<std::string> row = {lines[i]->pod, lines[i]->node.empty() ? "-" : lines[i]->node};
    if (!at_once) {
      row.push_back(lines[i]->node.empty() ? "" : DurationToString(lines[i]->after));
    }
    table.AddRow(std::move(row));
  }
  return absl::StrCat(table.ToString(), Rest(lines.size(), shown, "pods"));
}

std::string SimulationReport::EvictionTable(Rows rows) const {
  if (evicted_.empty()) return "";
  TextTable table({"EVICTED"});
  const size_t shown = Shown(evicted_.size(), kReasonsShown, rows);
  for (size_t i = 0; i < shown; ++i) table.AddRow({evicted_[i]});
  return absl::StrCat(table.ToString(), Rest(evicted_.size(), shown, "pods"));
}

// Groups that run in part or not at all, each with what it waits for.
std::string SimulationReport::GroupTable(Rows rows) const {
  std::vector<const PodGroupState*> waiting;
  for (const PodGroupState& group : groups_) {
    if (group.waiting.has_value()) waiting.push_back(&group);
  }
  if (waiting.empty()) return "";
  TextTable table({"GROUP", "BOUND", "WAITING", "PENDING", "REASON", "WAITING FOR"});
  const size_t shown = Shown(waiting.size(), kReasonsShown, rows);
  for (size_t i = 0; i < shown; ++i) {
    const PodGroupState& group = *waiting[i];
    table.AddRow({group.group, Thousands(group.bound), Thousands(group.waiting_pods),
                  Thousands(group.pending), std::string(WaitingReasonName(group.waiting->reason)),
                  group.waiting->ToString()});
  }
  return absl::StrCat(table.ToString(), Rest(waiting.size(), shown, "groups"));
}

// Pods outside groups by what they wait for, with the numbers of one of them.
std::string SimulationReport::PendingTable(Rows rows) const {
  struct Line {
    int64_t count = 0;
    std::string example, reason, sentence;
  };
  std::set<std::string> groups;
  for (const PodGroupState& group : groups_) groups.insert(group.group);
  std::map<std::pair<std::string, std::string>, Line> by_reason;
  for (const PodLine& pod : pods_) {
    if (!pod.node.empty() || groups.contains(pod.group)) continue;
    const std::string reason(pod.waiting.has_value() ? WaitingReasonName(pod.waiting->reason)
                                                     : absl::string_view());
    Line& line = by_reason[{reason, pod.waiting.has_value() ? pod.waiting->detail : pod.reason}];
    if (line.count++ > 0) continue;
    line.example = pod.pod;
    line.reason = reason;
    line.sentence = pod.waiting.has_value() ? pod.waiting->ToString() : pod.reason;
  }
  if (by_reason.empty()) return "";
  std::vector<Line> lines;
  for (auto& [key, line] : by_reason) lines.push_back(std::move(line));
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.count > b.count; });
  TextTable table({"PENDING", "FOR EXAMPLE", "REASON", "WAITING FOR"});
  const size_t shown = Shown(lines.size(), kReasonsShown, rows);
  for (size_t i = 0; i < shown; ++i) {
    table.AddRow({Thousands(lines[i].count), lines[i].example, lines[i].reason, lines[i].sentence});
  }
  return absl::StrCat(table.ToString(), Rest(lines.size(), shown, "reasons"));
}

}  // namespace berth
