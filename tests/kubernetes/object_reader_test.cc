// SPDX-License-Identifier: Apache-2.0
// Objects, events and lists as an API server sends them, and nonsense.
#include "kubernetes/object_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/manifest.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/api_error.h"
#include "kubernetes/envelope.h"
#include "kubernetes/list_frames.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPod[] = R"({"apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "7"},
  "spec": {"priority": 0, "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
  "status": {"phase": "Pending"}})";

api::Pod PodMessage() {
  const Manifests manifests = ParseManifest(kPod, "");
  EXPECT_TRUE(manifests.problems.ok()) << manifests.problems.ToString();
  return *manifests.objects.at(0).Share<api::Pod>();
}

// Field 100 of any message: what a later API may have.
std::string WithUnknownField(std::string message) { return message + "\xa2\x06\x03" + "new"; }

void AddProjected(const std::string& name, api::Pod& pod) {
  api::Volume& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name(name);
  volume.mutable_volume_source()->mutable_projected();
}

TEST(ObjectReaderTest, APodIsWhatItsManifestWouldBe) {
  const Manifests manifests = ParseManifest(kPod, "");
  api::Pod pod = PodMessage();
  pod.mutable_metadata()->ParseFromString(WithUnknownField(pod.metadata().SerializeAsString()));
  pod.mutable_spec()->ParseFromString(WithUnknownField(pod.spec().SerializeAsString()));
  const ServedObject served =
      ReadProtobufObject(Kind::kPod, WithUnknownField(pod.SerializeAsString()));
  ASSERT_TRUE(served.object.ok()) << served.object.status();
  EXPECT_EQ(served.resource_version, "7");
  EXPECT_EQ(served.object->ToString(), "Pod ns/p");
  EXPECT_EQ(served.object->uid(), "u");
  ASSERT_TRUE(served.object->is_packed());
  EXPECT_EQ(served.object->packed()->shape(), manifests.objects.at(0).packed()->shape());
  EXPECT_EQ(served.object->Share<api::Pod>()->SerializeAsString(),
            manifests.objects.at(0).Share<api::Pod>()->SerializeAsString());
}

TEST(ObjectReaderTest, PodsWithTokensOfTheirOwnAreAlike) {
  api::Pod a = PodMessage(), b = PodMessage(), c = PodMessage();
  AddProjected("kube-api-access-x7k2p", a);
  AddProjected("kube-api-access-9bbqz", b);
  AddProjected("certificates", c);
  const auto shape = [](const api::Pod& pod) {
    return ReadProtobufObject(Kind::kPod, pod.SerializeAsString()).object->packed()->shape();
  };
  EXPECT_EQ(shape(a), shape(b));
  EXPECT_NE(shape(a), shape(c));
  EXPECT_EQ(shape(c)->spec().volumes(0).name(), "certificates");
}

TEST(ObjectReaderTest, CustomResourcesAreReadAsTheApiReadsJson) {
  ServedObject served{"", "", absl::UnknownError("")};
  ASSERT_TRUE(ReadJson(R"({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "ns", "uid": "u", "resourceVersion": "8",
                 "managedFields": [{"manager": "m"}]},
    "spec": {"minMember": 3, "notYetInvented": {"a": [1]}}, "status": null})",
                       [&](Value map) { served = ReadJsonObject(Kind::kPodGroup, map); })
                  .ok());
  ASSERT_TRUE(served.object.ok()) << served.object.status();
  EXPECT_EQ(served.object->key(), "ns/g");
  EXPECT_EQ(served.object->As<api::PodGroup>().spec().min_member(), 3);
}

