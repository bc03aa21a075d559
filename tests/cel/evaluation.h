// SPDX-License-Identifier: Apache-2.0
// Expressions and what becomes of them, for tables.
#ifndef BERTH_TESTS_CEL_EVALUATION_H_
#define BERTH_TESTS_CEL_EVALUATION_H_

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cel/environment.h"
#include "cel/libraries/libraries.h"
#include "cel/program.h"

namespace berth::cel {

// The libraries of Kubernetes and no variables.
inline const Environment& Libraries() {
  static const Environment& environment = *[] {
    auto* result = new Environment;
    AddKubernetesLibraries(*result);
    return result;
  }();
  return environment;
}

// "true", "1", "text", "error: …", "compilation failed: …": how an expression ends.
inline std::string Evaluate(absl::string_view expression) {
  const absl::StatusOr<Program> program = Program::Compile(expression, Libraries());
  if (!program.ok()) return std::string(program.status().message());
  const Value value = program->Run({}, 1'000'000);
  if (value.IsError()) return absl::StrCat("error: ", value.text());
  return ToDisplay(value);
}

inline void ExpectTrue(std::initializer_list<absl::string_view> expressions) {
  for (const absl::string_view expression : expressions) {
    EXPECT_EQ(Evaluate(expression), "true") << expression;
  }
}

struct Case {
  absl::string_view expression, want;
};

inline void ExpectEach(std::initializer_list<Case> cases) {
  for (const auto& [expression, want] : cases)
    EXPECT_EQ(Evaluate(expression), std::string(want)) << expression;
}

// `want` stands somewhere in the complaint of the compiler.
inline void ExpectRefused(std::initializer_list<Case> cases) {
  for (const auto& [expression, want] : cases) {
    const std::string got = Evaluate(expression);
    EXPECT_TRUE(absl::StartsWith(got, "compilation failed: ERROR: <input>:") ||
                absl::StartsWith(got, "program instantiation failed: "))
        << expression << "\n"
        << got;
    EXPECT_TRUE(absl::StrContains(got, want)) << expression << "\n" << got;
  }
}

}  // namespace berth::cel

#endif  // BERTH_TESTS_CEL_EVALUATION_H_
