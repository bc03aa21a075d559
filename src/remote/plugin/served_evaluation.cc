// SPDX-License-Identifier: Apache-2.0
// Implementation of served_evaluation.h.
#include "remote/plugin/served_evaluation.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "berth/api/core_v1.pb.h"
#include "berth/framework/filter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/score.h"
#include "remote/plugin/served_call.h"
#include "remote/plugin/verdicts.h"

namespace berth {
namespace {

constexpr uint8_t kMostSentReasons = 250;
constexpr uint8_t kNoReason = 255;
constexpr size_t kCodes = 8;  // more than there are

void SetBit(std::string& bits, uint32_t index) {
  bits[index / 8] = static_cast<char>(static_cast<uint8_t>(bits[index / 8]) | 1u << (index % 8));
}

bool Asks(const v1::Evaluate& question, v1::Point point) {
  return std::find(question.points().begin(), question.points().end(), point) !=
         question.points().end();
}

}  // namespace

absl::Status ServedEvaluation::Answer(const v1::Evaluate& question, const PodInfo& pod,
                                      v1::Evaluation& answer) {
  if (question.has_hypothetical()) return AnswerForOne(question.hypothetical(), pod, answer);
  AnswerForAll(question, pod, answer);
  return absl::OkStatus();
}

bool ServedEvaluation::PreFilter(CycleState& state, const PodInfo& pod, v1::Evaluation& answer,
                                 bool& skips_filter) {
  auto* const plugin = As<PreFilterPlugin>();
  if (plugin == nullptr) return true;
  PreFilterResult result;
  const Status status =
      GuardedCall([&] { return plugin->PreFilter(state, pod, nodes_.table(), result); });
  if (status.IsError()) {
    WriteStatus(status, *answer.mutable_status());
    return false;
  }
  WriteStatus(status, *answer.mutable_pre_filter());
  skips_filter = status.IsSkip();
  if (result.node_names.has_value()) {
    std::string& eligible = *answer.mutable_eligible();
    eligible.assign((nodes_.node_count() + 7) / 8, 0);
    for (NodeRow row = 0; row < nodes_.table().size(); ++row) {
      if (result.node_names->contains(nodes_.table().node(row).name())) {
        SetBit(eligible, nodes_.index(row));
      }
    }
  }
  return !status.IsRejected();
}

void ServedEvaluation::AnswerForAll(const v1::Evaluate& question, const PodInfo& pod,
                                    v1::Evaluation& answer) {
  CycleState state;
  bool skips_filter = false;
  if (!PreFilter(state, pod, answer, skips_filter)) return;
  rows_.resize(nodes_.table().size());
  for (size_t row = 0; row < rows_.size(); ++row) rows_[row] = static_cast<NodeRow>(row);
  if (As<FilterPlugin>() != nullptr && !skips_filter && !Filter(state, pod, answer)) return;
  if (As<ScorePlugin>() != nullptr && Asks(question, v1::SCORE)) Score(state, pod, answer);
}

bool ServedEvaluation::Filter(const CycleState& state, const PodInfo& pod, v1::Evaluation& answer) {
  const NodeTable& table = nodes_.table();
  const auto& filter = *As<FilterPlugin>();
  verdicts_.Reset(table.size());
  verdicts_.BeginBlock(rows_);
  const Status status =
      GuardedCall([&] { return filter.FilterNodes(state, pod, table, verdicts_); });
  if (!status.ok()) {
    WriteStatus(status, *answer.mutable_status());
    return false;
  }
  std::array<std::array<uint8_t, 256>, kCodes> of_reason_id;  // what rows share
  for (auto& of_code : of_reason_id) of_code.fill(kNoReason);
  std::map<std::pair<Code, std::string>, uint8_t> of_text;
  reasons_.assign(nodes_.node_count(), kNoReason);
  for (const NodeRow row : rows_) {
    const Code code = verdicts_.code(row);
    if (code == Code::kSuccess) continue;
    const uint8_t id = verdicts_.reason_id(row);
    uint8_t& shared = of_reason_id[std::min<size_t>(static_cast<size_t>(code), kCodes - 1)][id];
    uint8_t reason = id == NodeVerdicts::kNoReasonId ? kNoReason : shared;
    if (reason == kNoReason) {
      const Status said = GuardedCall([&] { return filter.Filter(state, pod, table.node(row)); });
      if (said.ok()) continue;  // Filter() is the rule
      const auto position =
          static_cast<uint8_t>(std::min<size_t>(of_text.size(), kMostSentReasons));
      const auto found = of_text.find({said.code(), said.message()});
      if (found != of_text.end()) {
        reason = found->second;
      } else if (position == kMostSentReasons) {
        reason = kMostSentReasons - 1;  // the last one stands for all others
      } else {
        reason = position;
        of_text.emplace(std::pair(said.code(), said.message()), position);
        WriteStatus(said, *answer.add_reasons());
      }
      shared = reason;
    }
    reasons_[nodes_.index(row)] = reason;
  }
  verdicts_.EndPlugin(0);
  if (answer.reasons().empty()) return true;
  std::string& bits = *answer.mutable_rejected();
  bits.assign((reasons_.size() + 7) / 8, 0);
  std::string& ids = *answer.mutable_reason_ids();
  for (uint32_t index = 0; index < reasons_.size(); ++index) {
    if (reasons_[index] == kNoReason) continue;
    SetBit(bits, index);
    ids.push_back(static_cast<char>(reasons_[index]));
  }
  if (answer.reasons_size() == 1) ids.clear();
  rows_.erase(std::remove_if(rows_.begin(), rows_.end(),
                             [&](NodeRow row) { return reasons_[nodes_.index(row)] != kNoReason; }),
              rows_.end());
  return true;
}

Status ServedEvaluation::RunScore(CycleState& state, const PodInfo& pod) {
  const NodeTable& table = nodes_.table();
  if (auto* const pre_score = As<PreScorePlugin>()) {
    Status status = pre_score->PreScore(state, pod, table, rows_);
    if (!status.ok()) return status;
  }
  scores_.assign(rows_.size(), 0);
  const absl::Status status =
      As<ScorePlugin>()->ScoreNodes(state, pod, table, rows_, absl::MakeSpan(scores_));
  return status.ok() ? Status::Success() : Status::Error(status);
}

void ServedEvaluation::Score(CycleState& state, const PodInfo& pod, v1::Evaluation& answer) {
  const Status status = GuardedCall([&] { return RunScore(state, pod); });
  if (status.IsSkip()) return;
  if (!status.ok()) {
    return WriteStatus(status.IsError() ? status : Status::Error(status.message()),
                       *answer.mutable_score_status());
  }
  uint32_t width = 0;
  for (const int64_t score : scores_) {
    if (score != 0) width = std::max(width, 1u);
    if (score != static_cast<int8_t>(score)) width = 8;
  }
  if (width == 0) return;
  answer.set_score_width(width);
  std::string& bytes = *answer.mutable_scores();
  bytes.assign(size_t{nodes_.node_count()} * width, 0);
  for (size_t i = 0; i < rows_.size(); ++i) {
    const size_t at = size_t{nodes_.index(rows_[i])} * width;
    for (uint32_t byte = 0; byte < width; ++byte) {
      bytes[at + byte] = static_cast<char>(static_cast<uint64_t>(scores_[i]) >> (8 * byte));
    }
  }
}

absl::Status ServedEvaluation::AnswerForOne(const v1::HypotheticalNode& hypothetical,
                                            const PodInfo& pod, v1::Evaluation& answer) {
  const NodeInfo* const known = nodes_.node(hypothetical.index());
  if (known == nullptr) return absl::InvalidArgumentError("there is no such node");
  CycleState state;
  bool skips_filter = false;
  if (!PreFilter(state, pod, answer, skips_filter)) return absl::OkStatus();
  answer.clear_eligible();
  NodeInfo node = *known;
  auto* const extensions = As<PreFilterExtensions>();
  for (const std::string& uid : hypothetical.pods_removed()) {
    const auto pods = node.pods();
    const auto found = std::find_if(pods.begin(), pods.end(),
                                    [&](const auto& each) { return each->uid() == uid; });
    if (found == pods.end()) continue;
    const std::shared_ptr<const PodInfo> removed = *found;
    node.RemovePod(uid);
    if (extensions == nullptr || skips_filter) continue;
    const Status status =
        GuardedCall([&] { return extensions->RemovePod(state, pod, *removed, node); });
    if (!status.ok()) WriteStatus(status, *answer.mutable_status());
  }
  for (const api::Pod& message : hypothetical.pods_added()) {
    auto added = PodInfo::Create(std::make_shared<const api::Pod>(message));
    if (!added.ok()) return added.status();
    node.AddPod(*added);
    if (extensions == nullptr || skips_filter) continue;
    const Status status =
        GuardedCall([&] { return extensions->AddPod(state, pod, **added, node); });
    if (!status.ok()) WriteStatus(status, *answer.mutable_status());
  }
  if (As<FilterPlugin>() == nullptr || skips_filter) return absl::OkStatus();
  const Status status = GuardedCall([&] { return As<FilterPlugin>()->Filter(state, pod, node); });
  if (status.IsError()) WriteStatus(status, *answer.mutable_status());
  if (status.IsRejected()) {
    answer.mutable_rejected()->assign(1, 1);
    WriteStatus(status, *answer.add_reasons());
  }
  return absl::OkStatus();
}

}  // namespace berth
