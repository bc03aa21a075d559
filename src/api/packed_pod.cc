// SPDX-License-Identifier: Apache-2.0
// Messages in the wire format are merged by putting one behind the other: a shape and a pod's own
// make the pod.
#include "berth/api/packed_pod.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "api/prefetch.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/api/time.h"
#include "berth/check.h"
#include "berth/mutex.h"

namespace berth {
namespace {

using google::protobuf::Arena;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr int kMapKey = 1;  // of an entry of a map; its value is 2

constexpr uint32_t LengthDelimited(int field) { return static_cast<uint32_t>(field) << 3 | 2; }

// The same bytes for the same content: maps are written in order.
void Serialize(const google::protobuf::Message& message, std::string* bytes) {
  const size_t size = message.ByteSizeLong();
  BERTH_CHECK(size <= std::numeric_limits<int>::max()) << message.GetTypeName();
  bytes->resize(size);
  google::protobuf::io::ArrayOutputStream stream(bytes->data(), static_cast<int>(size));
  CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes(&out);
  BERTH_CHECK(!out.HadError()) << message.GetTypeName();
}

bool IsOwn(int field_of_spec) {
  return field_of_spec == api::PodSpec::kNodeNameFieldNumber ||
         field_of_spec == api::PodSpec::kHostnameFieldNumber ||
         field_of_spec == api::PodSpec::kTerminationGracePeriodSecondsFieldNumber;
}

// The end of the value behind a tag that was just read.
void SkipValue(uint32_t tag, CodedInputStream& in) {
  uint64_t number;
  uint32_t size;
  switch (tag & 7) {
    case 0:
      BERTH_CHECK(in.ReadVarint64(&number));
      return;
    case 1:
      BERTH_CHECK(in.Skip(8));
      return;
    case 2:
      BERTH_CHECK(in.ReadVarint32(&size) && in.Skip(static_cast<int>(size)));
      return;
    case 3:  // a group, as an unknown field may be
      for (uint32_t inner = in.ReadTag(); (inner & 7) != 4; inner = in.ReadTag()) {
        BERTH_CHECK(inner != 0);
        SkipValue(inner, in);
      }
      return;
    default:
      BERTH_CHECK((tag & 7) == 5 && in.Skip(4)) << "tag " << tag;
      return;
  }
}

// The fields of a message, one after the other, at a fraction of what a CodedInputStream costs.
class Fields {
 public:
  explicit Fields(absl::string_view message) : rest_(message) {}

  // Goes to the next one. False at the end.
  bool Next() {
    if (rest_.empty()) return false;
    const uint64_t tag = TakeVarint();
    number_ = static_cast<int>(tag >> 3);
    bytes_ = {};
    switch (tag & 7) {
      case 0:
        TakeVarint();
        return true;
      case 2:
        bytes_ = Take(TakeVarint());
        return true;
      case 3: {  // a group, as an unknown field may be
        const int number = number_;
        while (true) {
          BERTH_CHECK(!rest_.empty());
          if ((static_cast<uint8_t>(rest_.front()) & 7) == 4) break;
          Next();
        }
        TakeVarint();
        number_ = number;
        bytes_ = {};
        return true;
      }
      default:
        BERTH_CHECK((tag & 7) == 1 || (tag & 7) == 5) << "tag " << tag;
        Take((tag & 7) == 1 ? 8 : 4);
        return true;
    }
  }
  int number() const { return number_; }
  absl::string_view bytes() const { return bytes_; }  // its content, if that has a length

 private:
  absl::string_view Take(uint64_t size) {
    BERTH_CHECK(size <= rest_.size());
    const absl::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  uint64_t TakeVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(Take(1).front());
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }

