// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: on the seeds in a folder, and on random mutations of them.
// The mutations are the same in every run. When one crashes, it is left in a file beside the
// program, which can be run on it: berth_<name>_fuzz FILE.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kMutations = 5000;
constexpr std::chrono::seconds kPatience{15};  // fewer mutations where each takes long
std::string input;                             // the one that is running
std::string crash_file;                        // beside the program

void SaveInput(int signal) {
  std::FILE* file = std::fopen(crash_file.c_str(), "wb");
  std::fwrite(input.data(), 1, input.size(), file);
  std::fclose(file);
  std::fprintf(stderr, "crashed with signal %d; the input is in %s\n", signal, crash_file.c_str());
  std::_Exit(1);
}

void Run(std::string text) {
  input = std::move(text);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

// Changes a few bytes, or drops, repeats or inserts (from another seed) a stretch of them.
std::string Mutate(std::string text, const std::string& other, std::mt19937& random) {
  const auto below = [&random](size_t n) { return n == 0 ? 0 : random() % n; };
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    const size_t at = below(text.size() + 1);
    const size_t length = below(std::min<size_t>(text.size() - at, 32) + 1);
    switch (below(5)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 1:
        if (at < text.size()) text[at] = " :-{}[],\"'\n0159.eEkKiM/"[below(23)];
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(at, length));
        break;
      default: {
        const size_t from = below(other.size() + 1);
        text.insert(at, other.substr(from, below(33)));
      }
    }
  }
  return text;
}

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER-OF-SEEDS | FILE\n", argv[0]);
    return 2;
  }
  if (!std::filesystem::is_directory(argv[1])) {
    Run(Contents(argv[1]));
    return 0;
  }

  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds = {""};
  for (const auto& path : paths) seeds.push_back(Contents(path));

  crash_file = std::string(argv[0]) + ".crash";
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS})
    std::signal(signal, SaveInput);
  for (const std::string& seed : seeds) Run(seed);
  std::mt19937 random(1);
  const auto start = std::chrono::steady_clock::now();
  int mutations = 0;
  while (mutations < kMutations && std::chrono::steady_clock::now() - start < kPatience) {
    ++mutations;
    const std::string& seed = seeds[random() % seeds.size()];
    Run(Mutate(seed, seeds[random() % seeds.size()], random));
  }
  std::printf("%zu seeds and %d mutations of them passed\n", seeds.size(), mutations);
  return 0;
}
