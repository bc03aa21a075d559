// SPDX-License-Identifier: Apache-2.0
// Implementation of verdicts.h.
#include "remote/plugin/verdicts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

constexpr int kMostReasons = 250;  // of an evaluation: a byte each, and some are special
constexpr int kMostReasonsOfStatus = 16;
constexpr size_t kLongestReason = 4096;  // bytes

absl::Status Bad(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("its answer makes no sense: ", text));
}

size_t BitmapBytes(uint32_t bits) { return (size_t{bits} + 7) / 8; }

bool BitAt(const std::string& bits, uint32_t index) {
  return (static_cast<uint8_t>(bits[index / 8]) >> (index % 8) & 1) != 0;
}

// Little-endian, `width` bytes, signed.
int64_t NumberAt(const std::string& bytes, uint32_t index, uint32_t width) {
  uint64_t number = 0;
  for (uint32_t i = 0; i < width; ++i) {
    number |= uint64_t{static_cast<uint8_t>(bytes[size_t{index} * width + i])} << (8 * i);
  }
  const int unused = 64 - 8 * static_cast<int>(width);
  return static_cast<int64_t>(number << unused) >> unused;
}

bool IsRejection(const Status& status) { return status.IsRejected() || status.IsError(); }

}  // namespace

absl::StatusOr<Status> ReadStatus(const v1::Status& message) {
  if (message.code() < v1::SUCCESS || message.code() > v1::PENDING) {
    return Bad(absl::StrCat("code ", static_cast<int>(message.code())));
  }
  if (message.reasons_size() > kMostReasonsOfStatus) return Bad("a status with very many reasons");
  std::vector<std::string> reasons;
  for (const std::string& reason : message.reasons()) {
    if (reason.size() > kLongestReason) return Bad("a very long reason");
    reasons.push_back(reason);
  }
  return Status::Make(static_cast<Code>(message.code()), std::move(reasons));
}

void WriteStatus(const Status& status, v1::Status& message) {
  message.set_code(static_cast<v1::Code>(status.code()));
  for (const std::string& reason : status.reasons()) message.add_reasons(reason);
}

namespace {

// The nodes that are rejected, and for which of `reasons`, by node.
absl::Status ReadRejections(const v1::Evaluation& message, uint32_t nodes, Verdicts& verdicts) {
  if (message.reasons_size() > kMostReasons) return Bad("more than 250 reasons");
  for (const v1::Status& reason : message.reasons()) {
    absl::StatusOr<Status> read = ReadStatus(reason);
    if (!read.ok()) return read.status();
    if (!IsRejection(*read)) return Bad("a reason that rejects nothing");
    verdicts.reasons.push_back(*std::move(read));
  }
  verdicts.reason_ids.assign(nodes, Verdicts::kFeasible);
  size_t rejected = 0;
  if (!message.rejected().empty()) {
    if (message.rejected().size() != BitmapBytes(nodes)) return Bad("rejected has another length");
    for (uint32_t i = 0; i < nodes; ++i) {
      if (message.rejected()[i / 8] == 0) {  // none of these eight
        i |= 7;
        continue;
      }
      if (!BitAt(message.rejected(), i)) continue;
      uint8_t id = 0;
      if (!message.reason_ids().empty()) {
        if (rejected >= message.reason_ids().size()) return Bad("too few reason_ids");
        id = static_cast<uint8_t>(message.reason_ids()[rejected]);
      }
      if (id >= verdicts.reasons.size()) return Bad("a reason_id without a reason");
      verdicts.reason_ids[i] = id;
      ++rejected;
    }
  }
  if (!message.reason_ids().empty() && rejected != message.reason_ids().size()) {
    return Bad("too many reason_ids");
  }
  return absl::OkStatus();
}

absl::Status ReadScores(const v1::Evaluation& message, uint32_t nodes, Verdicts& verdicts) {
  verdicts.scores.assign(nodes, 0);
  if (message.scores().empty()) return absl::OkStatus();
  const uint32_t width = message.score_width();
  if (width != 1 && width != 2 && width != 4 && width != 8) return Bad("score_width");
  if (message.scores().size() != size_t{nodes} * width) return Bad("scores has another length");
  if (width == 1) {
    std::transform(message.scores().begin(), message.scores().end(), verdicts.scores.begin(),
                   [](char byte) { return static_cast<int64_t>(static_cast<int8_t>(byte)); });
    return absl::OkStatus();
  }
  for (uint32_t i = 0; i < nodes; ++i) {
    verdicts.scores[i] = NumberAt(message.scores(), i, width);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Verdicts> ReadEvaluation(const v1::Evaluation& message, uint32_t nodes) {
  Verdicts verdicts;
  verdicts.revision = message.revision();
  absl::StatusOr<Status> status = ReadStatus(message.status());
  if (!status.ok()) return status.status();
  if (!status->ok() && !status->IsError()) return Bad("a status that is neither SUCCESS nor ERROR");
  verdicts.status = *std::move(status);

  absl::StatusOr<Status> pre_filter = ReadStatus(message.pre_filter());
  if (!pre_filter.ok()) return pre_filter.status();
  if (pre_filter->IsWait()) return Bad("PreFilter says WAIT");
  verdicts.pre_filter = *std::move(pre_filter);

  absl::StatusOr<Status> score_status = ReadStatus(message.score_status());
  if (!score_status.ok()) return score_status.status();
  if (!score_status->ok() && !score_status->IsError()) {
    return Bad("a score_status that is neither SUCCESS nor ERROR");
  }
  verdicts.score_status = *std::move(score_status);

  if (!message.eligible().empty()) {
    if (message.eligible().size() != BitmapBytes(nodes)) return Bad("eligible has another length");
    std::vector<bool>& eligible = verdicts.eligible.emplace(nodes);
    for (uint32_t i = 0; i < nodes; ++i) eligible[i] = BitAt(message.eligible(), i);
  }
  absl::Status read = ReadRejections(message, nodes, verdicts);
  if (read.ok()) read = ReadScores(message, nodes, verdicts);
  if (!read.ok()) return read;
  return verdicts;
}

}  // namespace berth
