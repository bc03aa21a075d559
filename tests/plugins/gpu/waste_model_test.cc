// SPDX-License-Identifier: Apache-2.0
// What is wasted of nodes with more cards than the model's pods can fill.
#include "plugins/gpu/waste_model.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"

namespace berth {
namespace {

TEST(WasteModel, CardsThatNoPodOfTheMixComesToAreWasted) {
  for (const int64_t gpus : {1, 2, 8}) {
    const WasteModel model(
        TypicalMix({{.milli_cpu = 1, .milli_gpu = 1000, .gpus = gpus, .count = 10}}, 1.0));
    for (const int64_t cards : {8, 64, 65, 200, 511, 512, 1000}) {
      FreeGpus free{.milli_cpu = 1'000'000};
      free.milli_gpu.assign(cards, 1000);
      free.milli_gpu.insert(free.milli_gpu.begin() + cards / 2, 600,
                            500);  // shares of 500 fit nobody
      const int64_t filled = std::min<int64_t>(cards / gpus, WasteModel::kLength) * gpus;
      EXPECT_EQ(model.Loss(free),
                WasteModel::kLossUnit * ((cards - filled) * 1000 + int64_t{600} * 500))
          << cards << " cards, " << gpus << " a pod";
    }
  }
}

}  // namespace
}  // namespace berth
