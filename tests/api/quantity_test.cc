// SPDX-License-Identifier: Apache-2.0
// Quantities: reading, rounding, saturation, arithmetic and canonical form.
#include "berth/api/quantity.h"

#include <gmock/gmock.h>

#include <limits>
#include <string>

namespace berth {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr auto kSI = Quantity::Format::kDecimalSI;
constexpr auto kBinary = Quantity::Format::kBinarySI;
constexpr auto kExponent = Quantity::Format::kDecimalExponent;

Quantity Parse(absl::string_view text) {
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity.ok()) << text << ": " << quantity.status();
  return quantity.value_or(Quantity());
}

struct ParseCase {
  absl::string_view text;
  absl::string_view canonical;
  Quantity::Format format;
  int64_t value;
  int64_t milli_value;
};

// The subjects of apimachinery's TestQuantityParse, TestQuantityParseEmit and TestQuantityString.
const ParseCase kParseCases[] = {
    {"0", "0", kSI, 0, 0},
    {"00", "0", kSI, 0, 0},
    {"0m", "0", kSI, 0, 0},
    {"0Ki", "0", kBinary, 0, 0},
    {"0Ti", "0", kBinary, 0, 0},
    {"1", "1", kSI, 1, 1000},
    {"110", "110", kSI, 110, 110'000},
    // Binary suffixes.
    {"1Ki", "1Ki", kBinary, 1 << 10, 1024'000},
    {"8Ki", "8Ki", kBinary, 8 << 10, 8192'000},
    {"7Mi", "7Mi", kBinary, 7 << 20, int64_t{7 << 20} * 1000},
    {"6Gi", "6Gi", kBinary, int64_t{6} << 30, (int64_t{6} << 30) * 1000},
    {"100Ti", "100Ti", kBinary, int64_t{100} << 40, (int64_t{100} << 40) * 1000},
    {"4Pi", "4Pi", kBinary, int64_t{4} << 50, (int64_t{4} << 50) * 1000},
    {"3Ei", "3Ei", kBinary, int64_t{3} << 60, kMax},
    {"1024Mi", "1Gi", kBinary, 1 << 30, (int64_t{1} << 30) * 1000},
    {"307200Ki", "300Mi", kBinary, 300 << 20, (int64_t{300} << 20) * 1000},
    {"1025024Mi", "1001Gi", kBinary, int64_t{1001} << 30, (int64_t{1001} << 30) * 1000},
    // Decimal suffixes.
    {"5n", "5n", kSI, 1, 1},
    {"4u", "4u", kSI, 1, 1},
    {"3m", "3m", kSI, 1, 3},
    {"100m", "100m", kSI, 1, 100},
    {"8k", "8k", kSI, 8000, 8'000'000},
    {"50k", "50k", kSI, 50'000, 50'000'000},
    {"7M", "7M", kSI, 7'000'000, 7'000'000'000},
    {"6G", "6G", kSI, 6'000'000'000, 6'000'000'000'000},
    {"300T", "300T", kSI, 300'000'000'000'000, 300'000'000'000'000'000},
    {"2P", "2P", kSI, 2'000'000'000'000'000, 2'000'000'000'000'000'000},
    {"1E", "1E", kSI, 1'000'000'000'000'000'000, kMax},
    {"1000M", "1G", kSI, 1'000'000'000, 1'000'000'000'000},
    {"0.001T", "1G", kSI, 1'000'000'000, 1'000'000'000'000},
    // Exponents.
    {"1E-3", "1e-3", kExponent, 1, 1},
    {"1e3", "1e3", kExponent, 1000, 1'000'000},
    {"1E6", "1e6", kExponent, 1'000'000, 1'000'000'000},
    {"1e14", "100e12", kExponent, 100'000'000'000'000, 100'000'000'000'000'000},
    {"1.3E+6", "1300e3", kExponent, 1'300'000, 1'300'000'000},
    {".001e12", "1e9", kExponent, 1'000'000'000, 1'000'000'000'000},
    {"1000e-12", "1e-9", kExponent, 1, 1},
    {"0.5e-1", "50e-3", kExponent, 1, 50},
    {"1.7E18", "1700e15", kExponent, 1'700'000'000'000'000'000, kMax},
    // Fractions.
    {"0.5", "500m", kSI, 1, 500},
    {"0.05000", "50m", kSI, 1, 50},
    {"1.5", "1500m", kSI, 2, 1500},
    {"9.01", "9010m", kSI, 10, 9010},
    {"1080000000n", "1080m", kSI, 2, 1080},
    {"100.035k", "100035", kSI, 100'035, 100'035'000},
    {"6.987654321G", "6987654321", kSI, 6'987'654'321, 6'987'654'321'000},
    {"1.01E", "1010P", kSI, 1'010'000'000'000'000'000, kMax},
    {"1.5Gi", "1536Mi", kBinary, 1536 << 20, (int64_t{1536} << 20) * 1000},
    {"0.5Mi", "512Ki", kBinary, 512 << 10, (512 << 10) * int64_t{1000}},
    {"0.05Gi", "53687091200m", kBinary, 53'687'092, 53'687'091'200},
    {"100.035Ki", "102435840m", kBinary, 102'436, 102'435'840},
    {".001Ki", "1024m", kBinary, 2, 1024},
    {".000001Ki", "1024u", kSI, 1, 2},
    // Odd, but read.
    {"1.", "1", kSI, 1, 1000},
    {"1.G", "1G", kSI, 1'000'000'000, 1'000'000'000'000},
    {".0001k", "100m", kSI, 1, 100},
    {".", "0", kSI, 0, 0},
    {"000000000000000000000000000001", "1", kSI, 1, 1000},
    // Finer than a billionth: rounded up.
    {"3.001n", "4n", kSI, 1, 1},
    {"1.1E-9", "2e-9", kExponent, 1, 1},
    {"0.0000000001", "1n", kSI, 1, 1},
    {"0.00000000050", "1n", kSI, 1, 1},
    {"0.9n", "1n", kSI, 1, 1},
    {"0.00000012345", "124n", kSI, 1, 1},
    {"1.0000000000000000000000000000000000000001", "1000000001n", kSI, 2, 1001},
    {"1.0000000000000000000000000000000000000000", "1", kSI, 1, 1000},
    {"0.000000000001Ki", "2n", kSI, 1, 1},  // below 1, so no longer binary
    {"1e-999999999", "1e-9", kExponent, 1, 1},
    // Too large.
    {"12E", "12E", kSI, kMax, kMax},
    {"9223372036854775807", "9223372036854775807", kSI, kMax, kMax},
    {"9223372036854775808", "9223372036854775808", kSI, kMax, kMax},
    {"9Ei", "9223372036854775807", kBinary, kMax, kMax},
    {"7Ei", "7Ei", kBinary, int64_t{7} << 60, kMax},
    {"9223372036854775807Ki", "9223372036854775807", kBinary, kMax, kMax},
    {"1e100", "170141183460469231731687303715884105727e-9", kExponent, kMax, kMax},
    {"1e999999999", "170141183460469231731687303715884105727e-9", kExponent, kMax, kMax},
};

TEST(QuantityTest, Parses) {
  for (const ParseCase& c : kParseCases) {
    SCOPED_TRACE(std::string(c.text));
    const Quantity quantity = Parse(c.text);
    EXPECT_EQ(quantity.ToString(), c.canonical);
    EXPECT_EQ(quantity.format(), c.format);
    EXPECT_EQ(quantity.Value(), c.value);
    EXPECT_EQ(quantity.MilliValue(), c.milli_value);
  }
}

TEST(QuantityTest, ParsesWithASign) {
  for (const ParseCase& c : kParseCases) {
    SCOPED_TRACE(std::string(c.text));
    EXPECT_EQ(Parse("+" + std::string(c.text)).ToString(), c.canonical);
    const Quantity negative = Parse("-" + std::string(c.text));
    EXPECT_EQ(negative.format(), c.format);
    if (c.canonical == "0") {
      EXPECT_TRUE(negative.IsZero());
      continue;
    }
    EXPECT_TRUE(negative.IsNegative());
    EXPECT_EQ(negative.ToString(), "-" + std::string(c.canonical));
    if (c.milli_value != kMax) {
      EXPECT_EQ(negative.MilliValue(), -c.milli_value);
    }
  }
}

TEST(QuantityTest, CanonicalFormReadsBackAsTheSame) {
  for (const ParseCase& c : kParseCases) {
    EXPECT_EQ(Parse(Parse(c.text).ToString()), Parse(c.text)) << c.text;
  }
}

TEST(QuantityTest, RefusesWhatIsNoQuantity) {
  const struct {
    absl::string_view text, error;
  } cases[] = {
      {"", "quantities must match the regular expression"},
      {" 1", "quantities must match the regular expression"},
      {"1 ", "quantities must match the regular expression"},
      {"1x", "quantities must match the regular expression"},
      {"aoeu", "quantities must match the regular expression"},
      {"1.1.M", "quantities must match the regular expression"},
      {"1+1.0M", "quantities must match the regular expression"},
      {"--1", "unable to parse quantity's suffix"},
      {"0.1am", "quantities must match the regular expression"},
      {"1e3m", "quantities must match the regular expression"},
      {"0.1mi", "unable to parse quantity's suffix"},
      {".5i", "unable to parse quantity's suffix"},
      {"1i", "unable to parse quantity's suffix"},
      {"1K", "unable to parse quantity's suffix"},
      {"1e", "unable to parse quantity's suffix"},
      {"-3.01e-", "unable to parse quantity's suffix"},
      {"1e99999999999999999999", "unable to parse quantity's suffix"},
  };
  for (const auto& c : cases) {
    const absl::StatusOr<Quantity> quantity = Quantity::Parse(c.text);
    EXPECT_FALSE(quantity.ok()) << c.text;
    EXPECT_THAT(std::string(quantity.status().message()), testing::HasSubstr(c.error)) << c.text;
  }
}

TEST(QuantityTest, ComparesAmountsNotTexts) {
  EXPECT_EQ(Parse("1"), Parse("1000m"));
  EXPECT_EQ(Parse("1Ki"), Parse("1.024k"));
  EXPECT_EQ(Parse("100m").Compare(Parse("50m")), 1);
  EXPECT_EQ(Parse("50m").Compare(Parse("100m")), -1);
  EXPECT_EQ(Parse("10000T").Compare(Parse("100Gi")), 1);
  EXPECT_LT(Parse("-1"), Parse("0"));
}

TEST(QuantityTest, AddsAndKeepsTheFormatOfTheFirstUnlessItIsZero) {
  const struct {
    absl::string_view a, b, sum, difference;
  } cases[] = {
      {"10", "1e1", "20", "0"},
      {"10k", "1Ki", "11024", "8976"},
      {"10Ki", "1k", "11240", "9240"},
      {"0", "1Gi", "1Gi", "-1Gi"},
      {"50", "0", "50", "50"},
      {"0", "0", "0", "0"},
      {"100m", "1n", "100000001n", "99999999n"},
  };
  for (const auto& c : cases) {
    Quantity sum = Parse(c.a);
    sum.Add(Parse(c.b));
    EXPECT_EQ(sum.ToString(), c.sum);
    Quantity difference = Parse(c.a);
    difference.Subtract(Parse(c.b));
    EXPECT_EQ(difference.ToString(), c.difference);
  }
}

TEST(QuantityTest, SumsSaturate) {
  Quantity large = Parse("1e100");
  large.Add(Parse("1e100"));
  EXPECT_EQ(large, Parse("1e100"));
  EXPECT_EQ(large.Value(), kMax);
  Quantity small = Parse("-1e100");
  small.Subtract(Parse("1e100"));
  EXPECT_EQ(small, Parse("-1e100"));
  EXPECT_EQ(small.Value(), std::numeric_limits<int64_t>::min());
}

TEST(QuantityTest, FromNumbers) {
  EXPECT_EQ(Quantity::FromValue(1024, kBinary).ToString(), "1Ki");
  EXPECT_EQ(Quantity::FromValue(1'234'000).ToString(), "1234k");
  EXPECT_EQ(Quantity::FromMilliValue(1000).ToString(), "1");
  EXPECT_EQ(Quantity::FromMilliValue(1024, kBinary).ToString(), "1024m");
  EXPECT_EQ(Quantity::FromMilliValue(1'000'000, kExponent).ToString(), "1e3");
  EXPECT_DOUBLE_EQ(Quantity::FromMilliValue(-1500).AsDouble(), -1.5);
}

}  // namespace
}  // namespace berth
