// SPDX-License-Identifier: Apache-2.0
// The Lease of a leader election on an API server (coordination.k8s.io/v1).
#ifndef BERTH_SRC_PROCESS_LEASE_LOCK_H_
#define BERTH_SRC_PROCESS_LEASE_LOCK_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kubernetes/api_client.h"
#include "process/leader_election.h"

namespace berth {

// What a Lease in JSON says; an error if it is none.
absl::StatusOr<LeaseRecord> ParseLease(absl::string_view json);
// `json`, which ParseLease() has read, or empty for a new one, with the spec of `record`. All else
// stays: labels, annotations, the version that it must still have.
std::string LeaseWith(absl::string_view json, const std::string& namespace_name,
                      const std::string& name, const LeaseRecord& record);

// Needs get, create and update of the Lease. Belongs to the client's thread, but for Now().
class ApiLeaseLock final : public LeaseLock {
 public:
  struct Options {
    std::string namespace_name, name;
    std::string identity;        // in the events
    absl::Duration timeout;      // of one request
    std::string scheduler_name;  // who reports the events
  };
  // The client outlives it.
  ApiLeaseLock(ApiClient& client, Options options)
      : client_(client), options_(std::move(options)) {}

  void Read(std::function<void(absl::StatusOr<LeaseRecord>)> answer) override;
  void Create(const LeaseRecord& record, std::function<void(absl::Status)> answer) override;
  void Update(const LeaseRecord& record, std::function<void(absl::Status)> answer) override;
  void RecordEvent(const std::string& text) override;
  absl::Time Now() const override;
  absl::Time Date() const override;
  void RunAt(absl::Time time, std::function<void()> work) override;

 private:
  std::string Target() const;
  void Send(std::string method, std::string target, const LeaseRecord& record,
            std::function<void(absl::Status)> answer);

  ApiClient& client_;
  const Options options_;
  std::string json_;  // the Lease as the server had it last
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_LEASE_LOCK_H_
