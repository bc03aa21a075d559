// SPDX-License-Identifier: Apache-2.0
// By recursive descent, one method for each rule of the grammar.
#include "cel/parser.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cel/lexer.h"
#include "cel/macros.h"

namespace berth::cel {
namespace {

using Kind = Token::Kind;

constexpr absl::string_view kOperandStarts =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
    "BYTES, IDENTIFIER}";

bool IsReserved(absl::string_view name) {
  static constexpr absl::string_view kReserved[] = {
      "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
      "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};
  return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

// "a.b.c" if `expr` is such a chain of names, else "".
std::string QualifiedName(const Expr& expr) {
  if (expr.kind == Expr::Kind::kIdentifier) return expr.name;
  if (expr.kind != Expr::Kind::kSelect || expr.is_test) return "";
  const std::string prefix = QualifiedName(*expr.target);
  return prefix.empty() ? "" : absl::StrCat(prefix, ".", expr.name);
}

// After the first complaint of the parser every method returns null.
class Parser {
 public:
  Parser(absl::string_view text, Problems& problems)
      : problems_(problems), make_(problems), tokens_(Tokenize(text, problems)) {}

  ExprPtr Run() {
    ExprPtr expr = Expression();
    if (!stopped_ && Peek().kind != Kind::kEnd) {
      const bool is_last = tokens_[at_ + 1].kind == Kind::kEnd;
      SyntaxError(absl::StrCat(is_last ? "extraneous" : "mismatched", " input '", Peek().text,
                               "' expecting <EOF>"));
    }
    return problems_.empty() ? std::move(expr) : nullptr;
  }

 private:
  static constexpr int kMostDepth = 250;  // cel-go's

  // --- Tokens ---

  const Token& Peek() const { return tokens_[at_]; }
  bool IsSymbol(absl::string_view symbol) const {
    return Peek().kind == Kind::kSymbol && Peek().text == symbol;
  }
  const Token& Next() { return tokens_[Peek().kind == Kind::kEnd ? at_ : at_++]; }
  bool Skip(absl::string_view symbol) {
    if (!IsSymbol(symbol)) return false;
    ++at_;
    return true;
  }

  std::string Shown() const {
    return Peek().kind == Kind::kEnd ? "<EOF>" : std::string(Peek().text);
  }

  ExprPtr Fail(size_t offset, absl::string_view message) {
    if (!stopped_) problems_.Add(offset, message);
    stopped_ = true;
    return nullptr;
  }
  ExprPtr SyntaxError(absl::string_view message) {
    return Fail(Peek().offset, absl::StrCat("Syntax error: ", message));
  }
  ExprPtr Mismatched(absl::string_view expected) {
    return SyntaxError(absl::StrCat("mismatched input '", Shown(), "' expecting ", expected));
  }

  bool Expect(absl::string_view symbol) {
    if (stopped_) return false;
    if (Skip(symbol)) return true;
    SyntaxError(absl::StrCat("missing '", symbol, "' at '", Shown(), "'"));
    return false;
  }

  // Whether one may go on; complaints about expressions that are too deep or too large.
  bool MayGrow(int depth) {
    if (depth > kMostDepth) {
      Fail(Peek().offset, absl::StrCat("expression recursion limit exceeded: ", kMostDepth));
    }
    if (make_.exhausted()) stopped_ = true;
    return !stopped_;
  }

  // --- Rules ---

  ExprPtr Expression() {
    ++depth_;
    ExprPtr expr = MayGrow(depth_) ? Ternary() : nullptr;
    --depth_;
    return stopped_ ? nullptr : std::move(expr);
  }

  ExprPtr Ternary() {
    ExprPtr condition = Logical(operators::kOr);
    if (stopped_ || !IsSymbol("?")) return condition;
    const size_t offset = Next().offset;
    ExprPtr yes = Logical(operators::kOr);
    if (!Expect(":")) return nullptr;
    ExprPtr no = Expression();
    if (stopped_) return nullptr;
    return Operator(offset, operators::kConditional, std::move(condition), std::move(yes),
                    std::move(no));
  }

  // Chains of || and, in them, of &&. A chain is one node, however long.
  ExprPtr Logical(absl::string_view function) {
    const bool is_or = function == operators::kOr;
    const auto operand = [&] { return is_or ? Logical(operators::kAnd) : Relation(); };
    std::vector<ExprPtr> operands;
    operands.push_back(operand());
    size_t offset = 0;
    while (!stopped_ && IsSymbol(is_or ? "||" : "&&")) {
      offset = Next().offset;
      operands.push_back(operand());
    }
    if (stopped_) return nullptr;
    if (operands.size() == 1) return std::move(operands[0]);
    return make_.Call(offset, function, std::move(operands));
  }

  struct BinaryOperator {
    absl::string_view symbol, function;
  };

  // A chain of operators that bind alike and from the left.
  template <size_t n, typename Operand>
  ExprPtr Binary(const BinaryOperator (&table)[n], Operand operand) {
    ExprPtr left = operand();
    for (int length = 1; !stopped_; ++length) {
      const auto* found = std::find_if(std::begin(table), std::end(table),
                                       [&](const auto& row) { return IsSymbol(row.symbol); });
      if (found == std::end(table)) break;
      const size_t offset = Next().offset;
      ExprPtr right = operand();
      if (stopped_ || !MayGrow(depth_ + length)) return nullptr;
      left = Operator(offset, found->function, std::move(left), std::move(right));
    }
    return left;
  }

  ExprPtr Relation() {
    static constexpr BinaryOperator kRelations[] = {{"<", "_<_"},
                                                    {"<=", "_<=_"},
                                                    {">=", "_>=_"},
                                                    {">", "_>_"},
                                                    {"==", operators::kEqual},
                                                    {"!=", operators::kNotEqual},
                                                    {"in", operators::kIn}};
    return Binary(kRelations, [this] { return Sum(); });
  }

  ExprPtr Sum() {
    static constexpr BinaryOperator kSums[] = {{"+", operators::kAdd}, {"-", "_-_"}};
    return Binary(kSums, [this] { return Product(); });
  }

  ExprPtr Product() {
    static constexpr BinaryOperator kProducts[] = {{"*", "_*_"}, {"/", "_/_"}, {"%", "_%_"}};
    return Binary(kProducts, [this] { return Unary(); });
  }

  ExprPtr Unary() {
    for (const auto& [symbol, function] :
         {BinaryOperator{"!", operators::kNot}, BinaryOperator{"-", operators::kNegate}}) {
      if (!IsSymbol(symbol) || IsNegativeNumber()) continue;
      const size_t offset = Peek().offset;
      bool odd = false;
      while (Skip(symbol)) odd = !odd;
      ExprPtr operand = Member();
      if (stopped_ || !odd) return operand;
      return Operator(offset, function, std::move(operand));
    }
    return Member();
  }

  // A minus right before a number is part of it: the smallest int can be written.
  bool IsNegativeNumber() const {
    if (!IsSymbol("-")) return false;
    const Kind next = tokens_[at_ + 1].kind;
    return next == Kind::kInt || next == Kind::kDouble;
  }

  ExprPtr Member() {
    ExprPtr expr = Primary();
    for (int length = 1; !stopped_; ++length) {
      if (IsSymbol(".")) {
        expr = Dot(std::move(expr));
      } else if (IsSymbol("[")) {
        expr = Index(std::move(expr));
      } else if (IsSymbol("{") && !QualifiedName(*expr).empty()) {
        expr = Message(std::move(expr));
      } else {
        break;
      }
      if (stopped_ || !MayGrow(depth_ + length)) return nullptr;
    }
    return expr;
  }

  ExprPtr Dot(ExprPtr target) {
    const size_t offset = Next().offset;
    const bool is_optional = Skip("?");
    if (Peek().kind == Kind::kEscapedIdentifier) {
      return Fail(Peek().offset, "unsupported syntax: '`'");
    }
    if (Peek().kind != Kind::kIdentifier) {
      return is_optional ? Mismatched("{IDENTIFIER, ESC_IDENTIFIER}") : NoMember();
    }
    const Token& name = Next();
    if (is_optional) {
      return Operator(offset, operators::kOptionalSelect, std::move(target),
                      make_.Literal(name.offset, Value::String(name.text)));
    }
    if (!IsSymbol("(")) return make_.Select(offset, std::move(target), name.text);
    const size_t open = Next().offset;
    std::vector<ExprPtr> arguments = Arguments(")");
    if (stopped_) return nullptr;
    return MacroOr(open, std::move(target), name, std::move(arguments));
  }

  ExprPtr NoMember() {
    return SyntaxError(absl::StrCat("no viable alternative at input '.", Shown(), "'"));
  }

  ExprPtr Index(ExprPtr target) {
    const size_t offset = Next().offset;
    const bool is_optional = Skip("?");
    ExprPtr index = Expression();
    if (!Expect("]")) return nullptr;
    return Operator(offset, is_optional ? operators::kOptionalIndex : operators::kIndex,
                    std::move(target), std::move(index));
  }

  // Type{field: value, …}. No environment has types of messages; what stands in it is only read.
  ExprPtr Message(ExprPtr type) {
    const size_t offset = Next().offset;
    while (!stopped_ && !IsSymbol("}")) {
      Skip("?");
      if (Next().kind != Kind::kIdentifier) return Mismatched("IDENTIFIER");
      if (!Expect(":")) return nullptr;
      Expression();
      if (stopped_ || !Skip(",")) break;
    }
    if (!Expect("}")) return nullptr;
    ExprPtr message = make_.Identifier(offset, QualifiedName(*type));
    message->kind = Expr::Kind::kMessage;
    return message;
  }

  ExprPtr Primary() {
    if (stopped_) return nullptr;
    const Token& token = Peek();
    switch (token.kind) {
      case Kind::kIdentifier:
        return Name("");
      case Kind::kSymbol:
        return Bracketed();
      case Kind::kEnd:
      case Kind::kEscapedIdentifier:
        return Mismatched(kOperandStarts);
      default:
        return Literal();
    }
  }

  ExprPtr Bracketed() {
    const size_t offset = Peek().offset;
    if (Skip("(")) {
      ExprPtr expr = Expression();
      return Expect(")") ? std::move(expr) : nullptr;
    }
    if (Skip("[")) return ListElements(offset);
    if (Skip("{")) return MapEntries(offset);
    if (IsNegativeNumber()) return Literal();
    if (Skip(".")) return Peek().kind == Kind::kIdentifier ? Name(".") : NoMember();
    if (Skip("true")) return make_.Literal(offset, Value::Bool(true));
    if (Skip("false")) return make_.Literal(offset, Value::Bool(false));
    if (Skip("null")) return make_.Literal(offset, Value());
    return Mismatched(kOperandStarts);
  }

  // A name, or the call of a function by its name. `root` is the dot that may stand before it.
  ExprPtr Name(absl::string_view root) {
    const Token& name = Next();
    if (IsReserved(name.text)) {
      return Fail(name.offset, absl::StrCat("reserved identifier: ", name.text));
    }
    if (!IsSymbol("(")) return make_.Identifier(name.offset, absl::StrCat(root, name.text));
    const size_t open = Next().offset;
    std::vector<ExprPtr> arguments = Arguments(")");
    if (stopped_) return nullptr;
    return MacroOr(open, nullptr, name, std::move(arguments));
  }

  std::vector<ExprPtr> Arguments(absl::string_view end) {
    std::vector<ExprPtr> arguments;
    if (Skip(end)) return arguments;
    do {
      arguments.push_back(Expression());
    } while (!stopped_ && Skip(","));
    Expect(end);
    return arguments;
  }

  ExprPtr ListElements(size_t offset) {
    std::vector<ExprPtr> elements;
    std::vector<bool> optional;
    while (!IsSymbol("]") && !(IsSymbol(",") && elements.empty())) {
      optional.push_back(Skip("?"));
      elements.push_back(Expression());
      if (stopped_ || !IsSymbol(",") || NextIsSymbol("]")) break;
      Next();
    }
    Skip(",");
    if (!Expect("]")) return nullptr;
    ExprPtr list = make_.List(offset, std::move(elements));
    list->optional = std::move(optional);
    return list;
  }

  ExprPtr MapEntries(size_t offset) {
    std::vector<ExprPtr> keys_and_values;
    std::vector<bool> optional;
    while (!IsSymbol("}") && !(IsSymbol(",") && optional.empty())) {
      optional.push_back(Skip("?"));
      keys_and_values.push_back(Expression());
      if (!Expect(":")) return nullptr;
      keys_and_values.push_back(Expression());
      if (stopped_ || !IsSymbol(",") || NextIsSymbol("}")) break;
      Next();
    }
    Skip(",");
    if (!Expect("}")) return nullptr;
    ExprPtr map = make_.Map(offset, std::move(keys_and_values));
    map->optional = std::move(optional);
    return map;
  }

  bool NextIsSymbol(absl::string_view symbol) const {
    if (Peek().kind == Kind::kEnd) return false;
    const Token& next = tokens_[at_ + 1];
    return next.kind == Kind::kSymbol && next.text == symbol;
  }

  ExprPtr Literal() {
    const size_t offset = Peek().offset;
    const absl::string_view sign = Skip("-") ? "-" : "";
    const Token& token = Next();
    const std::string text = absl::StrCat(sign, token.text);
    if (token.kind == Kind::kString) return make_.Literal(offset, Value::String(token.content));
    if (token.kind == Kind::kBytes) return make_.Literal(offset, Value::Bytes(token.content));
    if (token.kind == Kind::kDouble) {
      double value;
      if (!absl::SimpleAtod(text, &value) || value - value != 0) {
        return Fail(offset, "invalid double literal");
      }
      return make_.Literal(offset, Value::Double(value));
    }
    const bool is_hex = token.text.size() > 1 && token.text[1] == 'x';
    if (token.kind == Kind::kInt) {
      int64_t value;
      if (is_hex ? !absl::SimpleHexAtoi(text, &value) : !absl::SimpleAtoi(text, &value)) {
        return Fail(offset, "invalid int literal");
      }
      return make_.Literal(offset, Value::Int(value));
    }
    uint64_t value;
    const absl::string_view digits = token.text.substr(0, token.text.size() - 1);
    if (is_hex ? !absl::SimpleHexAtoi(digits, &value) : !absl::SimpleAtoi(digits, &value)) {
      return Fail(offset, "invalid uint literal");
    }
    return make_.Literal(offset, Value::Uint(value));
  }

  // --- Nodes ---

  template <typename... T>
  ExprPtr Operator(size_t offset, absl::string_view function, T... operands) {
    if (stopped_) return nullptr;
    std::vector<ExprPtr> arguments;
    (arguments.push_back(std::move(operands)), ...);
    return make_.Call(offset, function, std::move(arguments));
  }

  ExprPtr MacroOr(size_t offset, ExprPtr target, const Token& name,
                  std::vector<ExprPtr> arguments) {
    ExprPtr expr =
        CallOrMacro(make_, offset, std::move(target), std::string(name.text), std::move(arguments));
    if (!expr) stopped_ = true;
    return expr;
  }

  Problems& problems_;
  ExprFactory make_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  bool stopped_ = false;
};

}  // namespace

ExprPtr Parse(absl::string_view text, Problems& problems) { return Parser(text, problems).Run(); }

}  // namespace berth::cel
