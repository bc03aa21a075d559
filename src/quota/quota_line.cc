// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_line.h.
#include "berth/quota/quota_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/api/amounts.h"
#include "berth/api/core_v1.pb.h"
#include "berth/framework/pod_info.h"
#include "berth/gpu/request_marks.h"

namespace berth {
namespace {

constexpr absl::string_view kGpu = "gpu", kModel = "model";
constexpr int64_t kMilli = 1000;
// Labels that name a node's GPU model, the first first; as GpuDevices reads them.
constexpr absl::string_view kModelLabels[] = {
    "nvidia.com/gpu.product", "alibabacloud.com/gpu-card-model", "node.koordinator.sh/gpu-model"};
// Resources that count whole GPUs, and what one of their units is in thousandths of a GPU.
struct WholeGpu {
  absl::string_view name;
  int64_t milli;
};
constexpr WholeGpu kWholeGpus[] = {{"nvidia.com/gpu", kMilli},
                                   {"amd.com/gpu", kMilli},
                                   {"gpu.intel.com/i915", kMilli},
                                   {"gpu.intel.com/xe", kMilli},
                                   {"habana.ai/gaudi", kMilli},
                                   {"koordinator.sh/gpu", 10},
                                   // Devices of a GPU class under the name that it has in any case.
                                   {"deviceclass.resource.kubernetes.io/gpu.nvidia.com", kMilli},
                                   {"deviceclass.resource.kubernetes.io/gpu.amd.com", kMilli},
                                   {"deviceclass.resource.kubernetes.io/gpu.intel.com", kMilli},
                                   {"deviceclass.resource.kubernetes.io/gpu.example.com", kMilli}};
constexpr absl::string_view kFractionDevices = "gpu-fraction-num-devices";

int64_t Times(int64_t a, int64_t b) {
  constexpr __int128 kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::clamp<__int128>(__int128{a} * b, 0, kMost));
}

// Quantities were checked when the object was read.
template <class QuantityMap>
ResourceVector VectorOf(const QuantityMap& map) {
  return ParseResources(map).value_or(ResourceVector());
}

// The number that an annotation has; `otherwise` without it, or if it is none or negative.
double NumberOf(const PodInfo& pod, absl::string_view key, double otherwise) {
  const std::optional<absl::string_view> text = pod.annotation(key);
  double number = 0;
  if (!text.has_value() || !absl::SimpleAtod(*text, &number) || !(number >= 0)) return otherwise;
  return std::min(number, 1e6);
}

int64_t GpuMilliOfPod(const PodInfo& pod, const ResourceVector& resources) {
  const int64_t milli = GpuMilliOf(resources);
  double in_parts = 0;
  if (pod.annotation(kGpuMilliAnnotation).has_value() ||
      pod.annotation(kGpuCountAnnotation).has_value()) {
    in_parts = NumberOf(pod, kGpuMilliAnnotation, kMilli) * NumberOf(pod, kGpuCountAnnotation, 1);
  } else if (pod.annotation(kGpuFractionAnnotation).has_value() ||
             pod.annotation(kGpuMemoryAnnotation).has_value()) {
    // What part of a card some memory is depends on the card: counted as a whole one.
    in_parts =
        kMilli * NumberOf(pod, kGpuFractionAnnotation, 1) * NumberOf(pod, kFractionDevices, 1);
  }
  // Both are said of the same cards.
  return std::max(milli, static_cast<int64_t>(std::ceil(in_parts)));
}

void AddTo(const QuotaLine& line, int64_t amount, PodAmounts::OfLines& sums) {
  for (auto& [of, sum] : sums) {
    if (of == line) {
      sum = SaturatingAdd(sum, amount);
      return;
    }
  }
  sums.emplace_back(line, amount);
}

int64_t AmountIn(const PodAmounts::OfLines& sums, const QuotaLine& line) {
  for (const auto& [of, amount] : sums) {
    if (of == line) return amount;
  }
  return 0;
}

}  // namespace

std::optional<QuotaLine> QuotaLine::Parse(absl::string_view text) {
  QuotaLine line;
  absl::string_view name = text;
  if (const size_t brace = text.find('{'); brace != absl::string_view::npos) {
    name = text.substr(0, brace);
    absl::string_view condition = text.substr(brace + 1);
    if (!absl::ConsumeSuffix(&condition, "}")) return std::nullopt;
    if (condition.find_first_of("{}") != absl::string_view::npos) return std::nullopt;
    const size_t equals = condition.find('=');
    if (equals == absl::string_view::npos || equals == 0 || equals + 1 == condition.size()) {
      return std::nullopt;
    }
    line.label = Symbol::Intern(condition.substr(0, equals));
    line.value = Symbol::Intern(condition.substr(equals + 1));
  }
  if (name.empty() || name.find('}') != absl::string_view::npos) return std::nullopt;
  if (name == kDevicesOfClass) return std::nullopt;  // of no class
  if (name == kGpu) {
    line.counts = Counts::kGpu;
  } else if (name == kPodsResource) {
    line.counts = Counts::kPods;
  } else {
    line.resource = ResourceIdOf(name);
  }
  if (absl::StartsWith(line.label.view(), kAttributeOfDevices)) {
    const bool is_of_devices = name == kGpu || absl::EndsWith(name, kDevicesOfClass);
    if (!is_of_devices || line.label.view() == kAttributeOfDevices) return std::nullopt;
    line.mark = Symbol::Intern(absl::StrCat(line.label.view(), "=", line.value.view()));
  }
  return line;
}

