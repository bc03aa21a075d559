// SPDX-License-Identifier: Apache-2.0
// Object: one Kubernetes object of any kind, as read from a manifest or a cluster.
#ifndef BERTH_API_OBJECT_H_
#define BERTH_API_OBJECT_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "berth/api/identity.h"
#include "berth/api/kinds.h"
#include "berth/api/packed_pod.h"
#include "berth/api/problem.h"
#include "berth/check.h"

namespace berth {

// A kind and an immutable message of that kind, shared. Cheap to copy.
// A pod may be packed: then it takes little memory until its message is asked for.
class Object {
 public:
  // `message` must not change afterwards, not be null, and be of the type that `kind` names.
  Object(Kind kind, std::shared_ptr<const google::protobuf::Message> message,
         SourceLocation where = {});

  explicit Object(std::shared_ptr<const PackedPod> pod, SourceLocation where = {});

  // Object::Of(std::make_shared<api::Pod>(...)). Needs the definition of T.
  template <class T>
  static Object Of(std::shared_ptr<T> message, SourceLocation where = {}) {
    return Object(kKindOf<std::remove_const_t<T>>, std::move(message), where);
  }

  Kind kind() const { return identity_->kind(); }
  const SourceLocation& where() const { return where_; }

  // Shared with all states of the object that were made from this one.
  const IdentityPtr& identity() const { return identity_; }
  // Valid as long as the identity is. See there.
  absl::string_view name() const { return identity_->name(); }
  absl::string_view namespace_name() const { return identity_->namespace_name(); }
  absl::string_view key() const { return identity_->key(); }
  absl::string_view uid() const { return identity_->uid(); }  // the message may have none

  // The message. The object must be of T's kind. Need the definition of T. Of a pod that is packed,
  // As() and message() unpack it for good, the others for the caller only.
  template <class T>
  const T& As() const {
    BERTH_CHECK(kind() == kKindOf<T>) << KindName(kind()) << " " << key();
    return static_cast<const T&>(message());
  }
  template <class T>
  std::shared_ptr<const T> Share() const {
    BERTH_CHECK(kind() == kKindOf<T>) << KindName(kind()) << " " << key();
    return std::static_pointer_cast<const T>(shared_message());
  }
  const google::protobuf::Message& message() const;
  std::shared_ptr<const google::protobuf::Message> shared_message() const;
  bool is_packed() const { return packed_ != nullptr; }
  // The pod in its packed form. An unpacked one is packed now.
  std::shared_ptr<const PackedPod> packed() const;

  // The whole object, if its kind was registered (RegisterKind()): for ReadDocuments() in value.h.
  const std::string& json() const;

  std::string ToString() const;  // "Pod default/p"

 private:
  SourceLocation where_;
  IdentityPtr identity_;
  std::shared_ptr<const google::protobuf::Message> message_;  // null if packed
  std::shared_ptr<const PackedPod> packed_;
};

}  // namespace berth

#endif  // BERTH_API_OBJECT_H_
