// Why preemption helps on no node, counted.
#ifndef BERTH_SRC_PREEMPTION_FIT_ERROR_H_
#define BERTH_SRC_PREEMPTION_FIT_ERROR_H_

#include <map>
#include <string>
#include <vector>

#include "berth/framework/status.h"

namespace berth {

// What spoke against the nodes, as FitError of kube-scheduler's framework/types.go prints it.
class Failures {
 public:
  void Add(const Status& status, int nodes = 1);

  // Unschedulable with all of it, or the errors, if there are any.
  Status ToStatus(int all_nodes) &&;

 private:
  std::string ErrorText();

  int nodes_ = 0;
  std::map<std::string, int> counts_;
  std::vector<std::string> errors_;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_FIT_ERROR_H_
