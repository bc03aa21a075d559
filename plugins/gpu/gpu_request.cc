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
#include "berth/gpu/request_marks.h"

namespace berth {
namespace {

// gpu-share; the rest is in request_marks.h.
constexpr absl::string_view kGpuModel = "alibabacloud.com/gpu-card-model";
// KAI.
constexpr absl::string_view kGpuFractionDevices = "gpu-fraction-num-devices";
// Berth's own: no other project has a mark for it.
constexpr absl::string_view kGpuGroup = "berth.dev/gpu-group";
constexpr absl::string_view kGpuGroupPolicy = "berth.dev/gpu-group-policy";

constexpr double kSmallestFraction = 0.001;
constexpr int64_t kMiB = int64_t{1} << 20;

std::optional<int64_t> WholeNumber(absl::string_view text) {
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
    const std::optional<absl::string_view> milli_text = pod_.annotation(kGpuMilliAnnotation);
    const std::optional<absl::string_view> count_text = pod_.annotation(kGpuCountAnnotation);
    if (!milli_text.has_value() && !count_text.has_value()) return;
    const std::optional<int64_t> count =
        !count_text.has_value() ? std::optional<int64_t>(1) : WholeNumber(*count_text);
    const std::optional<int64_t> milli =
        !milli_text.has_value() ? kMilliPerGpu : WholeNumber(*milli_text);
    if (!count.has_value() || *count < 0) {
      Refuse(absl::StrCat(kGpuCountAnnotation, ": \"", *count_text, "\" is no number of GPUs"));
    } else if (!milli.has_value() || *milli < 0) {
      Refuse(absl::StrCat(kGpuMilliAnnotation, ": \"", *milli_text,
                          "\" is no share of a GPU in thousandths"));
    } else if (*milli > kMilliPerGpu) {
      Refuse(absl::StrCat(kGpuMilliAnnotation, ": ", *milli,
                          " is more than one GPU has (1000); ask for whole", " ones with ",
                          kGpuCountAnnotation));
    } else if (*count > 1 && *milli < kMilliPerGpu) {
      Refuse(absl::StrCat("a share (", kGpuMilliAnnotation, ": ", *milli,
                          ") is of one GPU, not of ", *count));
    } else if (*count == 0 && milli_text.has_value() && *milli > 0) {
      Refuse(absl::StrCat(kGpuCountAnnotation, ": 0 with ", kGpuMilliAnnotation, ": ", *milli,
                          "; leave out the count for a share, or both for no GPU"));
    } else if (count_text.has_value() && *count > 0 && *milli == 0) {
      Refuse(
          absl::StrCat(kGpuMilliAnnotation, ": 0 of ", *count, " GPUs; leave out both for no GPU"));
    } else if (*count > 0 && *milli > 0) {
      Want(kGpuMilliAnnotation, GpuDialect::kGpuShare, *count, *milli, 0);
    }
  }

  void ReadKai() {
    const std::optional<absl::string_view> fraction_text = pod_.annotation(kGpuFractionAnnotation);
    const std::optional<absl::string_view> memory_text = pod_.annotation(kGpuMemoryAnnotation);
    const std::optional<absl::string_view> devices_text = pod_.annotation(kGpuFractionDevices);
    if (!fraction_text.has_value() && !memory_text.has_value()) {
      if (devices_text.has_value()) {
        Refuse(absl::StrCat(kGpuFractionDevices, " needs ", kGpuFractionAnnotation, " or ",
                            kGpuMemoryAnnotation));
      }
      return;
    }
    if (fraction_text.has_value() && memory_text.has_value()) {
      Refuse(absl::StrCat("asks for both ", kGpuFractionAnnotation, " and ", kGpuMemoryAnnotation));
      return;
    }
    const std::optional<int64_t> devices =
        !devices_text.has_value() ? std::optional<int64_t>(1) : WholeNumber(*devices_text);
    if (!devices.has_value() || *devices < 1) {
      Refuse(absl::StrCat(kGpuFractionDevices, ": \"", *devices_text, "\" is no number of GPUs"));
      return;
    }
    if (memory_text.has_value()) {
      const std::optional<int64_t> mib = WholeNumber(*memory_text);
      if (!mib.has_value() || *mib < 1 || *mib > std::numeric_limits<int64_t>::max() / kMiB) {
        Refuse(absl::StrCat(kGpuMemoryAnnotation, ": \"", *memory_text,
                            "\" is no amount of memory in MiB"));
        return;
      }
      Want(kGpuMemoryAnnotation, GpuDialect::kKai, *devices, 0, *mib * kMiB);
      return;
    }
    double fraction;
    if (!absl::SimpleAtod(*fraction_text, &fraction) || !(fraction > 0) || !(fraction <= 1)) {
      Refuse(absl::StrCat(kGpuFractionAnnotation, ": \"", *fraction_text,
                          "\" is no share of one GPU; ask for whole ones as a resource"));
      return;
    }
    if (fraction < kSmallestFraction) {
      Refuse(absl::StrCat(kGpuFractionAnnotation, ": \"", *fraction_text,
                          "\" is less than a thousandth of a GPU, the smallest share"));
      return;
    }
    // Rounded up: a share must hold what was asked for.
    Want(kGpuFractionAnnotation, GpuDialect::kKai, *devices,
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
    const std::optional<absl::string_view> text = pod_.annotation(kGpuModel);
    if (!text.has_value()) return;
    for (const absl::string_view model :
         absl::StrSplit(*text, absl::ByAnyChar("|,"), absl::SkipWhitespace())) {
      request_.models.push_back(Symbol::Intern(absl::StripAsciiWhitespace(model)));
    }
  }

  void ReadGroup() {
    const std::optional<absl::string_view> kind = pod_.annotation(kGpuGroup);
    if (!kind.has_value()) return;
    if (*kind == "numa") {
      request_.group = GpuGroupKind::kNuma;
    } else if (*kind == "pcie") {
      request_.group = GpuGroupKind::kPcie;
    } else if (*kind == "nvlink") {
      request_.group = GpuGroupKind::kNvlink;
    } else {
      Refuse(absl::StrCat(kGpuGroup, ": \"", *kind, "\" is none of numa, pcie, nvlink"));
    }
    const std::optional<absl::string_view> policy = pod_.annotation(kGpuGroupPolicy);
    request_.group_required = !policy.has_value() || *policy == "required";
    if (policy.has_value() && *policy != "required" && *policy != "preferred") {
      Refuse(
          absl::StrCat(kGpuGroupPolicy, ": \"", *policy, "\" is neither required nor preferred"));
    }
  }

  const PodInfo& pod_;
  GpuRequest request_;
  std::string how_;
};

}  // namespace

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
