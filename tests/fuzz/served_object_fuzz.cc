// SPDX-License-Identifier: Apache-2.0
// Objects, events of a watch and lists as an API server sends them, in protobuf and in JSON: any
// bytes are read or refused in settings, and what is read can be used.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/kinds.h"
#include "berth/api/object.h"
#include "berth/api/packed_pod.h"
#include "berth/check.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "kubernetes/envelope.h"
#include "kubernetes/object_body.h"
#include "kubernetes/object_reader.h"

namespace {

using berth::Kind;
using berth::NodeInfo;
using berth::Object;
using berth::PackedPod;
using berth::PodInfo;

constexpr absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

// Comes to a node, is bound, and goes.
void UseOnANode(const std::shared_ptr<const PackedPod>& packed) {
  const auto pod = PodInfo::Create(packed);
  if (!pod.ok()) {
    BERTH_CHECK(!pod.status().message().empty());
    return;
  }
  const PodInfo& info = **pod;
  BERTH_CHECK(info.key() == packed->identity()->key());
  for (const auto& [key, value] : info.object().metadata().annotations()) {
    BERTH_CHECK(info.annotation(key) == value) << key;
  }
  for (const berth::AffinityTerm& term : info.required_affinity_terms()) {
    term.Matches(info.namespace_name(), info.labels(), nullptr);
  }
  const berth::Symbol name = berth::Symbol::Intern("n");
  NodeInfo node(name);
  node.AddPod(*pod);
  const auto bound = PodInfo::Create(packed->Bound(name, kNow), pod->get());
  BERTH_CHECK(bound.ok()) << bound.status();
  BERTH_CHECK((*bound)->node_name() == "n");
  if (!node.ReplacePod(info, *bound)) {
    BERTH_CHECK(node.RemovePod(info));
    node.AddPod(*bound);
  }
  BERTH_CHECK(node.RemovePod(info.uid()));
  BERTH_CHECK(node.pods().empty() && node.used_ports().empty() && node.claim_uses().empty());
}

void UsePod(const std::shared_ptr<const PackedPod>& packed) {
  const std::shared_ptr<const berth::api::Pod> pod = packed->Unpack();
  BERTH_CHECK(packed->message().metadata().name() == packed->identity()->name());
  // Packed again it is the same.
  const std::shared_ptr<const PackedPod> again = PackedPod::Pack(*pod);
  BERTH_CHECK(again->shape() == packed->shape());
  BERTH_CHECK(again->HasMetadataOf(*packed) || !pod->has_metadata());
  for (const auto& [key, value] : pod->metadata().annotations()) {
    BERTH_CHECK(packed->FindAnnotation(key) == value) << key;
  }
  const auto changed = packed->With(
      [](berth::api::Pod& own) { own.mutable_status()->set_nominated_node_name("n"); });
  BERTH_CHECK(changed->shape() == packed->shape());
  changed->ReadOwn(
      [](const berth::api::Pod& own) { BERTH_CHECK(own.status().nominated_node_name() == "n"); });
  UseOnANode(packed);
}

void UseNode(const Object& object) {
  const auto spec = berth::NodeSpec::Create(object.Share<berth::api::Node>());
  if (!spec.ok()) {
    BERTH_CHECK(!spec.status().message().empty());
    return;
  }
  const NodeInfo node(*spec);
  BERTH_CHECK(node.has_node() && node.name().view() == object.name());
}

void Use(Kind kind, const Object& object) {
  BERTH_CHECK(object.kind() == kind);
  BERTH_CHECK(!object.name().empty() && object.name().find('/') == absl::string_view::npos);
  BERTH_CHECK(object.namespace_name().empty() != berth::IsNamespaced(kind));
  BERTH_CHECK(object.namespace_name().find('/') == absl::string_view::npos);
  BERTH_CHECK(!object.ToString().empty());
  BERTH_CHECK(!berth::ToJson(*object.shared_message()).empty());
  if (kind == Kind::kPod) UsePod(object.packed());
  if (kind == Kind::kNode) UseNode(object);
  if (berth::IsRegisteredKind(kind)) {
    BERTH_CHECK(berth::ReadJson(object.json(), [](berth::Value) {}).ok()) << object.json();
  }
}

void UseServed(Kind kind, const berth::ServedObject& served) {
  if (served.object.ok()) {
    BERTH_CHECK(served.key == served.object->key()) << served.key;
    Use(kind, *served.object);
  } else {
    BERTH_CHECK(!served.object.status().message().empty());
  }
}

void UseEvent(Kind kind, const absl::StatusOr<berth::ServedEvent>& event) {
  if (!event.ok()) {
    BERTH_CHECK(absl::IsDataLoss(event.status())) << event.status();
    return;
  }
  BERTH_CHECK(event->error.ok() == (event->type != berth::WatchEventType::kError));
  UseServed(kind, event->object);
}

void UseAnswer(Kind kind, const char* type, absl::string_view body) {
  const absl::StatusOr<Object> object = berth::DecodeObject(kind, type, body);
  if (object.ok()) Use(kind, *object);
  const absl::StatusOr<berth::ObjectList> list = berth::DecodeList(kind, type, body);
  if (!list.ok()) return;
  for (const Object& one : list->objects) Use(kind, one);
}

}  // namespace

// The first byte is the kind, 'A' the first one: of the list in kinds.h, and one that is
// registered. The second is the form, as below.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Kind registered = berth::RegisterKind({.group = "example.com",
                                                      .version = "v1",
                                                      .name = "LicencePool",
                                                      .plural = "licencepools"})
                                     .value();
  if (size < 2) return 0;
  const size_t number = (data[0] - size_t{'A'}) % (berth::kKindCount + 1);
  const Kind kind = number == berth::kKindCount ? registered : static_cast<Kind>(number);
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (data[1]) {
    case 'o':
      UseServed(kind, berth::ReadProtobufObject(kind, bytes));
      break;
    case 'e':
      UseEvent(kind, berth::ReadProtobufEvent(kind, bytes));
      break;
    case 'a':
      UseAnswer(kind, berth::kProtobufType, bytes);
      break;
    case 'E':
      UseEvent(kind, berth::ReadJsonEvent(kind, bytes));
      break;
    case 'A':
      UseAnswer(kind, berth::kJsonType, bytes);
      break;
    default:
      break;
  }
  return 0;
}
