// SPDX-License-Identifier: Apache-2.0
// Objects as clients send them, as objects of Berth.
#ifndef BERTH_SRC_SERVE_OBJECT_DECODER_H_
#define BERTH_SRC_SERVE_OBJECT_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/admission.h"
#include "berth/api/object.h"
#include "berth/v1/cluster.pb.h"

namespace berth {

// A change of one object. Either `object`, which is there from now on, or `name`, which is not.
struct ClientChange {
  uint32_t position;  // among those of the message
  std::optional<Object> object;
  IdentityPtr name;
};

// Reads any bytes, or says in words why not. Knows the classes of the objects that it has read so
// far, as Admission needs them. Not thread-safe.
class ObjectDecoder {
 public:
  // Appends what `change`, the one at `position`, comes to, and what is wrong with it. A change of
  // a List or a workload comes to several.
  void Decode(const v1::Change& change, uint32_t position, std::vector<ClientChange>& changes,
              google::protobuf::RepeatedPtrField<v1::ObjectProblem>& problems);
  // The objects of a question.
  std::vector<Object> DecodeAll(const google::protobuf::RepeatedPtrField<v1::Object>& objects,
                                google::protobuf::RepeatedPtrField<v1::ObjectProblem>& problems);

 private:
  struct Context;
  void DecodeProtobuf(const v1::Object& object, Context& context);
  void DecodeJson(const v1::Object& object, Context& context);
  void DecodeName(const v1::Object& object, Context& context);
  void Add(Object object, Context& context);
  bool IsUsable(const Object& object, Context& context);

  Admission admission_;
  // The last one that was found good: mostly the next pod has it, too.
  std::shared_ptr<const PodShape> good_shape_;
};

}  // namespace berth

#endif  // BERTH_SRC_SERVE_OBJECT_DECODER_H_
