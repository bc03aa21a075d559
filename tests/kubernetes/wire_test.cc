// SPDX-License-Identifier: Apache-2.0
// Envelopes, the events of a watch, paths, rates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "kubernetes/envelope.h"
#include "kubernetes/rate_limiter.h"
#include "kubernetes/resource.h"
#include "kubernetes/watch_frames.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Frame(absl::string_view body) {
  std::string frame(4, '\0');
  for (int i = 0; i < 4; ++i) frame[i] = static_cast<char>(body.size() >> (24 - 8 * i));
  return absl::StrCat(frame, body);
}

// Feeds `bytes` in pieces of a random size.
std::vector<std::string> CutInto(WatchFrames& frames, absl::string_view bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> taken;
  while (!bytes.empty()) {
    const size_t n = std::min<size_t>(bytes.size(), 1 + random() % 9);
    EXPECT_TRUE(frames
                    .Feed(bytes.substr(0, n),
                          [&](absl::string_view frame) {
                            taken.emplace_back(frame);
                            return absl::OkStatus();
                          })
                    .ok());
    bytes.remove_prefix(n);
  }
  return taken;
}

TEST(WatchFramesTest, FindsTheEventsHoweverTheStreamIsCut) {
  const std::string binary = absl::StrCat(Frame("one"), Frame(""), Frame(std::string(300, 'x')));
  const std::string lines =
      absl::StrCat("{\"a\":1}\n\r\n  {\"b\":2}\r\n", std::string(40, ' '), "\n3\n");
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    WatchFrames protobuf(WireFormat::kProtobuf);
    EXPECT_THAT(CutInto(protobuf, binary, seed), ElementsAre("one", "", std::string(300, 'x')));
    EXPECT_TRUE(protobuf.AtBoundary());
    WatchFrames json(WireFormat::kJson);
    EXPECT_THAT(CutInto(json, lines, seed), ElementsAre("{\"a\":1}", "{\"b\":2}", "3"));
    EXPECT_TRUE(json.AtBoundary());
  }
}

TEST(WatchFramesTest, RefusesWhatIsNoStream) {
  const auto none = [](absl::string_view) { return absl::OkStatus(); };
  WatchFrames protobuf(WireFormat::kProtobuf);
  EXPECT_TRUE(absl::IsDataLoss(protobuf.Feed("HTTP/1.1 200 OK", none)));  // 1.2 GB by its prefix
  WatchFrames json(WireFormat::kJson);
  EXPECT_TRUE(absl::IsDataLoss(json.Feed(std::string(WatchFrames::kMaxFrameBytes + 1, 'x'), none)));
  WatchFrames half(WireFormat::kProtobuf);
  EXPECT_TRUE(half.Feed(Frame("one").substr(0, 6), none).ok());
  EXPECT_FALSE(half.AtBoundary());
}

TEST(WatchFramesTest, StopsAtAnError) {
  WatchFrames frames(WireFormat::kJson);
  int calls = 0;
  EXPECT_TRUE(absl::IsInternal(frames.Feed("1\n2\n3\n", [&](absl::string_view) {
    return ++calls == 2 ? absl::InternalError("no") : absl::OkStatus();
  })));
  EXPECT_EQ(calls, 2);
}

TEST(EnvelopeTest, HoldsTheKindAndTheMessage) {
  const auto opened = OpenEnvelope(Envelope("v1", "Pod", std::string("\0\1", 2)));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->api_version, "v1");
  EXPECT_EQ(opened->kind, "Pod");
  EXPECT_EQ(opened->raw, std::string("\0\1", 2));
  EXPECT_FALSE(OpenEnvelope("").ok());
  EXPECT_FALSE(OpenEnvelope("{}").ok());
  EXPECT_FALSE(OpenEnvelope(absl::string_view("k8s\0\xff", 5)).ok());
  // content_encoding = "gzip"
  EXPECT_THAT(
      std::string(OpenEnvelope(absl::string_view("k8s\0\x1a\4gzip", 10)).status().message()),
      HasSubstr("gzip"));
}

TEST(ResourceTest, PathsAreTheServers) {
  EXPECT_EQ(CollectionPath(Kind::kPod), "/api/v1/pods");
  EXPECT_EQ(CollectionPath(Kind::kCSINode), "/apis/storage.k8s.io/v1/csinodes");
  EXPECT_EQ(ObjectPath(Identity(Kind::kPod, "ns", "p", "")), "/api/v1/namespaces/ns/pods/p");
  EXPECT_EQ(ObjectPath(Identity(Kind::kNode, "", "n", "")), "/api/v1/nodes/n");
  EXPECT_EQ(QueryEscape("status.phase!=Failed,a b"), "status.phase%21%3DFailed%2Ca%20b");
  for (const Kind kind : AllKinds()) {
    const bool want = kind == Kind::kPodGroup || kind == Kind::kElasticQuota ||
                      kind == Kind::kDevice || kind == Kind::kVolcanoPodGroup ||
                      kind == Kind::kClusterQuota || kind == Kind::kKueueTopology ||
                      kind == Kind::kKaiTopology || kind == Kind::kClusterNetworkTopology;
    EXPECT_EQ(IsCustomResource(kind), want) << kind;
  }
}

TEST(RateLimiterTest, GivesABurstAndThenATokenAtATime) {
  const absl::Time start = absl::UnixEpoch();
  RateLimiter limiter(10, 2);
  EXPECT_TRUE(limiter.Take(start));
  EXPECT_TRUE(limiter.Take(start));
  // Who finds none has promised himself none.
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(limiter.Take(start));
  EXPECT_EQ(limiter.NextToken(), start + absl::Milliseconds(100));
  EXPECT_FALSE(limiter.Take(start + absl::Milliseconds(99)));
  EXPECT_TRUE(limiter.Take(limiter.NextToken()));
  EXPECT_FALSE(limiter.Take(start + absl::Milliseconds(101)));
  // A long rest saves up the burst, and no more.
  const absl::Time later = start + absl::Hours(1);
  EXPECT_TRUE(limiter.Take(later));
  EXPECT_TRUE(limiter.Take(later));
  EXPECT_FALSE(limiter.Take(later));
  limiter.Lift();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(limiter.Take(later));
  RateLimiter none(-1, 0);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(none.Take(start));
}

}  // namespace
}  // namespace berth
