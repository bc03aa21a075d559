// SPDX-License-Identifier: Apache-2.0
// The types of expressions.
#ifndef BERTH_SRC_CEL_TYPE_H_
#define BERTH_SRC_CEL_TYPE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace berth::cel {

enum class Kind : uint8_t {
  kDyn,    // any value; what does not fit shows when it is evaluated
  kAny,    // the same, for attributes of devices: google.protobuf.Any
  kError,  // of an expression that has been complained about
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kDuration,
  kTimestamp,
  kList,       // parameter: elements
  kMap,        // parameters: keys, values
  kType,       // of a type; parameter: that type
  kOpaque,     // by name, with parameters: optional_type, net.IP
  kStruct,     // by name: kubernetes.Quantity; may have fields
  kParameter,  // stands for a type, in the declaration of a function or while checking
};

// A type. Immutable and cheap to copy.
class Type {
 public:
  Type() : Type(Dyn()) {}

  // A kind without parameters and name of its own: kDyn to kTimestamp.
  static Type Simple(Kind kind);
  static Type Dyn() { return Simple(Kind::kDyn); }
  static Type Any() { return Simple(Kind::kAny); }
  static Type Error() { return Simple(Kind::kError); }
  static Type Null() { return Simple(Kind::kNull); }
  static Type Bool() { return Simple(Kind::kBool); }
  static Type Int() { return Simple(Kind::kInt); }
  static Type Uint() { return Simple(Kind::kUint); }
  static Type Double() { return Simple(Kind::kDouble); }
  static Type String() { return Simple(Kind::kString); }
  static Type Bytes() { return Simple(Kind::kBytes); }
  static Type Duration() { return Simple(Kind::kDuration); }
  static Type Timestamp() { return Simple(Kind::kTimestamp); }
  static Type List(Type element);
  static Type Map(Type key, Type value);
  static Type Optional(Type value);
  static Type Of(Type type);
  static Type Opaque(absl::string_view name, std::vector<Type> parameters = {});
  static Type Struct(absl::string_view name);
  // `number` tells the parameters of one declaration, or of one check, apart.
  static Type Parameter(int number);

  Kind kind() const { return rep_->kind; }
  // As at run time: "list", "google.protobuf.Duration", "kubernetes.Semver".
  const std::string& name() const { return rep_->name; }
  absl::Span<const Type> parameters() const { return rep_->parameters; }
  int number() const { return rep_->number; }
  // How many types it is made of. A type that names another twice doubles with each level.
  int64_t size() const { return rep_->size; }

  bool IsDyn() const { return kind() == Kind::kDyn || kind() == Kind::kAny; }
  bool IsOptional() const;

  // The same kind, name and parameters; parameters of functions by number.
  friend bool operator==(const Type& a, const Type& b);
  friend bool operator!=(const Type& a, const Type& b) { return !(a == b); }

  // As cel-go writes a type in complaints ("duration"), and as it names it as a result.
  std::string ToString() const;
  std::string DeclaredName() const;

 private:
  struct Rep {
    Kind kind;
    std::string name;
    std::vector<Type> parameters;
    int number = 0;
    int64_t size = 1;
  };
  explicit Type(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
  static Type Make(Kind kind, absl::string_view name, std::vector<Type> parameters);

  std::shared_ptr<const Rep> rep_;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_TYPE_H_
