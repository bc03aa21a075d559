// SPDX-License-Identifier: Apache-2.0
// Implementation of command_line.h.
#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "api/near_miss.h"
#include "app/run_flags.h"
#include "berth/api/time.h"

namespace berth {
namespace {

// Help as people know it of kubectl: no marks of what excludes what.
class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(26);
    label("SUBCOMMAND", "COMMAND");
    label("OPTIONS", "FLAGS");
    label("Positionals", "Arguments");
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() || option->get_expected_max() == 0
               ? ""
               : absl::StrCat(" ", option->get_type_name(), TakesMany(option) ? "..." : "");
  }

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group == kIdleFlagGroup) return "";
    return Formatter::make_group(std::move(group), is_positional, std::move(options));
  }

  // The name of an argument says what it is; only a choice adds its words.
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    if (!is_positional || absl::StrContains(option->get_type_name(), '|')) {
      return Formatter::make_option(option, is_positional);
    }
    std::ostringstream line;
    CLI::detail::format_help(line, make_option_name(option, is_positional),
                             make_option_desc(option), column_width_);
    return line.str();
  }

 private:
  static bool TakesMany(const CLI::Option* option) { return option->get_expected_max() > 1; }
};

// A value of a few words, which help and completion name.
CLI::Option* Choice(CLI::Option* option, std::vector<std::string> words) {
  option->type_name(absl::StrJoin(words, "|"));
  return option->check(CLI::IsMember(std::move(words)).description(""));
}

// Goes when the commands are described; what runs at parsing holds on to the options alone.
class Commands {
 public:
  Commands(std::string program, CLI::App& app, CommandOptions& options)
      : program_(std::move(program)), app_(app), options_(options) {}

  void Describe() {
    app_.name(program_);
    app_.description(
        "Schedules pods with the Kubernetes Scheduling Framework, of a cluster or without one.");
    app_.formatter(std::make_shared<HelpFormatter>());
    app_.option_defaults()->group("Flags");
    app_.set_help_flag("-h,--help", "Print this help, or that of a command");
    app_.add_flag("--version", options_.version, "Print the version");
    app_.require_subcommand(0, 1);
    Examples(app_,
             "Run `$0 COMMAND --help` for the flags of a command, with examples.\n\n"
             "Exit status: 0 done, 1 the input is at fault, or a scenario does not hold, or the\n"
             "output cannot be written, 2 usage, 3 a plugin is at fault, 130 interrupted.");
    Run();
    Validate();
    Convert();
    Explain();
    Simulate();
    Serve();
    Import();
    DescribePlugin();
    Completion();
    Command("version", "Print the version");
    CLI::App& help = Command("help", "Print the help of a command");
    help.add_option("COMMAND", options_.help_command, "A command; all of them if left out")
        ->type_name("");
  }

 private:
  void Run() {
    CLI::App& command = Command("run", "Schedule the pods of a cluster, until a signal ends it");
    Config(command);
    PluginLibrary(command);
    DescribeRunFlags(command, options_.run);
    command.add_flag("--version", options_.version, "Print the version, and end");
    Examples(
        command,
        "Takes kube-scheduler's flags; those that do nothing here are taken with a warning.\n"
        "Ends with SIGTERM or Ctrl-C, when the bindings under way are done. A second one ends it\n"
        "at once. Exit status 1: it could not start, or another replica has the Lease.\n\n"
        "Examples:\n"
        "  $0 run --kubeconfig ~/.kube/config --leader-elect=false\n"
        "  $0 run --config scheduler.yaml -v 2");
  }

  void Validate() {
    CLI::App& command =
        Command("validate", "Check configurations, and say every problem with its place");
    command.add_option("FILE,--config", options_.configs, "KubeSchedulerConfiguration files")
        ->type_name("FILE");
    Cluster(command)->description(
        "Manifests to check, and their quotas and devices: files or folders");
    PluginLibrary(command);
    Examples(command,
             "Examples:\n"
             "  $0 validate scheduler.yaml\n"
             "  $0 validate --cluster quotas/\n"
             "  kubectl get cm scheduler -o jsonpath='{.data.config}' | $0 validate -");
  }

  void Convert() {
    CLI::App& command =
        Command("convert", "Write a configuration of an older Kubernetes as the v1 file it means");
    command
        .add_option(
            "FILE,--config", options_.configs,
            "A Policy, a KubeSchedulerConfiguration of any version, or a ConfigMap with one")
        ->type_name("FILE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    Examples(command,
             "Prints the file. What has no equal is a comment in it.\n\n"
             "Examples:\n"
             "  $0 convert policy.json > scheduler.yaml\n"
             "  kubectl -n kube-system get cm scheduler-policy -o yaml | $0 convert -");
  }

