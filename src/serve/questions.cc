// SPDX-License-Identifier: Apache-2.0
// Implementation of questions.h.
#include "serve/questions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/manifest.h"
#include "berth/clock.h"
#include "berth/remote_plugins.h"
#include "cluster/resource_claim_controller.h"
#include "devices/admin_access_of_objects.h"
#include "devices/pools_of_objects.h"
#include "devices/references_of_objects.h"
#include "devices/selectors_of_objects.h"
#include "engine/explainer.h"
#include "engine/framework_set.h"
#include "quota/quotas_of_objects.h"
#include "serve/object_decoder.h"

namespace berth {
namespace {

constexpr uint32_t kDefaultPods = 100;
constexpr uint32_t kMostPods = 10'000;       // of one answer
constexpr uint32_t kMostMoreNodes = 10'000;  // of WhatIf
constexpr int kMostManifests = 100;

using ProblemList = google::protobuf::RepeatedPtrField<v1::ObjectProblem>;

// --- What is explained, as messages --------------------------------------------------------------

std::vector<std::string> SortedKeys(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  std::vector<std::string> keys;
  for (const auto& pod : pods) keys.push_back(pod->key());
  std::sort(keys.begin(), keys.end());
  return keys;
}

void ToMessage(const PostFilterResult& result, v1::Plan& plan) {
  plan.set_nominated_node(result.nominated_node.value_or(""));
  for (std::string& victim : SortedKeys(result.victims)) plan.add_victims(std::move(victim));
}

bool HasPlan(const PodExplanation& pod) {
  return pod.post_filter.has_value() && pod.post_filter->status.ok() &&
         pod.post_filter->result.nominated_node.has_value();
}

// Feasible nodes first, the best of them in front; then the others by name.
std::vector<const NodeExplanation*> BestFirst(const PodExplanation& pod) {
  std::vector<const NodeExplanation*> nodes;
  for (const NodeExplanation& node : pod.nodes) nodes.push_back(&node);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const NodeExplanation* a, const NodeExplanation* b) {
                     if (a->total.has_value() != b->total.has_value()) return a->total.has_value();
                     return a->total.value_or(0) > b->total.value_or(0);
                   });
  return nodes;
}

void AddRejections(const PodExplanation& pod, v1::PodExplanation& message) {
  std::map<std::pair<std::string, std::string>, v1::Rejection*> by_reason;
  for (const NodeExplanation& node : pod.nodes) {
    if (node.filter.ok()) continue;
    v1::Rejection*& rejection =
        by_reason[{std::string(node.filter.plugin()), node.filter.message()}];
    if (rejection == nullptr) {
      rejection = message.add_rejections();
      rejection->set_plugin(std::string(node.filter.plugin()));
      rejection->set_reason(node.filter.message());
      rejection->set_example(node.name);
    }
    rejection->set_nodes(rejection->nodes() + 1);
  }
}

void ToMessage(const PodExplanation& pod, uint32_t most_nodes, v1::PodExplanation& message) {
  message.set_pod(pod.pod);
  message.set_group(pod.group);
  message.set_profile(pod.profile);
  message.set_skipped(pod.skipped);
  message.set_fits(!pod.best_nodes.empty());
  for (const std::string& node : pod.best_nodes) message.add_best_nodes(node);
  message.set_message(pod.message);
  message.set_error(pod.error);
  AddRejections(pod, message);
  const double points = static_cast<double>(pod.score_resolution);
  for (const NodeExplanation* node : BestFirst(pod)) {
    if (message.nodes_size() >= static_cast<int64_t>(most_nodes)) break;
    v1::NodeExplanation& shown = *message.add_nodes();
    shown.set_name(node->name);
    shown.set_code(std::string(CodeName(node->filter.code())));
    shown.set_plugin(std::string(node->filter.plugin()));
    for (const std::string& reason : node->filter.reasons()) shown.add_reasons(reason);
    for (const auto& [plugin, score] : node->scores) {
      (*shown.mutable_scores())[plugin] = static_cast<double>(score) / points;
    }
    shown.set_total(static_cast<double>(node->total.value_or(0)) / points);
  }
  if (HasPlan(pod)) ToMessage(pod.post_filter->result, *message.mutable_plan());
}

