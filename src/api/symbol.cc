// SPDX-License-Identifier: Apache-2.0
// The pool behind Symbol.
#include "berth/api/symbol.h"

#include "api/string_pool.h"

namespace berth {
namespace {

StringPool& Symbols() {
  static StringPool* const pool = [] {
    auto* p = new StringPool();  // never destroyed: views stay valid to the end
    p->Intern("");               // id 0
    return p;
  }();
  return *pool;
}

}  // namespace

Symbol Symbol::Intern(absl::string_view text) { return Symbol(Symbols().Intern(text)); }

std::optional<Symbol> Symbol::Find(absl::string_view text) {
  if (text.empty()) return Symbol();
  const std::optional<uint32_t> id = Symbols().Find(text);
  if (!id) return std::nullopt;
  return Symbol(*id);
}

absl::string_view Symbol::view() const { return Symbols().view(id_); }

std::ostream& operator<<(std::ostream& out, Symbol s) { return out << s.view(); }

}  // namespace berth
