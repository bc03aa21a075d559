// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_devices.h.
#include "berth/quota/quota_devices.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/amounts.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/devices/device_counts.h"

namespace berth {
namespace {

constexpr int64_t kWhole = 1000;

// Selectors that are compared, device by device, when slices have changed. With more than that, all
// who ask for devices by selectors are taken to be concerned.
constexpr size_t kMostCompared = 256;
// Of more selectors than that it is forgotten what they match.
constexpr size_t kMostSelected = 1024;

// Drivers of GPUs, whose classes have their names: NVIDIA's, AMD's, Intel's, and the example.
constexpr absl::string_view kGpuDrivers[] = {"gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com",
                                             "gpu.example.com"};

// As text; absent if the device has none. The domain may be left out if it is the driver.
std::optional<std::string> ValueOf(const api::SliceDevice& device, const std::string& driver,
                                   absl::string_view name) {
  auto found = device.attributes().find(std::string(name));
  const size_t slash = name.find('/');
  if (found == device.attributes().end() && slash != absl::string_view::npos &&
      name.substr(0, slash) == driver) {
    found = device.attributes().find(std::string(name.substr(slash + 1)));
  }
  if (found == device.attributes().end()) return std::nullopt;
  const api::DeviceAttribute& value = found->second;
  if (value.has_int_()) return absl::StrCat(value.int_());
  if (value.has_bool_()) return std::string(value.bool_() ? "true" : "false");
  return value.has_version() ? value.version() : value.string();
}

// Devices by themselves, and the sets of counters that others are parts of.
class Gpus {
 public:
  void Add(const api::SliceDevice& device) {
    if (device.consumes_counters().empty()) ++whole_;
    for (const api::DeviceCounterConsumption& part : device.consumes_counters()) {
      sets_.insert(part.counter_set());
    }
  }
  int64_t milli() const { return (whole_ + static_cast<int64_t>(sets_.size())) * kWhole; }

 private:
  int64_t whole_ = 0;
  std::set<std::string> sets_;
};

// Small enough not to overflow.
int64_t MilliOf(int64_t milli, int64_t count) {
  constexpr int64_t kMostMilli = int64_t{1} << 40, kMostDevices = int64_t{1} << 20;
  return std::min(milli, kMostMilli) * std::min(count, kMostDevices);
}

// Selectors of the request and of its class.
template <class Request>
std::vector<std::string> ExpressionsOf(const Request& request,
                                       const api::DeviceClass& device_class) {
  std::vector<std::string> expressions;
  for (const api::DeviceSelector& selector : request.selectors()) {
    expressions.push_back(selector.cel().expression());
  }
  for (const api::DeviceSelector& selector : device_class.spec().selectors()) {
    expressions.push_back(selector.cel().expression());
  }
  return expressions;
}

// As lines see a device. Those that look the same cannot be told apart.
struct SeenDevice {
  DeviceId id;
  Symbol node;                       // empty: for several
  std::vector<int> lines;            // by attribute, that see it
  std::vector<std::string> counted;  // as a GPU: the sets of counters of which it is a part
  bool is_gpu = false;
  std::vector<int> selected_by;  // what selects it, by its position
  bool is_shared = false;        // if something does

  bool is_seen() const { return !lines.empty() || is_gpu || !selected_by.empty(); }
  friend bool operator==(const SeenDevice&, const SeenDevice&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const SeenDevice& seen) {
    return H::combine(std::move(h), seen.id, seen.node, seen.lines, seen.counted, seen.is_gpu,
                      seen.selected_by, seen.is_shared);
  }
};

}  // namespace

int64_t GpuMilliOf(const api::DeviceClass& device_class) {
  const auto& annotations = device_class.metadata().annotations();
  const auto said = annotations.find(std::string(kGpuMilliOfClass));
  if (said != annotations.end()) {
    const absl::StatusOr<int64_t> milli = ParseGpuMilli(said->second);
    if (milli.ok()) return *milli;
  }
  if (absl::c_linear_search(kGpuDrivers, device_class.metadata().name())) return kWhole;
  const std::string& resource = device_class.spec().extended_resource_name();
  if (resource.empty()) return 0;
  ResourceVector one;
  one.Set(ResourceIdOf(resource), 1);
  return GpuMilliOf(one);
}

struct QuotaDevices::Slice {
  DeviceSelectors::SlicePtr slice;
  std::pair<Symbol, Symbol> pool;  // after the driver
  Symbol node;                     // empty: for several
  bool are_gpus = false;
  std::vector<std::vector<int>> lines;  // by device: those by attribute that see it

