// SPDX-License-Identifier: Apache-2.0
// The trace's files: any list of pods or nodes is read, or refused with its place.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "trace/openb.h"

namespace {

std::string MakeFolder() {
  const char* const parent = std::getenv("TMPDIR");
  std::string folder = absl::StrCat(parent == nullptr ? "/tmp" : parent, "/berth-trace-XXXXXX");
  BERTH_CHECK(mkdtemp(folder.data()) != nullptr);
  return folder;
}

void Write(const std::string& path, absl::string_view text) { std::ofstream(path) << text; }

}  // namespace

// Nodes and pods, with a line "--" between.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& folder = *new std::string(MakeFolder());
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t between = text.find("\n--\n");
  if (between == absl::string_view::npos) return 0;
  const std::string nodes = folder + "/openb_node_list_gpu_node.csv";
  const std::string pods = folder + "/openb_pod_list_fuzz.csv";
  Write(nodes, text.substr(0, between));
  Write(pods, text.substr(between + 4));
  const absl::StatusOr<berth::OpenbTrace> trace = berth::ReadOpenb(folder, "fuzz", 1);
  if (trace.ok()) {
    BERTH_CHECK(!trace->nodes.empty() && !trace->pods.empty() && trace->capacity_milli() > 0);
    for (const int pod : trace->arrivals) {
      BERTH_CHECK(pod >= 0 && static_cast<size_t>(pod) < trace->pods.size());
    }
  } else {
    BERTH_CHECK(!trace.status().message().empty());
  }
  unlink(nodes.c_str());
  unlink(pods.c_str());
  return 0;
}
