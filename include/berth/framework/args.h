// SPDX-License-Identifier: Apache-2.0
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
//               if (args.resources.empty()) problems.Required("resources", "name at least one");
//             }));
//     return table;
//   }
#ifndef BERTH_FRAMEWORK_ARGS_H_
#define BERTH_FRAMEWORK_ARGS_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"
#include "berth/config/field_type.h"

namespace berth {

// Where problems with field values are collected, each with the field's path and its place in
// the file.
class FieldProblems {
 public:
  // `value` is what the struct was read from (nothing if all of it is defaulted), `path` its path.
  FieldProblems(Value value, std::string path, Problems& problems)
      : root_(value), root_path_(std::move(path)), problems_(problems) {}

  // `field` is relative to the struct being checked: "resources[0].weight", or "" for the struct
  // itself. The problem is shown at the deepest part of that path that is in the file. A field
  // whose value could not be read at all is not reported again.
  void Add(absl::string_view field, absl::string_view message);
  void AddWarning(absl::string_view field, absl::string_view message);

  // Problems in the words of the Kubernetes API: "Invalid value: 5: must be even".
  void Invalid(absl::string_view field, absl::string_view value, absl::string_view detail);
  void Invalid(absl::string_view field, double value, absl::string_view detail);
  void Required(absl::string_view field, absl::string_view detail);
  void Duplicate(absl::string_view field, absl::string_view value);

  // The problems of the struct in `field`; paths become relative to that.
  FieldProblems At(absl::string_view field) const;

  // Where `field` stands in the file, or the nearest thing above it that does.
  SourceLocation Where(absl::string_view field) const;
  // From now on, leaves out fields that have a problem among those added since there were `first`.
  void DropReportedSince(size_t first);

 private:
  void AddAs(Severity severity, absl::string_view field, absl::string_view message);

  Value root_;             // what locations are looked up in, by
  std::string root_path_;  // root_path_ + "." + relative_ + "." + field
  std::string relative_;
  Problems& problems_;
  size_t reported_begin_ = 0, reported_end_ = 0;  // in problems_: fields not to report again
};

// The declared fields of one struct.
class FieldTable {
 public:
  struct FieldSpec {
    std::string name;
    std::string doc;
    FieldType type;
    FieldCheck check;
    std::function<void*(void*)> member;  // the field of a struct

    const void* Of(const void* object) const { return member(const_cast<void*>(object)); }
  };

  const std::string& name() const { return name_; }  // "CoschedulingArgs"
  const std::string& doc() const { return doc_; }
  const std::vector<FieldSpec>& fields() const { return fields_; }

  // A struct with every default.
  std::shared_ptr<void> MakeDefault() const { return make_(); }
  // Decodes a map into `out`, strictly: unknown or duplicate fields, wrong types and failed checks
  // are problems, all of them reported. apiVersion and kind are accepted when they fit name().
  // Fields that are absent or null keep the value that `out` has.
  void Decode(Value value, const std::string& path, void* out, Problems& problems) const;
  // The checks alone, for a struct that was not read from a file (or only in part).
  void Validate(Value value, const std::string& path, const void* object, Problems& problems) const;
  // As YAML flow text, every field: "{name: cpu, weight: 1}". Decodes to an equal struct.
  std::string Print(const void* object) const;

  // The two halves of Decode(), for tables inside tables.
  void Read(Value value, const std::string& path, void* out, Problems& problems) const;
  void RunChecks(const void* object, FieldProblems& problems) const;

 protected:
  std::string name_, doc_;
  std::vector<FieldSpec> fields_;
  std::function<std::shared_ptr<void>()> make_;
  std::vector<std::function<void(void*)>> completions_;
  std::vector<std::function<void(const void*, FieldProblems&)>> checks_;

 private:
  bool ReadTypeMeta(const Value::Item& item, const std::string& path, Problems& problems) const;
  void ReadFields(Value value, const std::string& path, bool type_meta, void* out,
                  Problems& problems) const;
};

template <class T>
class FieldTableBuilder : public FieldTable {
 public:
  FieldTableBuilder(absl::string_view name, absl::string_view doc) {
    name_ = std::string(name);
    doc_ = std::string(doc);
    make_ = [] { return std::make_shared<T>(); };
  }
  // `name` is the field's name in YAML, `member` a member of T or of a base of it.
  template <class M, class Base>
  FieldTableBuilder& Field(absl::string_view name, M Base::*member, absl::string_view doc,
                           FieldCheck check = NoCheck()) {
    return Field(name, member, doc, FieldTypeOf<M>(), std::move(check));
  }
  // A field that is written in another way than FieldTypeOf<M>() says.
  template <class M, class Base>
  FieldTableBuilder& Field(absl::string_view name, M Base::*member, absl::string_view doc,
                           FieldType type, FieldCheck check = NoCheck()) {
    static_assert(std::derived_from<T, Base>);
    fields_.push_back(
        {std::string(name), std::string(doc), std::move(type), std::move(check),
         [member](void* object) -> void* { return &(static_cast<T*>(object)->*member); }});
    return *this;
  }
  // Fills in what depends on other fields (a weight of 0 means 1), after reading, before the
  // checks.
  FieldTableBuilder& Complete(std::function<void(T&)> complete) {
    completions_.push_back(
        [complete = std::move(complete)](void* object) { complete(*static_cast<T*>(object)); });
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
  // Every default; `table` may be null.
  static PluginArgs Defaults(const FieldTable* table);
  // From YAML or JSON text, as pluginConfig[].args would be read. Error: InvalidArgument with every
  // problem. For tests and for hosts that have no configuration file.
  static absl::StatusOr<PluginArgs> Parse(absl::string_view text, const FieldTable& table);

  // The decoded struct. T is the struct whose table the plugin was registered with. If it is not,
  // the plugin gets T's defaults, and the profile is refused in the plugin's name.
  template <class T>
  const T& As() const {
    if (table_ == &T::Fields()) return *static_cast<const T*>(value_.get());
    static const T& defaults = *new T();
    ReportMismatch(T::Fields());
    return defaults;
  }
  const FieldTable* table() const { return table_; }
  const void* value() const { return value_.get(); }
  std::string ToString() const;  // as YAML flow text; "{}" for a plugin that takes none

  // These arguments; as long as `mismatch` lives, As() sets it to what is wrong with the type that
  // it is asked for. For the framework: without `mismatch` a wrong type ends the process.
  PluginArgs ReportingTo(const std::shared_ptr<std::string>& mismatch) const;

 private:
  void ReportMismatch(const FieldTable& wanted) const;

  const FieldTable* table_ = nullptr;
  std::shared_ptr<const void> value_;
  std::weak_ptr<std::string> mismatch_;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_ARGS_H_