  const api::ResourceSliceSpec& spec() const { return slice->spec(); }
  DeviceId IdOf(int device) const {
    return {pool.first, pool.second, Symbol::Intern(spec().devices(device).name())};
  }
};

QuotaDevices::SlicePtr QuotaDevices::See(const Object& object) const {
  auto seen = std::make_shared<Slice>();
  seen->slice = object.Share<api::ResourceSlice>();
  const api::ResourceSliceSpec& spec = seen->spec();
  seen->pool = {Symbol::Intern(spec.driver()), Symbol::Intern(spec.pool().name())};
  seen->node = Symbol::Intern(spec.node_name());
  seen->are_gpus = absl::c_linear_search(kGpuDrivers, spec.driver());
  seen->lines.resize(spec.devices_size());
  for (int device = 0; device < spec.devices_size(); ++device) {
    for (size_t i = 0; i < attribute_lines_.size(); ++i) {
      const QuotaLine& line = attribute_lines_[i];
      if (ValueOf(spec.devices(device), spec.driver(), line.attribute()) == line.value.view()) {
        seen->lines[device].push_back(static_cast<int>(i));
      }
    }
  }
  return seen;
}

QuotaDevices::Difference QuotaDevices::Read(absl::Span<const Object* const> slices,
                                            absl::Span<const QuotaLine> lines) {
  std::vector<QuotaLine> attribute_lines;
  absl::c_copy_if(lines, std::back_inserter(attribute_lines),
                  [](const QuotaLine& line) { return !line.attribute().empty(); });
  const bool counts_gpus = absl::c_any_of(
      lines, [](const QuotaLine& line) { return line.counts == QuotaLine::Counts::kGpu; });
  if (attribute_lines != attribute_lines_ || counts_gpus != counts_gpus_) {
    attribute_lines_ = std::move(attribute_lines);
    counts_gpus_ = counts_gpus;
    seen_.clear();
    slices_.clear();
    ForgetSelected();
    Sum();
  }
  decltype(seen_) seen;
  absl::flat_hash_map<std::pair<Symbol, Symbol>, int64_t> newest;
  std::vector<SlicePtr> now;
  std::vector<DeviceSelectors::SlicePtr> kept;
  for (const Object* const object : slices) {
    kept.push_back(object->Share<api::ResourceSlice>());
    const auto known = seen_.find(kept.back());
    now.push_back(known != seen_.end() ? known->second : See(*object));
    seen.emplace(kept.back(), now.back());
    const int64_t of_slice = now.back()->spec().pool().generation();
    int64_t& generation = newest.try_emplace(now.back()->pool, of_slice).first->second;
    generation = std::max(generation, of_slice);
  }
  seen_ = std::move(seen);
  std::erase_if(now, [&](const SlicePtr& slice) {
    return slice->spec().pool().generation() != newest[slice->pool];
  });
  if (now == slices_) return {};
  if (looks_at_devices() && selectors_ == nullptr) selectors_ = std::make_shared<DeviceSelectors>();
  Difference difference = DifferenceOf(slices_, now);
  if (selectors_ != nullptr) selectors_->Keep(kept);
  slices_ = std::move(now);
  if (difference.any) Sum();
  if (difference.in_selected) ForgetSelected();
  return difference;
}

void QuotaDevices::ForgetSelected() {
  selected_.clear();
  has_forgotten_ = false;
}

QuotaDevices::Difference QuotaDevices::DifferenceOf(absl::Span<const SlicePtr> before,
                                                    absl::Span<const SlicePtr> now) const {
  absl::flat_hash_map<SlicePtr, int> slices;
  for (const SlicePtr& slice : before) --slices[slice];
  for (const SlicePtr& slice : now) ++slices[slice];
  const bool is_too_much = has_forgotten_ || selected_.size() > kMostCompared;
  Difference difference{.in_selected = is_too_much};
  absl::flat_hash_map<SeenDevice, int> devices;
  for (const auto& [slice, sign] : slices) {
    if (sign == 0) continue;
    for (int i = 0; i < slice->spec().devices_size(); ++i) {
      const api::SliceDevice& device = slice->spec().devices(i);
      SeenDevice seen{.id = slice->IdOf(i),
                      .node = slice->node,
                      .lines = slice->lines[i],
                      .is_gpu = slice->are_gpus};
      if (seen.is_gpu) {
        for (const auto& part : device.consumes_counters()) {
          seen.counted.push_back(part.counter_set());
        }
      }
      int position = 0;
      for (const auto& [expressions, selected] : selected_) {
        if (!is_too_much && selectors_->AllMatch(slice->slice, i, expressions)) {
          seen.selected_by.push_back(position);
        }
        ++position;
      }
      seen.is_shared = !seen.selected_by.empty() && device.allow_multiple_allocations();
      if (seen.is_seen()) devices[std::move(seen)] += sign;
    }
  }
  for (const auto& [device, count] : devices) {
    if (count == 0) continue;
    difference.any = true;
    difference.in_selected |= !device.selected_by.empty();
    if (device.lines.empty()) continue;
    difference.devices.insert(device.id);
    difference.nodes.insert(device.node);
  }
  difference.any |= difference.in_selected;
  return difference;
}

void QuotaDevices::Sum() {
  nodes_.clear();
  devices_.clear();
  for (const SlicePtr& slice : slices_) {
    OnNode nobody;
    OnNode& on_node = slice->node == Symbol() ? nobody : nodes_[slice->node];
    on_node.gpu_milli_of_line.resize(attribute_lines_.size());
    Gpus all;
    std::vector<Gpus> of_line(attribute_lines_.size());
    for (int position = 0; position < slice->spec().devices_size(); ++position) {
      const api::SliceDevice& device = slice->spec().devices(position);
      if (slice->are_gpus) all.Add(device);
      for (const int i : slice->lines[position]) {
        devices_[slice->IdOf(position)].push_back(i);
        const Symbol mark = attribute_lines_[i].mark;
        if (!absl::c_linear_search(on_node.marks, mark)) on_node.marks.push_back(mark);
        if (slice->are_gpus) of_line[i].Add(device);
      }
    }
    on_node.gpu_milli += all.milli();
    for (size_t i = 0; i < of_line.size(); ++i) on_node.gpu_milli_of_line[i] += of_line[i].milli();
  }
}

const QuotaDevices::Selected& QuotaDevices::SelectedBy(
    const std::vector<std::string>& expressions) const {
  const auto known = selected_.find(expressions);
  if (known != selected_.end()) return known->second;
  if (selected_.size() == kMostSelected) {
    selected_.clear();
    has_forgotten_ = true;
  }
  Selected& selected = selected_[expressions];
  selected.of_lines.resize(attribute_lines_.size());
  std::map<std::pair<int, Symbol>, int64_t> on_nodes;
  std::map<Symbol, int64_t> all_on_nodes;
  for (const SlicePtr& slice : slices_) {
    for (int device = 0; device < slice->spec().devices_size(); ++device) {
      if (!selectors_->AllMatch(slice->slice, device, expressions)) continue;
      ++all_on_nodes[slice->node];
      selected.any_is_shared |= slice->spec().devices(device).allow_multiple_allocations();
      for (int line = 0; line < static_cast<int>(attribute_lines_.size()); ++line) {
        OfLine& of_line = selected.of_lines[line];
        if (absl::c_linear_search(slice->lines[device], line)) {
          of_line.most = std::max(of_line.most, ++on_nodes[{line, slice->node}]);
        } else {
          of_line.has_others = true;
        }
      }
    }
  }
  // A node may have some of those that are for several besides its own.
  const auto for_several = all_on_nodes.extract(Symbol());
  for (const auto& [node, count] : all_on_nodes) {
    selected.most = std::max(selected.most, count);
    selected.fewest = selected.fewest == 0 ? count : std::min(selected.fewest, count);
  }
  if (!for_several.empty()) {
    selected.most += for_several.mapped();
    selected.fewest = 1;
  }
  return selected;
}

void QuotaDevices::AddSelected(const api::DeviceClass& device_class,
                               const std::vector<std::string>& expressions, const Wanted& wanted,
                               PodAmounts& amounts) const {
  if (attribute_lines_.empty()) return;
  const std::vector<OfLine>& of_lines = SelectedBy(expressions).of_lines;
  for (size_t i = 0; i < attribute_lines_.size(); ++i) {
    const QuotaLine& line = attribute_lines_[i];
    const OfLine& selected = of_lines[i];
    if (selected.most == 0) continue;
    const bool of_gpus = line.counts == QuotaLine::Counts::kGpu;
    if (!of_gpus && ResourceName(line.resource) !=
                        absl::StrCat(device_class.metadata().name(), kDevicesOfClass)) {
      continue;
    }
    const auto in_units = [&](int64_t count) {
      return of_gpus ? MilliOf(wanted.gpu_milli, count) : count;
    };
    if (selected.has_others || wanted.all) {
      amounts.AddPossible(line, in_units(std::min(wanted.count, selected.most)));
    } else {
      amounts.AddDecided(line, in_units(wanted.count));
    }
  }
}

void QuotaDevices::AddSelectedGpus(const std::vector<std::string>& expressions,
                                   const Wanted& wanted, PodAmounts& amounts) const {
  int64_t most = wanted.count, fewest = wanted.count;
  if (wanted.all && wanted.gpu_milli > 0 && counts_gpus_) {
    const Selected& selected = SelectedBy(expressions);
    most = std::min(wanted.count, selected.most);
    fewest = std::min(wanted.count, selected.fewest);
  }
  const int64_t milli = MilliOf(wanted.gpu_milli, most);
  amounts.gpu_milli = SaturatingAdd(amounts.gpu_milli, milli);
  amounts.possible_gpu_milli =
      SaturatingAdd(amounts.possible_gpu_milli, milli - MilliOf(wanted.gpu_milli, fewest));
}

bool QuotaDevices::MayBeGiven(const std::vector<std::string>& expressions,
                              const Wanted& wanted) const {
  if (!counts_gpus_ && attribute_lines_.empty()) return true;
  const Selected& selected = SelectedBy(expressions);
  return selected.any_is_shared || selected.most >= (wanted.all ? 1 : wanted.count);
}

// Of a list, on each line: what every alternative takes, and what the one takes that may take the
// most.
void QuotaDevices::AddRequest(const api::DeviceRequest& request, FindClass find_class,
                              PodAmounts& amounts) const {
  if (request.exactly().admin_access()) return;
  std::vector<PodAmounts> alternatives, out_of_reach;
  const bool is_list = !request.first_available().empty();
  const auto consider = [&](const auto& wanted) {
    const api::DeviceClass* const device_class = find_class(wanted.device_class_name());
    if (device_class == nullptr) return;  // it gets none
    const std::vector<std::string> expressions = ExpressionsOf(wanted, *device_class);
    const Wanted devices = {.count = CountOf(wanted),
                            .all = wanted.allocation_mode() == "All",
                            .gpu_milli = GpuMilliOf(*device_class)};
    const bool counts = !is_list || MayBeGiven(expressions, devices);
    PodAmounts& one = (counts ? alternatives : out_of_reach).emplace_back();
    AddSelected(*device_class, expressions, devices, one);
    AddSelectedGpus(expressions, devices, one);
  };
  if (!is_list) consider(request.exactly());
  for (const api::DeviceSubRequest& sub : request.first_available()) consider(sub);
  if (alternatives.empty()) alternatives = std::move(out_of_reach);
  if (alternatives.empty()) return;
  int64_t least_milli = std::numeric_limits<int64_t>::max(), most_milli = 0;
  for (const PodAmounts& one : alternatives) {
    least_milli = std::min(least_milli, one.gpu_milli - one.possible_gpu_milli);
    most_milli = std::max(most_milli, one.gpu_milli);
  }
  amounts.gpu_milli = SaturatingAdd(amounts.gpu_milli, most_milli);
  amounts.possible_gpu_milli = SaturatingAdd(amounts.possible_gpu_milli, most_milli - least_milli);
  for (const QuotaLine& line : attribute_lines_) {
    int64_t least = std::numeric_limits<int64_t>::max(), most = 0;
    for (const PodAmounts& one : alternatives) {
      least = std::min(least, one.DecidedOf(line));
      most = std::max(most, SaturatingAdd(one.DecidedOf(line), one.PossibleOf(line)));
    }
    if (least > 0) amounts.AddDecided(line, least);
    amounts.AddPossible(line, most - least);
  }
}

const LabelSet& QuotaDevices::LabelsOf(Symbol node, const LabelSet& labels) const {
  if (attribute_lines_.empty()) return labels;
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second.marks.empty()) return labels;
  labels_ = labels;
  for (const Symbol mark : found->second.marks) labels_.Set(mark, Symbol());
  return labels_;
}

