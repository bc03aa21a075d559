// Object: one Kubernetes object of any kind, as read from a manifest or a cluster.
#ifndef BERTH_API_OBJECT_H_
#define BERTH_API_OBJECT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/api/packed_pod.h"
#include "berth/api/problem.h"
#include "berth/check.h"

namespace berth {

// A kind and an immutable message of that kind, shared. Cheap to move; a copy shares the message.
// A pod may be packed: then it takes little memory until somebody asks for its message.
class Object {
 public:
  // `message` must not change afterwards, not be null, and be of the type that `kind` names.
  Object(Kind kind, std::shared_ptr<const google::protobuf::Message> message,
         SourceLocation where = {});

  explicit Object(std::shared_ptr<const PackedPod> pod, SourceLocation where = {});

  // The object with another state of its pod: name and uid are the same.
  Object With(std::shared_ptr<const PackedPod> pod) const;

  // Object::Of(std::make_shared<api::Pod>(...)). Needs the definition of T.
  template <class T>
  static Object Of(std::shared_ptr<T> message, SourceLocation where = {}) {
    return Object(kKindOf<std::remove_const_t<T>>, std::move(message), where);
  }

  Kind kind() const { return kind_; }
  const SourceLocation& where() const { return where_; }

  // All of these are valid as long as this object is and is not assigned to.
  absl::string_view name() const { return from(name_begin_); }
  absl::string_view namespace_name() const {  // empty for kinds that have none
    return name_begin_ == key_begin_ ? absl::string_view()
                                     : from(key_begin_).substr(0, name_begin_ - key_begin_ - 1);
  }
  absl::string_view key() const { return from(key_begin_); }  // "namespace/name", or "name"
  // metadata.uid; of an object that has none "Kind/namespace/name", so that any two objects of a
  // cluster differ. The message itself is left without one.
  absl::string_view uid() const { return uid_.empty() ? absl::string_view(identity_) : uid_; }

  // The message. The object must be of T's kind. Need the definition of T. Of a pod that is packed,
  // As() and message() unpack it for good, the others for the caller only.
  template <class T>
  const T& As() const {
    BERTH_CHECK(kind_ == kKindOf<T>) << KindName(kind_) << " " << key();
    return static_cast<const T&>(message());
  }
  template <class T>
  std::shared_ptr<const T> Share() const {
    BERTH_CHECK(kind_ == kKindOf<T>) << KindName(kind_) << " " << key();
    return std::static_pointer_cast<const T>(shared_message());
  }
  const google::protobuf::Message& message() const;
  std::shared_ptr<const google::protobuf::Message> shared_message() const;
  bool is_packed() const { return packed_ != nullptr; }
  // Of a pod: packed as it is, or now.
  std::shared_ptr<const PackedPod> packed() const;

  std::string ToString() const;  // "Pod default/p"

 private:
  Object() = default;
  void Identify(absl::string_view namespace_name, absl::string_view name, absl::string_view uid);
  absl::string_view from(uint32_t begin) const {
    return absl::string_view(identity_).substr(begin);
  }

  Kind kind_ = Kind::kPod;
  SourceLocation where_;
  uint32_t key_begin_ = 0;  // offsets into identity_
  uint32_t name_begin_ = 0;
  std::shared_ptr<const google::protobuf::Message> message_;  // null if packed
  std::shared_ptr<const PackedPod> packed_;
  std::string identity_;  // "Pod/default/p", "Node/n"
  std::string uid_;       // as given, or empty
};

}  // namespace berth

#endif  // BERTH_API_OBJECT_H_
