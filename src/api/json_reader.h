// SPDX-License-Identifier: Apache-2.0
// JSON documents, one after another, read from a text.
#ifndef BERTH_SRC_API_JSON_READER_H_
#define BERTH_SRC_API_JSON_READER_H_

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "api/document_builder.h"
#include "berth/api/problem.h"

namespace berth {

// Whether `text` begins like JSON rather than like YAML in its flow style.
bool LooksLikeJson(absl::string_view text);

// Reads the documents of `text`, which starts in line `first_line` of the file. White space between
// them is optional. A broken document is reported; reading goes on after it: with the next line if
// a string or the nesting does not end.
void ReadJson(absl::string_view text, Symbol file, uint32_t first_line, Problems& problems,
              absl::FunctionRef<void(Document)> visit);

}  // namespace berth

#endif  // BERTH_SRC_API_JSON_READER_H_
