// SPDX-License-Identifier: Apache-2.0
// Implementation of cluster_set.h.
#include "serve/cluster_set.h"

#include <algorithm>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

constexpr size_t kLongestName = 253;
constexpr absl::Duration kLongestWait = absl::Hours(1);

absl::Status CheckName(absl::string_view name) {
  const bool good = !name.empty() && name.size() <= kLongestName &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
                             c == '.' || c == '_' || c == '/';
                    });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("hello.cluster is no name: 1 to ", kLongestName,
                   " letters, digits, '-', '.', '_' and '/' are one"));
}

}  // namespace

ClusterSet::ClusterSet(const ClusterServerOptions& options)
    : options_(options), thread_([this] { Run(); }) {}

ClusterSet::~ClusterSet() {
  End(absl::UnavailableError("the server ends"));
  thread_.join();
}

// Another one in each process.
std::string ClusterSet::NewIncarnation() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8),
                      "-", ++made_);
}

absl::StatusOr<ClusterSet::Attached> ClusterSet::Attach(
    const v1::Hello& hello, const std::shared_ptr<ClusterClient>& client) {
  if (absl::Status named = CheckName(hello.cluster()); !named.ok()) return named;
  // Before a cluster is made for it.
  if (absl::Status known = HostedCluster::CheckVersion(hello); !known.ok()) return known;
  std::shared_ptr<HostedCluster> cluster;
  {
    MutexLock lock(mutex_);
    if (ending_) return absl::UnavailableError("the server ends");
    auto found = clusters_.find(hello.cluster());
    if (found != clusters_.end() && found->second->has_ended()) {
      forgotten_.push_back(std::move(found->second));
      clusters_.erase(found);
      changed_.SignalAll();
      found = clusters_.end();
    }
    if (found == clusters_.end()) {
      if (clusters_.size() >= options_.max_clusters) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "there are ", clusters_.size(), " clusters, which is as many as this server takes"));
      }
      found =
          clusters_
              .emplace(hello.cluster(), std::make_shared<HostedCluster>(options_, NewIncarnation()))
              .first;
    }
    cluster = found->second;
  }
  absl::StatusOr<v1::Welcome> welcome = cluster->Attach(hello, client);
  if (!welcome.ok()) return welcome.status();
  return Attached{std::move(cluster), *std::move(welcome)};
}

std::shared_ptr<HostedCluster> ClusterSet::Find(const std::string& name) {
  MutexLock lock(mutex_);
  const auto found = clusters_.find(name);
  return found == clusters_.end() ? nullptr : found->second;
}

void ClusterSet::Forget(const HostedCluster& cluster) {
  MutexLock lock(mutex_);
  for (auto it = clusters_.begin(); it != clusters_.end(); ++it) {
    if (it->second.get() != &cluster) continue;
    forgotten_.push_back(std::move(it->second));
    clusters_.erase(it);
    changed_.SignalAll();
    return;
  }
}

void ClusterSet::Return(std::shared_ptr<HostedCluster> cluster) {
  if (cluster == nullptr) return;
  MutexLock lock(mutex_);
  returned_.push_back(std::move(cluster));
  changed_.SignalAll();
}

void ClusterSet::End(const absl::Status& why) {
  Clusters clusters;
  {
    MutexLock lock(mutex_);
    ending_ = true;
    clusters.swap(clusters_);
    changed_.SignalAll();
  }
  for (const auto& [name, cluster] : clusters) cluster->End(why);
}

void ClusterSet::Run() {
  while (true) {
    std::vector<std::shared_ptr<HostedCluster>> going, returned;
    {
      MutexLock lock(mutex_);
      const absl::Time now = clock_.Now();
      // Who has a client now may lose it at once.
      absl::Duration wait = std::min(options_.idle_timeout, kLongestWait);
      for (auto it = clusters_.begin(); it != clusters_.end();) {
        const absl::Duration left = it->second->alone_since() + options_.idle_timeout - now;
        if (left <= absl::ZeroDuration()) {
          forgotten_.push_back(std::move(it->second));
          it = clusters_.erase(it);
        } else {
          wait = std::min(wait, left);
          ++it;
        }
      }
      going.swap(forgotten_);
      returned.swap(returned_);
      if (going.empty() && returned.empty()) {
        if (ending_) return;
        changed_.WaitFor(mutex_, std::max(wait, absl::Milliseconds(1)));
      }
    }
    for (const auto& cluster : going) {
      cluster->End(absl::UnavailableError("the cluster is forgotten"));
    }
  }
}

}  // namespace berth
