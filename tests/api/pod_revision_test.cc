// PodRevision: what a revision says, what it shares, and how long that lives.
#include "berth/api/pod_revision.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <memory>

#include "berth/api/core_v1.pb.h"

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

TEST(PodRevisionTest, SaysWhatTheOriginalSaysAndWhatWasChanged) {
  const std::shared_ptr<const api::Pod> pod = FullPod();
  api::Pod expected = *pod;
  expected.mutable_spec()->set_node_name("n1");
  expected.mutable_status()->set_phase("Running");
  PodRevision revision(pod);
  revision.SetNodeName("n1");
  revision.status().set_phase("Running");
  const auto revised = std::move(revision).Finish();
  EXPECT_TRUE(MessageDifferencer::Equals(*revised, expected));
  EXPECT_EQ(pod->spec().node_name(), "node_name");
  EXPECT_EQ(pod->status().phase(), "phase");
}

TEST(PodRevisionTest, SharesWhatDidNotChange) {
  const std::shared_ptr<const api::Pod> pod = FullPod();
  PodRevision revision(pod);
  revision.SetNodeName("n1");
  const auto revised = std::move(revision).Finish();
  EXPECT_EQ(&revised->metadata(), &pod->metadata());
  EXPECT_EQ(&revised->status(), &pod->status());
  EXPECT_EQ(&revised->spec().containers(1), &pod->spec().containers(1));
  EXPECT_EQ(&revised->spec().affinity(), &pod->spec().affinity());
}

TEST(PodRevisionTest, KeepsTheOriginalAliveAndNotThoseBetween) {
  std::shared_ptr<const api::Pod> latest = FullPod();
  api::Pod expected = *latest;
  const std::weak_ptr<const api::Pod> original = latest;
  std::weak_ptr<const api::Pod> between;
  for (int i = 0; i < 10; ++i) {
    PodRevision revision(latest);
    revision.metadata().set_uid(std::string(100, 'a' + i));
    revision.status().set_message(std::string(100, 'k' + i));
    revision.SetNodeName(std::string(100, 'z' - i));
    between = latest;
    latest = std::move(revision).Finish();
    EXPECT_EQ(between.expired(), i > 0);
  }
  EXPECT_FALSE(original.expired());
  expected.mutable_metadata()->set_uid(std::string(100, 'j'));
  expected.mutable_status()->set_message(std::string(100, 't'));
  expected.mutable_spec()->set_node_name(std::string(100, 'q'));
  EXPECT_TRUE(MessageDifferencer::Equals(*latest, expected));
  latest = nullptr;
  EXPECT_TRUE(original.expired());
}

TEST(PodRevisionTest, KnowsWhetherTheSpecIsTheSame) {
  const std::shared_ptr<const api::Pod> pod = FullPod();
  PodRevision first(pod);
  first.SetNodeName("n1");
  const auto bound = std::move(first).Finish();
  PodRevision second(bound);
  second.status().set_phase("Succeeded");
  const auto finished = std::move(second).Finish();
  PodRevision third(bound);
  third.spec().set_priority(7);
  const auto raised = std::move(third).Finish();
  EXPECT_TRUE(SameSpec(pod, pod));
  EXPECT_TRUE(SameSpec(pod, bound));
  EXPECT_TRUE(SameSpec(finished, pod));
  EXPECT_TRUE(SameSpec(finished, bound));
  EXPECT_FALSE(SameSpec(raised, bound));
  EXPECT_FALSE(SameSpec(pod, std::make_shared<const api::Pod>(*pod)));
  EXPECT_EQ(raised->spec().priority(), 7);
  EXPECT_EQ(raised->spec().node_name(), "n1");
}

}  // namespace
}  // namespace berth