TEST(ObjectReaderTest, NonsenseIsNamedAsFarAsItCanBe) {
  struct Case {
    absl::string_view name;
    Kind kind;
    std::string message, key, want;
  };
  api::Pod nameless = PodMessage(), homeless = PodMessage(), slash = PodMessage(),
           other = PodMessage();
  nameless.mutable_metadata()->clear_name();
  homeless.mutable_metadata()->clear_namespace_();
  slash.mutable_metadata()->set_name("a/b");
  other.mutable_metadata()->set_namespace_("a/b");
  const std::string broken = PodMessage().SerializeAsString() + "\x12\x7f";  // a spec that is cut
  const Case cases[] = {
      {"nothing", Kind::kPod, "", "/", "no name"},
      {"no name", Kind::kPod, nameless.SerializeAsString(), "ns/", "no name"},
      {"no namespace", Kind::kPod, homeless.SerializeAsString(), "/p", "no namespace"},
      {"a name that would be a key", Kind::kPod, slash.SerializeAsString(), "ns/a/b", "slash"},
      {"the same of a namespace", Kind::kPod, other.SerializeAsString(), "a/b/p", "slash"},
      {"cut", Kind::kPod, broken, "ns/p", "protobuf form is broken"},
      {"noise", Kind::kNode, "\xff\xff\xff", "", "protobuf form is broken"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    const ServedObject served = ReadProtobufObject(test.kind, test.message);
    EXPECT_TRUE(absl::IsInvalidArgument(served.object.status())) << served.object.status();
    EXPECT_THAT(std::string(served.object.status().message()), HasSubstr(test.want));
    EXPECT_EQ(served.key, test.key);
  }
}

TEST(ObjectReaderTest, JsonThatIsNoneIsRefused) {
  for (const char* const text : {"", "  ", "[]", "null", "a: b", "{", "{}{}", "{\"a\": 1} x"}) {
    EXPECT_TRUE(absl::IsDataLoss(ReadJson(text, [](Value) {}))) << text;
  }
}

std::string Event(const std::string& type, const std::string& kind, const std::string& raw) {
  kubernetes_wire::WatchEvent event;
  event.set_type(type);
  event.mutable_object()->set_raw(Envelope("v1", kind, raw));
  return event.SerializeAsString();
}

TEST(ObjectReaderTest, EventsAreReadInBothForms) {
  const auto added =
      ReadProtobufEvent(Kind::kPod, Event("ADDED", "Pod", PodMessage().SerializeAsString()));
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->type, WatchEventType::kAdded);
  EXPECT_EQ(added->object.object->key(), "ns/p");
  const auto deleted =
      ReadJsonEvent(Kind::kPod, absl::StrCat(R"({"type": "DELETED", "object": )", kPod, "}"));
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_EQ(deleted->type, WatchEventType::kDeleted);
  EXPECT_EQ(deleted->object.object->packed()->shape(), added->object.object->packed()->shape());

  api::Pod mark;
  mark.mutable_metadata()->set_resource_version("9");
  const auto bookmark =
      ReadProtobufEvent(Kind::kPod, Event("BOOKMARK", "Pod", mark.SerializeAsString()));
  ASSERT_TRUE(bookmark.ok()) << bookmark.status();
  EXPECT_EQ(bookmark->object.resource_version, "9");
  EXPECT_FALSE(bookmark->ends_initial_events);
  const auto end =
      ReadJsonEvent(Kind::kPod, R"({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata":
                      {"resourceVersion": "10", "annotations": {"k8s.io/initial-events-end": "true"}}}})");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_TRUE(end->ends_initial_events);

  kubernetes_wire::Status gone;
  gone.set_code(410);
  gone.set_reason("Expired");
  const auto error =
      ReadProtobufEvent(Kind::kPod, Event("ERROR", "Status", gone.SerializeAsString()));
  ASSERT_TRUE(error.ok()) << error.status();
  EXPECT_TRUE(ApiError::Of(error->error)->IsGone());
  const auto empty = ReadJsonEvent(Kind::kPod, R"({"type": "ERROR", "object": {}})");
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_FALSE(empty->error.ok());
}

TEST(ObjectReaderTest, EventsThatAreNoneAreDataLoss) {
  for (const std::string& frame :
       {std::string("\xff"), Event("NEWS", "Pod", ""), Event("ADDED", "Node", ""),
        Event("BOOKMARK", "Pod", "\xff"), Event("ERROR", "Status", "\xff"), std::string()}) {
    EXPECT_TRUE(absl::IsDataLoss(ReadProtobufEvent(Kind::kPod, frame).status())) << frame;
  }
  for (const char* const frame :
       {"", "{}", "{\"type\": \"ADDED\"}", "{\"type\": \"ADDED\", \"object\": []}",
        "{\"type\": \"ADDED\", \"object\": {\"kind\": \"Node\"}}", "{\"type\": 1}"}) {
    EXPECT_TRUE(absl::IsDataLoss(ReadJsonEvent(Kind::kPod, frame).status())) << frame;
  }
}

std::string List(const std::vector<std::string>& items, const std::string& token) {
  kubernetes_wire::AnyList list;
  list.mutable_metadata()->set_resource_version("12");
  list.mutable_metadata()->set_continue_(token);
  for (const std::string& item : items) list.add_items(item);
  return Envelope("v1", "PodList", list.SerializeAsString());
}

TEST(ListFramesTest, FindsTheItemsHoweverTheListIsCut) {
  const std::string bytes = List({"one", "", std::string(300, 'x')}, "next");
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    ListFrames frames;
    std::vector<std::string> items;
    for (absl::string_view rest = bytes; !rest.empty();) {
      EXPECT_FALSE(frames.AtEnd());
      const size_t n = std::min<size_t>(rest.size(), 1 + random() % 9);
      const absl::Status fed =
          frames.Feed(rest.substr(0, n), [&](absl::string_view item) { items.emplace_back(item); });
      ASSERT_TRUE(fed.ok()) << fed;
      rest.remove_prefix(n);
    }
    EXPECT_TRUE(frames.AtEnd());
    EXPECT_THAT(items, ElementsAre("one", "", std::string(300, 'x')));
    EXPECT_EQ(frames.resource_version(), "12");
    EXPECT_EQ(frames.continue_token(), "next");
  }
}

TEST(ListFramesTest, RefusesWhatIsNoList) {
  const std::string list = List({"one"}, "");
  std::string long_item = list;
  // The length of the list in its envelope, one less.
  const size_t raw = long_item.find("\x12", 4 + 2 + 2 + 13);
  ASSERT_NE(raw, std::string::npos);
  long_item[raw + 1] = static_cast<char>(long_item[raw + 1] - 1);
  for (const std::string& bytes :
       {std::string("{}"), std::string("k8s\0\0", 5), std::string("k8s\0\x0b", 5),
        std::string("k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 15),
        std::string("k8s\0\x0a\xff\xff\xff\xff\x7f", 10), std::string("k8s\0\x1a\4gzip", 10),
        long_item}) {
    ListFrames frames;
    EXPECT_TRUE(absl::IsDataLoss(frames.Feed(bytes, [](absl::string_view) {}))) << bytes;
  }
  ListFrames half;
  EXPECT_TRUE(half.Feed(list.substr(0, list.size() - 5), [](absl::string_view) {}).ok());
  EXPECT_FALSE(half.AtEnd());
}

}  // namespace
}  // namespace berth
