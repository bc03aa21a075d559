// What every object has: namespace, name and uid, taken from the metadata of its message.
#include "berth/api/object.h"

#include "absl/strings/str_cat.h"
#include "api/object_meta.h"
#include "berth/api/core_v1.pb.h"

namespace berth {

Object::Object(Kind kind, std::shared_ptr<const google::protobuf::Message> message,
               SourceLocation where)
    : kind_(kind), where_(where), message_(std::move(message)) {
  BERTH_CHECK(message_ != nullptr);
  const api::ObjectMeta& meta = ObjectMetaOf(kind, *message_);
  Identify(meta.namespace_(), meta.name(), meta.uid());
}

Object::Object(std::shared_ptr<const PackedPod> pod, SourceLocation where)
    : kind_(Kind::kPod), where_(where), packed_(std::move(pod)) {
  packed_->ReadOwn([this](const api::Pod& own) {
    Identify(own.metadata().namespace_(), own.metadata().name(), own.metadata().uid());
  });
}

Object Object::With(std::shared_ptr<const PackedPod> pod) const {
  Object object;
  object.where_ = where_;
  object.packed_ = std::move(pod);
  object.key_begin_ = key_begin_;
  object.name_begin_ = name_begin_;
  object.identity_ = identity_;
  object.uid_ = uid_;
  return object;
}

void Object::Identify(absl::string_view namespace_name, absl::string_view name,
                      absl::string_view uid) {
  const bool namespaced = IsNamespaced(kind_);
  identity_ = namespaced ? absl::StrCat(KindName(kind_), "/", namespace_name, "/", name)
                         : absl::StrCat(KindName(kind_), "/", name);
  key_begin_ = static_cast<uint32_t>(KindName(kind_).size() + 1);
  name_begin_ = key_begin_;
  if (namespaced) name_begin_ += static_cast<uint32_t>(namespace_name.size() + 1);
  uid_ = std::string(uid);
}

const google::protobuf::Message& Object::message() const {
  if (packed_ != nullptr) return packed_->message();
  return *message_;
}

std::shared_ptr<const google::protobuf::Message> Object::shared_message() const {
  return packed_ != nullptr ? packed_->Unpack() : message_;
}

std::shared_ptr<const PackedPod> Object::packed() const {
  if (packed_ != nullptr) return packed_;
  return PackedPod::Pack(As<api::Pod>());
}

std::string Object::ToString() const { return absl::StrCat(KindName(kind_), " ", key()); }

}  // namespace berth
