// SPDX-License-Identifier: Apache-2.0
// Implementation of log.h, over spdlog.
#include "process/log.h"

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/sinks/base_sink.h>
#include <utf8.h>

#include <cstring>
#include <iterator>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "api/json.h"
#include "berth/mutex.h"
#include "kubernetes/http_loop.h"

namespace berth {
namespace {

constexpr size_t kMostLinesWaiting = 8192;
constexpr absl::Duration kLongestFlush = absl::Seconds(2);

// klog v2: the letter of the level, the date, the process, the place.
constexpr char kTextPattern[] = "%L%m%d %H:%M:%S.%f %7P %s:%#] %v";
// component-base logs/json: milliseconds since 1970; our part of the object comes behind it.
constexpr char kJsonPattern[] = R"({"ts":%E%e,"caller":"%s:%#",%v})";

// Bytes of others may be no UTF-8, which would spoil the line.
std::string Clean(absl::string_view text) {
  std::string clean;
  utf8::replace_invalid(text.begin(), text.end(), std::back_inserter(clean));
  return clean;
}

std::string TextLine(absl::string_view message, absl::Span<const LogField> fields) {
  // As Go's strconv.Quote, which leaves the single quote alone.
  const auto quoted = [](absl::string_view text) {
    return absl::StrCat(
        "\"", absl::StrReplaceAll(absl::Utf8SafeCHexEscape(Clean(text)), {{"\\'", "'"}}), "\"");
  };
  std::string line = quoted(message);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.key, "=",
                    field.is_number ? absl::StrCat(field.number) : quoted(field.text));
  }
  return line;
}

// Without the braces.
std::string JsonLine(absl::string_view message, absl::Span<const LogField> fields) {
  JsonWriter json;
  json.BeginObject().Key("msg").String(Clean(message));
  for (const LogField& field : fields) {
    json.Key(field.key);
    if (field.is_number) {
      json.Int(field.number);
    } else {
      json.String(Clean(field.text));
    }
  }
  json.EndObject();
  return std::string(json.text().substr(1, json.text().size() - 2));
}

// Runs on the log's thread alone.
class FileSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FileSink(std::FILE* file) : file_(file) {}

  int64_t flushes() {
    MutexLock lock(flush_mutex_);
    return flushes_;
  }
  void WaitForFlush(int64_t number) {
    const absl::Time deadline = MonotonicNow() + kLongestFlush;
    MutexLock lock(flush_mutex_);
    while (flushes_ < number) {
      const absl::Duration left = deadline - MonotonicNow();
      if (left <= absl::ZeroDuration() || !flushed_.WaitFor(flush_mutex_, left)) return;
    }
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::fwrite(line.data(), 1, line.size(), file_);
    // Together with the lines that wait behind it, if there are any.
    if (message.level >= spdlog::level::warn) std::fflush(file_);
  }
  void flush_() override {
    std::fflush(file_);
    MutexLock lock(flush_mutex_);
    ++flushes_;
    flushed_.SignalAll();
  }

 private:
  std::FILE* const file_;
  Mutex flush_mutex_;
  CondVar flushed_;
  int64_t flushes_ ABSL_GUARDED_BY(flush_mutex_) = 0;
};

}  // namespace

// The queue and its thread.
class Log::Writer {
 public:
  explicit Writer(const Options& options)
      : format_(options.format),
        sink_(std::make_shared<FileSink>(options.file)),
        threads_(std::make_shared<spdlog::details::thread_pool>(kMostLinesWaiting, 1)),
        logger_(std::make_shared<spdlog::async_logger>(
            "berth", sink_, threads_, spdlog::async_overflow_policy::overrun_oldest)) {
    logger_->set_level(spdlog::level::info);
    logger_->set_pattern(format_ == LogFormat::kJson ? kJsonPattern : kTextPattern);
  }
  ~Writer() { Flush(); }

  void Write(spdlog::level::level_enum level, absl::string_view message,
             absl::Span<const LogField> fields, const char* file, int line) {
    const std::string text =
        format_ == LogFormat::kJson ? JsonLine(message, fields) : TextLine(message, fields);
    const char* const slash = std::strrchr(file, '/');
    logger_->log(spdlog::source_loc{slash == nullptr ? file : slash + 1, line, ""}, level,
                 spdlog::string_view_t(text.data(), text.size()));
  }
  // A line of Info(), which says in JSON how verbose it is.
  void WriteInfo(int verbosity, absl::string_view message, LogFields fields, const char* file,
                 int line) {
    if (format_ == LogFormat::kText) {
      return Write(spdlog::level::info, message, fields, file, line);
    }
    absl::InlinedVector<LogField, 8> all = {{"v", int64_t{verbosity}}};
    all.insert(all.end(), fields);
    Write(spdlog::level::info, message, all, file, line);
  }
  void Flush() {
    const int64_t before = sink_->flushes();
    logger_->flush();
    sink_->WaitForFlush(before + 1);
  }

 private:
  const LogFormat format_;
  const std::shared_ptr<FileSink> sink_;
  const std::shared_ptr<spdlog::details::thread_pool> threads_;
  const std::shared_ptr<spdlog::async_logger> logger_;
};

Log::Log(const Options& options)
    : verbosity_(options.verbosity), writer_(std::make_unique<Writer>(options)) {}

Log::~Log() = default;

void Log::Verbose(int verbosity, absl::string_view message, LogFields fields, const char* file,
                  int line) {
  if (IsOn(verbosity)) writer_->WriteInfo(verbosity, message, fields, file, line);
}

void Log::Warning(absl::string_view message, LogFields fields, const char* file, int line) {
  writer_->Write(spdlog::level::warn, message, fields, file, line);
}

void Log::Error(absl::string_view message, const absl::Status& why, LogFields fields,
                const char* file, int line) {
  absl::InlinedVector<LogField, 8> all;
  if (!why.ok()) all.push_back({"err", why.message()});
  all.insert(all.end(), fields);
  writer_->Write(spdlog::level::err, message, all, file, line);
}

void Log::Flush() { writer_->Flush(); }

}  // namespace berth
