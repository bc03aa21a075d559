// SPDX-License-Identifier: Apache-2.0
// RunSchedulerCommand: reads the command line and runs what it asks for.
#include "berth/command.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/input_file.h"
#include "app/command_line.h"
#include "app/commands.h"
#include "app/completion.h"
#include "app/plugin_library.h"
#include "app/run_flags.h"
#include "app/terminal.h"
#include "berth/builtin_plugins.h"
#include "berth/remote_plugins.h"
#include "berth/version.h"

namespace berth {
namespace {

constexpr int kUsageStatus = 2;

struct Command {
  absl::string_view name;
  int (*run)(const CommandOptions&, const Registry&);
};

constexpr Command kCommands[] = {
    {"run", &RunScheduler},   {"validate", &RunValidate},
    {"convert", &RunConvert}, {"explain", &RunExplain},
    {"import", &RunImport},   {"simulate", &RunSimulate},
    {"serve", &RunServe},     {"describe-plugin", &RunDescribePlugin},
};

// A standard stream that is closed would be the next file that is opened. Reading or writing it
// fails instead: it is opened for the other direction.
void KeepStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
      open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

std::string ProgramName(int argc, char** argv) {
  const absl::string_view path = argc > 0 ? absl::string_view(argv[0]) : absl::string_view();
  const absl::string_view name = path.substr(path.rfind('/') + 1);  // of npos: all of it
  return name.empty() ? "berth" : std::string(name);
}

class CommandRun {
 public:
  CommandRun(std::string program, std::vector<PluginRegistration> plugins)
      : program_(std::move(program)), plugins_(std::move(plugins)) {
    DescribeCommands(program_, app_, options_);
  }

  int Run(std::vector<std::string> words) {
    if (!words.empty() && words.front() == kCompleteCommand) {
      words.erase(words.begin());
      PrintRaw(stdout, Complete(app_, words));
      return 0;
    }
    if (words.empty()) return Usage("no command given", app_);
    if (words.front() == "run") SplitShortFlags(words);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    try {
      app_.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
      return Help(ParsedCommand());
    } catch (const CLI::ExtrasError&) {
      return Usage(UnknownWord(app_), ParsedCommand());
    } catch (const CLI::ParseError& error) {
      // What CLI11 would complain about last, and in other words.
      for (const std::string& problem : {UnknownWord(app_), GivenTwice(app_)}) {
        if (!problem.empty()) return Usage(problem, ParsedCommand());
      }
      return Usage(error.what(), ParsedCommand());
    }
    const std::string problem = Contradiction(app_, options_);
    if (!problem.empty()) return Usage(problem, ParsedCommand());
    return RunParsed();
  }

 private:
  CLI::App& ParsedCommand() {
    return app_.get_subcommands().empty() ? app_ : *app_.get_subcommands().front();
  }

  int Help(const CLI::App& command) {
    const std::string name =
        &command == &app_ ? program_ : absl::StrCat(program_, " ", command.get_name());
    Print(stdout, command.get_formatter()->make_help(&command, name, CLI::AppFormatMode::Normal));
    return 0;
  }

  int Usage(absl::string_view problem, const CLI::App& command) {
    Print(stderr, absl::StrCat(program_, ": ", problem, "\nRun '", program_,
                               &command == &app_ ? "" : absl::StrCat(" ", command.get_name()),
                               " --help' for what it takes.\n"));
    return kUsageStatus;
  }

  int RunParsed() {
    const std::string& name = ParsedCommand().get_name();
    if (name == "version" || options_.version) {
      Print(stdout, absl::StrCat(program_, " ", kVersion, "\n"));
      return 0;
    }
    if (name == "help") {
      if (options_.help_command.empty()) return Help(app_);
      for (const CLI::App* command : std::as_const(app_).get_subcommands({})) {
        if (command->get_name() == options_.help_command) return Help(*command);
      }
      return Usage(absl::StrCat("unknown command \"", options_.help_command, "\""), app_);
    }
    if (name == "completion") {
      PrintRaw(stdout, CompletionScript(options_.shell, program_));
      return 0;
    }
    for (const Command& command : kCommands) {
      if (command.name != name) continue;
      AddRemotePlugins();
      for (const std::string& path : options_.plugin_libraries) {
        absl::StatusOr<std::vector<PluginRegistration>> loaded = LoadPluginLibrary(path);
        if (!loaded.ok()) {
          PrintError(loaded.status().message());
          return 1;
        }
        for (PluginRegistration& plugin : *loaded) plugins_.push_back(std::move(plugin));
      }
      const absl::StatusOr<Registry> registry = BuiltinRegistry(std::move(plugins_));
      if (registry.ok()) return command.run(options_, *registry);
      PrintError(registry.status().message());
      return 1;
    }
    return Usage("no command given", app_);
  }

  // Those of the configurations. What can be read only once, a pipe say, is kept for the command.
  void AddRemotePlugins() {
    std::set<std::string> names;
    for (const std::string& path : options_.configs) {
      const absl::StatusOr<std::string> text = ReadInputFile(path);
      if (!text.ok()) continue;  // the command says so
      std::error_code none;
      if (!std::filesystem::is_regular_file(path, none)) options_.read_configs[path] = *text;
      if (!absl::StrContains(*text, "RemotePluginArgs")) continue;
      for (PluginRegistration& plugin : RemotePluginsIn(*text)) {
        if (names.insert(plugin.name).second) plugins_.push_back(std::move(plugin));
      }
    }
  }

  const std::string program_;
  std::vector<PluginRegistration> plugins_;
  CommandOptions options_;
  CLI::App app_;
};

// `status`, or 1 if some of the output went nowhere.
int Finish(int status) {
  errno = 0;
  const bool failed = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed) return status;
  PrintError(absl::StrCat("the output could not be written",
                          errno == 0 ? "" : absl::StrCat(": ", std::strerror(errno))));
  return status == 0 ? 1 : status;
}

}  // namespace

int RunSchedulerCommand(int argc, char** argv, std::vector<PluginRegistration> plugins) {
  KeepStandardStreams();
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) words.emplace_back(argv[i]);
  const std::string program = ProgramName(argc, argv);
  NameProgram(program);
  try {
    return Finish(CommandRun(program, std::move(plugins)).Run(std::move(words)));
  } catch (const std::bad_alloc&) {  // nothing smaller than the whole run could be given up
    PrintError("there is not enough memory for this input");
    return Finish(1);
  }
}

}  // namespace berth
