// SPDX-License-Identifier: Apache-2.0
// A compiled expression.
#ifndef BERTH_SRC_CEL_PROGRAM_H_
#define BERTH_SRC_CEL_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cel/environment.h"
#include "cel/paths_read.h"
#include "cel/planner.h"
#include "cel/type.h"
#include "cel/value.h"

namespace berth::cel {

// Immutable; any thread may run it.
class Program {
 public:
  // `environment` outlives the program. Error: InvalidArgument with what cel-go's Compile or
  // Program says, "compilation failed: …" or "program instantiation failed: …". If
  // `cost_estimate` is not null, it gets what EstimateCost() says.
  static absl::StatusOr<Program> Compile(absl::string_view expression,
                                         const Environment& environment,
                                         uint64_t* cost_estimate = nullptr);

  const Type& type() const { return type_; }
  // What it may read of each variable, in the order of the environment.
  const std::vector<std::vector<PathRead>>& paths_read() const { return paths_read_; }

  // The value of the expression, or an error, for `variables` in the order of the environment. An
  // evaluation that costs more than `cost_limit` ends with an error.
  Value Run(absl::Span<const Value> variables, uint64_t cost_limit, uint64_t* cost = nullptr) const;

 private:
  Program(Type type, Plan plan, std::vector<std::vector<PathRead>> paths_read)
      : type_(std::move(type)), plan_(std::move(plan)), paths_read_(std::move(paths_read)) {}

  Type type_;
  Plan plan_;
  std::vector<std::vector<PathRead>> paths_read_;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_PROGRAM_H_
