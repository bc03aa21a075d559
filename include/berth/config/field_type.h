// SPDX-License-Identifier: Apache-2.0
// How a field of plugin arguments is read, checked and printed: FieldTypeOf<T>() for the types
// that arguments are made of, and the checks that a field can declare. See args.h.
#ifndef BERTH_CONFIG_FIELD_TYPE_H_
#define BERTH_CONFIG_FIELD_TYPE_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace google::protobuf {
class Message;
}

namespace berth {

class FieldProblems;
class FieldTable;

// A check of one field's value; of a list, map or optional it checks each value in it. `text` says
// it for the reference page ("0 to 900").
struct FieldCheck {
  std::string text;
  // Returns what is wrong with the value, or "". Numbers are passed as double, durations in
  // seconds.
  std::function<std::string(double)> number;
  std::function<std::string(absl::string_view)> string;
};
FieldCheck InRange(double low, double high);
FieldCheck AtLeast(double low);
FieldCheck GreaterThan(double low);
FieldCheck OneOf(std::vector<std::string> words);
FieldCheck NoCheck();

struct FieldType {
  std::string name;                   // for the reference page: "integer", "list of ResourceSpec"
  const FieldTable* table = nullptr;  // of the innermost struct
  // Reads a value that is there and not null into `out`. Types only, no checks.
  std::function<void(Value value, const std::string& path, void* out, Problems&)> read;
  // Applies `check`, and the checks of structs inside, to the object at `field`.
  std::function<void(const void* object, const FieldCheck& check, const std::string& field,
                     FieldProblems&)>
      check;
  std::function<std::string(const void* object)> print;  // as YAML flow text
};

// For bool, int32_t, int64_t, double, std::string, absl::Duration (metav1.Duration), structs that
// have `static const FieldTable& Fields()`, std::optional<U>, std::vector<U>,
// std::map<std::string, U>, and std::shared_ptr<const M> of a protobuf message M (null: absent).
// Specialise it for a type of your own that is written in another way.
template <class T>
FieldType FieldTypeOf();

namespace internal {

// What the templates below know of a container, without its type.
struct OptionalAccess {
  void* (*emplace)(void*);
  const void* (*value)(const void*);  // null if there is none
};
struct ListAccess {
  void (*clear)(void*);
  void* (*append)(void*);
  size_t (*size)(const void*);
  const void* (*at)(const void*, size_t);
};
struct MapAccess {
  void (*clear)(void*);
  void* (*insert)(void*, absl::string_view);
  void (*visit)(const void*, const std::function<void(const std::string&, const void*)>&);
};
struct MessageAccess {
  const google::protobuf::Message& (*prototype)();
  google::protobuf::Message* (*make)(void*);
  const google::protobuf::Message* (*value)(const void*);  // null if there is none
};

FieldType BoolType();
FieldType Int32Type();
FieldType Int64Type();
FieldType DoubleType();
FieldType StringType();
FieldType DurationType();
FieldType StructType(const FieldTable& table);
FieldType OptionalType(const FieldType& element, OptionalAccess access);
FieldType ListType(const FieldType& element, ListAccess access);
FieldType MapType(const FieldType& element, MapAccess access);
FieldType MessageType(MessageAccess access);

template <class T>
struct TypeOf {
  static FieldType Make() {
    if constexpr (std::same_as<T, bool>) {
      return BoolType();
    } else if constexpr (std::same_as<T, int32_t>) {
      return Int32Type();
    } else if constexpr (std::same_as<T, int64_t>) {
      return Int64Type();
    } else if constexpr (std::same_as<T, double>) {
      return DoubleType();
    } else if constexpr (std::same_as<T, std::string>) {
      return StringType();
    } else if constexpr (std::same_as<T, absl::Duration>) {
      return DurationType();
    } else {
      static_assert(std::is_class_v<T>, "no FieldTypeOf() for this type; see field_type.h");
      return StructType(T::Fields());
    }
  }
};

template <class U>
struct TypeOf<std::optional<U>> {
  static FieldType Make() {
    using T = std::optional<U>;
    return OptionalType(FieldTypeOf<U>(),
                        {[](void* object) -> void* { return &static_cast<T*>(object)->emplace(); },
                         [](const void* object) -> const void* {
                           const T& optional = *static_cast<const T*>(object);
                           return optional.has_value() ? &*optional : nullptr;
                         }});
  }
};

template <class U>
struct TypeOf<std::vector<U>> {
  static_assert(!std::same_as<U, bool>);
  static FieldType Make() {
    using T = std::vector<U>;
    return ListType(FieldTypeOf<U>(),
                    {[](void* object) { static_cast<T*>(object)->clear(); },
                     [](void* object) -> void* { return &static_cast<T*>(object)->emplace_back(); },
                     [](const void* object) { return static_cast<const T*>(object)->size(); },
                     [](const void* object, size_t index) -> const void* {
                       return &(*static_cast<const T*>(object))[index];
                     }});
  }
};

template <class U>
struct TypeOf<std::map<std::string, U>> {
  static FieldType Make() {
    using T = std::map<std::string, U>;
    return MapType(
        FieldTypeOf<U>(),
        {[](void* object) { static_cast<T*>(object)->clear(); },
         [](void* object, absl::string_view key) -> void* {
           return &(*static_cast<T*>(object))[std::string(key)];
         },
         [](const void* object, const std::function<void(const std::string&, const void*)>& visit) {
           for (const auto& [key, value] : *static_cast<const T*>(object)) visit(key, &value);
         }});
  }
};

template <class M>
struct TypeOf<std::shared_ptr<const M>> {
  static FieldType Make() {
    using T = std::shared_ptr<const M>;
    return MessageType({[]() -> const google::protobuf::Message& { return M::default_instance(); },
                        [](void* object) -> google::protobuf::Message* {
                          auto message = std::make_shared<M>();
                          google::protobuf::Message* raw = message.get();
                          *static_cast<T*>(object) = std::move(message);
                          return raw;
                        },
                        [](const void* object) -> const google::protobuf::Message* {
                          return static_cast<const T*>(object)->get();
                        }});
  }
};

}  // namespace internal

template <class T>
FieldType FieldTypeOf() {
  return internal::TypeOf<T>::Make();
}

}  // namespace berth

#endif  // BERTH_CONFIG_FIELD_TYPE_H_
