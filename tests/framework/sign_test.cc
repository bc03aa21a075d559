// SPDX-License-Identifier: Apache-2.0
// Signatures of pods.
#include "berth/incremental/sign.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"

namespace berth {
namespace {

using ::testing::IsEmpty;

TEST(PodSignature, NeighbouringValuesCannotRunTogether) {
  const auto bytes = [](const std::vector<std::string>& values) {
    PodSignature signature;
    for (const std::string& value : values) signature.Add(value);
    return signature.bytes();
  };
  EXPECT_EQ(bytes({"ab", "c"}), bytes({"ab", "c"}));
  EXPECT_NE(bytes({"ab", "c"}), bytes({"a", "bc"}));
  EXPECT_NE(bytes({"a", ""}), bytes({"a"}));
  PodSignature number, text;
  number.Add(int64_t{0});
  text.Add("");
  EXPECT_NE(number.bytes(), text.bytes());
  text.clear();
  EXPECT_THAT(text.bytes(), IsEmpty());
}

}  // namespace
}  // namespace berth
