// SPDX-License-Identifier: Apache-2.0
// YAML by yaml-cpp's event parser.
#include "api/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <istream>
#include <optional>
#include <streambuf>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "api/flow_excess.h"

namespace berth {
namespace {

using internal::ValueKind;
using Node = internal::ValueNode;

// Thrown by the handler through the parser, and caught in ReadYaml().
struct DocumentError {
  YAML::Mark mark;
  std::string message;
};

bool IsOneOf(absl::string_view text, std::initializer_list<absl::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// The decimal form of an integer as go-yaml reads it: underscores, a sign, 0x, 0o, 0b, and a
// leading 0 for octal. Nullopt if `text` is none, or too large for 64 bits.
std::optional<std::string> ParseInteger(absl::string_view text) {
  const std::string digits = absl::StrReplaceAll(text, {{"_", ""}});
  absl::string_view rest = digits;
  const bool negative = absl::StartsWith(rest, "-");
  if (negative || absl::StartsWith(rest, "+")) rest.remove_prefix(1);
  int base = 10;
  const std::string lower = absl::AsciiStrToLower(rest.substr(0, 2));
  if (lower == "0x" || lower == "0o" || lower == "0b") {
    base = lower == "0x" ? 16 : lower == "0o" ? 8 : 2;
    rest.remove_prefix(2);
  } else if (rest.size() > 1 && rest[0] == '0') {
    base = 8;
    rest.remove_prefix(1);
  }
  uint64_t value;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
  if (rest.empty() || error != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
  if (negative && value > uint64_t{1} << 63) return std::nullopt;
  return absl::StrCat(negative ? "-" : "", value);
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool IsFloat(absl::string_view text) {
  size_t pos = 0;
  const auto digits = [&] {
    const size_t begin = pos;
    while (pos < text.size() && absl::ascii_isdigit(text[pos])) ++pos;
    return pos - begin;
  };
  const auto is_sign = [&] { return pos < text.size() && (text[pos] == '-' || text[pos] == '+'); };
  if (is_sign()) ++pos;
  const size_t whole = digits();
  size_t fraction = 0;
  if (pos < text.size() && text[pos] == '.') {
    ++pos;
    fraction = digits();
  }
  if (whole + fraction == 0) return false;
  if (pos < text.size() && (text[pos] | 0x20) == 'e') {
    ++pos;
    if (is_sign()) ++pos;
    if (digits() == 0) return false;
  }
  return pos == text.size();
}

// What a plain scalar is, as sigs.k8s.io/yaml (go-yaml v2) resolves it; `text` becomes the form
// that Value expects of that kind.
ValueKind Classify(std::string& text) {
  if (text.empty()) return ValueKind::kNull;
  switch (text[0]) {
    case '~':
    case 'n':
    case 'N':
      if (IsOneOf(text, {"~", "null", "Null", "NULL"})) return ValueKind::kNull;
      [[fallthrough]];
    case 't':
    case 'T':
    case 'f':
    case 'F':
    case 'y':
    case 'Y':
    case 'o':
    case 'O':
      if (IsOneOf(text, {"true", "True", "TRUE", "false", "False", "FALSE", "y",  "Y",
                         "yes",  "Yes",  "YES",  "n",     "N",     "no",    "No", "NO",
                         "on",   "On",   "ON",   "off",   "Off",   "OFF"})) {
        return ValueKind::kBool;
      }
      return ValueKind::kString;
    case '+':
    case '-':
    case '.':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
      break;
    default:
      return ValueKind::kString;
  }
  if (std::optional<std::string> integer = ParseInteger(text)) {
    text = *std::move(integer);
    return ValueKind::kInt;
  }
  const std::string plain = absl::StrReplaceAll(text, {{"_", ""}});
  if (IsFloat(plain)) {
    text = plain;
    return ValueKind::kFloat;
  }
  const absl::string_view unsigned_text = absl::StripPrefix(absl::StripPrefix(text, "-"), "+");
  if (IsOneOf(unsigned_text, {".inf", ".Inf", ".INF"})) return ValueKind::kFloat;
  if (IsOneOf(text, {".nan", ".NaN", ".NAN"})) return ValueKind::kFloat;
  return ValueKind::kString;
}

// yaml-cpp's events as the builder's.
class EventHandler final : public YAML::EventHandler {
 public:
  EventHandler(DocumentBuilder& builder, absl::string_view text, uint32_t first_line)
      : builder_(builder), rest_(text), first_line_(first_line) {}

  // yaml-cpp takes what it cannot place, such as a stray bracket, for the start of another
  // document, again and again. Only a line "..." ends a document here.
  void OnDocumentStart(const YAML::Mark& mark) override {
    bool ended = rest_line_ < 0;  // before the first document
    for (rest_line_ = std::max(rest_line_, 0); rest_line_ < mark.line; ++rest_line_) {
      ended |= absl::StartsWith(rest_, "...");
      const size_t newline = rest_.find('\n');
      rest_.remove_prefix(newline == absl::string_view::npos ? rest_.size() : newline + 1);
    }
    if (!ended) throw DocumentError{mark, "not valid YAML: this does not belong to the document"};
    builder_.Reset();
    anchors_.clear();
    nodes_ = 0;
    aliased_nodes_ = 0;
    sizes_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CheckKey(mark, ValueKind::kNull);
    ++nodes_;
    builder_.Scalar(ValueKind::kNull, "null", At(mark));
    Record(anchor, builder_.last(), 1);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    ++nodes_;
    std::string text = value;
    ValueKind kind = ValueKind::kString;
    if (builder_.ExpectsKey()) {
      if (tag == "?" && value == "<<") kind = ValueKind::kNull;  // the merge key, for the builder
    } else if (tag == "?") {
      kind = Classify(text);
    } else if (tag != "!" && tag != "tag:yaml.org,2002:str") {
      kind = Classify(text);  // !!int "3" and the like
    }
    builder_.Scalar(kind, builder_.arena().Copy(text), At(mark));
    Record(anchor, builder_.last(), 1);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) throw DocumentError{mark, "an alias inside what it stands for"};
    const auto& [node, size] = it->second;
    CheckKey(mark, static_cast<ValueKind>(node.kind));
    CountAliased(mark, size);
    builder_.Add(node, At(mark));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Begin(ValueKind::kSequence, mark, anchor);
  }
  void OnSequenceEnd() override { End(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Begin(ValueKind::kMap, mark, anchor);
  }
  void OnMapEnd() override { End(); }

 private:
  Place At(const YAML::Mark& mark) const {
    return {static_cast<uint32_t>(mark.line) + first_line_, static_cast<uint32_t>(mark.column) + 1};
  }

  void CheckKey(const YAML::Mark& mark, ValueKind kind) const {
    if (builder_.ExpectsKey() && (kind == ValueKind::kMap || kind == ValueKind::kSequence)) {
      throw DocumentError{mark,
                          "a key must be a text, not a map or a list: is a { or [ not closed?"};
    }
  }

  void CountAliased(const YAML::Mark& mark, int64_t nodes) {
    nodes_ += nodes;
    aliased_nodes_ += nodes;
    if (aliased_nodes_ > kMaxAliasedNodes) {
      throw DocumentError{mark, absl::StrCat("the aliases of the document stand for more than ",
                                             kMaxAliasedNodes, " values")};
    }
  }

  void Begin(ValueKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    CheckKey(mark, kind);
    if (builder_.depth() >= kMaxDepth) {
      throw DocumentError{mark, absl::StrCat("nested more than ", kMaxDepth, " deep")};
    }
    ++nodes_;
    builder_.Begin(kind, At(mark));
    sizes_.emplace_back(anchor, nodes_ - 1);
  }

  void End() {
    const auto [anchor, nodes_before] = sizes_.back();
    sizes_.pop_back();
    Record(anchor, builder_.End(), nodes_ - nodes_before);
  }

  void Record(YAML::anchor_t anchor, const Node& node, int64_t size) {
    if (anchor != 0) anchors_[anchor] = {node, size};
  }

  DocumentBuilder& builder_;
  absl::string_view rest_;  // the text from the line on in which the document starts
  int rest_line_ = -1;      // that line
  uint32_t first_line_;
  int64_t nodes_ = 0;  // those that aliases stand for included
  int64_t aliased_nodes_ = 0;
  std::unordered_map<YAML::anchor_t, std::pair<Node, int64_t>> anchors_;  // with nodes in it
  std::vector<std::pair<YAML::anchor_t, int64_t>> sizes_;  // of the open ones: nodes before
};

// The line `number`, counted from 0.
absl::string_view LineOf(absl::string_view text, int number) {
  for (; number > 0; --number) {
    const size_t newline = text.find('\n');
    if (newline == absl::string_view::npos) return "";
    text.remove_prefix(newline + 1);
  }
  return text.substr(0, text.find('\n'));
}

bool IsIndentedWithTab(absl::string_view line) {
  return line.substr(0, line.find_first_not_of(" \t")).find('\t') != absl::string_view::npos;
}

// What an author of the text can do about an error that yaml-cpp words for readers who know its
// parser.
std::string PlainMessage(const YAML::Exception& error, absl::string_view text) {
  namespace yaml = YAML::ErrorMsg;
  if (!error.mark.is_null() && IsIndentedWithTab(LineOf(text, error.mark.line))) {
    return "the line is indented with a tab; use spaces";
  }
  if (error.msg == yaml::MAP_VALUE || error.msg == yaml::MAP_KEY) {
    return "bad indentation: a key cannot stand here; or a text with \": \" in it lacks quotes";
  }
  if (error.msg == yaml::BLOCK_ENTRY) {
    return "bad indentation: a list item cannot stand here";
  }
  if (error.msg == yaml::END_OF_MAP || error.msg == yaml::END_OF_SEQ) {
    return "bad indentation: the line fits neither the lines above it nor what they are part of";
  }
  if (error.msg == yaml::END_OF_MAP_FLOW) return "a \"{\" is not closed";
  if (error.msg == yaml::END_OF_SEQ_FLOW) return "a \"[\" is not closed";
  if (error.msg == yaml::FLOW_END) return "a closing bracket without its opening one";
  return error.msg;
}

// A text as an input stream, without copying it.
class TextBuffer : public std::streambuf {
 public:
  explicit TextBuffer(absl::string_view text) {
    char* const begin = const_cast<char*>(text.data());  // only read
    setg(begin, begin, begin + text.size());
  }
};

}  // namespace

void ReadYaml(absl::string_view text, Symbol file, uint32_t first_line, Problems& problems,
              absl::FunctionRef<void(Document)> visit) {
  DocumentBuilder builder(file);
  const auto report = [&](const YAML::Mark& mark, absl::string_view message) {
    const int line = mark.is_null() ? 0 : mark.line + static_cast<int>(first_line);
    problems.AddError({file, line, mark.is_null() ? 0 : mark.column + 1}, "", std::string(message));
  };
  if (const std::optional<FlowExcess> excess = FindFlowExcess(text)) {
    const Place place = PlaceOf(text, excess->offset);
    problems.AddError(
        {file, static_cast<int>(place.line + first_line - 1), static_cast<int>(place.column)}, "",
        excess->message);
    return;
  }
  try {
    TextBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    EventHandler handler(builder, text, first_line);
    while (parser.HandleNextDocument(handler)) {
      Document document = builder.Finish();
      if (!document.root().IsNull()) visit(std::move(document));
    }
  } catch (const DocumentError& error) {
    report(error.mark, error.message);
  } catch (const YAML::Exception& error) {
    report(error.mark, absl::StrCat("not valid YAML: ", PlainMessage(error, text)));
  } catch (const std::exception& error) {  // e.g. std::length_error for a hopeless tag
    report(YAML::Mark::null_mark(), absl::StrCat("not valid YAML: ", error.what()));
  }
}

}  // namespace berth
