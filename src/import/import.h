// SPDX-License-Identifier: Apache-2.0
// Quotas of Kueue, KAI, Volcano, YuniKorn and Koordinator, written as Berth's. docs/import.md says
// what becomes what.
#ifndef BERTH_SRC_IMPORT_IMPORT_H_
#define BERTH_SRC_IMPORT_IMPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/problem.h"

namespace berth {

struct ImportInput {
  std::string name;  // what problems and comments call it
  std::string text;  // YAML or JSON, any number of documents
};

struct ImportResult {
  // YAML that a scheduler reads, with a comment at each thing whose meaning differs; empty if there
  // are errors.
  std::string yaml;
  Problems problems;
  int quotas = 0;    // written
  int comments = 0;  // of what differs, those at the head of the file counted
};

// Whose queues an input has is found from its content; several may be mixed. An input with none is
// an error. Objects of different inputs may belong together.
ImportResult ImportQuotas(absl::Span<const ImportInput> inputs);

}  // namespace berth

#endif  // BERTH_SRC_IMPORT_IMPORT_H_