void ToMessage(const GroupExplanation& group, v1::GroupExplanation& message) {
  message.set_group(group.group);
  message.set_profile(group.profile);
  message.set_min_member(static_cast<uint32_t>(group.min_member));
  message.set_running(static_cast<uint32_t>(group.running));
  message.set_starts(group.starts);
  message.set_answer(group.answer);
  for (const auto& [pod, node] : group.placements) (*message.mutable_placements())[pod] = node;
  for (const auto& [pod, plan] : group.plans) ToMessage(plan, (*message.mutable_plans())[pod]);
  message.set_message(group.message);
}

// --- The same for people -------------------------------------------------------------------------

std::string PlanText(const PostFilterResult& plan) {
  return absl::StrCat("would make room on ", plan.nominated_node.value_or("no node"),
                      " by evicting ", absl::StrJoin(SortedKeys(plan.victims), ", "));
}

std::string PodText(const PodExplanation& pod, const GroupExplanation* group) {
  if (!pod.skipped.empty()) return absl::StrCat("not scheduled: ", pod.skipped);
  if (!pod.error.empty()) return absl::StrCat("error: ", pod.error);
  if (group != nullptr) {
    const auto placed = group->placements.find(pod.pod);
    if (group->starts && placed != group->placements.end()) {
      return absl::StrCat("would go to ", placed->second, " with ", group->placements.size(),
                          " of ", group->group);
    }
    const auto plan = group->plans.find(pod.pod);
    if (plan != group->plans.end()) return PlanText(plan->second);
    if (!group->starts) return group->message;
    return absl::StrCat("the rest of ", group->group, " leaves no room for it");
  }
  if (!pod.best_nodes.empty()) return absl::StrCat("would go to ", pod.best_nodes.front());
  if (HasPlan(pod)) return absl::StrCat(pod.message, "; ", PlanText(pod.post_filter->result));
  return pod.message;
}

// --- A cluster that is asked about ---------------------------------------------------------------

// The pods and groups of one cluster, each explained when it is asked for.
class Explained {
 public:
  // Null, and what is wrong in `status`, if the cluster cannot be explained.
  static std::unique_ptr<Explained> Create(const ClusterServerOptions& options,
                                           std::vector<Object> objects, absl::Status& status) {
    std::unique_ptr<Explained> explained(new Explained);
    RunResourceClaimController(objects);
    Problems problems;
    explained->explainer_ =
        Explainer::Create(options.configuration, *options.registry, explained->clock_,
                          std::move(objects), problems, options.extenders);
    if (explained->explainer_ != nullptr && problems.ok()) return explained;
    status = problems.ToStatus();
    return nullptr;
  }

  const std::vector<std::shared_ptr<const PodInfo>>& pending() const {
    return explainer_->pending();
  }
  PodExplanation Explain(const std::shared_ptr<const PodInfo>& pod) {
    return explainer_->Explain(pod);
  }
  // The group that the pod is scheduled with, or null. Valid as long as this is.
  const GroupExplanation* Group(const PodExplanation& explanation, const PodInfo& pod) {
    if (explanation.group.empty() || !explanation.skipped.empty()) return nullptr;
    const auto [it, is_new] = groups_.try_emplace({explanation.profile, explanation.group});
    if (is_new) {
      it->second = explainer_->ExplainGroup(pod);
      if (it->second.has_value()) in_order_.push_back(&*it->second);
    }
    return it->second.has_value() ? &*it->second : nullptr;
  }
  // In the order of their first pods.
  absl::Span<const GroupExplanation* const> groups() const { return in_order_; }

 private:
  const RealClock clock_{};
  std::unique_ptr<Explainer> explainer_;
  std::map<std::pair<std::string, std::string>, std::optional<GroupExplanation>> groups_;
  std::vector<const GroupExplanation*> in_order_;
};

std::string NameOf(const Object& object) {
  return absl::StrCat(GroupResource(object.kind()), "/", object.key());
}

