// SPDX-License-Identifier: Apache-2.0
// Structured lines on standard error, in the forms of Kubernetes' components.
#ifndef BERTH_SRC_PROCESS_LOG_H_
#define BERTH_SRC_PROCESS_LOG_H_

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace berth {

// `key="text"` or `key=number` of a line. Lives as long as the call that it is given to.
struct LogField {
  LogField(absl::string_view key, absl::string_view text) : key(key), text(text) {}
  LogField(absl::string_view key, const std::string& text) : key(key), text(text) {}
  LogField(absl::string_view key, const char* text) : key(key), text(text) {}
  LogField(absl::string_view key, int64_t number) : key(key), number(number), is_number(true) {}

  absl::string_view key;
  absl::string_view text;
  int64_t number = 0;
  bool is_number = false;
};
using LogFields = std::initializer_list<LogField>;

enum class LogFormat { kText, kJson };

// A line is put together by its caller and written by a thread of the log's own. No caller waits
// for a terminal or a pipe that is full: the oldest lines are dropped then.
//
// Threads: any.
class Log {
 public:
  struct Options {
    LogFormat format = LogFormat::kText;
    int verbosity = 0;  // -v
    std::FILE* file = stderr;
  };
  explicit Log(const Options& options);
  ~Log();  // everything is written before it returns

  // Whether lines of that verbosity are written. To be asked before what they say is worked out.
  bool IsOn(int verbosity) const { return verbosity <= verbosity_; }

  // The last two arguments say where the call stands.
  void Info(absl::string_view message, LogFields fields = {}, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
    Verbose(0, message, fields, file, line);
  }
  // The same, of a verbosity.
  void Verbose(int verbosity, absl::string_view message, LogFields fields = {},
               const char* file = __builtin_FILE(), int line = __builtin_LINE());
  void Warning(absl::string_view message, LogFields fields = {},
               const char* file = __builtin_FILE(), int line = __builtin_LINE());
  void Error(absl::string_view message, const absl::Status& why, LogFields fields = {},
             const char* file = __builtin_FILE(), int line = __builtin_LINE());

  // Waits until what was said so far is written, two seconds at most.
  void Flush();

 private:
  class Writer;

  const int verbosity_;
  const std::unique_ptr<Writer> writer_;
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_LOG_H_
