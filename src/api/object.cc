// What every object has: namespace, name and uid, taken from the metadata of its message.
#include "berth/api/object.h"

#include "absl/strings/str_cat.h"
#include "api/object_meta.h"

namespace berth {

Object::Object(Kind kind, std::shared_ptr<const google::protobuf::Message> message,
               SourceLocation where)
    : kind_(kind), where_(where), message_(std::move(message)) {
  BERTH_CHECK(message_ != nullptr);
  const api::ObjectMeta& meta = ObjectMetaOf(kind, *message_);
  const bool namespaced = IsNamespaced(kind);
  identity_ = namespaced ? absl::StrCat(KindName(kind), "/", meta.namespace_(), "/", meta.name())
                         : absl::StrCat(KindName(kind), "/", meta.name());
  key_begin_ = static_cast<uint32_t>(KindName(kind).size() + 1);
  name_begin_ = key_begin_;
  if (namespaced) name_begin_ += static_cast<uint32_t>(meta.namespace_().size() + 1);
  uid_ = meta.uid();
}

std::string Object::ToString() const { return absl::StrCat(KindName(kind_), " ", key()); }

}  // namespace berth