  void DescribePlugin() {
    CLI::App& command = Command("describe-plugin", "Print what a remote plugin says of itself");
    command.add_option("ADDRESS", options_.plugin_address, "unix:/PATH or HOST:PORT")
        ->type_name("");
    command.add_option("--ca-file", options_.plugin_ca, "PEM file of its authority")
        ->type_name("FILE");
    command.add_option("--cert-file", options_.plugin_cert, "PEM file of one's own certificate")
        ->type_name("FILE");
    command.add_option("--key-file", options_.plugin_key, "PEM file of its key")->type_name("FILE");
    Examples(
        command,
        "What it prints is for descriptionFile of RemotePluginArgs: with it a configuration can\n"
        "be checked where the plugin cannot be reached.\n\n"
        "Examples:\n"
        "  $0 describe-plugin unix:/run/licences.sock >licences.json");
  }

  void Explain() {
    CLI::App& command =
        Command("explain", "Say for each pending pod where it could run, and why not elsewhere");
    Config(command);
    PluginLibrary(command);
    Cluster(command)->required();
    command
        .add_option_function<std::string>(
            "--pod",
            [&options = options_](const std::string& pod) {
              options.pod = absl::StrContains(pod, '/') ? pod : absl::StrCat("default/", pod);
            },
            "Only this pod")
        ->type_name("NAMESPACE/NAME");
    Output(command, {"table", "json"});
    Examples(command,
             "Changes nothing: every pod is looked at as if it came next.\n\n"
             "Examples:\n"
             "  kubectl get nodes,pods -A -o yaml | $0 explain --cluster -\n"
             "  $0 explain --config gpu.yaml --cluster dump/ --pod team-a/train-0");
  }

  void Simulate() {
    CLI::App& command =
        Command("simulate", "Schedule all pending pods on simulated time, and say where each went");
    CLI::Option* const config = Config(command);
    PluginLibrary(command);
    CLI::Option* const cluster = Cluster(command);
    Output(command, {"table", "json", "csv"})->description("How to print; csv with --trace only");
    command.add_flag("--all", options_.all, "Print every line of the tables");
    command.add_option("--seed", options_.seed, "Seed of what is left to chance")
        ->check([](const std::string& text) {
          uint64_t number;
          return absl::SimpleAtoi(text, &number) ? std::string()
                                                 : absl::StrCat(text, " is no whole number");
        })
        ->type_name("NUMBER");
    CLI::Option* const scenario =
        command
            .add_option("--scenario", options_.scenarios,
                        "Instead: scenarios, files or folders; each has its own configuration")
            ->type_name("FILE|DIR")
            ->excludes(config)
            ->excludes(cluster);

    const std::string group = "A production GPU trace";
    CLI::Option* const trace =
        Choice(command.add_option("--trace", options_.trace,
                                  "Instead of --cluster: pods arrive one by one"),
               {"openb"})
            ->group(group)
            ->excludes(cluster)
            ->excludes(scenario);
    const auto of_trace = [&](CLI::Option* option, const std::string& type) {
      option->needs(trace)->group(group);
      if (!type.empty()) option->type_name(type);
    };
    of_trace(command.add_option("--data", options_.data, "Folder of the trace's files"), "DIR");
    of_trace(command.add_option("--list", options_.list, "Which of its lists of pods"), "NAME");
    of_trace(command.add_flag("--times", options_.times, "Pods arrive and end as they did"), "");
    of_trace(command.add_option("--until", options_.until_percent,
                                "Stop when so much of the GPUs was asked for"),
             "PERCENT");
    of_trace(command.add_option("--decisions", options_.decisions, "Write every decision here"),
             "FILE");
    Examples(
        command,
        "An interrupt (Ctrl-C) ends the run with what was decided so far, a second one at once.\n\n"
        "Examples:\n"
        "  kubectl get nodes,pods -A -o yaml | $0 simulate --cluster -\n"
        "  $0 simulate --config gang.yaml --cluster dump/ jobs.yaml\n"
        "  $0 simulate --cluster dump/ -o json | jq '.placements[]'\n"
        "  $0 simulate --scenario scenarios/\n"
        "  $0 simulate --config gpu.yaml --trace openb --times");
  }

