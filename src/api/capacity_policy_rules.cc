// SPDX-License-Identifier: Apache-2.0
// Implementation of capacity_policy_rules.h, after kubernetes v1.35 pkg/apis/resource/validation,
// validateRequestPolicy.
#include "api/capacity_policy_rules.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "api/field_error.h"
#include "berth/api/quantity.h"

namespace berth {
namespace {

constexpr size_t kMostValidValues = 10;

class PolicyRules {
 public:
  using Refuse = absl::FunctionRef<void(Value, absl::string_view)>;

  PolicyRules(Value capacity, Refuse refuse)
      : policy_(capacity.Find("requestPolicy")),
        most_(Amount(capacity.Find("value"))),
        refuse_(refuse) {}

  void Check() {
    const Value values = policy_.Find("validValues");
    const Value range = policy_.Find("validRange");
    const bool has_range = range && !range.IsNull();
    if (values.size() > 0 && has_range) {
      return refuse_(range,
                     ".validRange: cannot stand beside validValues; a policy has one of them");
    }
    if (values.size() == 0 && !has_range) return;
    const std::optional<Quantity> by_default = Amount(policy_.Find("default"));
    if (!policy_.Find("default") || policy_.Find("default").IsNull()) {
      return refuse_(
          has_range ? range : values,
          absl::StrCat(".default: is missing; beside ", has_range ? "validRange" : "validValues",
                       " it says what a request takes that names no amount"));
    }
    if (!by_default.has_value()) return;
    if (has_range) {
      Range(range, *by_default);
    } else {
      Values(values, *by_default);
    }
  }

 private:
  static std::optional<Quantity> Amount(Value value) {
    const absl::StatusOr<Quantity> amount =
        Quantity::Parse(absl::StripAsciiWhitespace(value.text()));
    return amount.ok() ? std::optional(*amount) : std::nullopt;
  }
  static bool Above(const std::optional<Quantity>& one, const std::optional<Quantity>& other) {
    return one.has_value() && other.has_value() && *other < *one;
  }

  void Values(Value values, const Quantity& by_default) {
    if (values.size() > kMostValidValues) {
      return refuse_(values, absl::StrCat(".validValues: has ", values.size(),
                                          " entries, and may have ", kMostValidValues));
    }
    std::optional<Quantity> before;
    std::set<int64_t> seen;
    bool has_default = false;
    size_t index = 0;
    for (const Value value : values.elements()) {
      const std::string at = IndexPath(".validValues", index++);
      const std::optional<Quantity> amount = Amount(value);
      if (!amount.has_value()) return;
      if (Above(before, amount)) {
        refuse_(value,
                absl::StrCat(at, ": ", value.text(), " is less than the one before; they rise"));
      } else if (!seen.insert(amount->Value()).second) {
        refuse_(value, absl::StrCat(at, ": ", value.text(), " is there a second time"));
      }
      if (Above(amount, most_)) {
        refuse_(value, absl::StrCat(at, ": ", value.text(), " is more than the capacity, ",
                                    most_->ToString()));
      }
      has_default |= *amount == by_default;
      before = amount;
    }
    if (has_default) return;
    refuse_(policy_.Find("default"),
            absl::StrCat(".default: ", by_default.ToString(), " is none of validValues"));
  }

  void Range(Value range, const Quantity& by_default) {
    const Value least = range.Find("min");
    const Value largest = range.Find("max");
    if (!least || least.IsNull()) return refuse_(range, ".validRange.min: is missing");
    const std::optional<Quantity> min = Amount(least);
    const std::optional<Quantity> max = Amount(largest);
    if (Above(min, max)) {
      refuse_(least, absl::StrCat(".validRange.min: ", least.text(), " is more than max, ",
                                  largest.text()));
    }
    for (const auto& [field, amount] : {std::pair(least, min), std::pair(largest, max)}) {
      if (!Above(amount, most_)) continue;
      refuse_(field,
              absl::StrCat(".validRange.", field.where() == least.where() ? "min" : "max", ": ",
                           field.text(), " is more than the capacity, ", most_->ToString()));
    }
    const Value taken = policy_.Find("default");
    if (Above(min, by_default)) {
      refuse_(taken, absl::StrCat(".default: ", taken.text(), " is less than min, ", least.text()));
    }
    if (Above(by_default, max)) {
      refuse_(taken,
              absl::StrCat(".default: ", taken.text(), " is more than max, ", largest.text()));
    }
    if (min.has_value()) Step(range, *min);
  }

  void Step(Value range, const Quantity& min) {
    const Value step = range.Find("step");
    const std::optional<Quantity> amount = Amount(step);
    if (!amount.has_value() || amount->IsNegative() || min.IsNegative()) return;
    if (amount->IsZero()) {
      return refuse_(step, ".validRange.step: is 0; leave it out if any amount will do");
    }
    Quantity first = min;
    first.Add(*amount);
    if (Above(first, most_)) {
      refuse_(step, absl::StrCat(".validRange.step: min and one step are ", first.ToString(),
                                 ", more than the capacity, ", most_->ToString()));
    }
    // In whole units, as upstream.
    const auto check = [&](Value field, absl::string_view name) {
      const std::optional<Quantity> value = Amount(field);
      if (!value.has_value() || value->IsNegative() ||
          (value->Value() - min.Value()) % amount->Value() == 0) {
        return;
      }
      refuse_(field, absl::StrCat(name, ": ", field.text(), " is no whole number of steps of ",
                                  step.text(), " above min, ", min.ToString()));
    };
    check(policy_.Find("default"), ".default");
    check(range.Find("max"), ".validRange.max");
  }

  const Value policy_;
  const std::optional<Quantity> most_;  // the capacity
  const Refuse refuse_;
};

}  // namespace

void CheckCapacityPolicy(Value capacity,
                         absl::FunctionRef<void(Value field, absl::string_view message)> refuse) {
  PolicyRules(capacity, refuse).Check();
}

}  // namespace berth
