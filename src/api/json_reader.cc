// SPDX-License-Identifier: Apache-2.0
// JSON by RapidJSON's SAX reader, parsed in place in the document's own copy of the text.
#include "api/json_reader.h"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <cstring>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

using internal::ValueKind;

// Turns offsets that never decrease into places.
class PlaceCounter {
 public:
  PlaceCounter(absl::string_view text, uint32_t line, uint32_t column)
      : text_(text), line_(line), line_begin_(1 - static_cast<int64_t>(column)) {}

  Place At(size_t offset) {
    while (counted_ < offset) {
      const void* const newline = std::memchr(text_.data() + counted_, '\n', offset - counted_);
      if (newline == nullptr) {
        counted_ = offset;
        break;
      }
      counted_ = static_cast<const char*>(newline) - text_.data() + 1;
      line_begin_ = static_cast<int64_t>(counted_);
      ++line_;
    }
    return {line_, static_cast<uint32_t>(static_cast<int64_t>(offset) - line_begin_ + 1)};
  }

 private:
  absl::string_view text_;
  uint32_t line_;
  int64_t line_begin_;  // offset of column 1; before the text if it starts inside a line
  size_t counted_ = 0;
};

// RapidJSON's events as the builder's. Strings and numbers are pointers into the copy, which tell
// where they stand; for the rest the stream does.
class EventHandler {
 public:
  EventHandler(DocumentBuilder& builder, const rapidjson::InsituStringStream& stream,
               const char* copy, PlaceCounter& places)
      : builder_(builder), stream_(stream), copy_(copy), places_(places) {}

  bool Null() { return Word(ValueKind::kNull, "null"); }
  bool Bool(bool value) { return Word(ValueKind::kBool, value ? "true" : "false"); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    const absl::string_view number(text, size);
    const bool is_int = number.find_first_of(".eE") == absl::string_view::npos;
    builder_.Scalar(is_int ? ValueKind::kInt : ValueKind::kFloat, number, places_.At(text - copy_));
    return true;
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    builder_.Scalar(ValueKind::kString, absl::string_view(text, size),
                    places_.At(text - copy_ - 1));
    return true;
  }
  bool Key(const char* text, rapidjson::SizeType size, bool copy) {
    return String(text, size, copy);
  }
  bool StartObject() { return Start(ValueKind::kMap); }
  bool StartArray() { return Start(ValueKind::kSequence); }
  bool EndObject(rapidjson::SizeType) { return End(); }
  bool EndArray(rapidjson::SizeType) { return End(); }

  // Never called: numbers come raw.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

 private:
  bool Word(ValueKind kind, absl::string_view word) {
    builder_.Scalar(kind, word, places_.At(Tell() - word.size()));
    return true;
  }
  bool Start(ValueKind kind) {
    builder_.Begin(kind, places_.At(Tell() - 1));
    return true;
  }
  bool End() {
    builder_.End();
    return true;
  }
  size_t Tell() const { return const_cast<rapidjson::InsituStringStream&>(stream_).Tell(); }

  DocumentBuilder& builder_;
  const rapidjson::InsituStringStream& stream_;
  const char* copy_;
  PlaceCounter& places_;
};

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// How far the object or array at the start of `text` reaches, found without parsing it.
struct Extent {
  size_t size;
  bool complete;  // ends with its own bracket
  bool too_deep = false;
};

// The end is also where the text cannot be right any more: at a line break inside a string, or at a
// bracket that opens where nothing can begin, which is probably the next document.
Extent FindExtent(absl::string_view text) {
  int depth = 0;
  bool too_deep = false;
  char before = '[';  // the last character outside of strings that is no space
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '"':
        for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) {
          if (text[i] == '\\') ++i;
        }
        if (i >= text.size() || text[i] == '\n') return {std::min(i, text.size()), false, too_deep};
        break;
      case '{':
      case '[':
        if (before != '[' && before != ',' && before != ':') return {i, false, too_deep};
        too_deep |= ++depth > kMaxDepth;
        break;
      case '}':
      case ']':
        if (--depth == 0) return {i + 1, true, too_deep};
        break;
    }
    if (!IsSpace(c)) before = c;
  }
  return {text.size(), false, too_deep};
}

