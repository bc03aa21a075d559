// Splits a text into its documents and gives each to the reader of its language.
#include <cstring>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "api/json_reader.h"
#include "api/yaml_reader.h"
#include "berth/api/value.h"

namespace berth {
namespace {

// The length of the UTF-8 sequence at `p`, 0 if there is no valid one. A NUL is not valid here.
size_t SequenceLength(const unsigned char* p, size_t size) {
  const auto continues = [&](size_t n) {
    if (size < n) return false;
    for (size_t i = 1; i < n; ++i) {
      if ((p[i] & 0xC0) != 0x80) return false;
    }
    return true;
  };
  if (p[0] < 0x80) return p[0] != 0 ? 1 : 0;
  if (p[0] >= 0xC2 && p[0] <= 0xDF) return continues(2) ? 2 : 0;
  if (p[0] >= 0xE0 && p[0] <= 0xEF) {
    const bool overlong = p[0] == 0xE0 && size > 1 && p[1] < 0xA0;
    const bool surrogate = p[0] == 0xED && size > 1 && p[1] > 0x9F;
    return continues(3) && !overlong && !surrogate ? 3 : 0;
  }
  if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    const bool overlong = p[0] == 0xF0 && size > 1 && p[1] < 0x90;
    const bool too_large = p[0] == 0xF4 && size > 1 && p[1] > 0x8F;
    return continues(4) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

// The first byte that is not part of valid UTF-8, or is a NUL.
std::optional<size_t> FindInvalidByte(absl::string_view text) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t i = 0;
  while (i < text.size()) {
    uint64_t word;
    if (i + sizeof(word) <= text.size()) {
      std::memcpy(&word, bytes + i, sizeof(word));
      const uint64_t zeros = (word - 0x0101010101010101u) & ~word & 0x8080808080808080u;
      if (((word & 0x8080808080808080u) | zeros) == 0) {
        i += sizeof(word);
        continue;
      }
    }
    const size_t length = SequenceLength(bytes + i, text.size() - i);
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
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

Place PlaceOf(const Part& part, size_t offset) {
  uint32_t line = part.first_line;
  size_t line_begin = 0;
  for (size_t i = 0; i < offset; ++i) {
    if (part.text[i] != '\n') continue;
    ++line;
    line_begin = i + 1;
  }
  return {line, static_cast<uint32_t>(offset - line_begin + 1)};
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
      const Place place = PlaceOf(part, *invalid);
      problems.AddError({file, static_cast<int>(place.line), static_cast<int>(place.column)}, "",
                        "not valid UTF-8 text");
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
