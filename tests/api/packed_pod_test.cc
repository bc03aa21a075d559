// SPDX-License-Identifier: Apache-2.0
// PackedPod: nothing is lost, alike pods share, and how long that lives.
#include "berth/api/packed_pod.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "berth/api/core_v1.pb.h"
#include "berth/api/time.h"

namespace berth {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

// Sets every field, two elements where there may be many.
void Fill(Message& message, int depth) {
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    for (int k = 0; k < (field->is_repeated() && !field->is_map() ? 2 : 1); ++k) {
      const bool many = field->is_repeated();
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_MESSAGE:
          if (depth == 0) break;
          Fill(many ? *reflection.AddMessage(&message, field)
                    : *reflection.MutableMessage(&message, field),
               depth - 1);
          break;
        case FieldDescriptor::CPPTYPE_STRING:
          many ? reflection.AddString(&message, field, field->name())
               : reflection.SetString(&message, field, field->name());
          break;
        case FieldDescriptor::CPPTYPE_BOOL:
          many ? reflection.AddBool(&message, field, true)
               : reflection.SetBool(&message, field, true);
          break;
        case FieldDescriptor::CPPTYPE_INT32:
          many ? reflection.AddInt32(&message, field, i)
               : reflection.SetInt32(&message, field, i + 1);
          break;
        case FieldDescriptor::CPPTYPE_INT64:
          many ? reflection.AddInt64(&message, field, i)
               : reflection.SetInt64(&message, field, i + 1);
          break;
        case FieldDescriptor::CPPTYPE_DOUBLE:
          many ? reflection.AddDouble(&message, field, i)
               : reflection.SetDouble(&message, field, i + 1);
          break;
        default:
          FAIL() << field->full_name() << " is of a type that this test cannot fill";
      }
    }
  }
}

std::shared_ptr<const api::Pod> FullPod() {
  auto pod = std::make_shared<api::Pod>();
  Fill(*pod, 4);
  return pod;
}

TEST(PackedPodTest, UnpacksToWhatWasPacked) {
  const std::shared_ptr<const api::Pod> pod = FullPod();
  const auto packed = PackedPod::Pack(*pod);
  EXPECT_TRUE(MessageDifferencer::Equals(*packed->Unpack(), *pod));
  EXPECT_TRUE(MessageDifferencer::Equals(packed->message(), *pod));
  EXPECT_EQ(&packed->message(), &packed->message());
  EXPECT_TRUE(MessageDifferencer::Equals(*PackedPod::Pack({})->Unpack(), api::Pod()));
}

TEST(PackedPodTest, KeepsFieldsThatItDoesNotKnow) {
  api::Pod pod;
  pod.mutable_unknown_fields()->AddVarint(99, 1);
  pod.mutable_spec()->mutable_unknown_fields()->AddLengthDelimited(98, "later");
  pod.mutable_spec()->mutable_unknown_fields()->AddFixed64(97, 2);
  pod.mutable_spec()->mutable_unknown_fields()->AddFixed32(96, 3);
  EXPECT_TRUE(MessageDifferencer::Equals(*PackedPod::Pack(pod)->Unpack(), pod));
}

TEST(PackedPodTest, EqualPodsShareTheirShape) {
  api::Pod a = *FullPod();
  api::Pod b = a;
  b.mutable_metadata()->set_name("other");
  b.mutable_status()->set_phase("Running");
  b.mutable_spec()->set_node_name("n1");
  b.mutable_spec()->set_hostname("h1");
  b.mutable_spec()->set_termination_grace_period_seconds(1);
  api::Pod c = a;
  c.mutable_spec()->mutable_containers(0)->set_image("other");
  const auto packed = PackedPod::Pack(a);
  EXPECT_EQ(packed->shape(), PackedPod::Pack(b)->shape());
  EXPECT_NE(packed->shape(), PackedPod::Pack(c)->shape());
  EXPECT_TRUE(MessageDifferencer::Equals(*PackedPod::Pack(b)->Unpack(), b));

  api::PodSpec common = a.spec();
  common.clear_node_name();
  common.clear_hostname();
  common.clear_termination_grace_period_seconds();
  EXPECT_TRUE(MessageDifferencer::Equals(packed->shape()->spec(), common));
}

// Maps are written in order.
TEST(PackedPodTest, TheOrderOfLabelsOfANodeSelectorDoesNotMatter) {
  api::Pod a, b;
  for (int i = 0; i < 100; ++i) {
    (*a.mutable_spec()->mutable_node_selector())[std::to_string(i)] = "x";
    (*b.mutable_spec()->mutable_node_selector())[std::to_string(99 - i)] = "x";
  }
  EXPECT_EQ(PackedPod::Pack(a)->shape(), PackedPod::Pack(b)->shape());
}

