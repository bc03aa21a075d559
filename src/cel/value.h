// SPDX-License-Identifier: Apache-2.0
// The values of expressions.
#ifndef BERTH_SRC_CEL_VALUE_H_
#define BERTH_SRC_CEL_VALUE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cel/type.h"

namespace berth::cel {

class Value;
class Opaque;

struct NullValue {};
// Nanoseconds, as Go's time.Duration.
struct DurationValue {
  int64_t nanoseconds = 0;
};
// An instant, and how far east of UTC the clock was that it was read from.
struct TimestampValue {
  absl::Time time;
  int offset_seconds = 0;
};
struct BytesValue {
  std::shared_ptr<const std::string> text;
};
// A type as a value: its name.
struct TypeValue {
  std::shared_ptr<const std::string> name;
};
struct OptionalValue {
  std::shared_ptr<const Value> value;  // null: none
};
// Why an expression has no value.
struct ErrorValue {
  std::shared_ptr<const std::string> text;
};

struct List;
class Map;

using ListPointer = std::shared_ptr<List>;
using MapPointer = std::shared_ptr<Map>;
using OpaquePointer = std::shared_ptr<const Opaque>;

// A value, or the error that is in its place. Cheap to copy: what is long is shared, and nobody
// changes what others may see.
class Value {
 public:
  using Content =
      std::variant<NullValue, bool, int64_t, uint64_t, double, std::shared_ptr<const std::string>,
                   BytesValue, DurationValue, TimestampValue, ListPointer, MapPointer, TypeValue,
                   OptionalValue, OpaquePointer, ErrorValue>;

  Value() = default;  // null
  explicit Value(Content content) : content_(std::move(content)) {}

  static Value Bool(bool b) { return Value(Content(b)); }
  static Value Int(int64_t i) { return Value(Content(i)); }
  static Value Uint(uint64_t u) { return Value(Content(u)); }
  static Value Double(double d) { return Value(Content(d)); }
  static Value String(absl::string_view text);
  static Value Bytes(absl::string_view text);
  static Value Duration(int64_t nanoseconds) { return Value(DurationValue{nanoseconds}); }
  static Value Timestamp(absl::Time time, int offset_seconds = 0) {
    return Value(TimestampValue{time, offset_seconds});
  }
  static Value TypeNamed(absl::string_view name);
  static Value None() { return Value(OptionalValue{}); }
  static Value Error(absl::string_view text);
  static Value NoSuchOverload() { return Error("no such overload"); }

  // These three are errors if the value would be nested too deeply to work with.
  static Value MakeList(std::vector<Value> elements);
  static Value MakeMap(Map map);
  static Value Some(Value value);

  Kind kind() const;
  bool IsError() const { return Is<ErrorValue>(); }
  bool IsTrue() const { return Is<bool>() && Get<bool>(); }
  bool IsFalse() const { return Is<bool>() && !Get<bool>(); }

  template <typename T>
  bool Is() const {
    return std::holds_alternative<T>(content_);
  }
  template <typename T>
  const T& Get() const {
    return std::get<T>(content_);
  }

  bool IsString() const { return Is<std::shared_ptr<const std::string>>(); }
  // The bytes of a string, bytes, the name of a type, or the text of an error.
  absl::string_view text() const;
  bool IsList() const { return Is<ListPointer>(); }
  const std::vector<Value>& elements() const;
  bool IsMap() const { return Is<MapPointer>(); }
  const Map& map() const { return *Get<MapPointer>(); }
  bool IsOptional() const { return Is<OptionalValue>(); }
  // Null if there is none.
  const Value* optional() const { return Get<OptionalValue>().value.get(); }

  // The value as a T, which is a subclass of Opaque; null if it is none.
  template <typename T>
  const T* As() const {
    return Is<OpaquePointer>() ? dynamic_cast<const T*>(Get<OpaquePointer>().get()) : nullptr;
  }

  // "int", "kubernetes.Semver", …
  absl::string_view type_name() const;
  int depth() const;

  // Lists and maps to which there is no other reference may be changed.
  Content& content() { return content_; }
  const Content& content() const { return content_; }

 private:
  Content content_;
};

struct List {
  std::vector<Value> elements;
  int depth = 1;  // of lists, maps and optional values in each other
};

// A map. The entries are in the order in which they were put in.
class Map {
 public:
  struct Entry {
    Value key, value;
  };

  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  int depth() const { return depth_; }

  // Puts in, or replaces. False: values of this kind cannot be keys.
  bool Set(const Value& key, Value value);
  // The value behind `key`, or null. Numbers of different kinds are equal if their amounts are.
  const Value* Find(const Value& key) const;

  // What a look-up of an unknown key finds instead: apiserver's map of domains of a device. Neither
  // Find nor iteration see it.
  const std::shared_ptr<const Value>& fallback() const { return fallback_; }
  void set_fallback(Value fallback);

 private:
  // Any number that is an integer is a key as that integer. Lists and maps are keys as what they
  // are, not as what is in them: another one is another key, as in cel-go.
  struct OtherKey {
    Kind kind;
    std::string text = "";  // a type's name, a time
    int64_t first = 0;      // nanoseconds, the offset of a time, which list or map it is
    friend bool operator==(const OtherKey&, const OtherKey&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const OtherKey& key) {
      return H::combine(std::move(h), key.kind, key.text, key.first);
    }
  };
  using Key = std::variant<bool, int64_t, uint64_t, double, std::string, std::monostate, OtherKey>;
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::visit([](const auto& one) { return absl::HashOf(one); }, key);
    }
  };
  static std::optional<Key> KeyOf(const Value& value);

  std::vector<Entry> entries_;
  absl::flat_hash_map<Key, size_t, KeyHash> index_;
  std::shared_ptr<const Value> fallback_;
  int depth_ = 1;
};

inline const std::vector<Value>& Value::elements() const { return Get<ListPointer>()->elements; }

// A value of a library: its type has a name and no parts that expressions see.
class Opaque {
 public:
  virtual ~Opaque() = default;
  virtual absl::string_view type_name() const = 0;
  // Whether it equals `other`, which may be of another type: then nullopt, "no such overload".
  virtual std::optional<bool> Equals(const Opaque& other) const = 0;
  // How many bytes it has for what calls cost; 1 for most.
  virtual uint64_t size() const { return 1; }
};

// Values as lists or maps hold them do not get deeper than this.
inline constexpr int kMaxValueDepth = 200;

// The amount of a number as cel-go compares them across types: -1, 0, 1, or nullopt for NaN.
// Requires that both are int, uint or double.
std::optional<int> CompareNumbers(const Value& a, const Value& b);
bool IsNumber(const Value& value);

// Whether there is an order among values of its kind.
bool HasOrder(const Value& value);
// -1, 0 or 1 for values that have an order among each other; nullopt if they have none.
std::optional<int> Compare(const Value& a, const Value& b);

// As a key or an index in messages: text of strings, decimal for numbers.
std::string ToDisplay(const Value& value);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_VALUE_H_
