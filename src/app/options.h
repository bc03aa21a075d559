// The words of the command line.
#ifndef BERTH_SRC_APP_OPTIONS_H_
#define BERTH_SRC_APP_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace berth {

enum class OutputFormat { kTable, kJson, kCsv };

struct CommandOptions {
  std::string config;
  std::vector<std::string> clusters;
  std::vector<std::string> scenarios;  // instead of config and clusters
  std::string pod;                     // "namespace/name"; empty: all
  OutputFormat output = OutputFormat::kTable;
  uint64_t seed = 0;

  // Of simulate --trace.
  std::string trace;                         // "openb"; empty: none
  std::string data = "examples/openb/data";  // folder with the trace's files
  std::string list = "default";              // which of its pod lists
  std::string decisions;                     // file to write every decision to; empty: none
  bool times = false;                        // at the trace's own times
  double until_percent = 1000;               // of demand that has arrived
};

// Which flags a command knows, by name without dashes.
struct FlagSet {
  bool cluster = false;
  bool scenario = false;
  bool pod = false;
  bool output = false;
  bool seed = false;
  bool trace = false;
};

// Reads the words after the command's name: `--flag value` and `--flag=value`; `--cluster`
// and `--scenario` take all words up to the next flag, and may repeat. Error: InvalidArgument, to
// be shown with the usage.
absl::StatusOr<CommandOptions> ParseOptions(absl::Span<char* const> words, const FlagSet& known);

}  // namespace berth

#endif  // BERTH_SRC_APP_OPTIONS_H_
