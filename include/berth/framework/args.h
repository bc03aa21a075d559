// Plugin arguments: a struct with defaults and one declared table of its fields, from which
// decoding, validation and the reference page in docs/configuration.md come.
//
//   struct MyArgs {
//     int64_t seconds = 60;
//     std::vector<ResourceSpec> resources = {{"cpu", 1}};
//     static const FieldTable& Fields();
//   };
//   const FieldTable& MyArgs::Fields() {
//     static const FieldTable& table = *new FieldTable(
//         DescribeFields<MyArgs>("MyArgs", "Arguments of My.")
//             .Field("seconds", &MyArgs::seconds, "How long to wait, in seconds.", InRange(0, 900))
//             .Field("resources", &MyArgs::resources, "What to look at.")
//             .Check([](const MyArgs& args, FieldProblems& problems) {
//               if (args.resources.empty()) problems.Add("resources", "must not be empty");
//             }));
//     return table;
//   }
#ifndef BERTH_FRAMEWORK_ARGS_H_
#define BERTH_FRAMEWORK_ARGS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"
#include "berth/check.h"

namespace google::protobuf {
class Message;
}

namespace berth {

class FieldTable;

// Where problems with field values are collected, each with the field's path and its place in
// the file.
class FieldProblems {
 public:
  FieldProblems(const Value* value, std::string path, Problems& problems)
      : value_(value), path_(std::move(path)), problems_(problems) {}

  // `field` is relative to the struct being checked: "resources[0].weight". The problem is shown
  // at the deepest part of that path that is in the file.
  void Add(absl::string_view field, absl::string_view message);

 private:
  const Value* value_;  // null when everything is defaulted
  std::string path_;
  Problems& problems_;
};

// A check of one field's value; `text` says it for the reference page ("0 to 900").
struct FieldCheck {
  std::string text;
  // Returns what is wrong with the value, or "". Numbers are passed as double.
  std::function<std::string(double)> number;
  std::function<std::string(absl::string_view)> string;
};
FieldCheck InRange(double low, double high);
FieldCheck AtLeast(double low);
FieldCheck GreaterThan(double low);
FieldCheck OneOf(std::vector<std::string> words);
FieldCheck NoCheck();

// How to decode and print a value of type T: specialised for bool, int32_t, int64_t, double,
// std::string, absl::Duration (metav1.Duration), std::optional<U>, std::vector<U>,
// std::map<std::string, U>, structs that have Fields(), and std::shared_ptr<const M> of a
// protobuf message M. Opaque here; see src/framework/args.cc.
struct FieldType {
  std::string name;  // for the reference page: "integer", "list of ResourceSpec"
  const FieldTable* table = nullptr;  // of the innermost struct
  std::function<void(const Value&, const std::string& path, void* out, Problems&)> decode;
  std::function<std::string(const void*)> print;  // as YAML flow text
};
template <class T>
FieldType FieldTypeOf();

// The declared fields of one struct.
class FieldTable {
 public:
  struct FieldSpec {
    std::string name;
    std::string doc;
    FieldType type;
    FieldCheck check;
    std::function<void*(void*)> member;  // the field of a struct
  };

  const std::string& name() const { return name_; }  // "CoschedulingArgs"
  const std::string& doc() const { return doc_; }
  const std::vector<FieldSpec>& fields() const { return fields_; }

  // A struct with every default.
  std::shared_ptr<void> MakeDefault() const { return make_(); }
  // Decodes a map into `out`, strictly: unknown or duplicate fields, wrong types and failed checks
  // are problems, all of them reported. apiVersion and kind are accepted when they fit name().
  void Decode(const Value& value, const std::string& path, void* out, Problems& problems) const;
  // The checks alone, for a struct that was not read from a file (or only in part).
  void Validate(const Value* value, const std::string& path, const void* object,
                Problems& problems) const;

 protected:
  std::string name_, doc_;
  std::vector<FieldSpec> fields_;
  std::function<std::shared_ptr<void>()> make_;
  std::vector<std::function<void(const void*, FieldProblems&)>> checks_;
};

template <class T>
class FieldTableBuilder : public FieldTable {
 public:
  FieldTableBuilder(absl::string_view name, absl::string_view doc) {
    name_ = std::string(name);
    doc_ = std::string(doc);
    make_ = [] { return std::make_shared<T>(); };
  }
  template <class M>
  FieldTableBuilder& Field(absl::string_view name, M T::*member, absl::string_view doc,
                           FieldCheck check = NoCheck()) {
    fields_.push_back({std::string(name), std::string(doc), FieldTypeOf<M>(), std::move(check),
                       [member](void* object) -> void* {
                         return &(static_cast<T*>(object)->*member);
                       }});
    return *this;
  }
  // A rule over the whole struct.
  FieldTableBuilder& Check(std::function<void(const T&, FieldProblems&)> check) {
    checks_.push_back([check = std::move(check)](const void* object, FieldProblems& problems) {
      check(*static_cast<const T*>(object), problems);
    });
    return *this;
  }
};

template <class T>
FieldTableBuilder<T> DescribeFields(absl::string_view name, absl::string_view doc) {
  return FieldTableBuilder<T>(name, doc);
}

// The arguments of one plugin in one profile, decoded and validated.
class PluginArgs {
 public:
  PluginArgs() = default;  // a plugin that takes no arguments
  PluginArgs(const FieldTable* table, std::shared_ptr<const void> value)
      : table_(table), value_(std::move(value)) {}

  // The decoded struct. T is the struct the plugin was registered with.
  template <class T>
  const T& As() const {
    BERTH_CHECK(table_ == &T::Fields());
    return *static_cast<const T*>(value_.get());
  }
  const FieldTable* table() const { return table_; }
  const void* value() const { return value_.get(); }

 private:
  const FieldTable* table_ = nullptr;
  std::shared_ptr<const void> value_;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_ARGS_H_