  absl::string_view rest_;
  int number_ = 0;
  absl::string_view bytes_;
};

// The metadata in the bytes of a pod's own, where it comes first; empty if there is none.
absl::string_view MetadataIn(absl::string_view own) {
  Fields fields(own);
  return fields.Next() && fields.number() == api::Pod::kMetadataFieldNumber ? fields.bytes()
                                                                            : absl::string_view();
}

// Takes the pod's own fields out of the bytes of a spec.
void Split(absl::string_view spec, std::string& shape, std::string& own) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(spec.data()), static_cast<int>(spec.size()));
  while (true) {
    const int begin = in.CurrentPosition();
    const uint32_t tag = in.ReadTag();
    if (tag == 0) return;
    SkipValue(tag, in);
    std::string& to = IsOwn(static_cast<int>(tag >> 3)) ? own : shape;
    to.append(spec.data() + begin, in.CurrentPosition() - begin);
  }
}

// A pod's own, on the stack as far as it fits.
class Own {
 public:
  explicit Own(absl::string_view bytes) : arena_(WithBlock(block_)) {
    pod_ = Arena::CreateMessage<api::Pod>(&arena_);
    BERTH_CHECK(pod_->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())));
  }
  api::Pod& pod() { return *pod_; }

 private:
  static constexpr size_t kBlockBytes = 4096;
  static google::protobuf::ArenaOptions WithBlock(char* block) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block;
    options.initial_block_size = kBlockBytes;
    return options;
  }

  alignas(8) char block_[kBlockBytes];
  Arena arena_;
  api::Pod* pod_;
};

IdentityPtr Identify(const api::Pod& pod) {
  const api::ObjectMeta& meta = pod.metadata();
  return std::make_shared<const Identity>(Kind::kPod, meta.namespace_(), meta.name(), meta.uid());
}

void Bind(const PackedPod::Binding& binding, api::Pod& pod) {
  pod.mutable_spec()->set_node_name(std::string(binding.node_name.view()));
  api::PodStatus& status = *pod.mutable_status();
  if (!HasEnded(status)) status.set_phase("Running");
  status.clear_nominated_node_name();
  SetTime(binding.start_time, status.mutable_start_time());
  SetCondition("PodScheduled", true, binding.start_time, status);
}

void Evict(const PackedPod::Eviction& eviction, api::Pod& pod) {
  SetTime(eviction.since, pod.mutable_metadata()->mutable_deletion_timestamp());
  api::PodCondition& target =
      SetCondition("DisruptionTarget", true, eviction.since, *pod.mutable_status());
  target.set_reason("PreemptionByScheduler");
  target.set_message(eviction.message);
}

// The message that `known` points to, which `make` fills if it is not filled yet.
template <class T, class Make>
const T& Once(std::atomic<const T*>& known, Make make) {
  const T* there = known.load(std::memory_order_acquire);
  if (there != nullptr) return *there;
  auto made = std::make_unique<T>();
  make(*made);
  if (known.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *there;
}

// All shapes that some pod holds.
struct Shapes {
  Mutex mutex;
  absl::flat_hash_map<absl::string_view, std::weak_ptr<const PodShape>> by_bytes
      ABSL_GUARDED_BY(mutex);
};

Shapes& AllShapes() {
  static Shapes& shapes = *new Shapes;
  return shapes;
}

}  // namespace

// --- Shapes --------------------------------------------------------------------------------------

std::shared_ptr<const PodShape> PodShape::Intern(absl::string_view bytes) {
  Shapes& shapes = AllShapes();
  MutexLock lock(shapes.mutex);
  const auto it = shapes.by_bytes.find(bytes);
  if (it != shapes.by_bytes.end()) {
    if (std::shared_ptr<const PodShape> known = it->second.lock()) return known;
    shapes.by_bytes.erase(it);  // it is about to go, and its key with it
  }
  auto shape = std::make_shared<const PodShape>(std::string(bytes));
  shapes.by_bytes.emplace(shape->bytes(), shape);
  return shape;
}

class PodShape::LastMade {
 public:
  std::shared_ptr<const void> Find(size_t key) {
    MutexLock lock(mutex_);
    for (const Made& made : made_) {
      if (made.key == key) return made.what;
    }
    return nullptr;
  }

