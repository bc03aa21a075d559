// SPDX-License-Identifier: Apache-2.0
// A pool of distinct strings: see string_pool.h.
#include "api/string_pool.h"

#include <bit>
#include <cstring>

#include "berth/check.h"

namespace berth {
namespace {

constexpr size_t kBlockBytes = 16 << 10;

// The map inside a shard uses the low bits of the same hash.
size_t ShardOf(size_t hash, size_t shards) { return (hash >> 40) % shards; }

}  // namespace

StringPool::Place StringPool::PlaceOf(uint32_t id) {
  const uint64_t position = uint64_t{id} + (1u << kFirstChunkBits);
  const int chunk = std::bit_width(position) - 1 - static_cast<int>(kFirstChunkBits);
  return {chunk, static_cast<uint32_t>(position - (uint64_t{1} << (chunk + kFirstChunkBits)))};
}

absl::string_view StringPool::view(uint32_t id) const {
  const Place place = PlaceOf(id);
  return chunks_[place.chunk].load(std::memory_order_acquire)[place.offset];
}

std::optional<uint32_t> StringPool::Find(absl::string_view text) const {
  const size_t hash = Ids::hasher()(text);
  const Shard& shard = shards_[ShardOf(hash, kShards)];
  MutexLock lock(shard.mutex);
  const auto it = shard.ids.find(text, hash);
  if (it == shard.ids.end()) return std::nullopt;
  return it->second;
}

uint32_t StringPool::Intern(absl::string_view text) {
  const size_t hash = Ids::hasher()(text);
  Shard& shard = shards_[ShardOf(hash, kShards)];
  MutexLock lock(shard.mutex);
  const auto it = shard.ids.find(text, hash);
  if (it != shard.ids.end()) return it->second;
  const absl::string_view copy = Copy(text, shard);
  const uint32_t id = Append(copy);
  shard.ids.emplace(copy, id);
  return id;
}

absl::string_view StringPool::Copy(absl::string_view text, Shard& shard) {
  const size_t bytes = text.size() + 1;
  char* place;
  if (bytes > kBlockBytes / 4) {
    place = new char[bytes];
  } else {
    if (bytes > shard.free_size) {
      shard.free = new char[kBlockBytes];
      shard.free_size = kBlockBytes;
    }
    place = shard.free;
    shard.free += bytes;
    shard.free_size -= bytes;
  }
  if (!text.empty()) std::memcpy(place, text.data(), text.size());
  place[text.size()] = '\0';
  return absl::string_view(place, text.size());
}

uint32_t StringPool::Append(absl::string_view text) {
  MutexLock lock(append_mutex_);
  const uint32_t id = size_.load(std::memory_order_relaxed);
  const Place place = PlaceOf(id);
  BERTH_CHECK(place.chunk < kChunks) << "too many strings";
  absl::string_view* chunk = chunks_[place.chunk].load(std::memory_order_relaxed);
  if (chunk == nullptr) {
    chunk = new absl::string_view[size_t{1} << (place.chunk + kFirstChunkBits)];
    chunks_[place.chunk].store(chunk, std::memory_order_release);
  }
  chunk[place.offset] = text;
  size_.store(id + 1, std::memory_order_release);
  return id;
}

}  // namespace berth
