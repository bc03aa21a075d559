// SPDX-License-Identifier: Apache-2.0
// Value: the tree that YAML and JSON documents are both read into, with the place of every node.
#ifndef BERTH_API_VALUE_H_
#define BERTH_API_VALUE_H_

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "berth/api/problem.h"

namespace berth {

namespace internal {

struct ValueMember;
class ValueArena;

enum class ValueKind : uint8_t { kNull, kBool, kInt, kFloat, kString, kSequence, kMap };

// 24 bytes a node; text and children live in the document's arena.
struct ValueNode {
  union {
    const char* text = nullptr;  // scalars
    const ValueNode* elements;   // kSequence
    const ValueMember* members;  // kMap
  };
  uint32_t size = 0;
  uint32_t line = 0;
  uint32_t column : 29 = 0;
  uint32_t kind : 3 = 0;
};

struct ValueMember {
  ValueNode key;
  ValueNode value;
};

}  // namespace internal

// One node of a document, or nothing at all (what Find() gives for a key that is not there). A
// handle of two words, valid as long as the Document it came from; copy it freely.
//
// Scalars are classified as sigs.k8s.io/yaml does: quoted text is a string; unquoted, the YAML 1.1
// words for true, false (yes, no, on, off …) and null, numbers, and everything else a string.
class Value {
 public:
  using Kind = internal::ValueKind;
  struct Item;
  class Items;
  class Elements;

  Value() = default;  // not there
  explicit operator bool() const { return node_ != nullptr; }

  // kNull for a value that is not there.
  Kind kind() const { return node_ ? static_cast<Kind>(node_->kind) : Kind::kNull; }
  bool IsNull() const { return kind() == Kind::kNull; }
  bool IsMap() const { return kind() == Kind::kMap; }
  bool IsSequence() const { return kind() == Kind::kSequence; }
  bool IsString() const { return kind() == Kind::kString; }
  bool IsNumber() const { return kind() == Kind::kInt || kind() == Kind::kFloat; }
  // For messages: "a string", "a number", "a list", "a map", "true or false", "null".
  absl::string_view KindText() const;

  // Nullopt unless the value is of that kind and in range. AsInt64 also takes a float without a
  // fraction (1e3), AsDouble any number, AsString strings only.
  std::optional<bool> AsBool() const;
  std::optional<int64_t> AsInt64() const;
  std::optional<double> AsDouble() const;
  std::optional<absl::string_view> AsString() const;
  // The text of a scalar as it was written, without quotes; empty for others.
  absl::string_view text() const;

  // Maps. Keys that appear twice appear twice in items(); Find() gives the last of them.
  Value Find(absl::string_view key) const;
  Items items() const;  // of a value that is no map: none
  // Sequences.
  Elements elements() const;  // of a value that is no sequence: none
  // The number of items or elements.
  size_t size() const { return IsMap() || IsSequence() ? node_->size : 0; }

  // Where the value begins.
  SourceLocation where() const;

 private:
  friend class Document;
  Value(const internal::ValueNode* node, Symbol file) : node_(node), file_(file) {}

  const internal::ValueNode* node_ = nullptr;
  Symbol file_;
};

// An entry of a map. Keys are scalars, taken as text whatever their kind.
struct Value::Item {
  absl::string_view key;
  Value value;
  SourceLocation where;  // of the key
};

class Value::Items {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using pointer = const Item*;
    using reference = Item;
    Item operator*() const;
    Iterator& operator++() { return ++member_, *this; }
    friend bool operator==(Iterator a, Iterator b) { return a.member_ == b.member_; }
    friend bool operator!=(Iterator a, Iterator b) { return a.member_ != b.member_; }

   private:
    friend class Items;
    Iterator(const internal::ValueMember* member, Symbol file) : member_(member), file_(file) {}
    const internal::ValueMember* member_;
    Symbol file_;
  };
  Iterator begin() const { return {begin_, file_}; }
  Iterator end() const { return {begin_ + size_, file_}; }

 private:
  friend class Value;
  const internal::ValueMember* begin_ = nullptr;
  size_t size_ = 0;
  Symbol file_;
};

class Value::Elements {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using pointer = const Value*;
    using reference = Value;
    Value operator*() const { return Value(node_, file_); }
    Iterator& operator++() { return ++node_, *this; }
    friend bool operator==(Iterator a, Iterator b) { return a.node_ == b.node_; }
    friend bool operator!=(Iterator a, Iterator b) { return a.node_ != b.node_; }

   private:
    friend class Elements;
    Iterator(const internal::ValueNode* node, Symbol file) : node_(node), file_(file) {}
    const internal::ValueNode* node_;
    Symbol file_;
  };
  Iterator begin() const { return {begin_, file_}; }
  Iterator end() const { return {begin_ + size_, file_}; }
  Value operator[](size_t index) const { return Value(begin_ + index, file_); }
  size_t size() const { return size_; }

 private:
  friend class Value;
  const internal::ValueNode* begin_ = nullptr;
  size_t size_ = 0;
  Symbol file_;
};

// One document: owns the nodes and their text. Moving it does not move them.
class Document {
 public:
  Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  Value root() const { return Value(root_, file_); }

 private:
  friend class DocumentBuilder;
  std::unique_ptr<internal::ValueArena> arena_;
  const internal::ValueNode* root_ = nullptr;
  Symbol file_;
};

// Reads every document of `text`: multi-document YAML, JSON, concatenated JSON, or JSON lines,
// recognised by content. Calls `visit` for each; the document goes when `visit` returns unless it
// takes it. What is not well formed is reported with `file_name` and its place, and reading goes on
// with the next line (JSON) or the next "---" (YAML). Empty documents are left out. Nesting deeper
// than 200 and aliases that expand to more than 1,000,000 nodes are problems too.
void ReadDocuments(absl::string_view text, absl::string_view file_name, Problems& problems,
                   absl::FunctionRef<void(Document)> visit);
// The same, as a list.
std::vector<Document> ReadDocuments(absl::string_view text, absl::string_view file_name,
                                    Problems& problems);

}  // namespace berth

#endif  // BERTH_API_VALUE_H_