TEST(PackedPodTest, AShapeGoesWithItsLastPod) {
  std::weak_ptr<const PodShape> shape;
  for (int i = 0; i < 2; ++i) {
    auto packed = PackedPod::Pack(*FullPod());
    shape = packed->shape();
    EXPECT_FALSE(shape.expired());
    packed = nullptr;
    EXPECT_TRUE(shape.expired());
  }
}

TEST(PackedPodTest, AChangedCopyHasTheShapeAndWhatIsTheOriginalsOwn) {
  const std::shared_ptr<const api::Pod> pod = FullPod();
  api::Pod expected = *pod;
  expected.mutable_spec()->set_node_name("n1");
  expected.mutable_status()->set_phase("Running");
  expected.mutable_status()->clear_conditions();
  const auto packed = PackedPod::Pack(*pod);
  const auto changed = packed->With([](api::Pod& own) {
    own.mutable_spec()->set_node_name("n1");
    own.mutable_status()->set_phase("Running");
    own.mutable_status()->clear_conditions();
  });
  EXPECT_EQ(changed->shape(), packed->shape());
  EXPECT_TRUE(changed->HasMetadataOf(*packed));
  EXPECT_FALSE(packed->With([](api::Pod& own) { own.mutable_metadata()->set_uid("u"); })
                   ->HasMetadataOf(*packed));
  EXPECT_TRUE(MessageDifferencer::Equals(*changed->Unpack(), expected));
  EXPECT_TRUE(MessageDifferencer::Equals(*packed->Unpack(), *pod));
}

// A server of another version may send what these messages do not know, in any form.
TEST(PackedPodTest, UnknownFieldsOfAnyFormAreSkippedAndKept) {
  api::Pod pod = *FullPod();
  (*pod.mutable_metadata()->mutable_annotations())["a"] = "1";
  const auto add = [](google::protobuf::UnknownFieldSet* fields) {
    google::protobuf::UnknownFieldSet* const group = fields->AddGroup(900);
    group->AddVarint(1, 300);
    group->AddGroup(2)->AddLengthDelimited(3, "deep");
    fields->AddFixed32(901, 7);
    fields->AddFixed64(902, 8);
    fields->AddLengthDelimited(903, "text");
  };
  add(pod.mutable_metadata()->mutable_unknown_fields());
  add(pod.mutable_spec()->mutable_unknown_fields());
  add(pod.mutable_unknown_fields());
  const auto packed = PackedPod::Pack(pod);
  EXPECT_EQ(packed->FindAnnotation("a"), "1");
  EXPECT_EQ(packed->FindAnnotation("b"), std::nullopt);
  EXPECT_EQ(packed->message().metadata().unknown_fields().field_count(), 4);
  EXPECT_EQ(packed->message().spec().unknown_fields().field_count(), 4);
}

TEST(PackedPodTest, FindsAnnotationsAsTheMessageHasThem) {
  const std::map<std::string, std::string> annotations = {{"a", "1"},
                                                          {"empty", ""},
                                                          {"", "no key"},
                                                          {"long", std::string(300, 'x')},
                                                          {"z", "\xc3\xa4"}};
  for (const bool full : {true, false}) {
    api::Pod pod = full ? *FullPod() : api::Pod();
    pod.mutable_metadata()->set_name("p");
    (*pod.mutable_metadata()->mutable_labels())["b"] = "a label";
    for (const auto& [key, value] : annotations) {
      (*pod.mutable_metadata()->mutable_annotations())[key] = value;
    }
    const auto packed = PackedPod::Pack(pod);
    const auto changed = packed->With([](api::Pod& own) {
      own.mutable_metadata()->set_generation(7);
      own.mutable_metadata()->mutable_annotations()->erase("a");
    });
    const auto bound = changed->Bound(Symbol::Intern("n1"), absl::UnixEpoch());
    for (const auto& [key, value] : annotations) {
      EXPECT_EQ(packed->FindAnnotation(key), value);
      if (key == "a") continue;
      EXPECT_EQ(changed->FindAnnotation(key), value);
      EXPECT_EQ(bound->FindAnnotation(key), value);
    }
    EXPECT_EQ(changed->FindAnnotation("a"), std::nullopt);
    EXPECT_EQ(packed->FindAnnotation("b"), std::nullopt);
    EXPECT_EQ(packed->FindAnnotation("lon"), std::nullopt);
  }
  EXPECT_EQ(PackedPod::Pack(api::Pod())->FindAnnotation("a"), std::nullopt);
}