// Objects of `more` take the places of those of their names.
void Add(std::vector<Object> more, std::vector<Object>& objects) {
  if (more.empty()) return;
  std::map<std::string, size_t> place;
  for (size_t i = 0; i < objects.size(); ++i) place.emplace(NameOf(objects[i]), i);
  for (Object& object : more) {
    const auto [it, is_new] = place.emplace(NameOf(object), objects.size());
    if (is_new) {
      objects.push_back(std::move(object));
    } else {
      objects[it->second] = std::move(object);
    }
  }
}

// --- WhatIf --------------------------------------------------------------------------------------

// `count` nodes that look like `shape`, and have names of their own.
void AddNodes(const api::Node& shape, uint32_t count, std::vector<Object>& objects) {
  constexpr char kHostName[] = "kubernetes.io/hostname";
  for (uint32_t i = 0; i < count; ++i) {
    auto node = std::make_shared<api::Node>(shape);
    const std::string name = absl::StrCat(shape.metadata().name(), "-what-if-", i);
    node->mutable_metadata()->set_name(name);
    node->mutable_metadata()->clear_uid();
    auto& labels = *node->mutable_metadata()->mutable_labels();
    if (labels.contains(kHostName)) labels[kHostName] = name;
    objects.push_back(Object::Of(std::move(node)));
  }
}

struct WhatIfQuestion {
  const ClusterServerOptions& options;
  const std::vector<Object>& objects;
  const std::set<std::string>& pods;  // that are asked about
  const api::Node* shape = nullptr;
};

// The answer with so many more nodes.
absl::StatusOr<v1::WhatIfAnswer> AnswerWith(const WhatIfQuestion& question, uint32_t more) {
  std::vector<Object> objects = question.objects;
  if (question.shape != nullptr) AddNodes(*question.shape, more, objects);
  absl::Status status;
  const std::unique_ptr<Explained> explained =
      Explained::Create(question.options, std::move(objects), status);
  if (explained == nullptr) return status;

  v1::WhatIfAnswer answer;
  answer.set_nodes_added(more);
  std::set<std::string> evictions;
  bool fits = true, may_fit = true;
  size_t found = 0;
  std::vector<std::string> lines;
  for (const auto& pod : explained->pending()) {
    if (!question.pods.contains(pod->key())) continue;
    ++found;
    const PodExplanation explanation = explained->Explain(pod);
    const GroupExplanation* const group = explained->Group(explanation, *pod);
    ToMessage(explanation, 0, *answer.add_pods());
    lines.push_back(absl::StrCat(explanation.pod, ": ", PodText(explanation, group)));
    const bool placed_alone =
        group == nullptr && explanation.skipped.empty() && !explanation.best_nodes.empty();
    if (group != nullptr) {
      const auto placed = group->placements.find(pod->key());
      if (placed != group->placements.end()) {
        (*answer.mutable_placements())[pod->key()] = placed->second;
      }
      fits &= group->starts;
      may_fit &= group->starts || !group->plans.empty();
      for (const auto& [planned, plan] : group->plans) {
        (*answer.mutable_placements())[planned] = plan.nominated_node.value_or("");
        for (std::string& victim : SortedKeys(plan.victims)) evictions.insert(std::move(victim));
      }
    } else if (placed_alone) {
      (*answer.mutable_placements())[pod->key()] = explanation.best_nodes.front();
    } else if (HasPlan(explanation)) {
      fits = false;
      const PostFilterResult& plan = explanation.post_filter->result;
      (*answer.mutable_placements())[pod->key()] = *plan.nominated_node;
      for (std::string& victim : SortedKeys(plan.victims)) evictions.insert(std::move(victim));
    } else {
      fits = may_fit = false;
    }
  }
  if (found < question.pods.size()) fits = may_fit = false;  // they have a node, or no profile
  answer.set_fits(fits);
  answer.set_fits_after_evictions(may_fit && !evictions.empty());
  for (const std::string& victim : evictions) answer.add_evictions(victim);
  for (const GroupExplanation* group : explained->groups()) {
    ToMessage(*group, *answer.add_groups());
  }
  const std::string nodes =
      more == 0 ? "" : absl::StrCat("with ", more, " more node", more == 1 ? "" : "s", ": ");
  answer.set_text(
      absl::StrCat(nodes, fits ? "fits" : "does not fit", "\n", absl::StrJoin(lines, "\n"), "\n"));
  return answer;
}

