// SPDX-License-Identifier: Apache-2.0
// Builds the tree of a Document from the events of a YAML or JSON parser.
#ifndef BERTH_SRC_API_DOCUMENT_BUILDER_H_
#define BERTH_SRC_API_DOCUMENT_BUILDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/api/symbol.h"
#include "berth/api/value.h"

namespace berth {

// What a document may not exceed, so that no input can exhaust the stack or the memory.
inline constexpr int kMaxDepth = 200;
inline constexpr int64_t kMaxAliasedNodes = 1'000'000;  // that aliases stand for, in all

// A place in the file, both from 1.
struct Place {
  uint32_t line = 0;
  uint32_t column = 0;
};

// The place of the byte at `offset` in a text.
Place PlaceOf(absl::string_view text, size_t offset);

namespace internal {

// Memory for nodes and text that is freed all at once.
class ValueArena {
 public:
  // Aligned for ValueNode.
  char* Allocate(size_t bytes);
  absl::string_view Copy(absl::string_view text);

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  size_t free_size_ = 0;
  size_t next_block_ = 2048;
};

}  // namespace internal

// For one document after another: events, Finish(), events, Finish() …
class DocumentBuilder {
 public:
  using Kind = internal::ValueKind;
  using Node = internal::ValueNode;

  explicit DocumentBuilder(Symbol file) : file_(file) { Reset(); }

  // Memory of the current document.
  internal::ValueArena& arena() { return *arena_; }

  // Events, depth first; the entries of a map as key, value, key, value. `text` must live in
  // arena() or longer.
  void Scalar(Kind kind, absl::string_view text, Place place);
  void Begin(Kind kind, Place place);  // kSequence or kMap
  // Ends what was begun last and returns its node.
  const Node& End();
  // Adds a node that End() or Scalar() made before in the same document.
  void Add(Node node, Place place);
  // The node added last.
  const Node& last() const { return pending_.back(); }

  int depth() const { return static_cast<int>(open_.size()); }
  // Whether the next event is the key of a map.
  bool ExpectsKey() const;
  bool empty() const { return pending_.empty(); }

  // The finished document, or an empty one if there was no event; ready for the next.
  Document Finish();
  // Forgets what there is of the document.
  void Reset();

 private:
  struct Open {
    size_t begin;  // its children in pending_ start here
    Kind kind;
    Place place;
  };
  // Replaces the entries of `<<` keys in the map that starts at `begin` by what they stand for.
  void ResolveMergeKeys(size_t begin);

  Symbol file_;
  std::unique_ptr<internal::ValueArena> arena_;
  std::vector<Node> pending_;
  std::vector<Open> open_;
};

}  // namespace berth

#endif  // BERTH_SRC_API_DOCUMENT_BUILDER_H_
