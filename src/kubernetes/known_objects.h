// SPDX-License-Identifier: Apache-2.0
// The objects of a kind as they were delivered last: what tells changes from repetitions, and finds
// what has gone unseen.
#ifndef BERTH_SRC_KUBERNETES_KNOWN_OBJECTS_H_
#define BERTH_SRC_KUBERNETES_KNOWN_OBJECTS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "berth/api/identity_map.h"
#include "berth/cluster.h"
#include "kubernetes/object_reader.h"

namespace berth {

// Turns what a server lists and tells into events for a WatchSink, which are appended to `events`:
// an object is set only if it has changed, never to a state older than the one it has, and an
// object that took the name of another is preceded by the end of that one.
//
// It shares the objects with the receivers of events, and has about 130 bytes of its own for each.
class KnownObjects {
 public:
  // How old a list may be.
  enum class Age : uint8_t {
    kNewest,  // it is what there is now: older versions than known ones come of a restored backup
    kAny,     // of a server that is behind, perhaps: what is older than what is known is left out
  };

  // Items of a list, in any order. EndList() deletes what was neither listed nor set since
  // BeginList().
  void BeginList(Age age);
  void List(ServedObject object, std::vector<WatchEvent>& events);
  void EndList(std::vector<WatchEvent>& events);

  void Set(ServedObject object, std::vector<WatchEvent>& events);
  void Delete(ServedObject object, std::vector<WatchEvent>& events);
  // All that there is has gone.
  void DeleteAll(std::vector<WatchEvent>& events);

  size_t size() const { return objects_.size(); }

 private:
  struct Known {
    Object object;
    uint64_t version;  // 0: it is no number
    uint32_t list;     // in which it was seen last
  };

  void Accept(ServedObject object, Age age, std::vector<WatchEvent>& events);

  IdentityMap<Known, ByKey> objects_;
  uint32_t list_ = 0;
  Age age_ = Age::kNewest;
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_KNOWN_OBJECTS_H_