  void Add(size_t key, std::shared_ptr<const void> what) {
    constexpr size_t kMost = 16;
    Made made{key, std::move(what)};
    MutexLock lock(mutex_);
    for (Made& known : made_) {
      if (known.key == key) return std::swap(known, made);
    }
    if (made_.size() < kMost) {
      made_.push_back(std::move(made));
    } else {
      std::swap(made_[next_++ % kMost], made);
    }
  }

 private:
  struct Made {
    size_t key;
    std::shared_ptr<const void> what;
  };

  Mutex mutex_;
  std::vector<Made> made_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // to be forgotten
};

PodShape::PodShape(std::string bytes)
    : bytes_(std::move(bytes)), last_made_(std::make_unique<LastMade>()) {}

PodShape::~PodShape() {
  delete spec_.load(std::memory_order_relaxed);
  Shapes& shapes = AllShapes();
  MutexLock lock(shapes.mutex);
  const auto it = shapes.by_bytes.find(bytes_);
  if (it != shapes.by_bytes.end() && it->first.data() == bytes_.data()) shapes.by_bytes.erase(it);
}

const api::PodSpec& PodShape::spec() const {
  return Once(spec_,
              [this](api::PodSpec& spec) { BERTH_CHECK(spec.ParsePartialFromString(bytes_)); });
}

std::shared_ptr<const void> PodShape::Cached(size_t key) const { return last_made_->Find(key); }

void PodShape::Cache(size_t key, std::shared_ptr<const void> made) const {
  last_made_->Add(key, std::move(made));
}

// --- Pods ----------------------------------------------------------------------------------------

void PackedPod::PrefetchOwn() const { Prefetch(own_); }

std::shared_ptr<const PackedPod> PackedPod::Pack(const api::Pod& pod) {
  std::string bytes, shape, own_spec;
  Serialize(pod.spec(), &bytes);
  Split(bytes, shape, own_spec);
  std::string own;
  {
    google::protobuf::io::StringOutputStream stream(&own);
    CodedOutputStream out(&stream);
    const auto write = [&out](int field, const std::string& value) {
      out.WriteTag(LengthDelimited(field));
      out.WriteVarint32(static_cast<uint32_t>(value.size()));
      out.WriteString(value);
    };
    if (pod.has_metadata()) {
      Serialize(pod.metadata(), &bytes);
      write(api::Pod::kMetadataFieldNumber, bytes);
    }
    if (pod.has_spec()) write(api::Pod::kSpecFieldNumber, own_spec);
    if (pod.has_status()) {
      Serialize(pod.status(), &bytes);
      write(api::Pod::kStatusFieldNumber, bytes);
    }
    if (!pod.unknown_fields().empty()) {
      pod.unknown_fields().SerializeToCodedStream(&out);
    }
  }
  std::string whole(own.begin(), own.end());  // of that size, and no more
  return std::make_shared<const PackedPod>(Identify(pod), PodShape::Intern(shape),
                                           std::make_shared<const std::string>(std::move(whole)));
}

PackedPod::~PackedPod() { delete message_.load(std::memory_order_relaxed); }

const api::Pod& PackedPod::message() const {
  return Once(message_, [this](api::Pod& pod) { UnpackTo(pod); });
}

std::shared_ptr<const api::Pod> PackedPod::Unpack() const {
  auto pod = std::make_shared<api::Pod>();
  UnpackTo(*pod);
  return pod;
}

void PackedPod::UnpackTo(api::Pod& pod) const {
  if (!shape_->bytes().empty()) {
    BERTH_CHECK(pod.mutable_spec()->ParsePartialFromString(shape_->bytes()));
  }
  CodedInputStream own(reinterpret_cast<const uint8_t*>(own_->data()),
                       static_cast<int>(own_->size()));
  BERTH_CHECK(pod.MergePartialFromCodedStream(&own));
  ApplyChanges(pod);
}