  void Serve() {
    CLI::App& command =
        Command("serve", "Schedule clusters that clients describe over gRPC, without Kubernetes");
    ClusterServerOptions& serve = options_.serve;
    Config(command);
    PluginLibrary(command);
    command.add_option("--listen", serve.address, "Where clients come to: unix:/PATH or HOST:PORT")
        ->type_name("ADDRESS");

    const std::string tls = "Mutual TLS, without which HOST has to be the loopback interface";
    const auto file = [&](const std::string& flag, std::string& path, const std::string& what) {
      command.add_option(flag, path, what)->type_name("FILE")->group(tls);
    };
    file("--tls-cert-file", serve.cert_file, "PEM file of the server's certificate");
    file("--tls-private-key-file", serve.key_file, "PEM file of its key");
    file("--client-ca-file", serve.client_ca_file, "PEM file of who signs clients' certificates");

    const std::string limits = "Limits";
    const auto number = [&](const std::string& flag, auto& value, const std::string& what) {
      command.add_option(flag, value, what)
          ->type_name("NUMBER")
          ->group(limits)
          ->capture_default_str();
    };
    number("--max-clusters", serve.max_clusters, "Clusters at a time");
    number("--max-objects", serve.max_objects, "Objects of a cluster");
    number("--max-message-bytes", serve.max_message_bytes, "Bytes of one message of a client");
    number("--max-events", serve.max_events,
           "Events of a cluster that its client may not have yet; then nothing more is scheduled");
    number("--changes-per-second", serve.changes_per_second,
           "Changes of a cluster; faster clients are read later. 0: any number");
    number("--max-questions", serve.max_questions, "Questions answered at a time");
    number("--questions-per-second", serve.questions_per_second,
           "Explain, WhatIf and Validate together; more are refused. 0: any number");
    command
        .add_option_function<std::string>(
            "--idle-timeout",
            [&serve](const std::string& text) {
              // Nothing that is no duration gets here, but for an empty text.
              serve.idle_timeout = ParseDuration(text).value_or(absl::ZeroDuration());
            },
            "After so long without a client a cluster is forgotten")
        ->check([](const std::string& text) {
          const absl::StatusOr<absl::Duration> duration = ParseDuration(text);
          return duration.ok() && *duration > absl::ZeroDuration()
                     ? std::string()
                     : absl::StrCat(text, " is no duration, as 10m is");
        })
        ->default_str("10m")
        ->type_name("DURATION")
        ->group(limits);
    Examples(
        command,
        "Clients are programs in any language: docs/serve.md has the contract and an example.\n"
        "A Unix socket is for the user alone who runs the server. Prints where it listens.\n"
        "Ends with SIGTERM or Ctrl-C; streams are told so. A second one ends it at once.\n\n"
        "Examples:\n"
        "  $0 serve --listen unix:/run/user/1000/berth.sock\n"
        "  $0 serve --config gang.yaml --listen 127.0.0.1:7070\n"
        "  $0 serve --listen 0.0.0.0:7070 --tls-cert-file berth.pem \\\n"
        "      --tls-private-key-file berth.key --client-ca-file clients.pem");
  }

  void Import() {
    CLI::App& command = Command(
        "import", "Write the quotas of Kueue, KAI, Volcano, YuniKorn or Koordinator as Berth's");
    command
        .add_option("FILE", options_.imports, "Their queues: YAML or JSON, - for standard input")
        ->type_name("FILE")
        ->required();
    command
        .add_option("-o,--output", options_.output_file, "Write here; standard output if left out")
        ->type_name("FILE");
    Examples(
        command,
        "Whose queues a file has is found from its content; several may be mixed. A comment\n"
        "stands at each thing whose meaning differs or that has no equal.\n\n"
        "Examples:\n"
        "  kubectl get clusterqueues,cohorts,resourceflavors,localqueues -A -o yaml | $0 import -\n"
        "  $0 import queues.yaml -o quotas.yaml\n"
        "  $0 simulate --config config/quota.yaml --cluster dump/ quotas.yaml");
  }

  void Completion() {
    CLI::App& command =
        Command("completion", "Print what makes a shell complete the words of this command");
    Choice(command.add_option("SHELL", options_.shell, "The shell"), {"bash", "zsh", "fish"})
        ->required();
    Examples(command,
             "Examples:\n"
             "  source <($0 completion bash)\n"
             "  $0 completion zsh > \"${fpath[1]}/_$0\"\n"
             "  $0 completion fish > ~/.config/fish/completions/$0.fish");
  }

