// SPDX-License-Identifier: Apache-2.0
// Guards in front of the plugin interfaces that are called from everywhere (queue, cache, groups)
// and not through Framework's Run methods: what the plugin throws is caught and counted.
#ifndef BERTH_SRC_FRAMEWORK_PLUGIN_GUARDS_H_
#define BERTH_SRC_FRAMEWORK_PLUGIN_GUARDS_H_

#include <memory>

#include "berth/api/symbol.h"
#include "berth/extensions/group.h"
#include "berth/extensions/observer.h"
#include "berth/extensions/queue_order.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/queue_sort.h"
#include "berth/incremental/indexed_hints.h"
#include "framework/fault_log.h"

namespace berth {

// Whose faults to count, and where. `log` must outlive the guard.
struct FaultCounter {
  Symbol plugin;
  FaultLog* log;
};

// A throw in Less orders by arrival; in GroupOf or Spec it means "no group"; in the others it is an
// Error with the plugin's name.
std::unique_ptr<QueueSortPlugin> Guard(QueueSortPlugin& plugin, FaultCounter counter);
std::unique_ptr<GroupPlugin> Guard(GroupPlugin& plugin, FaultCounter counter);
std::unique_ptr<AssignmentObserver> Guard(AssignmentObserver& plugin, FaultCounter counter);
// A throw in LineOf puts the pod into line 0, as does a line that is none; Compare leaves it to
// QueueSort, IsStrict means no. A contest that throws is not asked again: until lines change, the
// lowest line with a head goes next, as it does where a contest names a line without one.
std::unique_ptr<QueueOrder> Guard(QueueOrder& plugin, FaultCounter counter);
// A hint that throws is an error, which counts as kQueue.
QueueingHintFn Guard(QueueingHintFn hint, FaultCounter counter);
// Where it throws, all pods are asked.
std::shared_ptr<const IndexedHints> Guard(const IndexedHints& plugin, FaultCounter counter);
// One that throws lets the change through.
EventFilterFn Guard(EventFilterFn filter, FaultCounter counter);

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_PLUGIN_GUARDS_H_