void PackedPod::ApplyChanges(api::Pod& pod) const {
  if (bound_.has_value()) Bind(*bound_, pod);
  if (evicted_ != nullptr) Evict(*evicted_, pod);
}

std::optional<absl::string_view> PackedPod::FindAnnotation(absl::string_view key) const {
  for (Fields metadata(MetadataIn(*own_)); metadata.Next();) {
    if (metadata.number() != api::ObjectMeta::kAnnotationsFieldNumber) continue;
    absl::string_view entry_key, value;  // either may be left out if it is empty
    for (Fields entry(metadata.bytes()); entry.Next();) {
      (entry.number() == kMapKey ? entry_key : value) = entry.bytes();
    }
    if (entry_key == key) return value;
  }
  return std::nullopt;
}

bool PackedPod::HasMetadataOf(const PackedPod& other) const {
  if (evicted_ != other.evicted_) return false;  // an API server says when it is to be gone
  if (own_ == other.own_) return true;
  const absl::string_view metadata = MetadataIn(*own_);
  return !metadata.empty() && metadata == MetadataIn(*other.own_);
}

void PackedPod::ReadOwn(absl::FunctionRef<void(const api::Pod& own)> look) const {
  Own own(*own_);
  ApplyChanges(own.pod());
  look(own.pod());
}

std::shared_ptr<const PackedPod> PackedPod::With(
    absl::FunctionRef<void(api::Pod& own)> change) const {
  Own own(*own_);
  ApplyChanges(own.pod());
  change(own.pod());
  std::string bytes;
  Serialize(own.pod(), &bytes);
  const api::ObjectMeta& meta = own.pod().metadata();
  const bool same = identity_->Is(meta.namespace_(), meta.name(), meta.uid());
  return std::make_shared<const PackedPod>(same ? identity_ : Identify(own.pod()), shape_,
                                           std::make_shared<const std::string>(std::move(bytes)));
}

std::shared_ptr<const PackedPod> PackedPod::Bound(Symbol node_name, absl::Time start_time) const {
  if (evicted_ != nullptr) {
    return With([&](api::Pod& own) { Bind({node_name, start_time}, own); });
  }
  auto bound = std::make_shared<PackedPod>(identity_, shape_, own_);
  bound->bound_ = Binding{node_name, start_time};
  return bound;
}

const PackedPod::Binding* PackedPod::BoundSince(const PackedPod& earlier) const {
  if (!bound_.has_value() || earlier.bound_.has_value()) return nullptr;
  if (evicted_ != nullptr || earlier.evicted_ != nullptr) return nullptr;
  const bool same = shape_ == earlier.shape_ && (own_ == earlier.own_ || *own_ == *earlier.own_);
  return same ? &*bound_ : nullptr;
}

// The bytes are shared: as for Bound(), neither this copy nor what is parsed of it reads them
// again. A group evicts thousands of pods at once, and each is seen so before the API server has
// answered.
std::shared_ptr<const PackedPod> PackedPod::Evicted(absl::Time since, std::string message) const {
  Eviction eviction{since, std::move(message)};
  if (evicted_ != nullptr) return With([&](api::Pod& own) { Evict(eviction, own); });
  auto evicted = std::make_shared<PackedPod>(identity_, shape_, own_);
  evicted->bound_ = bound_;
  evicted->evicted_ = std::make_shared<const Eviction>(std::move(eviction));
  return evicted;
}

const PackedPod::Eviction* PackedPod::EvictedSince(const PackedPod& earlier) const {
  if (evicted_ == nullptr || earlier.evicted_ != nullptr) return nullptr;
  const bool same_binding =
      bound_.has_value() == earlier.bound_.has_value() &&
      (!bound_.has_value() || (bound_->node_name == earlier.bound_->node_name &&
                               bound_->start_time == earlier.bound_->start_time));
  const bool same = same_binding && shape_ == earlier.shape_ && own_ == earlier.own_;
  return same ? evicted_.get() : nullptr;
}

}  // namespace berth
