// SPDX-License-Identifier: Apache-2.0
// ClassEntries: what is left of very many, in order, whichever go.
#include "queue/hint_classes.h"

#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace berth {
namespace {

TEST(ClassEntries, KeepTheirOrderWhoeverGoes) {
  constexpr int kSteps = 5'000;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<QueueEntry> all(kSteps);
    ClassEntries entries;
    std::map<uint64_t, QueueEntry*> plain;  // by sequence
    for (int step = 0; step < kSteps; ++step) {
      // Grows, and shrinks again; now and then one comes that began to wait earlier.
      const bool grows = step % 1'000 < 600;
      if (plain.empty() || random() % 100 < (grows ? 90 : 10)) {
        const uint64_t sequence = 10 * (step + 1) - (random() % 50 == 0 ? 10 * (step / 2) + 5 : 0);
        if (!plain.emplace(sequence, &all[step]).second) continue;
        entries.Add({&all[step], sequence, sequence + 1});
      } else {
        const auto it =
            random() % 3 == 0 ? plain.begin() : plain.lower_bound(random() % (10 * step));
        const uint64_t gone = it == plain.end() ? plain.rbegin()->first : it->first;
        plain.erase(gone);
        entries.Remove(gone);
      }
      ASSERT_EQ(entries.size(), plain.size());
      ASSERT_EQ(entries.empty(), plain.empty());
      if (plain.empty()) continue;
      ASSERT_EQ(entries.front().entry, plain.begin()->second);
      ASSERT_EQ(entries.Find(plain.rbegin()->first).since, plain.rbegin()->first + 1);
      if (step % 50 != 0) continue;
      std::vector<uint64_t> found, want;
      entries.ForEach([&](const ClassEntries::Waiting& waiting) {
        ASSERT_EQ(plain[waiting.sequence], waiting.entry);
        found.push_back(waiting.sequence);
      });
      for (const auto& [sequence, entry] : plain) want.push_back(sequence);
      ASSERT_EQ(found, want);
    }
  }
}

}  // namespace
}  // namespace berth
