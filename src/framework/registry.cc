// SPDX-License-Identifier: Apache-2.0
// The registry of plugins by name.
#include "berth/framework/registry.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "berth/framework/args.h"

namespace berth {

Registry::Builder& Registry::Builder::Add(absl::string_view name, PluginFactory factory) {
  return Add(WithPlugin(name, std::move(factory)));
}

Registry::Builder& Registry::Builder::Add(absl::string_view name, PluginFactory factory,
                                          const FieldTable& args) {
  return Add(WithPlugin(name, std::move(factory), args));
}

Registry::Builder& Registry::Builder::Add(PluginRegistration registration) {
  registrations_.push_back(std::move(registration));
  return *this;
}

absl::StatusOr<Registry> Registry::Builder::Build() && {
  Registry registry;
  for (PluginRegistration& registration : registrations_) {
    const std::string name = registration.name;
    if (name.empty()) return absl::InvalidArgumentError("a plugin has no name");
    if (!registry.plugins_.emplace(name, std::move(registration)).second) {
      return absl::AlreadyExistsError(absl::StrCat("a plugin named ", name, " already exists"));
    }
  }
  return registry;
}

const PluginRegistration* Registry::Find(absl::string_view name) const {
  const auto found = plugins_.find(name);
  return found == plugins_.end() ? nullptr : &found->second;
}

}  // namespace berth
