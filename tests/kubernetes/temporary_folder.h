// SPDX-License-Identifier: Apache-2.0
// A folder that goes with the test.
#ifndef BERTH_TESTS_KUBERNETES_TEMPORARY_FOLDER_H_
#define BERTH_TESTS_KUBERNETES_TEMPORARY_FOLDER_H_

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/string_view.h"

namespace berth {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "berth-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  // Returns its path.
  std::string Write(const std::string& name, absl::string_view text) const {
    const std::string path = path_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  // A shell script that can be run.
  std::string WriteProgram(const std::string& name, absl::string_view text) const {
    std::string path = Write(name, "#!/bin/sh\n" + std::string(text));
    chmod(path.c_str(), 0755);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace berth

#endif  // BERTH_TESTS_KUBERNETES_TEMPORARY_FOLDER_H_
