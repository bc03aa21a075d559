// SPDX-License-Identifier: Apache-2.0
// Implementation of process_metrics.h.
#include "process/process_metrics.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

// gperftools' malloc_extension_c.h.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((weak)) int MallocExtension_GetNumericProperty(const char* property,
                                                                        size_t* value);

namespace berth {
namespace {

// client-go's.
std::vector<double> CallSeconds() { return {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}; }
std::vector<double> CallBytes() {
  return {64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};
}

// The fields of /proc/self/stat after the program's name, which may hold anything: the first of
// them is the third of proc(5). Empty where there is no such file.
std::vector<std::string> StatFields() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return {};
  return absl::StrSplit(absl::string_view(text).substr(end + 1), ' ', absl::SkipEmpty());
}

double Number(const std::vector<std::string>& fields, size_t index) {
  double number = 0;
  const bool ok = index < fields.size() && absl::SimpleAtod(fields[index], &number);
  return ok ? number : 0;
}

double Limit(int resource) {
  rlimit limit;
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return 0;
  // As Go's client: what is unlimited is the largest number.
  return limit.rlim_cur == RLIM_INFINITY ? static_cast<double>(std::numeric_limits<uint64_t>::max())
                                         : static_cast<double>(limit.rlim_cur);
}

// Ticks since the machine started, when the process did; to a date.
double StartTime(double start_ticks, double ticks_per_second) {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double boot_time = 0;
    if (words >> name >> boot_time && name == "btime") {
      return boot_time + start_ticks / ticks_per_second;
    }
  }
  return 0;
}

struct Heap {
  double used = 0, free = 0;  // bytes
};

// Asks gperftools' allocator if the program is linked with it, as the command is; else of the C
// library's.
Heap ReadHeap() {
  if (MallocExtension_GetNumericProperty == nullptr) {
    const struct mallinfo2 heap = mallinfo2();
    return {static_cast<double>(heap.uordblks + heap.hblkhd), static_cast<double>(heap.fordblks)};
  }
  const auto property = [](const char* name) {
    size_t value = 0;
    return MallocExtension_GetNumericProperty(name, &value) != 0 ? static_cast<double>(value) : 0;
  };
  const double used = property("generic.current_allocated_bytes");
  return {used,
          property("generic.heap_size") - property("tcmalloc.pageheap_unmapped_bytes") - used};
}

double OpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return 0;
  // One of them is the folder itself.
  return static_cast<double>(std::distance(begin(files), end(files)) - 1);
}

}  // namespace

ProcessMetrics::ProcessMetrics(const std::string& version)
    : cpu_seconds_({"process_cpu_seconds_total", MetricType::kCounter,
                    "Total user and system CPU time spent in seconds."},
                   list_),
      resident_bytes_(
          {"process_resident_memory_bytes", MetricType::kGauge, "Resident memory size in bytes."},
          list_),
      virtual_bytes_(
          {"process_virtual_memory_bytes", MetricType::kGauge, "Virtual memory size in bytes."},
          list_),
      most_virtual_bytes_({"process_virtual_memory_max_bytes", MetricType::kGauge,
                           "Maximum amount of virtual memory available in bytes."},
                          list_),
      open_files_({"process_open_fds", MetricType::kGauge, "Number of open file descriptors."},
                  list_),
      most_files_(
          {"process_max_fds", MetricType::kGauge, "Maximum number of open file descriptors."},
          list_),
      start_time_({"process_start_time_seconds", MetricType::kGauge,
                   "[ALPHA] Start time of the process since unix epoch in seconds."},
                  list_),
      heap_bytes_({"berth_heap_bytes",
                   MetricType::kGauge,
                   "Memory that the allocator has from the system: 'used' by Berth, or 'free' and "
                   "not given back.",
                   {"state"}},
                  list_),
      build_info_({"berth_build_info",
                   MetricType::kGauge,
                   "A metric with a constant '1' value labeled by Berth's version.",
                   {"version"}},
                  list_),
      leader_({"leader_election_master_status",
               MetricType::kGauge,
               "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 "
               "indicates backup, 1 indicates master. 'name' is the string used to identify the "
               "lease. Please make sure to group by name.",
               {"name"}},
              list_),
      requests_({"rest_client_requests_total",
                 MetricType::kCounter,
                 "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
                 {"code", "method", "host"}},
                list_),
      rate_limiter_(
          {"rest_client_rate_limiter_duration_seconds",
           MetricType::kHistogram,
           "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and "
           "host.",
           {"verb", "host"},
           CallSeconds()},
          list_),
      request_duration_({"rest_client_request_duration_seconds",
                         MetricType::kHistogram,
                         "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
                         {"verb", "host"},
                         CallSeconds()},
                        list_),
      request_bytes_({"rest_client_request_size_bytes",
                      MetricType::kHistogram,
                      "[ALPHA] Request size in bytes. Broken down by verb and host.",
                      {"verb", "host"},
                      CallBytes()},
                     list_),
      response_bytes_({"rest_client_response_size_bytes",
                       MetricType::kHistogram,
                       "[ALPHA] Response size in bytes. Broken down by verb and host.",
                       {"verb", "host"},
                       CallBytes()},
                      list_) {
  build_info_.With({version}).Set(1);
  most_virtual_bytes_.only().Set(Limit(RLIMIT_AS));
  most_files_.only().Set(Limit(RLIMIT_NOFILE));
  start_time_.only().Set(
      StartTime(Number(StatFields(), 19), static_cast<double>(sysconf(_SC_CLK_TCK))));
}

void ProcessMetrics::Refresh() {
  const std::vector<std::string> fields = StatFields();
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  cpu_seconds_.only().Set((Number(fields, 11) + Number(fields, 12)) / ticks_per_second);
  virtual_bytes_.only().Set(Number(fields, 20));
  resident_bytes_.only().Set(Number(fields, 21) * static_cast<double>(sysconf(_SC_PAGESIZE)));
  open_files_.only().Set(OpenFiles());
  const Heap heap = ReadHeap();
  heap_bytes_.With({"used"}).Set(heap.used);
  heap_bytes_.With({"free"}).Set(heap.free);
}

void ProcessMetrics::ObserveCall(const ApiCallRecord& call) {
  const std::string method(call.method), host(call.host);
  requests_.With({call.code == 0 ? "<error>" : absl::StrCat(call.code), method, host}).Add();
  rate_limiter_.With({method, host}).Observe(call.rate_limiter_wait);
  if (call.is_stream) return;  // as client-go
  request_duration_.With({method, host}).Observe(call.duration);
  request_bytes_.With({method, host}).Observe(static_cast<double>(call.request_bytes));
  if (call.code != 0) {
    response_bytes_.With({method, host}).Observe(static_cast<double>(call.response_bytes));
  }
}

HealthMetrics::HealthMetrics()
    : last_({"kubernetes_healthcheck",
             MetricType::kGauge,
             "[STABLE] This metric records the result of a single healthcheck.",
             {"name", "type"}},
            list_),
      results_({"kubernetes_healthchecks_total",
                MetricType::kCounter,
                "[STABLE] This metric records the results of all healthcheck.",
                {"name", "type", "status"}},
               list_) {}

void HealthMetrics::Observe(const std::string& check, const std::string& type, bool passed) {
  last_.With({check, type}).Set(passed ? 1 : 0);
  results_.With({check, type, passed ? "success" : "error"}).Add();
}

}  // namespace berth
