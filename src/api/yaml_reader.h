// SPDX-License-Identifier: Apache-2.0
// YAML documents, read from a text that holds one of them (or several with "..." between).
#ifndef BERTH_SRC_API_YAML_READER_H_
#define BERTH_SRC_API_YAML_READER_H_

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "api/document_builder.h"
#include "berth/api/problem.h"

namespace berth {

// Reads `text`, which starts in line `first_line` of the file. What is not well formed is reported,
// and the rest of `text` given up.
void ReadYaml(absl::string_view text, Symbol file, uint32_t first_line, Problems& problems,
              absl::FunctionRef<void(Document)> visit);

}  // namespace berth

#endif  // BERTH_SRC_API_YAML_READER_H_
