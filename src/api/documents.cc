// SPDX-License-Identifier: Apache-2.0
// Splits a text into its documents and gives each to the reader of its language.
#include <utf8.h>

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "api/json_reader.h"
#include "api/yaml_reader.h"
#include "berth/api/value.h"

namespace berth {
namespace {

bool IsAscii(absl::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

// The first byte that is not part of valid UTF-8, or is a NUL. Nearly all text is ASCII, which
// takes no decoding.
std::optional<size_t> FindInvalidByte(absl::string_view text) {
  constexpr size_t kBlock = 512;
  const size_t nul = text.find('\0');
  const size_t size = std::min(nul, text.size());
  for (size_t begin = 0, end = 0; begin < size; begin = end) {
    end = std::min(begin + kBlock, size);
    while (end < size && static_cast<unsigned char>(text[end]) >= 0x80) ++end;  // a whole character
    const absl::string_view block = text.substr(begin, end - begin);
    if (IsAscii(block)) continue;
    const auto invalid = utf8::find_invalid(block.begin(), block.end());
    if (invalid != block.end()) return begin + static_cast<size_t>(invalid - block.begin());
  }
  if (nul == absl::string_view::npos) return std::nullopt;
  return nul;
}

// Whether a document begins with the line at the start of `text`: "---" alone or before a space.
bool IsMarker(absl::string_view text) {
  return absl::StartsWith(text, "---") && (text.size() == 3 || absl::ascii_isspace(text[3]));
}

struct Part {
  absl::string_view text;
  uint32_t first_line;
};

// Takes the text up to the next marker off the front of `rest`.
Part TakePart(absl::string_view& rest, uint32_t& line) {
  Part part{rest, line};
  size_t pos = 0;
  while (true) {
    const size_t newline = rest.find('\n', pos);
    if (newline == absl::string_view::npos) {
      rest = absl::string_view();
      return part;
    }
    ++line;
    pos = newline + 1;
    if (IsMarker(rest.substr(pos, 4))) break;
  }
  part.text = rest.substr(0, pos);
  rest.remove_prefix(pos);
  return part;
}

}  // namespace

void ReadDocuments(absl::string_view text, absl::string_view file_name, Problems& problems,
                   absl::FunctionRef<void(Document)> visit) {
  const Symbol file = Symbol::Intern(file_name);
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  uint32_t line = 1;
  while (!text.empty()) {
    const Part part = TakePart(text, line);
    if (const std::optional<size_t> invalid = FindInvalidByte(part.text)) {
      const Place place = PlaceOf(part.text, *invalid);
      problems.AddError({file, static_cast<int>(place.line + part.first_line - 1),
                         static_cast<int>(place.column)},
                        "", "not valid UTF-8 text");
      continue;
    }
    if (LooksLikeJson(part.text)) {
      ReadJson(part.text, file, part.first_line, problems, visit);
    } else if (IsMarker(part.text) && LooksLikeJson(part.text.substr(3))) {
      // Spaces keep the columns.
      std::string blanked = "   ";
      blanked.append(part.text.data() + 3, part.text.size() - 3);
      ReadJson(blanked, file, part.first_line, problems, visit);
    } else {
      ReadYaml(part.text, file, part.first_line, problems, visit);
    }
  }
}

std::vector<Document> ReadDocuments(absl::string_view text, absl::string_view file_name,
                                    Problems& problems) {
  std::vector<Document> documents;
  ReadDocuments(text, file_name, problems,
                [&](Document document) { documents.push_back(std::move(document)); });
  return documents;
}

}  // namespace berth