int64_t QuotaDevices::GpuMilliOn(Symbol node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? 0 : found->second.gpu_milli;
}

void QuotaDevices::AddGpus(Symbol node, PodAmounts& allocatable) const {
  // A node may offer its cards both ways.
  allocatable.gpu_milli = std::max(allocatable.gpu_milli, GpuMilliOn(node));
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  for (size_t i = 0; i < attribute_lines_.size(); ++i) {
    if (attribute_lines_[i].counts != QuotaLine::Counts::kGpu) continue;
    allocatable.AddDecided(attribute_lines_[i], found->second.gpu_milli_of_line[i]);
  }
}

void QuotaDevices::AddBehind(ResourceId resource, const api::DeviceClass& device_class,
                             int64_t count, PodAmounts& amounts) const {
  ResourceVector devices;
  devices.Set(ResourceIdOf(absl::StrCat(device_class.metadata().name(), kDevicesOfClass)), count);
  amounts.resources.Add(devices);
  ResourceVector one_by_name;
  one_by_name.Set(resource, 1);
  const int64_t by_name = GpuMilliOf(one_by_name);
  const int64_t each = by_name > 0 ? by_name : GpuMilliOf(device_class);
  AddSelected(device_class, ExpressionsOf(api::ExactDeviceRequest(), device_class),
              {.count = count, .all = false, .gpu_milli = each}, amounts);
  if (by_name == 0) amounts.gpu_milli = SaturatingAdd(amounts.gpu_milli, MilliOf(each, count));
}

