// SPDX-License-Identifier: Apache-2.0
// The plugins a scheduler knows, by name.
#ifndef BERTH_FRAMEWORK_REGISTRY_H_
#define BERTH_FRAMEWORK_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/framework/plugin.h"

namespace berth {

class FieldTable;
class Handle;
class PluginArgs;

// Makes one instance for one profile. `handle` outlives it. Errors name what is wrong with `args`.
using PluginFactory =
    std::function<absl::StatusOr<std::unique_ptr<Plugin>>(const PluginArgs& args, Handle& handle)>;

struct PluginRegistration {
  std::string name;
  PluginFactory factory;
  const FieldTable* args = nullptr;  // null: takes no arguments, any field is an error
};

// Immutable; made by its Builder. Threads: any.
class Registry {
 public:
  class Builder {
   public:
    // Adds a plugin. `args` is its table of fields, of static lifetime.
    Builder& Add(absl::string_view name, PluginFactory factory);
    Builder& Add(absl::string_view name, PluginFactory factory, const FieldTable& args);
    Builder& Add(PluginRegistration registration);

    // Returns AlreadyExists, naming it, if a name was added twice ("a plugin named X already
    // exists").
    absl::StatusOr<Registry> Build() &&;

   private:
    std::vector<PluginRegistration> registrations_;
  };

  // The registration of `name`, or null.
  const PluginRegistration* Find(absl::string_view name) const;
  // All of them, by name.
  const absl::btree_map<std::string, PluginRegistration>& plugins() const { return plugins_; }

 private:
  absl::btree_map<std::string, PluginRegistration> plugins_;
};

// One plugin of your own, for RunSchedulerCommand and SchedulerOptions.
inline PluginRegistration WithPlugin(absl::string_view name, PluginFactory factory) {
  return {std::string(name), std::move(factory), nullptr};
}
inline PluginRegistration WithPlugin(absl::string_view name, PluginFactory factory,
                                     const FieldTable& args) {
  return {std::string(name), std::move(factory), &args};
}

}  // namespace berth

#endif  // BERTH_FRAMEWORK_REGISTRY_H_
