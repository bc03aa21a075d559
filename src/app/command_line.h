// SPDX-License-Identifier: Apache-2.0
// The command line, described once with CLI11, for parsing, help and completion.
#ifndef BERTH_SRC_APP_COMMAND_LINE_H_
#define BERTH_SRC_APP_COMMAND_LINE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "berth/cluster_server.h"
#include "process/run_options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace berth {

enum class OutputFormat { kTable, kJson, kCsv };

struct CommandOptions {
  std::vector<std::string> configs;  // one, but of validate; empty: kube-scheduler's defaults
  std::map<std::string, std::string> read_configs;  // texts of those that can be read only once
  std::vector<std::string> plugin_libraries;
  std::vector<std::string> clusters;
  std::vector<std::string> scenarios;  // instead of configs and clusters
  std::string pod;                     // "namespace/name"; empty: all
  OutputFormat output = OutputFormat::kTable;
  std::vector<std::string> imports;  // of import
  std::string output_file;           // of import; empty: standard output
  uint64_t seed = 0;
  bool all = false;  // every line of tables that are otherwise cut

  // For simulate --trace.
  std::string trace;                         // "openb"; empty: none
  std::string data = "examples/openb/data";  // folder with the trace's files
  std::string list = "default";              // which of its pod lists
  std::string decisions;                     // file to write every decision to; empty: none
  bool times = false;                        // at the trace's own times
  double until_percent = 1000;               // of demand that has arrived

  std::string plugin_address;                      // of describe-plugin
  std::string plugin_ca, plugin_cert, plugin_key;  // files; empty: none

  RunOptions run;
  ClusterServerOptions serve;  // without configuration, registry and extenders

  bool version = false;      // --version, of no command
  std::string shell;         // of completion
  std::string help_command;  // of help; empty: all of them
};

// Adds the commands of `program` to `app`; parsing writes into `options`, which outlives `app`.
void DescribeCommands(const std::string& program, CLI::App& app, CommandOptions& options);

// What is wrong with the words that CLI11 could not place; empty if it placed all.
std::string UnknownWord(const CLI::App& app);
// Which flag with one value is given more than once; empty if none.
std::string GivenTwice(const CLI::App& app);
// What the flags of the parsed command contradict or lack, beyond what CLI11 checks; or empty.
std::string Contradiction(const CLI::App& app, const CommandOptions& options);

}  // namespace berth

#endif  // BERTH_SRC_APP_COMMAND_LINE_H_
