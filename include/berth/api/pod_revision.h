// A changed copy of a pod's message that shares with the original what did not change.
#ifndef BERTH_API_POD_REVISION_H_
#define BERTH_API_POD_REVISION_H_

#include <memory>

#include "absl/strings/string_view.h"

namespace berth {

namespace api {
class ObjectMeta;
class Pod;
class PodSpec;
class PodStatus;
}  // namespace api

// Containers, volumes, affinity … are most of a pod and never change; a copy of them all for every
// binding and condition would cost more than the decision. The original lives as long as any
// revision of it, a revision of a revision keeps only the original. Threads: none of its own; the
// finished message is immutable, and so must the original be.
//
//   PodRevision revision(pod);
//   revision.SetNodeName("n1");
//   revision.status().set_phase("Running");
//   std::shared_ptr<const api::Pod> bound = std::move(revision).Finish();
class PodRevision {
 public:
  explicit PodRevision(const std::shared_ptr<const api::Pod>& pod);
  ~PodRevision();
  PodRevision(PodRevision&&) noexcept;

  void SetNodeName(absl::string_view node_name);
  // Copies, to be changed. Of the spec, only strings, numbers and maps: the messages in it belong
  // to the original.
  api::ObjectMeta& metadata();
  api::PodSpec& spec();
  api::PodStatus& status();

  // Once, at the end.
  std::shared_ptr<const api::Pod> Finish() &&;

 private:
  struct Parts;
  friend bool SameSpec(const std::shared_ptr<const api::Pod>& a,
                       const std::shared_ptr<const api::Pod>& b);
  static const Parts* PartsOf(const std::shared_ptr<const api::Pod>& pod);
  api::PodSpec& OwnSpec();

  std::unique_ptr<Parts> parts_;
};

// Whether the two are known to have the same spec, but for the node's name: revisions of one pod
// that never asked for spec(). False says nothing.
bool SameSpec(const std::shared_ptr<const api::Pod>& a, const std::shared_ptr<const api::Pod>& b);

}  // namespace berth

#endif  // BERTH_API_POD_REVISION_H_
