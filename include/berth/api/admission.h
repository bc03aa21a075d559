// SPDX-License-Identifier: Apache-2.0
// What an API server adds to objects before a scheduler sees them, for manifests that no API server
// has seen.
#ifndef BERTH_API_ADMISSION_H_
#define BERTH_API_ADMISSION_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth {

namespace api {
class Namespace;
class Node;
class PersistentVolumeClaim;
class Pod;
class PodSpec;
class PriorityClass;
class RuntimeClass;
class StorageClass;
}  // namespace api

// Records the classes that pods and claims may name, and fills in what they leave out as the
// defaults and the admission plugins of Kubernetes v1.35 do: requests from limits, label keys of
// pod affinity as requirements, the priority of a PriorityClass, the overhead and placement of a
// RuntimeClass, the default StorageClass. Objects that an API server has stored have all that, so
// nothing about them changes.
//
// Not done: LimitRanges, quotas and other checks, service accounts, and the tolerations that keep
// pods on failing nodes for five minutes.
class Admission {
 public:
  Admission();
  ~Admission();

  void Learn(const api::PriorityClass& priority_class);
  void ForgetPriorityClass(const std::string& name);
  void Learn(const api::RuntimeClass& runtime_class);
  void Learn(const api::StorageClass& storage_class);

  // Returns what is said of classes that are not known, a sentence each; empty if all is well.
  std::vector<std::string> Admit(api::Pod& pod) const;
  // Whether what Admit() makes of the pod depends on what was learned.
  static bool NeedsClasses(const api::Pod& pod);
  void Admit(api::PersistentVolumeClaim& claim) const;
  // The priority alone. GivesPriority: whether that changes anything.
  bool GivesPriority(const api::PodSpec& spec) const;
  void AdmitPriority(api::PodSpec& spec) const;
  static void Admit(api::Node& node);
  static void Admit(api::Namespace& name);

 private:
  struct Priority {
    int32_t value = 0;
    std::string preemption_policy;
  };
  static const std::map<std::string, Priority>& SystemClasses();
  const std::string& PriorityClassOf(const api::PodSpec& spec) const;
  void AdmitRuntimeClass(api::Pod& pod, std::vector<std::string>& unknown) const;

  std::map<std::string, Priority> priorities_;  // by name of the class
  // The classes that are globalDefault: of several the lowest counts, and the first name of equals.
  std::set<std::pair<int32_t, std::string>> default_priority_classes_;
  std::map<std::string, std::unique_ptr<api::RuntimeClass>> runtime_classes_;
  std::string default_storage_class_;  // empty: none
};

}  // namespace berth

#endif  // BERTH_API_ADMISSION_H_
