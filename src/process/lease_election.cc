// SPDX-License-Identifier: Apache-2.0
// Implementation of lease_election.h.
#include "process/lease_election.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "berth/mutex.h"
#include "kubernetes/http_loop.h"

namespace berth {
namespace {

// client-go: "<host name>_<uuid>". Two processes of one host must not pass for each other.
std::string NewIdentity() {
  std::array<char, 256> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {'u', 'n', 'k', 'n', 'o', 'w', 'n'};
  std::random_device random;
  const auto word = [&random] { return static_cast<uint32_t>(random()); };
  const uint32_t middle = word(), variant = word();
  return absl::StrFormat("%s_%08x-%04x-4%03x-%04x-%04x%08x", host.data(), word(), middle >> 16,
                         middle & 0xfff, (variant >> 16 & 0x3fff) | 0x8000, variant & 0xffff,
                         word());
}

// client-go resourcelock.NewFromKubeconfig.
absl::Duration RequestTimeout(const LeaderElectionConfiguration& times) {
  return std::max(times.renew_deadline / 2, absl::Seconds(1));
}

// A dead connection must not outlive the lease.
ApiClientOptions ForLease(ApiClientOptions client, const LeaderElectionConfiguration& times) {
  client.unacknowledged_timeout = times.renew_deadline * 0.8;
  return client;
}

std::string LeaseName(const LeaderElectionConfiguration& configuration) {
  return absl::StrCat(configuration.resource_namespace, "/", configuration.resource_name);
}

LeaderElector::Options ElectorOptions(LeaseElection::Options options, std::string identity) {
  std::string name = LeaseName(options.configuration);
  return {.configuration = std::move(options.configuration),
          .name = std::move(name),
          .identity = std::move(identity),
          .seed = std::random_device()(),
          .on_started = std::move(options.on_started),
          .on_lost = std::move(options.on_lost)};
}

}  // namespace

LeaseElection::LeaseElection(Connection connection, ApiClientOptions client, Options options,
                             Log& log)
    : LeaseElection(std::move(connection), std::move(client), std::move(options), NewIdentity(),
                    log) {}

LeaseElection::LeaseElection(Connection connection, ApiClientOptions client, Options options,
                             const std::string& identity, Log& log)
    : client_(std::make_unique<ApiClient>(std::move(connection),
                                          ForLease(std::move(client), options.configuration))),
      lock_(*client_, {.namespace_name = options.configuration.resource_namespace,
                       .name = options.configuration.resource_name,
                       .identity = identity,
                       .timeout = RequestTimeout(options.configuration),
                       .scheduler_name = options.scheduler_name}),
      elector_(ElectorOptions(std::move(options), identity), lock_, log) {}

LeaseElection::~LeaseElection() {
  client_->Post([this] { elector_.Abandon(); });
  client_.reset();
}

void LeaseElection::Start() {
  client_->Post([this] { elector_.Start(); });
}

void LeaseElection::Release(absl::Duration limit) {
  struct Answer {
    Mutex mutex;
    CondVar came;
    bool is_there ABSL_GUARDED_BY(mutex) = false;
  };
  const auto answer = std::make_shared<Answer>();
  client_->Post([this, answer] {
    elector_.Release([answer] {
      MutexLock lock(answer->mutex);
      answer->is_there = true;
      answer->came.SignalAll();
    });
  });
  const absl::Time deadline = MonotonicNow() + limit;
  MutexLock lock(answer->mutex);
  while (!answer->is_there) {
    const absl::Duration left = deadline - MonotonicNow();
    if (left <= absl::ZeroDuration() || !answer->came.WaitFor(answer->mutex, left)) return;
  }
}

}  // namespace berth