// The smallest number up to `most` with which it fits, or `most`. More nodes never hurt.
absl::StatusOr<v1::WhatIfAnswer> Search(const WhatIfQuestion& question, uint32_t most) {
  absl::StatusOr<v1::WhatIfAnswer> best = AnswerWith(question, most);
  if (!best.ok() || !best->fits()) return best;
  uint32_t low = 0, high = most;  // it does not fit with less than `low`, and does with `high`
  const auto try_with = [&](uint32_t tried) -> absl::Status {
    absl::StatusOr<v1::WhatIfAnswer> answer = AnswerWith(question, tried);
    if (!answer.ok()) return answer.status();
    if (answer->fits()) {
      best = std::move(answer);
      high = tried;
    } else {
      low = tried + 1;
    }
    return absl::OkStatus();
  };
  // From below first, as the answer is mostly small: 0, 1, 3, 7 ...
  for (uint32_t tried = 0; tried < high; tried = 2 * tried + 1) {
    if (absl::Status status = try_with(tried); !status.ok()) return status;
  }
  while (low < high) {
    if (absl::Status status = try_with(low + (high - low) / 2); !status.ok()) return status;
  }
  return best;
}

}  // namespace

absl::StatusOr<v1::Explanation> Explain(const ClusterServerOptions& options,
                                        std::vector<Object> objects,
                                        const v1::ExplainRequest& request) {
  v1::Explanation answer;
  ObjectDecoder decoder;
  Add(decoder.DecodeAll(request.world().add(), *answer.mutable_problems()), objects);
  absl::Status status;
  const std::unique_ptr<Explained> explained =
      Explained::Create(options, std::move(objects), status);
  if (explained == nullptr) return status;
  const uint32_t limit = std::min(request.limit() == 0 ? kDefaultPods : request.limit(), kMostPods);
  bool found = request.pod().empty();
  for (const auto& pod : explained->pending()) {
    if (!request.pod().empty() && pod->key() != request.pod()) continue;
    found = true;
    if (static_cast<uint32_t>(answer.pods_size()) >= limit) {
      answer.set_left_out(answer.left_out() + 1);
      continue;
    }
    const PodExplanation explanation = explained->Explain(pod);
    const GroupExplanation* const group = explained->Group(explanation, *pod);
    ToMessage(explanation, request.nodes(), *answer.add_pods());
    absl::StrAppend(answer.mutable_text(), explanation.pod, ": ", PodText(explanation, group),
                    "\n");
  }
  if (!found) {
    return absl::NotFoundError(absl::StrCat("there is no pending pod ", request.pod()));
  }
  for (const GroupExplanation* group : explained->groups()) {
    ToMessage(*group, *answer.add_groups());
  }
  return answer;
}

absl::StatusOr<v1::WhatIfAnswer> WhatIf(const ClusterServerOptions& options,
                                        std::vector<Object> objects,
                                        const v1::WhatIfRequest& request) {
  ProblemList problems;
  ObjectDecoder decoder;
  Add(decoder.DecodeAll(request.world().add(), problems), objects);
  std::vector<Object> asked = decoder.DecodeAll(request.pods(), problems);
  std::set<std::string> pods;
  for (const Object& object : asked) {
    if (object.kind() == Kind::kPod) pods.insert(std::string(object.key()));
  }
  if (pods.empty()) {
    return absl::InvalidArgumentError(
        problems.empty()
            ? "`pods` has no pod"
            : absl::StrCat("`pods` has no pod that can be used: ", problems[0].subject(), ": ",
                           problems[0].message()));
  }
  Add(std::move(asked), objects);

  WhatIfQuestion question{options, objects, pods};
  std::vector<Object> shape;
  if (request.has_more_nodes()) {
    google::protobuf::RepeatedPtrField<v1::Object> one;
    *one.Add() = request.more_nodes().shape();
    shape = decoder.DecodeAll(one, problems);
    if (shape.size() != 1 || shape[0].kind() != Kind::kNode) {
      return absl::InvalidArgumentError("`more_nodes.shape` is no node");
    }
    if (request.more_nodes().count() > kMostMoreNodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("`more_nodes.count` may be ", kMostMoreNodes, " at most"));
    }
    question.shape = &shape[0].As<api::Node>();
  }
  const uint32_t count = request.more_nodes().count();
  absl::StatusOr<v1::WhatIfAnswer> answer =
      request.more_nodes().search() ? Search(question, count) : AnswerWith(question, count);
  if (answer.ok()) *answer->mutable_problems() = std::move(problems);
  return answer;
}

