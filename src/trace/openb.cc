// SPDX-License-Identifier: Apache-2.0
// Implementation of openb.h.
#include "trace/openb.h"

#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/input_file.h"

namespace berth {
namespace {

// What a trace may say, so that nothing overflows and no allocation is hopeless.
constexpr int64_t kMostAmount = 1'000'000'000'000'000;
constexpr int64_t kMostGpus = 1000;  // of a node or a pod
constexpr int64_t kMilli = 1000;     // of a GPU
constexpr size_t kMostArrivals = 5'000'000;

absl::Status Problem(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

absl::Status Unreadable(const std::string& path, const absl::Status& why) {
  return Problem(path, absl::StrCat("cannot be read: ", why.message()));
}

// One CSV file without quotes; columns by name.
class Csv {
 public:
  static absl::StatusOr<Csv> Read(const std::string& path) {
    const absl::StatusOr<std::string> text = ReadInputFile(path);
    if (!text.ok()) return Unreadable(path, text.status());
    Csv csv;
    csv.path_ = path;
    int line_number = 0;
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      ++line_number;
      absl::ConsumeSuffix(&line, "\r");
      std::vector<std::string> fields = absl::StrSplit(line, ',');
      if (csv.columns_.empty()) {
        for (size_t i = 0; i < fields.size(); ++i) {
          if (csv.columns_.try_emplace(fields[i], i).second) continue;
          return Problem(absl::StrCat(path, ":", line_number),
                         absl::StrCat("has the column \"", fields[i], "\" twice"));
        }
      } else if (fields.size() == csv.columns_.size()) {
        csv.rows_.push_back(std::move(fields));
        csv.lines_.push_back(line_number);
      } else if (!line.empty()) {
        return Problem(absl::StrCat(path, ":", line_number),
                       absl::StrCat("has ", fields.size(), " fields, not ", csv.columns_.size()));
      }
    }
    return csv;
  }

  size_t size() const { return rows_.size(); }
  std::string Text(size_t row, const std::string& column) const {
    const auto it = columns_.find(column);
    return it == columns_.end() ? "" : rows_[row][it->second];
  }
  // Nothing if there is no such column or no text in it; what is no number up to `most` is noted.
  std::optional<int64_t> Number(size_t row, const std::string& column, int64_t most) {
    const std::string text = Text(row, column);
    if (text.empty()) return std::nullopt;
    double number;
    if (!absl::SimpleAtod(text, &number) || !(number >= 0) || number > static_cast<double>(most)) {
      problem_ = Problem(absl::StrCat(path_, ":", lines_[row]),
                         absl::StrCat(column, ": \"", text, "\" is no amount up to ", most));
      return std::nullopt;
    }
    return static_cast<int64_t>(number);
  }
  int64_t Required(size_t row, const std::string& column, int64_t most) {
    const std::optional<int64_t> number = Number(row, column, most);
    if (!number.has_value() && problem_.ok()) {
      problem_ =
          Problem(absl::StrCat(path_, ":", lines_[row]), absl::StrCat("there is no ", column));
    }
    return number.value_or(0);
  }
  const absl::Status& problem() const { return problem_; }

 private:
  std::string path_;
  std::map<std::string, size_t> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<int> lines_;  // of the rows
  absl::Status problem_;
};

absl::Status ReadNodes(const std::string& path, OpenbTrace& trace) {
  absl::StatusOr<Csv> csv = Csv::Read(path);
  if (!csv.ok()) return csv.status();
  for (size_t row = 0; row < csv->size(); ++row) {
    trace.nodes.push_back({.name = csv->Text(row, "sn"),
                           .model = csv->Text(row, "model"),
                           .milli_cpu = csv->Required(row, "cpu_milli", kMostAmount),
                           .memory_mib = csv->Required(row, "memory_mib", kMostAmount),
                           .gpus = static_cast<int>(csv->Required(row, "gpu", kMostGpus))});
  }
  if (!csv->problem().ok()) return csv->problem();
  if (trace.nodes.empty()) return Problem(path, "has no nodes");
  if (trace.capacity_milli() == 0)
    return Problem(path, "has no GPUs, and all figures are shares of them");
  return absl::OkStatus();
}

absl::Status ReadPods(const std::string& path, OpenbTrace& trace) {
  absl::StatusOr<Csv> csv = Csv::Read(path);
  if (!csv.ok()) return csv.status();
  for (size_t row = 0; row < csv->size(); ++row) {
    trace.pods.push_back(
        {.name = csv->Text(row, "name"),
         .milli_cpu = csv->Required(row, "cpu_milli", kMostAmount),
         .memory_mib = csv->Required(row, "memory_mib", kMostAmount),
         .gpus = static_cast<int>(csv->Required(row, "num_gpu", kMostGpus)),
         .milli_gpu = csv->Required(row, "gpu_milli", kMilli),
         .models = csv->Text(row, "gpu_spec"),
         .created = csv->Number(row, "creation_time", kMostAmount).value_or(-1),
         .deleted = csv->Number(row, "deletion_time", kMostAmount).value_or(-1),
         .scheduled = csv->Number(row, "scheduled_time", kMostAmount).value_or(-1)});
  }
  if (!csv->problem().ok()) return csv->problem();
  if (trace.pods.empty()) return Problem(path, "has no pods");
  return absl::OkStatus();
}

// One number a line, each below `limit`.
absl::Status ReadNumbers(const std::string& path, size_t limit, std::vector<int>& numbers) {
  const absl::StatusOr<std::string> text = ReadInputFile(path);
  if (!text.ok()) return Unreadable(path, text.status());
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(*text, "\n"), '\n')) {
    int number;
    if (!absl::SimpleAtoi(line, &number) || number < 0 || static_cast<size_t>(number) >= limit) {
      return Problem(absl::StrCat(path, ":", numbers.size() + 1),
                     absl::StrCat("\"", line, "\" is not 0 to ", limit - 1));
    }
    numbers.push_back(number);
  }
  return absl::OkStatus();
}

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  size_t Below(size_t n) { return static_cast<size_t>(((Next() >> 32) * n) >> 32); }

 private:
  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

