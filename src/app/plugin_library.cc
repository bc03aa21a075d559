// SPDX-License-Identifier: Apache-2.0
// Implementation of plugin_library.h.
#include "app/plugin_library.h"

#include <dlfcn.h>

#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/input_file.h"
#include "berth/plugin_library.h"

namespace berth {
namespace {

constexpr absl::string_view kSign = BERTH_PLUGIN_LIBRARY_SIGN;
constexpr absl::string_view kIdentity = BERTH_BUILD_IDENTITY;
constexpr size_t kLongestIdentity = 400;

// What the library says it was built for.
std::optional<absl::string_view> IdentityIn(absl::string_view library) {
  const size_t sign = library.find(kSign);
  if (sign == absl::string_view::npos) return std::nullopt;
  const absl::string_view rest = library.substr(sign + kSign.size(), kLongestIdentity);
  return rest.substr(0, rest.find('\0'));
}

absl::Status CheckFile(const std::string& path) {
  const absl::StatusOr<std::string> bytes = ReadInputFile(path);
  if (!bytes.ok()) {
    return absl::NotFoundError(absl::StrCat("cannot be read: ", bytes.status().message()));
  }
  if (!absl::StartsWith(*bytes,
                        "\x7f"
                        "ELF")) {
    return absl::InvalidArgumentError("is no shared object");
  }
  const std::optional<absl::string_view> identity = IdentityIn(*bytes);
  if (!identity.has_value()) {
    return absl::InvalidArgumentError(
        "is no plugin library: it lacks berth_plugin_library_identity, which "
        "BERTH_PLUGIN_LIBRARY of berth/plugin_library.h defines");
  }
  if (*identity != kIdentity) {
    return absl::FailedPreconditionError(absl::StrCat("was built for ", *identity, ", and this is ",
                                                      kIdentity,
                                                      "; build it again with this one's headers"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PluginRegistration>> Load(const std::string& path) {
  if (absl::Status checked = CheckFile(path); !checked.ok()) return checked;
  // By its place: a bare name would be looked for where the system has its libraries.
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  void* const library = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("cannot be loaded: ", dlerror()));
  }
  void* const symbol = dlsym(library, "berth_plugin_library_registrations");
  if (symbol == nullptr) {
    return absl::InvalidArgumentError(
        "is no plugin library: it lacks berth_plugin_library_registrations, which "
        "BERTH_PLUGIN_LIBRARY of berth/plugin_library.h defines");
  }
  std::vector<PluginRegistration> registrations;
  reinterpret_cast<void (*)(std::vector<PluginRegistration>&)>(symbol)(registrations);
  return registrations;
}

}  // namespace

absl::StatusOr<std::vector<PluginRegistration>> LoadPluginLibrary(const std::string& path) {
  absl::StatusOr<std::vector<PluginRegistration>> loaded;
  try {
    loaded = Load(path);
  } catch (const std::exception& thrown) {
    loaded = absl::InternalError(absl::StrCat("threw: ", thrown.what()));
  }
  if (loaded.ok()) return loaded;
  return absl::Status(loaded.status().code(),
                      absl::StrCat("--plugin-library ", path, ": ", loaded.status().message()));
}

}  // namespace berth
