// SPDX-License-Identifier: Apache-2.0
// berth_pauses CONFIGURATION CLUSTER [N]: schedules a cluster as `berth simulate` does and prints,
// as JSON, how long the scheduling thread needed at most from the end of one attempt, or its stop
// (AttemptRecord::yielded), which counts as one here, to the next: the attempt and all that is done
// in between, bindings and events included. In time on the processor, and of each attempt the least
// of three runs, which go alike: what is left is the scheduler's own doing, mostly. Each run is in
// a process of its own, so that it has to ask the system for memory as any scheduler that was just
// started. With N, every Nth node is lost at once when nothing more is due: where there are N zones
// in turn, all of one. Their pods are gone too, and as many like them come. When that is over,
// other nodes come in the place of those that were lost, all at once, and as many more pods.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/workloads/cluster_file.h"
#include "berth/api/core_v1.pb.h"

namespace {

constexpr int kRuns = 3;
constexpr size_t kShown = 5;

double MicrosOnProcessor() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void AddAnotherPod(const berth::Object& like, absl::string_view suffix,
                   berth::InMemoryCluster& cluster) {
  auto pod = std::make_shared<berth::api::Pod>(like.As<berth::api::Pod>());
  pod->mutable_metadata()->set_name(absl::StrCat(like.name(), suffix));
  pod->mutable_metadata()->clear_uid();
  pod->mutable_spec()->clear_node_name();
  pod->clear_status();
  cluster.Set(berth::Object::Of(std::move(pod)));
}

void AddAnotherNode(const berth::Object& like, absl::string_view suffix,
                    berth::InMemoryCluster& cluster) {
  auto node = std::make_shared<berth::api::Node>(like.As<berth::api::Node>());
  const std::string name = absl::StrCat(like.name(), suffix);
  node->mutable_metadata()->set_name(name);
  node->mutable_metadata()->clear_uid();
  (*node->mutable_metadata()->mutable_labels())["kubernetes.io/hostname"] = name;
  cluster.Set(berth::Object::Of(std::move(node)));
}

struct Lost {
  std::vector<berth::Object> nodes, pods;
};

Lost LoseEvery(int nth, berth::InMemoryCluster& cluster) {
  absl::flat_hash_map<std::string, std::vector<berth::Object>> pods_on;
  for (berth::Object& pod : cluster.List(berth::Kind::kPod)) {
    pods_on[pod.As<berth::api::Pod>().spec().node_name()].push_back(std::move(pod));
  }
  const std::vector<berth::Object> nodes = cluster.List(berth::Kind::kNode);
  Lost lost;
  for (size_t i = 0; i < nodes.size(); i += static_cast<size_t>(nth)) {
    lost.nodes.push_back(nodes[i]);
    cluster.Delete(berth::Kind::kNode, nodes[i].key());
    for (const berth::Object& pod : pods_on[std::string(nodes[i].name())]) {
      lost.pods.push_back(pod);
      cluster.Delete(berth::Kind::kPod, pod.key());
      AddAnotherPod(pod, "-anew", cluster);
    }
  }
  return lost;
}

void AddLike(const Lost& lost, berth::InMemoryCluster& cluster) {
  for (size_t i = 0; i < std::max(lost.nodes.size(), lost.pods.size()); ++i) {
    if (i < lost.nodes.size()) AddAnotherNode(lost.nodes[i], "-anew", cluster);
    if (i < lost.pods.size()) AddAnotherPod(lost.pods[i], "-more", cluster);
  }
}

// In microseconds, by attempt.
std::vector<double> PausesOfOneRun(const char* configuration, const char* cluster, int lose_every) {
  const auto simulation = berth::SimulationOf(configuration, cluster);
  std::deque<double> pauses;  // which grows without a pause
  double last = 0;
  simulation->scheduler().ObserveAttempts([&](const berth::AttemptRecord&) {
    const double now = MicrosOnProcessor();
    pauses.push_back(now - last);
    last = MicrosOnProcessor();
  });
  simulation->scheduler().TakeEvents();
  last = MicrosOnProcessor();
  simulation->RunUntilQuiet();
  if (lose_every > 0) {
    const Lost lost = LoseEvery(lose_every, simulation->cluster());
    last = MicrosOnProcessor();
    simulation->RunUntilQuiet();
    AddLike(lost, simulation->cluster());
    last = MicrosOnProcessor();
    simulation->RunUntilQuiet();
  }
  return {pauses.begin(), pauses.end()};
}

// What run() returns in a process of its own; absent if that failed.
template <class Run>
std::optional<std::vector<double>> InOwnProcess(Run run) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  close(ends[child == 0 ? 0 : 1]);
  FILE* const stream = fdopen(ends[child == 0 ? 1 : 0], child == 0 ? "wb" : "rb");
  if (child == 0) {
    if (stream == nullptr) std::_Exit(1);
    const std::vector<double> values = run();
    const size_t written = std::fwrite(values.data(), sizeof(double), values.size(), stream);
    std::_Exit(written == values.size() && std::fclose(stream) == 0 ? 0 : 1);
  }
  std::vector<double> values;
  if (stream != nullptr) {
    double block[512];
    while (const size_t read = std::fread(block, sizeof(double), std::size(block), stream)) {
      values.insert(values.end(), block, block + read);
    }
    std::fclose(stream);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (stream == nullptr || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  int lose_every = 0;
  if (argc < 3 || argc > 4 || (argc == 4 && !absl::SimpleAtoi(argv[3], &lose_every))) {
    absl::FPrintF(stderr, "usage: berth_pauses CONFIGURATION CLUSTER [N]\n");
    return 2;
  }
  std::vector<double> pauses;
  for (int run = 0; run < kRuns; ++run) {
    const std::optional<std::vector<double>> again =
        InOwnProcess([&] { return PausesOfOneRun(argv[1], argv[2], lose_every); });
    if (!again.has_value()) {
      absl::FPrintF(stderr, "run %d failed\n", run + 1);
      return 1;
    }
    if (run == 0) pauses = *again;
    if (again->size() != pauses.size()) {
      absl::FPrintF(stderr, "two runs differ: %d and %d attempts\n", pauses.size(), again->size());
      return 1;
    }
    for (size_t i = 0; i < pauses.size(); ++i) pauses[i] = std::min(pauses[i], (*again)[i]);
  }

  std::vector<size_t> attempts(pauses.size());
  std::iota(attempts.begin(), attempts.end(), 0);
  const size_t shown = std::min(kShown, attempts.size());
  std::partial_sort(attempts.begin(), attempts.begin() + static_cast<std::ptrdiff_t>(shown),
                    attempts.end(), [&](size_t a, size_t b) { return pauses[a] > pauses[b]; });
  absl::PrintF("{\"attempts\":%d,\"longest\":[", attempts.size());
  for (size_t i = 0; i < shown; ++i) {
    absl::PrintF("%s{\"us\":%.0f,\"attempt\":%d}", i == 0 ? "" : ",", pauses[attempts[i]],
                 attempts[i]);
  }
  absl::PrintF("]}\n");
  return 0;
}
