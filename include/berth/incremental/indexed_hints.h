// SPDX-License-Identifier: Apache-2.0
// IndexedHints: a plugin whose queueing hints concern few of the waiting pods tells which, so that
// not all of them are asked about each change.
#ifndef BERTH_INCREMENTAL_INDEXED_HINTS_H_
#define BERTH_INCREMENTAL_INDEXED_HINTS_H_

#include <cstdint>
#include <vector>

#include "berth/api/labels.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/pod_info.h"

namespace berth {

// An index over waiting pods, as client-go's Indexer has one over objects. What its values are is
// the plugin's own business; a value that two things share by chance costs a needless question.
// Values are found once for pods that share their spec: only a plugin with
// EnqueueExtensions::HintsReadSpecOnly() is asked. Scheduling thread.
class IndexedHints {
 public:
  virtual ~IndexedHints() = default;

  // Appends the values under which a pod that the plugin rejected is found. Returns false if it is
  // to be asked about every change.
  virtual bool IndexPod(const PodInfo& pod, std::vector<uint64_t>& values) const = 0;
  // Appends the values of a change. Returns false if every pod is to be asked. Otherwise the
  // plugin's hints for that change say kSkip about all pods that have none of these values, but for
  // the pod that changed, which is asked in any case.
  virtual bool IndexChange(const ObjectChange& change, std::vector<uint64_t>& values) const = 0;
};

// Values for indexes by label. Of each label of a pod that came; false, and none, for other
// changes.
bool AppendLabelsOfNewPod(const ObjectChange& change, std::vector<uint64_t>& values);
// Those of which labels that match have one at least; none if none match. Returns false, and
// appends nothing, if the selector says nothing of the kind: it has no key = value, and no In.
bool AppendSelectorValues(const LabelSelector& selector, std::vector<uint64_t>& values);

}  // namespace berth

#endif  // BERTH_INCREMENTAL_INDEXED_HINTS_H_
