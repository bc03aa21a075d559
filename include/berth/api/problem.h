// SPDX-License-Identifier: Apache-2.0
// What is wrong with an input, and where: the one form in which manifests and configuration
// report to their author.
#ifndef BERTH_API_PROBLEM_H_
#define BERTH_API_PROBLEM_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "berth/api/symbol.h"

namespace berth {

// A place in a file. Lines and columns count from 1, columns in bytes; 0 means not known.
struct SourceLocation {
  Symbol file;
  int line = 0;
  int column = 0;

  std::string ToString() const;  // "a.yaml:3:7"; without what is not known; "" for nothing
  friend bool operator==(const SourceLocation& a, const SourceLocation& b) {
    return a.file == b.file && a.line == b.line && a.column == b.column;
  }
};

enum class Severity : uint8_t { kError, kWarning };

struct Problem {
  SourceLocation where;
  std::string subject;  // what it is about: "Pod default/p", a profile, or empty
  std::string message;  // usually "field.path: what is wrong"
  Severity severity = Severity::kError;

  // "a.yaml:3:7: error: Pod default/p: spec.nodeName: is a number, not a string"
  std::string ToString() const;
};
std::ostream& operator<<(std::ostream& out, const Problem& problem);

// The problems found, in the order in which they were found. Of the errors, and of the warnings,
// the first kMostListed; those beyond are counted only.
class Problems {
 public:
  static constexpr int kMostListed = 1000;

  void Add(Problem problem);
  void AddError(SourceLocation where, std::string subject, std::string message);
  void AddWarning(SourceLocation where, std::string subject, std::string message);
  void Append(Problems other);

  bool ok() const { return errors_ == 0; }  // warnings do not count
  int errors() const { return errors_; }
  int warnings() const { return warnings_; }
  // How many are not in list().
  int unlisted() const { return errors_ + warnings_ - static_cast<int>(list_.size()); }
  bool empty() const { return list_.empty(); }
  size_t size() const { return list_.size(); }
  const std::vector<Problem>& list() const { return list_; }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  // By file, line and column; those of the same place keep their order.
  void SortByLocation();

  std::string ToString() const;  // one line each, and one for all that are not listed
  // Ok, or InvalidArgument with the errors' lines.
  absl::Status ToStatus() const;

 private:
  std::vector<Problem> list_;
  int errors_ = 0, warnings_ = 0;
};

}  // namespace berth

#endif  // BERTH_API_PROBLEM_H_