std::vector<int> Shuffled(size_t size, SplitMix64& random) {
  std::vector<int> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (size_t i = size - 1; i >= 1; --i) {
    const size_t other = random.Below(i + 1);
    std::swap(numbers[i], numbers[other]);
  }
  return numbers;
}

// Without pods that ask for GPUs there is nothing to fill up with: each comes once.
absl::Status DrawSequence(uint64_t seed, OpenbTrace& trace) {
  SplitMix64 random(seed);
  const int64_t limit = trace.capacity_milli() * 13 / 10;
  trace.arrivals = Shuffled(trace.pods.size(), random);
  int64_t total = 0;
  for (const OpenbPod& pod : trace.pods) total += pod.demand();
  while (total > limit) {
    const size_t position = random.Below(trace.arrivals.size());
    total -= trace.pods[trace.arrivals[position]].demand();
    trace.arrivals.erase(trace.arrivals.begin() + static_cast<ptrdiff_t>(position));
  }
  if (total > 0 && static_cast<double>(limit) / static_cast<double>(total) *
                           static_cast<double>(trace.pods.size()) >
                       static_cast<double>(kMostArrivals)) {
    return absl::InvalidArgumentError(absl::StrCat("the pods ask for too little: more than ",
                                                   kMostArrivals,
                                                   " would have to arrive to ask for all GPUs"));
  }
  while (total > 0 && total < limit) {
    const size_t row = random.Below(trace.pods.size());
    if (total + trace.pods[row].demand() > limit) break;
    total += trace.pods[row].demand();
    trace.arrivals.push_back(static_cast<int>(row));
  }
  trace.node_ranks = Shuffled(trace.nodes.size(), random);
  return absl::OkStatus();
}

}  // namespace

int64_t OpenbTrace::capacity_milli() const {
  int64_t milli = 0;
  for (const OpenbNode& node : nodes) milli += int64_t{1000} * node.gpus;
  return milli;
}

std::vector<TypicalPod> OpenbTrace::Mix() const {
  std::vector<TypicalPod> mix;
  for (const OpenbPod& pod : pods) {
    TypicalPod typical{.milli_cpu = pod.milli_cpu,
                       .milli_gpu = pod.milli_gpu,
                       .gpus = pod.gpus,
                       .models = {},
                       .count = 1};
    for (const absl::string_view model : absl::StrSplit(pod.models, '|', absl::SkipEmpty())) {
      typical.models.push_back(Symbol::Intern(model));
    }
    mix.push_back(std::move(typical));
  }
  return mix;
}

absl::StatusOr<OpenbTrace> ReadOpenb(const std::string& folder, const std::string& list,
                                     uint64_t seed) {
  OpenbTrace trace;
  absl::Status status = ReadNodes(absl::StrCat(folder, "/openb_node_list_gpu_node.csv"), trace);
  if (!status.ok()) return status;
  status = ReadPods(absl::StrCat(folder, "/openb_pod_list_", list, ".csv"), trace);
  if (!status.ok()) return status;
  const std::string order = absl::StrCat(folder, "/orders/", list, "_", seed);
  std::error_code ignored;
  if (!std::filesystem::exists(order + ".pods.txt", ignored)) {
    status = DrawSequence(seed, trace);
    if (!status.ok()) return status;
    return trace;
  }
  status = ReadNumbers(order + ".pods.txt", trace.pods.size(), trace.arrivals);
  if (!status.ok()) return status;
  status = ReadNumbers(order + ".nodes.txt", trace.nodes.size(), trace.node_ranks);
  if (!status.ok()) return status;
  if (trace.node_ranks.size() != trace.nodes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(order, ".nodes.txt: has not one rank for each node"));
  }
  return trace;
}

}  // namespace berth
