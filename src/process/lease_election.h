// SPDX-License-Identifier: Apache-2.0
// The leader election of a process: an elector with a client and a Lease of its own.
#ifndef BERTH_SRC_PROCESS_LEASE_ELECTION_H_
#define BERTH_SRC_PROCESS_LEASE_ELECTION_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "berth/configuration.h"
#include "kubernetes/api_client.h"
#include "kubernetes/connection.h"
#include "process/leader_election.h"
#include "process/lease_lock.h"
#include "process/log.h"

namespace berth {

class LeaseElection {
 public:
  struct Options {
    LeaderElectionConfiguration configuration;
    std::string scheduler_name;                 // who reports its events
    std::function<void()> on_started, on_lost;  // on the client's thread
  };
  // Does nothing before Start(). `log` outlives it.
  LeaseElection(Connection connection, ApiClientOptions client, Options options, Log& log);
  ~LeaseElection();

  void Start();
  // Gives the Lease back and returns when that is written, or after `limit`.
  void Release(absl::Duration limit);
  bool Leads() const { return elector_.Leads(); }
  bool IsHealthy(absl::Duration tolerance) const { return elector_.IsHealthy(tolerance); }

 private:
  LeaseElection(Connection connection, ApiClientOptions client, Options options,
                const std::string& identity, Log& log);

  std::unique_ptr<ApiClient> client_;
  ApiLeaseLock lock_;
  LeaderElector elector_;
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_LEASE_ELECTION_H_