class JsonReader {
 public:
  JsonReader(absl::string_view text, Symbol file, uint32_t first_line, Problems& problems,
             absl::FunctionRef<void(Document)> visit)
      : text_(text),
        file_(file),
        places_(text, first_line, 1),
        problems_(problems),
        visit_(visit),
        builder_(file) {}

  void Run() {
    size_t pos = 0;
    while (true) {
      while (pos < text_.size() && IsSpace(text_[pos])) ++pos;
      if (pos == text_.size()) return;
      pos = ReadOne(pos);
    }
  }

 private:
  // Reads the document at `pos` and returns where to go on.
  size_t ReadOne(size_t pos) {
    const Place place = places_.At(pos);
    if (text_[pos] != '{' && text_[pos] != '[') {
      Report(place, "expected a JSON object");
      return NextLine(pos);
    }
    const Extent extent = FindExtent(text_.substr(pos));
    const size_t end = pos + extent.size;
    if (extent.too_deep) {
      Report(place, absl::StrCat("nested more than ", kMaxDepth, " deep"));
    } else if (Parse(text_.substr(pos, extent.size), place)) {
      visit_(builder_.Finish());
    }
    builder_.Reset();
    return extent.complete ? end : NextBeginning(end);
  }

  // Where the next document may begin after one that is not complete, which ends at `end`: there,
  // if that is a line's first bracket, or in the next line.
  size_t NextBeginning(size_t end) const {
    size_t line = end;
    while (line > 0 && IsSpace(text_[line - 1]) && text_[line - 1] != '\n') --line;
    return line > 0 && text_[line - 1] == '\n' ? end : NextLine(end);
  }

  bool Parse(absl::string_view document, Place place) {
    char* const copy = builder_.arena().Allocate(document.size() + 1);
    std::memcpy(copy, document.data(), document.size());
    copy[document.size()] = '\0';
    rapidjson::InsituStringStream stream(copy);
    PlaceCounter places(document, place.line, place.column);
    EventHandler handler(builder_, stream, copy, places);
    constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseStopWhenDoneFlag |
                                rapidjson::kParseNumbersAsStringsFlag;
    const rapidjson::ParseResult result = reader_.Parse<kFlags>(stream, handler);
    if (!result.IsError()) return true;
    PlaceCounter error_places(document, place.line, place.column);
    std::string message = rapidjson::GetParseError_En(result.Code());
    if (!message.empty() && message.back() == '.') message.pop_back();
    Report(error_places.At(std::min(result.Offset(), document.size())),
           absl::StrCat("not valid JSON: ", message));
    return false;
  }

  void Report(Place place, std::string message) {
    problems_.AddError({file_, static_cast<int>(place.line), static_cast<int>(place.column)}, "",
                       std::move(message));
  }

  size_t NextLine(size_t pos) const {
    const size_t newline = text_.find('\n', pos);
    return newline == absl::string_view::npos ? text_.size() : newline + 1;
  }

  absl::string_view text_;
  Symbol file_;
  PlaceCounter places_;
  Problems& problems_;
  absl::FunctionRef<void(Document)> visit_;
  DocumentBuilder builder_;
  rapidjson::Reader reader_;
};

}  // namespace

bool LooksLikeJson(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  if (text.empty() || (text[0] != '{' && text[0] != '[')) return false;
  const bool object = text[0] == '{';
  text = absl::StripLeadingAsciiWhitespace(text.substr(1));
  if (text.empty()) return true;
  return text[0] == '"' || (object ? text[0] == '}' : text[0] == '{' || text[0] == ']');
}

void ReadJson(absl::string_view text, Symbol file, uint32_t first_line, Problems& problems,
              absl::FunctionRef<void(Document)> visit) {
  JsonReader(text, file, first_line, problems, visit).Run();
}

}  // namespace berth
