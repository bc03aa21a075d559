// SPDX-License-Identifier: Apache-2.0
// As cel-go v0.26 checker/cost.go functionCost and its ext libraries, and before these
// k8s.io/apiserver v0.35 pkg/cel/library/cost.go EstimateCallCost.
#include "cel/call_cost_estimate.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"

namespace berth::cel {
namespace {

constexpr double kTraversal = 0.1, kRegex = 0.25;
constexpr double kLongestFormatRegex = 128, kLongestFormat = 64;
constexpr uint64_t kListCost = 10;

uint64_t Scale(uint64_t size, double factor) {
  const double scaled = std::ceil(static_cast<double>(size) * factor);
  return scaled >= 18446744073709551616.0 ? kUnknownCost : static_cast<uint64_t>(scaled);
}
uint64_t Traverse(const SizeRange& size, double times = 1) {
  return Scale(size.max, times * kTraversal);
}
SizeRange Add(const SizeRange& a, const SizeRange& b) {
  return {AddCost(a.min, b.min), AddCost(a.max, b.max)};
}
SizeRange Multiply(const SizeRange& a, const SizeRange& b) {
  return {MultiplyCost(a.min, b.min), MultiplyCost(a.max, b.max)};
}
uint64_t MatchCost(const SizeRange& text, const SizeRange& pattern) {
  return MultiplyCost(Traverse(Add(text, SizeRange::Exactly(1))), Scale(pattern.max, kRegex));
}

// Of a literal integer; `otherwise` if it is none.
uint64_t IntOr(const Expr& expr, uint64_t otherwise) {
  if (expr.kind != Expr::Kind::kLiteral || !expr.literal.Is<int64_t>()) return otherwise;
  return static_cast<uint64_t>(std::max<int64_t>(0, expr.literal.Get<int64_t>()));
}

using Names = absl::flat_hash_set<absl::string_view>;
using MaybeCall = std::optional<CallEstimate>;

// A list is made.
CallEstimate MakeList(double factor, const SizeRange& cost_of, const SizeRange& size) {
  return {AddCost(Scale(cost_of.max, factor), 1 + kListCost), size};
}

MaybeCall ByListsAndSets(const Expr& call, absl::string_view overload, const CallSizes& s) {
  if (overload == "list_slice") {
    const uint64_t size =
        IntOr(*call.arguments[1], s.target.max) - IntOr(*call.arguments[0], 0);  // wraps, as there
    return MakeList(1, SizeRange::Exactly(size), SizeRange::Exactly(size));
  }
  if (overload == "lists_range") {
    const SizeRange size = SizeRange::Exactly(IntOr(*call.arguments[0], kUnknownCost));
    return MakeList(1, size, size);
  }
  if (overload == "list_reverse" || overload == "list_flatten") {
    return MakeList(1, s.target, s.target);
  }
  if (overload == "list_flatten_int") {
    const uint64_t depth = IntOr(*call.arguments[0], kUnknownCost);
    return MakeList(static_cast<double>(depth), s.target, s.target);
  }
  if (overload == "list_distinct") {
    const SizeRange squared = Multiply(s.target, s.target);
    return MakeList(2, squared, squared);
  }
  if (absl::EndsWith(overload, "_sort") || absl::EndsWith(overload, "_sortByAssociatedKeys")) {
    const SizeRange& of = absl::EndsWith(overload, "_sort") ? s.target : s.arguments[0];
    const bool texts =
        absl::StartsWith(overload, "list_string_") || absl::StartsWith(overload, "list_bytes_");
    const SizeRange squared = Multiply(of, of);
    return MakeList(texts ? 2 + kTraversal : 2, squared, squared);
  }
  if (absl::StartsWith(overload, "list_sets_") && s.arguments.size() == 2) {
    const uint64_t product = Multiply(s.arguments[0], s.arguments[1]).max;
    const double factor = overload == "list_sets_equivalent_list" ? 2 : 1;
    return CallEstimate{AddCost(Scale(product, factor), 1)};
  }
  return std::nullopt;
}

// The size of text.replace(old, by): how often `old` is in it at most and at least, and what stays
// of the text beside.
CallEstimate Replace(const SizeRange& text, const SizeRange& old, const SizeRange& by) {
  struct Bound {
    uint64_t count = 0, kept = 0;
  };
  const auto bound = [](uint64_t size, uint64_t of_old, bool keeps) -> Bound {
    if (of_old == 0) return {AddCost(size, 1), size};
    if (keeps) return {0, size};
    return {Scale(1, static_cast<double>(size) / static_cast<double>(of_old)), 0};
  };
  const Bound most = bound(text.max, old.min, by.max <= old.min);
  const Bound least = bound(text.min, old.max, old.max <= by.min);
  const SizeRange count{least.count, most.count}, kept{least.kept, most.kept};
  return {Traverse(text, 2), Add(Multiply(count, by), kept)};
}

CallEstimate Join(const CallSizes& s) {
  SizeRange size{0, 0};
  if (s.element.has_value()) size = Multiply(s.target, *s.element);
  if (!s.arguments.empty()) {
    const SizeRange separators{s.target.min > 0 ? s.target.min - 1 : 0,
                               s.target.max > 0 ? s.target.max - 1 : 0};
    size = Add(size, Multiply(s.arguments[0], separators));
  }
  return {Traverse(size), size};
}

// `==` of types of which an API server knows what it costs.
MaybeCall Equality(const Expr& call, const CallSizes& s) {
  const Type& type = call.arguments[0]->type;
  if (type != call.arguments[1]->type) return std::nullopt;
  static const Names& once = *new Names{"net.IP",
                                        "net.CIDR",
                                        "kubernetes.Quantity",
                                        "kubernetes.Semver",
                                        "kubernetes.authorization.Authorizer",
                                        "kubernetes.authorization.PathCheck",
                                        "kubernetes.authorization.GroupCheck",
                                        "kubernetes.authorization.ResourceCheck",
                                        "kubernetes.authorization.Decision"};
  if (type.kind() != Kind::kOpaque && type.kind() != Kind::kStruct) return std::nullopt;
  if (once.contains(type.name())) return CallEstimate{1};
  if (type.name() == "kubernetes.NamedFormat")
    return CallEstimate{Scale(1, kLongestFormat * kTraversal)};
  if (type.name() != "kubernetes.URL") return std::nullopt;
  const SizeRange& right = s.arguments[1];
  return CallEstimate{right.max == kUnknownCost ? 1 : Traverse(right)};
}

MaybeCall ByKubernetes(const Expr& call, absl::string_view overload, const CallSizes& s) {
  const std::string& name = call.name;
  const bool is_member = call.target != nullptr;
  const size_t count = s.arguments.size();
  static const Names& constant = *new Names{"serviceAccount",
                                            "path",
                                            "group",
                                            "resource",
                                            "subresource",
                                            "namespace",
                                            "name",
                                            "allowed",
                                            "reason",
                                            "error",
                                            "errored",
                                            "masked",
                                            "prefixLength",
                                            "family",
                                            "isUnspecified",
                                            "isLoopback",
                                            "isLinkLocalMulticast",
                                            "isLinkLocalUnicast",
                                            "isGlobalUnicast",
                                            "format.named",
                                            "sign",
                                            "asInteger",
                                            "isInteger",
                                            "asApproximateFloat",
                                            "isGreaterThan",
                                            "isLessThan",
                                            "compareTo",
                                            "add",
                                            "sub",
                                            "major",
                                            "minor",
                                            "patch",
                                            "getScheme",
                                            "getHostname",
                                            "getHost",
                                            "getPort",
                                            "getEscapedPath",
                                            "getQuery"};
  static const Names& over_list =
      *new Names{"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"};
  static const Names& of_same_size = *new Names{"lowerAscii", "upperAscii", "substring", "trim"};
  static const Names& parses =
      *new Names{"cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"};
  if (name == "check") return CallEstimate{350'000};
  if (constant.contains(name)) return CallEstimate{1};
  if ((name == "fieldSelector" || name == "labelSelector") && count == 1) {
    const uint64_t requirements = Scale(Scale(s.arguments[0].max, 0.5), 50);
    return CallEstimate{AddCost(AddCost(kListCost, Traverse(s.arguments[0])), requirements)};
  }
  if (over_list.contains(name) && is_member) {
    if (!s.element.has_value()) return CallEstimate{Traverse(s.target)};
    const Kind kind = call.target->type.parameters()[0].kind();
    const bool texts = kind == Kind::kString || kind == Kind::kBytes;
    const uint64_t each = AddCost(1, texts ? Traverse(*s.element) : 0);
    return CallEstimate{MultiplyCost(s.target.max, each)};
  }
  if ((name == "url" || name == "jsonpatch.escapeKey") && count == 1) {
    return CallEstimate{Traverse(s.arguments[0]), s.arguments[0]};
  }
  if (of_same_size.contains(name) && is_member) return CallEstimate{Traverse(s.target), s.target};
  if (name == "replace" && is_member && count >= 2) {
    return Replace(s.target, s.arguments[0], s.arguments[1]);
  }
  if (name == "split" && is_member) {
    uint64_t most = s.target.max;
    if (count > 1) {
      const Expr& limit = *call.arguments[1];
      const bool is_int = limit.kind == Expr::Kind::kLiteral && limit.literal.Is<int64_t>();
      if (is_int) most = static_cast<uint64_t>(limit.literal.Get<int64_t>());
    }
    return CallEstimate{Traverse(s.target, 2), SizeRange{0, most}};
  }
  if (name == "join" && is_member) return Join(s);
  if ((name == "find" || name == "findAll") && is_member && count >= 1) {
    return CallEstimate{MatchCost(s.target, s.arguments[0]), SizeRange{0, s.target.max}};
  }
  if (overload == "cidr_ip") return CallEstimate{1};
  if (parses.contains(name) && count >= 1) return CallEstimate{Traverse(s.arguments[0])};
  if (name == "ip.isCanonical") return CallEstimate{Traverse(s.arguments[0], 2)};
  if (name == "containsIP" || name == "containsCIDR") {
    // Of 4 or 16 bytes, compared, and those of a CIDR masked.
    const uint64_t compared = name == "containsIP"
                                  ? Scale(32, kTraversal)
                                  : Scale(32, kTraversal) + Scale(16, kTraversal) + 1;
    return CallEstimate{
        AddCost(compared, absl::EndsWith(overload, "_string") ? Traverse(s.arguments[0]) : 0)};
  }
  if (name == "validate" && count >= 1) {
    return CallEstimate{Scale(Traverse(s.arguments[0]), kLongestFormatRegex * kRegex)};
  }
  return name == operators::kEqual ? Equality(call, s) : std::nullopt;
}

CallEstimate ByLanguage(absl::string_view name, absl::string_view overload, const CallSizes& s) {
  const size_t count = s.arguments.size();
  if (overload == "string_format") return {Traverse(s.target)};
  if (overload == "string_to_bytes") {
    const SizeRange& text = s.arguments[0];
    return {Traverse(text), SizeRange{text.min, text.max * 4}};  // wraps, as there
  }
  if (overload == "bytes_to_string") {
    return {Traverse(s.arguments[0]), SizeRange{s.arguments[0].min / 4, s.arguments[0].max}};
  }
  if (overload == "strings_quote") {
    const SizeRange& text = s.arguments[0];
    return {Traverse(text), SizeRange{text.min + 2, text.max * 2 + 2}};
  }
  if ((name == "startsWith" || name == "endsWith") && count == 1) return {Traverse(s.arguments[0])};
  if (overload == "in_list") return {s.arguments[1].max};
  if (overload == "matches_string") return {MatchCost(s.target, s.arguments[0])};
  if (overload == "contains_string") {
    return {MultiplyCost(Traverse(s.target), Traverse(s.arguments[0]))};
  }
  if (overload == "add_list") return {1, Add(s.arguments[0], s.arguments[1])};
  if (overload == "add_string" || overload == "add_bytes") {
    const SizeRange size = Add(s.arguments[0], s.arguments[1]);
    return {Traverse(size), size};
  }
  static const Names& relations =
      *new Names{"less_string", "greater_string", "less_equals_string", "greater_equals_string",
                 "less_bytes",  "greater_bytes",  "less_equals_bytes",  "greater_equals_bytes",
                 "equals",      "not_equals"};
  if (relations.contains(overload)) {
    return {Scale(std::min(s.arguments[0].max, s.arguments[1].max), kTraversal)};
  }
  return {1};
}

}  // namespace

CallEstimate EstimateCall(const Expr& call, absl::string_view overload, const CallSizes& sizes) {
  if (const MaybeCall estimate = ByListsAndSets(call, overload, sizes)) return *estimate;
  if (const MaybeCall estimate = ByKubernetes(call, overload, sizes)) return *estimate;
  return ByLanguage(call.name, overload, sizes);
}

}  // namespace berth::cel
