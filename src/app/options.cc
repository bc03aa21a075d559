// Implementation of options.h.
#include "app/options.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace berth {
namespace {

// Splits the words into flags and their values.
class Words {
 public:
  explicit Words(absl::Span<char* const> words) : words_(words) {}

  bool done() const { return next_ >= words_.size() && !value_.has_value(); }
  // The next word as a flag; its value, if written with '=', is kept for TakeValue().
  std::string TakeFlag() {
    const absl::string_view word = words_[next_++];
    const size_t equals = word.find('=');
    if (absl::StartsWith(word, "--") && equals != absl::string_view::npos) {
      value_ = std::string(word.substr(equals + 1));
      return std::string(word.substr(0, equals));
    }
    return std::string(word);
  }
  absl::StatusOr<std::string> TakeValue(absl::string_view flag) {
    if (value_.has_value()) return *std::exchange(value_, std::nullopt);
    if (next_ >= words_.size() || IsFlag(words_[next_])) {
      return absl::InvalidArgumentError(absl::StrCat(flag, " needs a value"));
    }
    return std::string(words_[next_++]);
  }
  bool AnotherValue() const { return next_ < words_.size() && !IsFlag(words_[next_]); }

 private:
  static bool IsFlag(absl::string_view word) {
    // "-" is standard input, "-1" a number.
    return word.size() > 1 && word[0] == '-' && !absl::ascii_isdigit(word[1]);
  }

  absl::Span<char* const> words_;
  size_t next_ = 0;
  std::optional<std::string> value_;
};

absl::Status Unknown(absl::string_view flag) {
  return absl::InvalidArgumentError(absl::StrCat("unknown argument ", flag));
}

absl::Status SetOutput(const std::string& value, CommandOptions& options) {
  if (value == "table") {
    options.output = OutputFormat::kTable;
  } else if (value == "json") {
    options.output = OutputFormat::kJson;
  } else if (value == "csv") {
    options.output = OutputFormat::kCsv;
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "-o takes \"table\" or \"json\", or \"csv\" for a trace, not \"", value, "\""));
  }
  return absl::OkStatus();
}

bool IsTraceFlag(const std::string& flag) {
  return flag == "--trace" || flag == "--data" || flag == "--list" || flag == "--times" ||
         flag == "--until" || flag == "--decisions";
}

absl::Status SetTraceFlag(const std::string& flag, Words& words, CommandOptions& options) {
  if (flag == "--times") {
    options.times = true;
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> value = words.TakeValue(flag);
  if (!value.ok()) return value.status();
  if (flag == "--trace") {
    options.trace = *value;
    if (*value != "openb") {
      return absl::InvalidArgumentError(
          absl::StrCat("--trace takes \"openb\", not \"", *value, "\""));
    }
  } else if (flag == "--data") {
    options.data = *value;
  } else if (flag == "--list") {
    options.list = *value;
  } else if (flag == "--decisions") {
    options.decisions = *value;
  } else if (!absl::SimpleAtod(*value, &options.until_percent) || !(options.until_percent >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--until takes a percentage, not \"", *value, "\""));
  }
  return absl::OkStatus();
}

absl::Status SetFlag(const std::string& flag, Words& words, const FlagSet& known,
                     CommandOptions& options) {
  if (known.trace && IsTraceFlag(flag)) return SetTraceFlag(flag, words, options);
  const bool is_output = flag == "-o" || flag == "--output";
  if (!(flag == "--config" || (flag == "--cluster" && known.cluster) ||
        (flag == "--scenario" && known.scenario) || (flag == "--pod" && known.pod) ||
        (is_output && known.output) || (flag == "--seed" && known.seed))) {
    return Unknown(flag);
  }
  absl::StatusOr<std::string> value = words.TakeValue(flag);
  if (!value.ok()) return value.status();
  if (flag == "--config") {
    options.config = *value;
  } else if (flag == "--pod") {
    options.pod = *value;
    if (!absl::StrContains(options.pod, '/')) options.pod = absl::StrCat("default/", options.pod);
  } else if (is_output) {
    return SetOutput(*value, options);
  } else if (flag == "--seed") {
    if (!absl::SimpleAtoi(*value, &options.seed)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--seed takes a whole number, not \"", *value, "\""));
    }
  } else {
    std::vector<std::string>& paths = flag == "--scenario" ? options.scenarios : options.clusters;
    paths.push_back(*value);
    while (words.AnotherValue()) paths.push_back(*words.TakeValue(flag));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandOptions> ParseOptions(absl::Span<char* const> arguments,
                                            const FlagSet& known) {
  CommandOptions options;
  Words words(arguments);
  while (!words.done()) {
    const std::string flag = words.TakeFlag();
    absl::Status status = SetFlag(flag, words, known, options);
    if (!status.ok()) return status;
  }
  if (!options.scenarios.empty()) {
    if (options.config.empty() && options.clusters.empty()) return options;
    return absl::InvalidArgumentError(
        "--scenario goes without --config and --cluster: a scenario has its own");
  }
  if (options.config.empty()) return absl::InvalidArgumentError("--config is missing");
  if (options.trace.empty() && known.cluster && options.clusters.empty()) {
    return absl::InvalidArgumentError("--cluster is missing");
  }
  if (options.trace.empty() && options.output == OutputFormat::kCsv) {
    return absl::InvalidArgumentError("-o takes \"table\" or \"json\", not \"csv\"");
  }
  if (!options.trace.empty() && !options.clusters.empty()) {
    return absl::InvalidArgumentError("--trace brings its own cluster; leave --cluster out");
  }
  return options;
}

}  // namespace berth