TEST(PackedPodTest, ABoundCopyRuns) {
  const absl::Time start = absl::FromUnixSeconds(1000);
  for (const api::Pod& pod : {*FullPod(), api::Pod()}) {
    const auto packed = PackedPod::Pack(pod);
    const auto bound = packed->Bound(Symbol::Intern("n1"), start);
    api::Pod expected = pod;
    expected.mutable_spec()->set_node_name("n1");
    expected.mutable_status()->set_phase("Running");
    expected.mutable_status()->clear_nominated_node_name();
    SetTime(start, expected.mutable_status()->mutable_start_time());
    api::PodCondition& scheduled = *expected.mutable_status()->add_conditions();
    scheduled.set_type("PodScheduled");
    scheduled.set_status("True");
    scheduled.mutable_last_transition_time()->set_seconds(1000);
    EXPECT_TRUE(MessageDifferencer::Equals(*bound->Unpack(), expected));
    EXPECT_TRUE(MessageDifferencer::Equals(bound->message(), expected));
    EXPECT_TRUE(MessageDifferencer::Equals(*bound->With([](api::Pod&) {})->Unpack(), expected));
    EXPECT_TRUE(bound->HasMetadataOf(*packed));
    bound->ReadOwn([](const api::Pod& own) { EXPECT_EQ(own.spec().node_name(), "n1"); });

    ASSERT_NE(bound->BoundSince(*packed), nullptr);
    EXPECT_EQ(bound->BoundSince(*packed)->node_name.view(), "n1");
    EXPECT_EQ(packed->BoundSince(*packed), nullptr);
    EXPECT_EQ(bound->BoundSince(*bound), nullptr);
    const auto other = packed->With([](api::Pod& own) { own.mutable_metadata()->set_uid("u"); });
    EXPECT_EQ(bound->BoundSince(*other), nullptr);
  }
}

TEST(PackedPodTest, AnEvictedCopyIsBeingDeleted) {
  const absl::Time since = absl::FromUnixSeconds(2000);
  for (const bool is_bound : {false, true}) {
    for (const api::Pod& pod : {*FullPod(), api::Pod()}) {
      auto packed = PackedPod::Pack(pod);
      if (is_bound) packed = packed->Bound(Symbol::Intern("n1"), absl::FromUnixSeconds(1000));
      const auto evicted = packed->Evicted(since, "for p");
      api::Pod expected = *packed->Unpack();
      SetTime(since, expected.mutable_metadata()->mutable_deletion_timestamp());
      api::PodCondition& target = *expected.mutable_status()->add_conditions();
      target.set_type("DisruptionTarget");
      target.set_status("True");
      target.set_reason("PreemptionByScheduler");
      target.set_message("for p");
      target.mutable_last_transition_time()->set_seconds(2000);
      EXPECT_TRUE(MessageDifferencer::Equals(*evicted->Unpack(), expected));
      EXPECT_TRUE(MessageDifferencer::Equals(evicted->message(), expected));
      EXPECT_TRUE(MessageDifferencer::Equals(*evicted->With([](api::Pod&) {})->Unpack(), expected));
      evicted->ReadOwn([](const api::Pod& own) {
        EXPECT_EQ(own.metadata().deletion_timestamp().seconds(), 2000);
      });
      EXPECT_EQ(evicted->shape(), packed->shape());
      EXPECT_EQ(evicted->identity(), packed->identity());

      EXPECT_FALSE(evicted->HasMetadataOf(*packed));
      EXPECT_TRUE(evicted->HasMetadataOf(*evicted));
      ASSERT_NE(evicted->EvictedSince(*packed), nullptr);
      EXPECT_EQ(evicted->EvictedSince(*packed)->since, since);
      EXPECT_EQ(packed->EvictedSince(*packed), nullptr);
      EXPECT_EQ(evicted->EvictedSince(*evicted), nullptr);
      EXPECT_EQ(evicted->BoundSince(*packed), nullptr);
      const auto other = packed->With([](api::Pod& own) { own.mutable_metadata()->set_uid("u"); });
      EXPECT_EQ(evicted->EvictedSince(*other), nullptr);

      const auto moved = evicted->Bound(Symbol::Intern("n2"), since);
      EXPECT_EQ(moved->message().spec().node_name(), "n2");
      EXPECT_EQ(moved->message().metadata().deletion_timestamp().seconds(), 2000);
      const auto again = evicted->Evicted(absl::FromUnixSeconds(3000), "for q");
      EXPECT_EQ(again->message().metadata().deletion_timestamp().seconds(), 3000);
      EXPECT_EQ(again->message().status().conditions_size(), expected.status().conditions_size());
    }
  }
}

TEST(PackedPodTest, BindingReplacesTheConditionThatThereWas) {
  api::Pod pod;
  api::PodCondition& condition = *pod.mutable_status()->add_conditions();
  condition.set_type("PodScheduled");
  condition.set_status("False");
  condition.set_reason("Unschedulable");
  condition.set_message("0/1 nodes are available");
  const auto bound = PackedPod::Pack(pod)->Bound(Symbol::Intern("n1"), absl::UnixEpoch());
  const auto unpacked = bound->Unpack();
  ASSERT_EQ(unpacked->status().conditions_size(), 1);
  EXPECT_EQ(unpacked->status().conditions(0).status(), "True");
  EXPECT_FALSE(unpacked->status().conditions(0).has_reason());
  EXPECT_FALSE(unpacked->status().conditions(0).has_message());
}

}  // namespace
}  // namespace berth