int64_t QuotaDevices::ChargeOf(const DeviceId& device, const api::DeviceClass& device_class,
                               const QuotaLine& line) const {
  const auto position = absl::c_find(attribute_lines_, line) - attribute_lines_.begin();
  if (!line.attribute().empty()) {
    const auto found = devices_.find(device);
    if (found == devices_.end() ||
        !absl::c_linear_search(found->second, static_cast<int>(position))) {
      return 0;
    }
  }
  if (line.counts == QuotaLine::Counts::kGpu) return GpuMilliOf(device_class);
  const bool is_of_class =
      ResourceName(line.resource) == absl::StrCat(device_class.metadata().name(), kDevicesOfClass);
  return is_of_class ? 1 : 0;
}

bool QuotaDevices::ChangesWithDevices(const api::ResourceClaim& claim) const {
  if (!attribute_lines_.empty()) return true;
  return counts_gpus_ &&
         absl::c_any_of(claim.spec().devices().requests(), [](const api::DeviceRequest& request) {
           return !request.first_available().empty() ||
                  request.exactly().allocation_mode() == "All";
         });
}

void QuotaDevices::AddClaim(const api::ResourceClaim& claim, FindClass find_class,
                            PodAmounts& amounts) const {
  const bool is_decided = claim.status().has_allocation();
  const auto gpu_milli_of = [&](const std::string& name) {
    const api::DeviceClass* const device_class = find_class(name);
    return device_class == nullptr ? 0 : GpuMilliOf(*device_class);
  };
  for (const auto& [name, count] : CountRequestedDevices(claim.spec())) {
    ResourceVector more;
    more.Set(ResourceIdOf(absl::StrCat(name, kDevicesOfClass)), count);
    amounts.resources.Add(more);
  }
  if (!is_decided) {
    for (const api::DeviceRequest& request : claim.spec().devices().requests()) {
      AddRequest(request, find_class, amounts);
    }
    return;
  }
  const auto all = [](const DeviceId&) { return true; };
  for (const auto& [name, count] : CountAllocatedDevices(claim, all)) {
    amounts.gpu_milli = SaturatingAdd(amounts.gpu_milli, MilliOf(gpu_milli_of(name), count));
  }
  for (int i = 0; i < static_cast<int>(attribute_lines_.size()); ++i) {
    const QuotaLine& line = attribute_lines_[i];
    const auto has_it = [&](const DeviceId& device) {
      const auto found = devices_.find(device);
      return found != devices_.end() && absl::c_linear_search(found->second, i);
    };
    for (const auto& [name, count] : CountAllocatedDevices(claim, has_it)) {
      if (line.counts == QuotaLine::Counts::kGpu) {
        amounts.AddDecided(line, MilliOf(gpu_milli_of(name), count));
      } else if (ResourceName(line.resource) == absl::StrCat(name, kDevicesOfClass)) {
        amounts.AddDecided(line, count);
      }
    }
  }
}

}  // namespace berth
