// SPDX-License-Identifier: Apache-2.0
// Builds the tree of a Document: see document_builder.h.
#include "api/document_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "berth/check.h"

namespace berth {
namespace internal {

char* ValueArena::Allocate(size_t bytes) {
  bytes = (bytes + alignof(ValueNode) - 1) / alignof(ValueNode) * alignof(ValueNode);
  if (bytes > free_size_) {
    const size_t block = std::max(bytes, next_block_);
    next_block_ = std::min<size_t>(next_block_ * 2, 1 << 20);
    blocks_.emplace_back(new char[block]);
    free_ = blocks_.back().get();
    free_size_ = block;
  }
  char* const place = free_;
  free_ += bytes;
  free_size_ -= bytes;
  return place;
}

absl::string_view ValueArena::Copy(absl::string_view text) {
  if (text.empty()) return absl::string_view("", 0);
  char* const place = Allocate(text.size());
  std::memcpy(place, text.data(), text.size());
  return absl::string_view(place, text.size());
}

}  // namespace internal

Place PlaceOf(absl::string_view text, size_t offset) {
  const absl::string_view before = text.substr(0, offset);
  const size_t newline = before.rfind('\n');
  const size_t line_begin = newline == absl::string_view::npos ? 0 : newline + 1;
  return {static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<uint32_t>(offset - line_begin) + 1};
}

void DocumentBuilder::Reset() {
  arena_ = std::make_unique<internal::ValueArena>();
  pending_.clear();
  open_.clear();
}

bool DocumentBuilder::ExpectsKey() const {
  return !open_.empty() && open_.back().kind == Kind::kMap &&
         (pending_.size() - open_.back().begin) % 2 == 0;
}

void DocumentBuilder::Add(Node node, Place place) {
  node.line = place.line;
  node.column = place.column;
  pending_.push_back(node);
}

void DocumentBuilder::Scalar(Kind kind, absl::string_view text, Place place) {
  Node node;
  node.text = text.data();
  node.size = static_cast<uint32_t>(text.size());
  node.kind = static_cast<uint32_t>(kind);
  Add(node, place);
}

void DocumentBuilder::Begin(Kind kind, Place place) {
  open_.push_back({pending_.size(), kind, place});
}

const internal::ValueNode& DocumentBuilder::End() {
  const Open open = open_.back();
  open_.pop_back();
  if (open.kind == Kind::kMap) ResolveMergeKeys(open.begin);
  const size_t count = pending_.size() - open.begin;
  char* const children = arena_->Allocate(count * sizeof(Node));
  if (count > 0) std::memcpy(children, pending_.data() + open.begin, count * sizeof(Node));
  pending_.resize(open.begin);

  Node node;
  node.kind = static_cast<uint32_t>(open.kind);
  static_assert(sizeof(internal::ValueMember) == 2 * sizeof(Node));
  if (open.kind == Kind::kMap) {
    BERTH_DCHECK(count % 2 == 0);
    node.members = reinterpret_cast<const internal::ValueMember*>(children);
    node.size = static_cast<uint32_t>(count / 2);
  } else {
    node.elements = reinterpret_cast<const Node*>(children);
    node.size = static_cast<uint32_t>(count);
  }
  Add(node, open.place);
  return pending_.back();
}

// YAML's merge key: the entries of the map (or of each map in the list) that `<<` names count as
// the map's own unless it has the key itself.
void DocumentBuilder::ResolveMergeKeys(size_t begin) {
  const auto text = [](const Node& key) { return absl::string_view(key.text, key.size); };
  const auto is_merge = [&](const Node& key) {
    return key.kind == static_cast<uint32_t>(Kind::kNull) && text(key) == "<<";
  };
  std::vector<const Node*> sources;
  bool found = false;
  for (size_t i = begin; i + 1 < pending_.size(); i += 2) {
    if (!is_merge(pending_[i])) continue;
    found = true;
    const Node& value = pending_[i + 1];
    if (value.kind == static_cast<uint32_t>(Kind::kMap)) sources.push_back(&value);
    if (value.kind != static_cast<uint32_t>(Kind::kSequence)) continue;
    for (uint32_t e = 0; e < value.size; ++e) {
      if (value.elements[e].kind == static_cast<uint32_t>(Kind::kMap)) {
        sources.push_back(&value.elements[e]);
      }
    }
  }
  if (!found) return;

  std::vector<Node> merged;
  const auto has = [&](absl::string_view key) {
    for (size_t i = 0; i < merged.size(); i += 2) {
      if (text(merged[i]) == key) return true;
    }
    return false;
  };
  for (size_t i = begin; i < pending_.size(); i += 2) {
    if (is_merge(pending_[i])) continue;
    merged.push_back(pending_[i]);
    merged.push_back(pending_[i + 1]);
  }
  for (const Node* source : sources) {
    for (uint32_t m = 0; m < source->size; ++m) {
      if (has(text(source->members[m].key))) continue;
      merged.push_back(source->members[m].key);
      merged.push_back(source->members[m].value);
    }
  }
  pending_.resize(begin);
  pending_.insert(pending_.end(), merged.begin(), merged.end());
}

Document DocumentBuilder::Finish() {
  BERTH_DCHECK(open_.empty() && pending_.size() <= 1);
  Document document;
  if (!pending_.empty()) {
    Node* const root = reinterpret_cast<Node*>(arena_->Allocate(sizeof(Node)));
    *root = pending_.front();
    document.root_ = root;
  }
  document.file_ = file_;
  document.arena_ = std::move(arena_);
  Reset();
  return document;
}

}  // namespace berth
