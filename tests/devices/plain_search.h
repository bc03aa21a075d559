// SPDX-License-Identifier: Apache-2.0
// The allocator's search as kube-scheduler describes it, with nothing left out: every device of a
// request is tried in every place, and nothing is counted ahead.
#ifndef BERTH_TESTS_DEVICES_PLAIN_SEARCH_H_
#define BERTH_TESTS_DEVICES_PLAIN_SEARCH_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth::testing {

// Devices of one node in order. An attribute "k" has a value or is missing (-1).
struct PlainDevice {
  std::string name;
  bool held = false;
  int value = -1;
};

struct PlainRequirement {
  int count = 1;
  bool all = false;
};

struct PlainClaim {
  std::vector<std::vector<PlainRequirement>> requests;  // alternatives of each
  std::set<int> constrained;  // requests whose devices must have one value of "k"
};

class PlainSearch {
 public:
  PlainSearch(const std::vector<PlainDevice>& devices, const std::vector<PlainClaim>& claims)
      : devices_(devices), claims_(claims), picked_(claims.size()) {}

  // The devices of each claim by index, in order; empty and false if there is no solution.
  bool Run() { return Claim(0); }
  const std::vector<std::vector<int>>& picked() const { return picked_; }
  bool failed() const { return failed_; }  // a constraint forbids all devices

 private:
  bool Claim(size_t c) { return c == claims_.size() || Request(c, 0); }
  bool Request(size_t c, size_t r) {
    if (r == claims_[c].requests.size()) return Claim(c + 1);
    for (size_t a = 0; a < claims_[c].requests[r].size() && !failed_; ++a) {
      if (Device(c, r, a, 0)) return true;
    }
    return false;
  }
  bool Device(size_t c, size_t r, size_t a, int taken) {
    const PlainRequirement& wanted = claims_[c].requests[r][a];
    const int count = wanted.all ? static_cast<int>(devices_.size()) : wanted.count;
    if (wanted.all && count == 0) return false;
    if (taken >= count) return Request(c, r + 1);
    if (static_cast<int>(picked_[c].size()) + count - taken > 32) return false;
    const int begin = wanted.all ? taken : 0;
    const int end = wanted.all ? taken + 1 : static_cast<int>(devices_.size());
    for (int i = begin; i < end; ++i) {
      if (devices_[i].held || used_.contains(i)) continue;
      const bool covered = claims_[c].constrained.contains(static_cast<int>(r));
      if (covered && !Fits(c, devices_[i].value)) {
        if (wanted.all) failed_ = true;
        continue;
      }
      used_.insert(i);
      picked_[c].push_back(i);
      if (covered) values_[c].push_back(devices_[i].value);
      if (Device(c, r, a, taken + 1)) return true;
      if (failed_) return false;
      used_.erase(i);
      picked_[c].pop_back();
      if (covered) values_[c].pop_back();
    }
    return false;
  }
  bool Fits(size_t c, int value) {
    return value >= 0 && (values_[c].empty() || values_[c][0] == value);
  }

  const std::vector<PlainDevice>& devices_;
  const std::vector<PlainClaim>& claims_;
  std::vector<std::vector<int>> picked_;
  std::set<int> used_;
  std::map<size_t, std::vector<int>> values_;
  bool failed_ = false;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_DEVICES_PLAIN_SEARCH_H_
