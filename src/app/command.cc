// RunSchedulerCommand: finds the command and reads its flags.
#include "berth/command.h"

#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "app/commands.h"
#include "app/options.h"
#include "berth/builtin_plugins.h"
#include "berth/version.h"

namespace berth {
namespace {

constexpr absl::string_view kUsage =
    R"(Usage: berth COMMAND [FLAGS]

  validate --config F                      check a configuration, with every problem's place
  explain  --config F --cluster F...       say for each pending pod where it could run and why not
           [--pod NS/NAME] [-o table|json]   elsewhere; changes nothing
  simulate --config F --cluster F...       schedule all pending pods on a simulated cluster
           [--seed N] [-o table|json]
  simulate --scenario F... [-o table|json] run scenarios: files or folders of steps and what must
                                             come of them
  simulate --config F --trace openb        schedule a production GPU trace: pods arrive one by one, or
           [--data DIR] [--list NAME]        with --times as they did; prints allocation and
           [--seed N] [--times]              fragmentation
           [--until PERCENT] [--decisions FILE] [-o table|csv|json]
  version                                  print the version

--config takes a KubeSchedulerConfiguration, --cluster manifests: files or folders of YAML, JSON or
JSON lines, "-" for standard input; it and --scenario may be repeated. An interrupt (Ctrl-C) ends a
simulation with what was decided so far, a second one at once. Exit status: 0 done, 1 the input is
at fault or a scenario's expectations do not hold, 2 usage, 130 interrupted.
)";

struct Command {
  absl::string_view name;
  FlagSet flags;
  int (*run)(const CommandOptions&, const Registry&);
};

constexpr Command kCommands[] = {
    {"validate", {}, &RunValidate},
    {"explain", {.cluster = true, .pod = true, .output = true}, &RunExplain},
    {"simulate",
     {.cluster = true, .scenario = true, .output = true, .seed = true, .trace = true},
     &RunSimulate},
};

int Usage(absl::string_view problem) {
  absl::FPrintF(stderr, "berth: %s\n\n%s", problem, kUsage);
  return 2;
}

}  // namespace

int RunSchedulerCommand(int argc, char** argv, std::vector<PluginRegistration> plugins) {
  const absl::string_view name = argc > 1 ? absl::string_view(argv[1]) : absl::string_view();
  if (name.empty()) return Usage("no command given");
  if (name == "help" || name == "--help" || name == "-h") {
    absl::PrintF("%s", kUsage);
    return 0;
  }
  if (name == "version" || name == "--version") {
    absl::PrintF("berth %s\n", kVersion);
    return 0;
  }
  for (const Command& command : kCommands) {
    if (command.name != name) continue;
    for (int i = 2; i < argc; ++i) {
      if (absl::string_view(argv[i]) == "--help" || absl::string_view(argv[i]) == "-h") {
        absl::PrintF("%s", kUsage);
        return 0;
      }
    }
    const absl::StatusOr<CommandOptions> options =
        ParseOptions(absl::MakeConstSpan(argv + 2, argc - 2), command.flags);
    if (!options.ok()) return Usage(options.status().message());
    const absl::StatusOr<Registry> registry = BuiltinRegistry(std::move(plugins));
    if (!registry.ok()) {
      absl::FPrintF(stderr, "berth: %s\n", registry.status().message());
      return 1;
    }
    const int status = command.run(*options, *registry);
    if (std::fflush(stdout) != 0) {
      absl::FPrintF(stderr, "berth: the output could not be written\n");
      return 1;
    }
    return status;
  }
  return Usage(absl::StrFormat("unknown command %s", name));
}

}  // namespace berth