std::string QuotaLine::ToString() const {
  const absl::string_view name = counts == Counts::kGpu    ? kGpu
                                 : counts == Counts::kPods ? kPodsResource
                                                           : ResourceName(resource);
  if (label.empty()) return std::string(name);
  return absl::StrCat(name, "{", label.view(), "=", value.view(), "}");
}

bool QuotaLine::Covers(const LabelSet& node) const {
  if (label.empty()) return true;
  if (!mark.empty()) return node.Has(mark);
  if (label.view() != kModel) {
    const Symbol* const found = node.Find(label);
    return found != nullptr && *found == value;
  }
  for (const absl::string_view key : kModelLabels) {
    if (const Symbol* const found = node.Find(key); found != nullptr) return *found == value;
  }
  return false;
}

int64_t QuotaLine::OfNode(const LabelSet& labels, const PodAmounts& allocatable,
                          int64_t allowed_pods) const {
  if (!mark.empty()) return allocatable.DecidedOf(*this);
  if (!Covers(labels)) return 0;
  return counts == Counts::kPods ? allowed_pods : allocatable.Of(*this);
}

bool QuotaLine::has_known_capacity() const {
  return counts != Counts::kResource || resource <= kEphemeralStorage ||
         !absl::EndsWith(ResourceName(resource), kDevicesOfClass);
}

int64_t QuotaLine::Amount(const Quantity& quantity) const {
  switch (counts) {
    case Counts::kGpu:
      return quantity.MilliValue();
    case Counts::kPods:
      return quantity.Value();
    case Counts::kResource:
      break;
  }
  return AmountOf(resource, quantity);
}

Quantity QuotaLine::QuantityOf(int64_t amount) const {
  switch (counts) {
    case Counts::kGpu:
      return Quantity::FromMilliValue(amount);
    case Counts::kPods:
      return Quantity::FromValue(amount);
    case Counts::kResource:
      break;
  }
  return berth::QuantityOf(resource, amount);
}

void PodAmounts::Add(const PodAmounts& other) {
  resources.Add(other.resources);
  gpu_milli = SaturatingAdd(gpu_milli, other.gpu_milli);
  possible_gpu_milli = SaturatingAdd(possible_gpu_milli, other.possible_gpu_milli);
  pods = SaturatingAdd(pods, other.pods);
  for (const auto& [line, amount] : other.possible) AddPossible(line, amount);
  for (const auto& [line, amount] : other.decided) AddDecided(line, amount);
}

void PodAmounts::AddDecided(const QuotaLine& line, int64_t amount) { AddTo(line, amount, decided); }

void PodAmounts::AddPossible(const QuotaLine& line, int64_t amount) {
  if (amount > 0) AddTo(line, amount, possible);
}

int64_t PodAmounts::DecidedOf(const QuotaLine& line) const { return AmountIn(decided, line); }
int64_t PodAmounts::PossibleOf(const QuotaLine& line) const {
  if (!line.mark.empty()) return AmountIn(possible, line);
  return line.counts == QuotaLine::Counts::kGpu ? possible_gpu_milli : 0;
}

int64_t PodAmounts::Of(const QuotaLine& line) const {
  if (!line.mark.empty()) {
    return SaturatingAdd(DecidedOf(line), PossibleOf(line));
  }
  switch (line.counts) {
    case QuotaLine::Counts::kGpu:
      return gpu_milli;
    case QuotaLine::Counts::kPods:
      return pods;
    case QuotaLine::Counts::kResource:
      break;
  }
  return resources.Get(line.resource);
}

int64_t GpuMilliOf(const ResourceVector& resources) {
  static const auto& kIds = *new std::array<ResourceId, std::size(kWholeGpus)>([] {
    std::array<ResourceId, std::size(kWholeGpus)> ids{};
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = ResourceIdOf(kWholeGpus[i].name);
    return ids;
  }());
  int64_t milli = 0;
  for (size_t i = 0; i < kIds.size(); ++i) {
    milli = SaturatingAdd(milli, Times(resources.Get(kIds[i]), kWholeGpus[i].milli));
  }
  return milli;
}

PodAmounts AmountsOf(const PodInfo& pod) {
  const api::PodSpec& spec = pod.spec();
  PodAmounts amounts;
  for (const api::Container& container : spec.containers()) {
    amounts.resources.Add(VectorOf(container.resources().requests()));
  }
  for (const api::Container& container : spec.init_containers()) {
    amounts.resources.Max(VectorOf(container.resources().requests()));
  }
  amounts.resources.Add(VectorOf(spec.overhead()));
  amounts.gpu_milli = GpuMilliOfPod(pod, amounts.resources);
  return amounts;
}

int64_t AmountOfLine(const LineAmounts& amounts, int line) {
  for (const auto& [of, amount] : amounts) {
    if (of == line) return amount;
  }
  return 0;
}

void AddAmounts(const LineAmounts& more, LineAmounts& sum) {
  for (const auto& [line, amount] : more) {
    const auto place =
        absl::c_lower_bound(sum, std::pair(line, std::numeric_limits<int64_t>::min()));
    if (place != sum.end() && place->first == line) {
      place->second = SaturatingAdd(place->second, amount);
    } else {
      sum.insert(place, {line, amount});
    }
  }
}

}  // namespace berth
