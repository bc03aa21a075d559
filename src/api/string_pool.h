// SPDX-License-Identifier: Apache-2.0
// A pool of distinct strings numbered from 0, which never forgets and is read without a lock.
#ifndef BERTH_SRC_API_STRING_POOL_H_
#define BERTH_SRC_API_STRING_POOL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/mutex.h"

namespace berth {

// Threads: every method from any thread. An id reaches another thread only through something that
// orders memory, so that the entry behind it is visible there.
class StringPool {
 public:
  StringPool() = default;
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;

  uint32_t Intern(absl::string_view text);
  std::optional<uint32_t> Find(absl::string_view text) const;
  // `id` must come from this pool.
  absl::string_view view(uint32_t id) const;
  uint32_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  // Chunk c holds kFirstChunk << c entries, so that entries never move.
  static constexpr uint32_t kFirstChunkBits = 10;
  static constexpr int kChunks = 32 - kFirstChunkBits;
  static constexpr int kShards = 16;

  using Ids = absl::flat_hash_map<absl::string_view, uint32_t>;
  struct Shard {
    mutable Mutex mutex;
    Ids ids ABSL_GUARDED_BY(mutex);
    char* free ABSL_GUARDED_BY(mutex) = nullptr;  // rest of the block that texts are copied into
    size_t free_size ABSL_GUARDED_BY(mutex) = 0;
  };
  struct Place {
    int chunk;
    uint32_t offset;
  };

  static Place PlaceOf(uint32_t id);
  static absl::string_view Copy(absl::string_view text, Shard& shard)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  uint32_t Append(absl::string_view text);

  std::array<Shard, kShards> shards_;
  Mutex append_mutex_;  // locked inside a shard's
  std::atomic<uint32_t> size_{0};
  std::array<std::atomic<absl::string_view*>, kChunks> chunks_{};
};

}  // namespace berth

#endif  // BERTH_SRC_API_STRING_POOL_H_