  CLI::App& Command(const std::string& name, const std::string& description) {
    CLI::App& command = *app_.add_subcommand(name, description)->group("Commands");
    command.get_help_ptr()->group("Flags");
    return command;
  }
  CLI::Option* Config(CLI::App& command) {
    return command
        .add_option("--config", options_.configs,
                    "A KubeSchedulerConfiguration; kube-scheduler's defaults if left out")
        ->type_name("FILE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  }
  void PluginLibrary(CLI::App& command) {
    command
        .add_option("--plugin-library", options_.plugin_libraries,
                    "A shared object with plugins, built with this Berth's headers; may repeat")
        ->type_name("FILE")
        ->allow_extra_args(false);  // a file a flag
  }
  CLI::Option* Cluster(CLI::App& command) {
    return command
        .add_option("--cluster", options_.clusters,
                    "Manifests: files or folders of YAML or JSON, - for standard input")
        ->type_name("FILE|DIR");
  }
  CLI::Option* Output(CLI::App& command, std::vector<std::string> formats) {
    CLI::Option* const option = command.add_option_function<std::string>(
        "-o,--output",
        [&options = options_](const std::string& format) {
          options.output = format == "json"  ? OutputFormat::kJson
                           : format == "csv" ? OutputFormat::kCsv
                                             : OutputFormat::kTable;
        },
        "How to print");
    return Choice(option, std::move(formats));
  }

  void Examples(CLI::App& command, absl::string_view text) const {
    command.footer(absl::StrReplaceAll(text, {{"$0", program_}}));
  }

  const std::string program_;
  CLI::App& app_;
  CommandOptions& options_;
};

const CLI::App& Parsed(const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

}  // namespace

void DescribeCommands(const std::string& program, CLI::App& app, CommandOptions& options) {
  Commands(program, app, options).Describe();
}

std::string UnknownWord(const CLI::App& app) {
  const CLI::App& command = Parsed(app);
  const std::vector<std::string> words = command.remaining();
  if (words.empty()) return "";
  const std::string word = words.front().substr(0, words.front().find('='));
  std::vector<std::string> known;
  if (absl::StartsWith(word, "-")) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames())
        known.push_back(absl::StrCat("--", name));
    }
    return absl::StrCat("unknown flag \"", word, "\"", DidYouMean(word, known));
  }
  for (const CLI::App* one : command.get_subcommands({})) known.push_back(one->get_name());
  return absl::StrCat(known.empty() ? "unexpected argument \"" : "unknown command \"", word, "\"",
                      DidYouMean(word, known));
}

std::string GivenTwice(const CLI::App& app) {
  for (const CLI::Option* option : Parsed(app).get_options()) {
    if (option->get_expected_max() != 1 || option->count() < 2) continue;
    return absl::StrCat(option->get_name(), " is given ",
                        option->count() == 2 ? "twice" : absl::StrCat(option->count(), " times"),
                        ", and takes one ", option->get_type_name());
  }
  return "";
}

std::string Contradiction(const CLI::App& app, const CommandOptions& options) {
  const std::string& command = Parsed(app).get_name();
  const auto count = [](const std::vector<std::string>& paths, absl::string_view path) {
    return std::count(paths.begin(), paths.end(), path);
  };
  if (count(options.configs, "") > 0) return "--config is given no file";
  if (count(options.clusters, "") > 0) return "--cluster is given an empty name";
  if (count(options.imports, "") > 0) return "FILE is an empty name";
  if (count(options.configs, "-") + count(options.clusters, "-") + count(options.imports, "-") >
      1) {
    return "standard input (-) can be read only once";
  }
  if (command == "convert" && options.configs.empty()) return "FILE is required";
  if (command == "serve" && options.serve.address.empty()) return "--listen is required";
  if (command == "describe-plugin" && options.plugin_address.empty()) return "ADDRESS is required";
  if (command == "validate" && options.configs.empty() && options.clusters.empty()) {
    return "FILE is required, or --cluster";
  }
  if (command != "simulate") return "";
  if (options.clusters.empty() && options.scenarios.empty() && options.trace.empty()) {
    return "--cluster is required, or --scenario, or --trace";
  }
  if (options.trace.empty() && options.output == OutputFormat::kCsv) {
    return "-o csv goes with --trace only";
  }
  if (!(options.until_percent >= 0)) return "--until takes a percentage";
  return "";
}

}  // namespace berth
