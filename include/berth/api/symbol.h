// SPDX-License-Identifier: Apache-2.0
// Symbol: an interned string of four bytes, for the strings that are compared again and again
// (label keys and values, resource, node and namespace names, taint keys).
#ifndef BERTH_API_SYMBOL_H_
#define BERTH_API_SYMBOL_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <utility>

#include "absl/strings/string_view.h"

namespace berth {

// Equal strings are equal symbols, so == and hashing cost what they cost for an int.
//
// The pool is one per process and never forgets: the memory of every distinct string interned stays
// until the process ends. Intern what comes from a bounded vocabulary (names, keys, values seen in
// the cluster), not text made up per cycle; Find() looks up without adding.
//
// Ids depend on the order of interning. Nothing that a user sees may follow them; operator<
// compares the text.
//
// Threads: everything may be called from any thread; view() takes no lock.
class Symbol {
 public:
  // The empty string.
  constexpr Symbol() = default;

  // The symbol of `text`, added to the pool when it is new.
  static Symbol Intern(absl::string_view text);
  // The symbol of `text` if something interned it before.
  static std::optional<Symbol> Find(absl::string_view text);

  // Valid until the process ends; followed by a NUL.
  absl::string_view view() const;
  bool empty() const { return id_ == 0; }
  // A small number, dense from 0 (the empty string), for use as an index.
  uint32_t id() const { return id_; }

  friend bool operator==(Symbol a, Symbol b) { return a.id_ == b.id_; }
  friend bool operator!=(Symbol a, Symbol b) { return a.id_ != b.id_; }
  friend bool operator<(Symbol a, Symbol b) { return a.id_ != b.id_ && a.view() < b.view(); }
  template <typename H>
  friend H AbslHashValue(H h, Symbol s) {
    return H::combine(std::move(h), s.id_);
  }
  friend std::ostream& operator<<(std::ostream& out, Symbol s);

 private:
  constexpr explicit Symbol(uint32_t id) : id_(id) {}
  uint32_t id_ = 0;
};

}  // namespace berth

template <>
struct std::hash<berth::Symbol> {
  size_t operator()(berth::Symbol s) const { return s.id(); }
};

#endif  // BERTH_API_SYMBOL_H_
