// SPDX-License-Identifier: Apache-2.0
// An API server as far as a reflector sees it, with one kind of objects, its history, and every
// fault that chance brings. It is too simple to be wrong.
#ifndef BERTH_TESTS_KUBERNETES_MODEL_SERVER_H_
#define BERTH_TESTS_KUBERNETES_MODEL_SERVER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "kubernetes/api_client.h"
#include "kubernetes/watch_frames.h"

namespace berth::testing {

struct ModelObject {
  std::string uid;
  uint64_t version = 0;
  friend bool operator==(const ModelObject& a, const ModelObject& b) {
    return a.uid == b.uid && a.version == b.version;
  }
};
using ModelObjects = std::map<std::string, ModelObject>;  // by name

// How often things go wrong, of a hundred.
struct ModelFaults {
  int refusal = 0;         // 403, 429, 500, …
  int no_connection = 0;   // before there is an answer
  int cut = 0;             // an answer, at any byte
  int end = 0;             // a watch, as if its time were over
  int error_event = 0;     // a watch, with an ERROR
  int duplicate = 0;       // an event of a watch comes a second time, later
  int expired_page = 0;    // its snapshot is compacted
  int wrong_type = 0;      // an answer in HTML
  bool streams = true;     // the server knows sendInitialEvents
  bool caches_lag = true;  // a list that need not be the newest is not
};

class ModelServer {
 public:
  ModelServer(Kind kind, uint64_t seed);

  // Somebody's change.
  void Set(const std::string& name);
  void Delete(const std::string& name);
  // From here on, watches that begin before now are refused.
  void Compact() { compacted_ = revision_; }
  // From a backup that was made at that revision.
  void Restore(uint64_t revision);
  // For a custom resource.
  void InstallResource() {
    installed_ = true;
    oldest_in_cache_ = revision_;
  }
  void RemoveResource();
  bool installed() const { return installed_; }

  const ModelObjects& objects() const { return objects_; }
  uint64_t revision() const { return revision_; }
  ModelFaults& faults() { return faults_; }

  // The one request that is under way.
  void Begin(const ApiRequest& request);
  // What the client sees next of it.
  struct Seen {
    enum class What { kStart, kBytes, kEnd, kNothing } what = What::kNothing;
    std::string text;     // the content type, or the bytes
    absl::Status status;  // of the end
  };
  Seen Next();
  void CutNow();  // the request that is under way, if there is one

  std::vector<std::string> targets;  // of all requests

 private:
  struct Change {
    uint64_t revision;
    std::string type;
    std::string name;
    ModelObject object;
  };

  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool Happens(int percent) { return static_cast<int>(Below(100)) < percent; }
  void Record(std::string type, std::string name, ModelObject object);
  void BeginList(const std::map<std::string, std::string>& query);
  void BeginWatch(const std::map<std::string, std::string>& query);
  void Refuse(int code, const std::string& reason, const std::string& message);
  void Answer(std::string bytes) { out_ += std::move(bytes); }
  void MoreOfWatch();
  std::string Frame(const std::string& type, const std::string& object) const;
  std::string Encode(const std::string& name, const ModelObject& object) const;
  std::string Bookmark(uint64_t revision, bool ends_initial_events) const;
  std::string EncodeList(const std::vector<std::string>& items, uint64_t revision,
                         const std::string& continue_token) const;

  const Kind kind_;
  std::mt19937_64 random_;
  ModelFaults faults_;
  bool installed_ = true;
  uint64_t revision_ = 1, compacted_ = 0, oldest_in_cache_ = 1, next_uid_ = 0;
  ModelObjects objects_;
  std::map<uint64_t, ModelObjects> snapshots_;  // by revision
  std::vector<Change> history_;

  // For the request.
  WireFormat format_ = WireFormat::kProtobuf;
  bool is_watch_ = false, started_ = false, ended_ = true;
  std::string content_type_, out_;
  std::optional<absl::Status> end_;  // when `out_` is sent
  uint64_t watched_ = 0;             // up to that revision
  std::vector<std::string> sent_;    // frames
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_KUBERNETES_MODEL_SERVER_H_