namespace {

// The plugins of the server, and the remote ones of a configuration that a client sent. Their
// processes are not asked: addresses in it are not for this server.
absl::StatusOr<Registry> RegistryToCheck(const std::string& configuration,
                                         const Registry& registry) {
  Registry::Builder builder;
  std::set<std::string> remote;
  for (PluginRegistration& plugin : RemotePluginsIn(configuration, RemoteCheck::kFieldsOnly)) {
    const PluginRegistration* const known = registry.Find(plugin.name);
    const bool is_remote =
        known == nullptr || (known->args != nullptr && known->args->name() == plugin.args->name());
    if (!is_remote) continue;
    remote.insert(plugin.name);
    builder.Add(std::move(plugin));
  }
  for (const auto& [name, plugin] : registry.plugins()) {
    if (!remote.contains(name)) builder.Add(plugin);
  }
  return std::move(builder).Build();
}

}  // namespace

absl::StatusOr<v1::ValidateAnswer> Validate(const ClusterServerOptions& options,
                                            const v1::ValidateRequest& request) {
  if (request.manifests_size() > kMostManifests) {
    return absl::InvalidArgumentError(absl::StrCat("at most ", kMostManifests, " manifests"));
  }
  Problems problems;
  if (!request.configuration().empty()) {
    const absl::StatusOr<Registry> registry =
        RegistryToCheck(request.configuration(), *options.registry);
    if (!registry.ok()) return registry.status();
    LoadedConfiguration loaded =
        ParseConfiguration(request.configuration(), "configuration", *registry);
    FrameworkSet::Check(loaded.configuration, *registry, loaded.problems);
    loaded.problems.SortByLocation();
    problems.Append(std::move(loaded.problems));
  }
  Manifests all;
  for (int i = 0; i < request.manifests_size(); ++i) {
    Manifests manifests = ParseManifest(request.manifests(i), absl::StrCat("manifests[", i, "]"));
    all.problems.Append(std::move(manifests.problems));
    for (Object& object : manifests.objects) all.objects.push_back(std::move(object));
    for (Object& quota : manifests.quotas_in_part) all.quotas_in_part.push_back(std::move(quota));
    all.fields_of_quotas.merge(manifests.fields_of_quotas);
    all.places_of_device_fields.merge(manifests.places_of_device_fields);
  }
  Problems of_quotas = CheckQuotasOf(all);
  problems.Append(std::move(all.problems));
  problems.Append(std::move(of_quotas));
  problems.Append(CheckSelectorsOf(all));
  problems.Append(CheckAdminAccessOf(all));
  problems.Append(CheckDeviceReferencesOf(all));
  problems.Append(CheckPoolsOf(all));
  v1::ValidateAnswer answer;
  answer.set_valid(problems.ok());
  for (const Problem& problem : problems) {
    v1::Problem& shown = *answer.add_problems();
    shown.set_warning(problem.severity == Severity::kWarning);
    shown.set_file(std::string(problem.where.file.view()));
    shown.set_line(static_cast<uint32_t>(std::max(problem.where.line, 0)));
    shown.set_column(static_cast<uint32_t>(std::max(problem.where.column, 0)));
    shown.set_subject(problem.subject);
    shown.set_message(problem.message);
    shown.set_text(problem.ToString());
  }
  return answer;
}

}  // namespace berth
