// Priorities of pods that no API server has seen.
#ifndef BERTH_SRC_ENGINE_PRIORITY_CLASSES_H_
#define BERTH_SRC_ENGINE_PRIORITY_CLASSES_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "berth/framework/object_store.h"

namespace berth {

namespace api {
class Pod;
}  // namespace api

// Fills in what the API server's admission takes from a pod's PriorityClass: spec.priority and
// spec.preemptionPolicy. Kubernetes plugin/pkg/admission/priority/admission.go. A class that
// changes or goes later does not change the pods that have it. Scheduling thread.
class PriorityClasses {
 public:
  explicit PriorityClasses(const ObjectStore& objects) : objects_(objects) {}

  // `pod` with both fields, or `pod` itself if it has a priority, or if neither its class nor a
  // global default is known. `before`: what was filled in earlier, which stands; may be null.
  std::shared_ptr<const api::Pod> Resolve(std::shared_ptr<const api::Pod> pod,
                                          const api::Pod* before) const;

 private:
  struct Class;
  bool Find(absl::string_view name, Class& found) const;
  bool FindGlobalDefault(Class& found) const;

  const ObjectStore& objects_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_PRIORITY_CLASSES_H_
