// SPDX-License-Identifier: Apache-2.0
// A pod's message in little memory: what pods of one shape have in common is kept once for all of
// them.
#ifndef BERTH_API_PACKED_POD_H_
#define BERTH_API_PACKED_POD_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/identity.h"
#include "berth/api/symbol.h"

namespace berth {

namespace api {
class Pod;
class PodSpec;
}  // namespace api

// The spec of a pod but for what is the pod's own, in the wire format. Pods share one: two
// shapes with the same bytes are the same object, as long as it is held. Threads: any.
class PodShape {
 public:
  explicit PodShape(std::string bytes);
  ~PodShape();
  // The one of these bytes.
  static std::shared_ptr<const PodShape> Intern(absl::string_view bytes);

  const std::string& bytes() const { return bytes_; }
  // Parsed, at the first call.
  const api::PodSpec& spec() const;

  // What was parsed of the shape for an earlier pod, for the next pod of it: the last few results,
  // by `key`. Null if there is none, or none any more.
  std::shared_ptr<const void> Cached(size_t key) const;
  void Cache(size_t key, std::shared_ptr<const void> made) const;

 private:
  class LastMade;

  const std::string bytes_;
  mutable std::atomic<const api::PodSpec*> spec_ = nullptr;
  const std::unique_ptr<LastMade> last_made_;
};

// Immutable, and an eighth of the message it stands for. The pod's own is its metadata, its status,
// and of the spec nodeName, hostname and terminationGracePeriodSeconds. Threads: any.
class PackedPod {
 public:
  static std::shared_ptr<const PackedPod> Pack(const api::Pod& pod);
  PackedPod(IdentityPtr identity, std::shared_ptr<const PodShape> shape,
            std::shared_ptr<const std::string> own)
      : identity_(std::move(identity)), shape_(std::move(shape)), own_(std::move(own)) {}
  ~PackedPod();

  const IdentityPtr& identity() const { return identity_; }
  const std::shared_ptr<const PodShape>& shape() const { return shape_; }

  // The whole message, made at the first call and kept as long as this.
  const api::Pod& message() const;
  // The same, made for the caller only.
  std::shared_ptr<const api::Pod> Unpack() const;

  // The value of an annotation; absent if there is none of that key. It is looked up in the packed
  // bytes: that costs tens of nanoseconds, more with the number of labels and annotations, and
  // takes no memory. Valid as long as this.
  std::optional<absl::string_view> FindAnnotation(absl::string_view key) const;
  // Whether the metadata is known to be the same; false says nothing.
  bool HasMetadataOf(const PackedPod& other) const;
  // Calls `look` with a pod that has nothing but the pod's own. It lives as long as the call.
  void ReadOwn(absl::FunctionRef<void(const api::Pod& own)> look) const;

  // A changed copy of the same shape. `change` gets the pod's own, and sets nothing else.
  std::shared_ptr<const PackedPod> With(absl::FunctionRef<void(api::Pod& own)> change) const;

  // The most frequent change, at a fraction of the cost: the pod as API server and kubelet leave it
  // when it is bound. It has nodeName, the phase Running unless it has ended, a startTime and the
  // condition PodScheduled, and no nominatedNodeName any more.
  std::shared_ptr<const PackedPod> Bound(Symbol node_name, absl::Time start_time) const;
  struct Binding {
    Symbol node_name;
    absl::Time start_time;
  };
  // Prefetches what Bound() looks at beside this.
  void PrefetchOwn() const;
  // What was done if this is `earlier`, bound and nothing else; otherwise null.
  const Binding* BoundSince(const PackedPod& earlier) const;

  // The next: the pod as it is once the API server has accepted that it is evicted for another. It
  // has a deletionTimestamp, and the condition DisruptionTarget with that message.
  std::shared_ptr<const PackedPod> Evicted(absl::Time since, std::string message) const;
  struct Eviction {
    absl::Time since;
    std::string message;
  };
  // What was done if this is `earlier`, evicted and nothing else; otherwise null.
  const Eviction* EvictedSince(const PackedPod& earlier) const;

 private:
  void UnpackTo(api::Pod& pod) const;
  void ApplyChanges(api::Pod& pod) const;

  const IdentityPtr identity_;
  const std::shared_ptr<const PodShape> shape_;
  const std::shared_ptr<const std::string> own_;  // in the wire format
  // What is done to it besides, in this order.
  std::optional<Binding> bound_;
  std::shared_ptr<const Eviction> evicted_;
  mutable std::atomic<const api::Pod*> message_ = nullptr;
};

}  // namespace berth

#endif  // BERTH_API_PACKED_POD_H_
