// SPDX-License-Identifier: Apache-2.0
// Follows the objects of one kind, as client-go's Reflector does: what to ask the API server next,
// and what its answers mean. It does no input or output itself: watch_set.h does.
#ifndef BERTH_SRC_KUBERNETES_REFLECTOR_H_
#define BERTH_SRC_KUBERNETES_REFLECTOR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/cluster.h"
#include "kubernetes/api_client.h"
#include "kubernetes/api_error.h"
#include "kubernetes/backoff.h"
#include "kubernetes/known_objects.h"
#include "kubernetes/list_frames.h"
#include "kubernetes/watch_frames.h"

namespace berth {

struct ReflectorOptions {
  // In which built-in kinds are asked for; what comes may be either. Custom resources are JSON.
  WireFormat format = WireFormat::kProtobuf;
  uint64_t seed = 0;  // of waits and of how long a watch may take
  // For people: objects that cannot be used.
  std::function<void(absl::string_view text)> warn = [](absl::string_view) {};
};

// One request after the other, which all are streams:
//
//   Next() -> OnStart() -> OnBytes() … -> OnEnd() -> after the wait it says, Next() …
//
// OnStart() comes only if the server says 200. If OnStart() or OnBytes() return an error, the
// request is to be ended, and OnEnd() gets that error.
//
// First come all objects, by a watch that begins with them (sendInitialEvents), or, if the server
// has no such watch, by lists in pages. Then their changes, by watches that resume where the last
// one ended. A watch that cannot be resumed (410) makes it list again.
//
// A kind that the server does not know counts as listed and empty if it is a custom resource, and
// is asked for again every 30 seconds.
class Reflector {
 public:
  static constexpr absl::Duration kAskAgainForAbsent = absl::Seconds(30);

  Reflector(Kind kind, ReflectorOptions options);

  ApiRequest Next(absl::Time now);
  absl::Status OnStart(absl::string_view content_type);
  // What the sink is to get is appended to `events`, in order.
  absl::Status OnBytes(absl::string_view bytes, std::vector<WatchEvent>& events);
  absl::Duration OnEnd(const absl::Status& status, absl::Time now, std::vector<WatchEvent>& events);

  Kind kind() const { return kind_; }
  // Whether all that existed once was delivered.
  bool synced() const { return synced_; }
  // Why nothing comes, for people; OK if something does.
  const absl::Status& trouble() const { return trouble_; }
  size_t objects() const { return known_.size(); }

 private:
  enum class Doing : uint8_t {
    kStreamingList,  // a watch that has not sent all that existed
    kListing,        // a page, or all
    kWatching,
  };

  // What to ask.
  std::string Since() const;
  std::string NextPage();
  void BeginList(const std::string& since);
  void ListAnew();

  // What comes.
  absl::Status TakeFrame(absl::string_view frame, std::vector<WatchEvent>& events);
  absl::Status TakeEvent(ServedEvent event, std::vector<WatchEvent>& events);
  void TakeItem(ServedObject object, std::vector<WatchEvent>& events);
  void NoteUsability(const ServedObject& object);
  bool IsOld(const std::string& version) const;
  void Reached(const std::string& version);
  absl::Status FinishList(const std::string& version, std::vector<WatchEvent>& events);

  // What its end means, and how long to wait.
  absl::Duration EndOfPage(absl::Status status, absl::Time now, std::vector<WatchEvent>& events);
  absl::Duration Refused(const ApiError& error, const absl::Status& status, absl::Time now,
                         std::vector<WatchEvent>& events);
  absl::Duration Broken(const absl::Status& status, absl::Time now);
  absl::Duration Failed(absl::Status trouble, absl::Time now, RetryBackoff& backoff);

  const Kind kind_;
  const ReflectorOptions options_;
  std::mt19937_64 random_;
  RetryBackoff retries_, failures_, reconnects_;
  KnownObjects known_;
  absl::flat_hash_set<std::string> unusable_;  // of which it was said, by key
  bool synced_ = false;
  absl::Status trouble_;
  absl::Time list_began_ = absl::InfinitePast();  // of the last one, or of none that was refused

  // During a round of listing and watching.
  bool listed_ = false;   // what is known is what there was at `version_`
  std::string version_;   // the newest that was seen; if not listed_, a list must not be older
  bool expired_ = false;  // `version_` is of no use to the server
  bool streams_ = true;   // try a watch that begins with what exists
  bool whole_ = false;    // list all at once: pages expire
  std::string continue_;  // the next page

  // For the request.
  Doing doing_ = Doing::kListing;
  std::string target_;
  absl::Time began_;
  bool started_ = false;
  bool got_any_ = false;
  bool is_protobuf_ = true;
  std::optional<WatchFrames> frames_;
  ListFrames list_;
  std::string json_;  // of a list, whole
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_REFLECTOR_H_
