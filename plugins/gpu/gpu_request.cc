// SPDX-License-Identifier: Apache-2.0
// Implementation of gpu_request.h.
#include "plugins/gpu/gpu_request.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

// gpu-share.
constexpr absl::string_view kGpuMilli = "alibabacloud.com/gpu-milli";
constexpr absl::string_view kGpuCount = "alibabacloud.com/gpu-count";
constexpr absl::string_view kGpuModel = "alibabacloud.com/gpu-card-model";
// KAI.
constexpr absl::string_view kGpuFraction = "gpu-fraction";
constexpr absl::string_view kGpuMemory = "gpu-memory";
constexpr absl::string_view kGpuFractionDevices = "gpu-fraction-num-devices";
// Berth's own: what nobody else has a word for.
constexpr absl::string_view kGpuGroup = "berth.dev/gpu-group";
constexpr absl::string_view kGpuGroupPolicy = "berth.dev/gpu-group-policy";

constexpr int64_t kMaxCards = 1024;
constexpr double kSmallestFraction = 0.001;
constexpr int64_t kMiB = int64_t{1} << 20;

std::optional<int64_t> WholeNumber(const std::string& text) {
  int64_t number;
  if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

class Reader {
 public:
  explicit Reader(const PodInfo& pod) : pod_(pod) {}

  GpuRequest Read(const std::vector<ResourceId>& whole_resources) {
    ReadWhole(whole_resources);
    ReadGpuShare();
    ReadKai();
    ReadKoordinator();
    ReadModels();
    ReadGroup();
    if (request_.cards > kMaxCards) Refuse("more GPUs than any node has");
    // Any number of pods could have it of one card.
    if (request_.cards > 0 && request_.milli == 0 && request_.memory_bytes == 0) {
      Refuse(absl::StrCat(how_, ": a share of nothing"));
    }
    if (!request_.problem.empty()) request_.cards = 0;
    return std::move(request_);
  }

 private:
  // The first thing that is wrong is what is said.
  void Refuse(absl::string_view problem) {
    if (request_.problem.empty()) request_.problem = std::string(problem);
  }
  void Want(absl::string_view how, GpuDialect dialect, int64_t cards, int64_t milli,
            int64_t memory_bytes) {
    if (!how_.empty()) {
      Refuse(absl::StrCat("asks for GPUs in two ways: ", how_, " and ", how));
      return;
    }
    how_ = std::string(how);
    request_.dialect = dialect;
    request_.cards = static_cast<int>(std::min(cards, kMaxCards + 1));
    request_.milli = milli;
    request_.memory_bytes = memory_bytes;
  }

  void ReadWhole(const std::vector<ResourceId>& resources) {
    for (const ResourceId id : resources) {
      const int64_t cards = pod_.requests().Get(id);
      if (cards > 0) Want(ResourceName(id), GpuDialect::kResource, cards, kMilliPerGpu, 0);
    }
  }

  void ReadGpuShare() {
    const std::string* const milli_text = FindAnnotation(pod_, kGpuMilli);
    const std::string* const count_text = FindAnnotation(pod_, kGpuCount);
    if (milli_text == nullptr && count_text == nullptr) return;
    const std::optional<int64_t> count =
        count_text == nullptr ? std::optional<int64_t>(1) : WholeNumber(*count_text);
    const std::optional<int64_t> milli =
        milli_text == nullptr ? kMilliPerGpu : WholeNumber(*milli_text);
    if (!count.has_value() || *count < 0) {
      Refuse(absl::StrCat(kGpuCount, ": \"", *count_text, "\" is no number of GPUs"));
    } else if (!milli.has_value() || *milli < 0) {
      Refuse(
          absl::StrCat(kGpuMilli, ": \"", *milli_text, "\" is no share of a GPU in thousandths"));
    } else if (*milli > kMilliPerGpu) {
      Refuse(absl::StrCat(kGpuMilli, ": ", *milli,
                          " is more than one GPU has (1000); ask for whole", " ones with ",
                          kGpuCount));
    } else if (*count > 1 && *milli < kMilliPerGpu) {
      Refuse(
          absl::StrCat("a share (", kGpuMilli, ": ", *milli, ") is of one GPU, not of ", *count));
    } else if (*count == 0 && milli_text != nullptr && *milli > 0) {
      Refuse(absl::StrCat(kGpuCount, ": 0 with ", kGpuMilli, ": ", *milli,
                          "; leave out the count for a share, or both for no GPU"));
    } else if (count_text != nullptr && *count > 0 && *milli == 0) {
      Refuse(absl::StrCat(kGpuMilli, ": 0 of ", *count, " GPUs; leave out both for no GPU"));
    } else if (*count > 0 && *milli > 0) {
      Want(kGpuMilli, GpuDialect::kGpuShare, *count, *milli, 0);
    }
  }

  void ReadKai() {
    const std::string* const fraction_text = FindAnnotation(pod_, kGpuFraction);
    const std::string* const memory_text = FindAnnotation(pod_, kGpuMemory);
    const std::string* const devices_text = FindAnnotation(pod_, kGpuFractionDevices);
    if (fraction_text == nullptr && memory_text == nullptr) {
      if (devices_text != nullptr) {
        Refuse(absl::StrCat(kGpuFractionDevices, " needs ", kGpuFraction, " or ", kGpuMemory));
      }
      return;
    }
    if (fraction_text != nullptr && memory_text != nullptr) {
      Refuse(absl::StrCat("asks for both ", kGpuFraction, " and ", kGpuMemory));
      return;
    }
    const std::optional<int64_t> devices =
        devices_text == nullptr ? std::optional<int64_t>(1) : WholeNumber(*devices_text);
    if (!devices.has_value() || *devices < 1) {
      Refuse(absl::StrCat(kGpuFractionDevices, ": \"", *devices_text, "\" is no number of GPUs"));
      return;
    }
    if (memory_text != nullptr) {
      const std::optional<int64_t> mib = WholeNumber(*memory_text);
      if (!mib.has_value() || *mib < 1 || *mib > std::numeric_limits<int64_t>::max() / kMiB) {
        Refuse(absl::StrCat(kGpuMemory, ": \"", *memory_text, "\" is no amount of memory in MiB"));
        return;
      }
      Want(kGpuMemory, GpuDialect::kKai, *devices, 0, *mib * kMiB);
      return;
    }
    double fraction;
    if (!absl::SimpleAtod(*fraction_text, &fraction) || !(fraction > 0) || !(fraction <= 1)) {
      Refuse(absl::StrCat(kGpuFraction, ": \"", *fraction_text,
                          "\" is no share of one GPU; ask for whole ones as a resource"));
      return;
    }
    if (fraction < kSmallestFraction) {
      Refuse(absl::StrCat(kGpuFraction, ": \"", *fraction_text,
                          "\" is less than a thousandth of a GPU, the smallest share"));
      return;
    }
    // Rounded up: a share must hold what was asked for.
    Want(kGpuFraction, GpuDialect::kKai, *devices,
         static_cast<int64_t>(std::ceil(fraction * 1000 - 1e-9)), 0);
  }

  void ReadKoordinator() {
    static const ResourceId kBoth = ResourceIdOf("koordinator.sh/gpu");
    static const ResourceId kCore = ResourceIdOf("koordinator.sh/gpu-core");
    static const ResourceId kMemory = ResourceIdOf("koordinator.sh/gpu-memory");
    static const ResourceId kRatio = ResourceIdOf("koordinator.sh/gpu-memory-ratio");
    static const ResourceId kShared = ResourceIdOf("koordinator.sh/gpu.shared");
    const ResourceVector& asked = pod_.requests();
    const int64_t both = asked.Get(kBoth), memory = asked.Get(kMemory), shared = asked.Get(kShared);
    const int64_t core = both > 0 ? both : asked.Get(kCore);
    const int64_t ratio = both > 0 ? both : asked.Get(kRatio);
    if (core == 0 && ratio == 0 && memory == 0) {
      if (shared > 0) Refuse("koordinator.sh/gpu.shared needs gpu-memory or gpu-memory-ratio");
      return;
    }
    if (both > 0 && (asked.Get(kCore) > 0 || asked.Get(kRatio) > 0)) {
      Refuse("asks for both koordinator.sh/gpu and gpu-core or gpu-memory-ratio");
      return;
    }
    if (ratio > 0 && memory > 0) {
      Refuse("asks for both koordinator.sh/gpu-memory and gpu-memory-ratio");
      return;
    }
    if (ratio == 0 && memory == 0) {
      Refuse("koordinator.sh/gpu-core needs gpu-memory or gpu-memory-ratio");
      return;
    }
    if (std::max({core, ratio, shared}) > 100 * kMaxCards) {
      Refuse("more GPUs than any node has");
      return;
    }
    // Amounts are of all cards together: 200 are two cards.
    const int64_t percent = std::max(core, ratio);
    const int64_t cards = shared > 0 ? shared : percent > 100 ? percent / 100 : 1;
    if (shared == 0 && percent > 100 && percent % 100 != 0) {
      Refuse(absl::StrCat("koordinator.sh: ", percent, "% is neither a share of one GPU nor a",
                          " number of whole ones"));
    } else if (percent > 100 * cards) {
      Refuse(absl::StrCat("koordinator.sh: ", percent, "% is more than ", cards, " GPUs have"));
    } else if (core % cards != 0 || ratio % cards != 0) {
      Refuse(absl::StrCat("koordinator.sh: ", percent, "% cannot be split evenly over ", cards,
                          " GPUs"));
    } else if (memory > 0) {
      Want("koordinator.sh/gpu-memory", GpuDialect::kKoordinator, cards, core * 10 / cards,
           memory / cards + (memory % cards > 0 ? 1 : 0));
    } else {
      Want("koordinator.sh/gpu-memory-ratio", GpuDialect::kKoordinator, cards,
           std::max(core, ratio) * 10 / cards, 0);
    }
  }

  void ReadModels() {
    const std::string* const text = FindAnnotation(pod_, kGpuModel);
    if (text == nullptr) return;
    for (const absl::string_view model :
         absl::StrSplit(*text, absl::ByAnyChar("|,"), absl::SkipWhitespace())) {
      request_.models.push_back(Symbol::Intern(absl::StripAsciiWhitespace(model)));
    }
  }

  void ReadGroup() {
    const std::string* const kind = FindAnnotation(pod_, kGpuGroup);
    if (kind == nullptr) return;
    if (*kind == "numa") {
      request_.group = GpuGroupKind::kNuma;
    } else if (*kind == "pcie") {
      request_.group = GpuGroupKind::kPcie;
    } else if (*kind == "nvlink") {
      request_.group = GpuGroupKind::kNvlink;
    } else {
      Refuse(absl::StrCat(kGpuGroup, ": \"", *kind, "\" is none of numa, pcie, nvlink"));
    }
    const std::string* const policy = FindAnnotation(pod_, kGpuGroupPolicy);
    request_.group_required = policy == nullptr || *policy == "required";
    if (policy != nullptr && *policy != "required" && *policy != "preferred") {
      Refuse(
          absl::StrCat(kGpuGroupPolicy, ": \"", *policy, "\" is neither required nor preferred"));
    }
  }

  const PodInfo& pod_;
  GpuRequest request_;
  std::string how_;
};

}  // namespace

const std::string* FindAnnotation(const PodInfo& pod, absl::string_view key) {
  const auto& annotations = pod.object().metadata().annotations();
  const auto it = annotations.find(std::string(key));
  return it == annotations.end() ? nullptr : &it->second;
}

GpuRequest ReadGpuRequest(const PodInfo& pod, const std::vector<ResourceId>& whole_resources) {
  return Reader(pod).Read(whole_resources);
}

GpuRequest HeldDespiteProblem(const PodInfo& pod, const std::vector<ResourceId>& whole_resources) {
  GpuRequest held;
  int64_t cards = 0;
  for (const ResourceId id : whole_resources) {
    cards = std::min(kMaxCards, cards + std::clamp<int64_t>(pod.requests().Get(id), 0, kMaxCards));
  }
  held.cards = static_cast<int>(cards);
  held.milli = cards > 0 ? kMilliPerGpu : 0;
  return held;
}

}  // namespace berth
