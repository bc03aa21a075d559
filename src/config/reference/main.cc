// SPDX-License-Identifier: Apache-2.0
// Writes docs/configuration.md: an introduction, then the reference of all built-in plugins.
//
//   berth_configuration_reference INTRODUCTION OUTPUT          writes OUTPUT
//   berth_configuration_reference --check INTRODUCTION OUTPUT  fails if OUTPUT is not what it
//   writes
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "berth/builtin_plugins.h"
#include "config/reference.h"

namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc > 1 && std::string(argv[1]) == "--check";
  if (argc != (check ? 4 : 3)) {
    std::cerr << "usage: " << argv[0] << " [--check] INTRODUCTION OUTPUT\n";
    return 2;
  }
  const std::string introduction = argv[argc - 2];
  const std::string output = argv[argc - 1];

  const absl::StatusOr<berth::Registry> registry = berth::BuiltinRegistry();
  if (!registry.ok()) {
    std::cerr << registry.status() << "\n";
    return 1;
  }
  const std::string page = ReadFile(introduction) + berth::ConfigurationReference(*registry);
  if (check) {
    if (ReadFile(output) == page) return 0;
    std::cerr << output << " is out of date. To write it again:\n\n  " << argv[0] << " "
              << introduction << " " << output << "\n";
    return 1;
  }
  std::ofstream out(output, std::ios::binary);
  out << page;
  out.close();
  if (!out) {
    std::perror(output.c_str());
    return 1;
  }
  return 0;
}
