// SPDX-License-Identifier: Apache-2.0
// Numbers, times, conversions, equality and logic.
#include "absl/strings/str_cat.h"
#include "tests/cel/evaluation.h"

namespace berth::cel {
namespace {

TEST(Arithmetic, NoticesOverflow) {
  ExpectEach({{"9223372036854775807 + 1", "error: integer overflow"},
              {"-9223372036854775808 - 1", "error: integer overflow"},
              {"9223372036854775807 * 2", "error: integer overflow"},
              {"-9223372036854775808 / -1", "error: integer overflow"},
              {"-9223372036854775808 % -1", "error: integer overflow"},
              {"-(-9223372036854775808)", "error: integer overflow"},
              {"18446744073709551615u + 1u", "error: unsigned integer overflow"},
              {"0u - 1u", "error: unsigned integer overflow"},
              {"1 / 0", "error: division by zero"},
              {"1u % 0u", "error: modulus by zero"},
              {"9223372036854775807 + 0", "9223372036854775807"},
              {"4 - 9", "-5"},
              {"7u - 3u", "4"},
              {"-7 % 3", "-1"},
              {"7 / -2", "-3"}});
}

TEST(Arithmetic, HasInfinitiesAndNan) {
  ExpectTrue({"1.0 / 0.0 > 1e308", "-1.0 / 0.0 < -1e308", "0.0 / 0.0 != 0.0 / 0.0",
              "!(0.0 / 0.0 == 1.0)", "string(1.0 / 0.0) == '+Inf'", "string(0.0 / 0.0) == 'NaN'",
              "double('Infinity') == 1.0 / 0.0"});
  // As Go reads numbers.
  ExpectTrue({"double('1_0.5_0e1_0') == 10.5e10", "double('0x_1p4') == 16.0"});
  for (const char* text : {"0x1", "1__0", "_1", "1_", "1_.5", "1._5", "1_e1", "+nan"}) {
    ExpectEach({{absl::StrCat("double(dyn('", text, "'))"),
                 "program instantiation failed: type conversion error from 'string' to 'double'"}});
  }
  ExpectEach({{"0.0 / 0.0 < 1.0", "error: NaN values cannot be ordered"}});
}

TEST(Arithmetic, ComparesAcrossKinds) {
  ExpectTrue({"1 < 1.5", "2u > 1", "1 <= 1u", "-1 < 0u", "1.5 >= 1",
              "dyn(1) == 1u && dyn(1u) == 1.0", "!(dyn(-1) == 18446744073709551615u)",
              "'a' < 'b' && b'a' < b'b' && false < true"});
}

// As cel-go: near 2^63 and 2^64 integers round to these.
TEST(Arithmetic, ComparesWithDoublesAsDoubles) {
  ExpectTrue({"!(9223372036854775807 < 9223372036854775808.0)",
              "9223372036854775806 <= 9223372036854775808.0",
              "dyn(9223372036854775807) == 9223372036854775808.0",
              "dyn(18446744073709551615u) == 18446744073709551616.0",
              "9223372036854775807 < 9223372036854777856.0",
              "dyn(9007199254740993) == 9007199254740992.0"});
}

TEST(Arithmetic, Converts) {
  ExpectEach({{"int(-1.9)", "-1"},
              {"int(9.3e18)", "program instantiation failed: integer overflow"},
              {"int(9223372036854775808u)", "program instantiation failed: integer overflow"},
              {"uint(1.9)", "1"},
              {"double(dyn('x'))",
               "program instantiation failed: type conversion error from 'string' to 'double'"},
              {"int(dyn(' 1'))",
               "program instantiation failed: type conversion error from 'string' to 'int'"},
              {"int(dyn('+1'))", "1"},
              {"uint(dyn('-1'))",
               "program instantiation failed: type conversion error from 'string' to 'uint'"},
              {"string(1e6)", "1e+06"},
              {"string(123456.5)", "123456.5"},
              {"string(1e-5)", "1e-05"},
              {"string(0.0001)", "0.0001"},
              {"string(2.0)", "2"},
              {"string(b'abc')", "abc"},
              {"string(dyn(b'\\xff'))",
               "program instantiation failed: invalid UTF-8 in bytes, cannot convert to string"},
              {"bool(dyn('maybe'))",
               "program instantiation failed: type conversion error from 'string' to 'bool'"},
              {"string(duration('1h1m1.5s'))", "3661.5s"},
              {"string(timestamp('2025-01-02T03:04:05.060Z'))", "2025-01-02T03:04:05.06Z"},
              {"string(timestamp('2025-01-02T03:04:05+02:00'))", "2025-01-02T03:04:05+02:00"},
              {"int(timestamp('1970-01-01T00:01:00Z'))", "60"},
              {"int(duration('1us'))", "1000"}});
  ExpectTrue({"bool('t') && bool('1') && !bool('FALSE')", "bytes('é') == b'\\xc3\\xa9'"});
}

TEST(Arithmetic, KnowsTimes) {
  ExpectTrue(
      {"timestamp('2025-01-01T00:00:00Z') + duration('24h') == timestamp('2025-01-02T00:00:00Z')",
       "timestamp('2025-01-02T00:00:00Z') - timestamp('2025-01-01T00:00:00Z') == duration('24h')",
       "timestamp('2025-01-01T01:00:00+01:00') == timestamp('2025-01-01T00:00:00Z')",
       "duration('1h') - duration('30m') == duration('1800s')",
       "timestamp('2025-02-03T04:05:06.789Z').getMonth() == 1",
       "timestamp('2025-02-03T04:05:06.789Z').getDate() == 3",
       "timestamp('2025-02-03T04:05:06.789Z').getDayOfMonth() == 2",
       "timestamp('2025-02-03T04:05:06.789Z').getDayOfYear() == 33",
       "timestamp('2025-02-03T04:05:06.789Z').getDayOfWeek() == 1",
       "timestamp('2025-02-03T04:05:06.789Z').getMilliseconds() == 789",
       "timestamp('2025-02-03T04:05:06Z').getHours('+02:30') == 6",
       "timestamp('2025-02-03T04:05:06Z').getHours('-02:30') == 1",
       "timestamp('2025-02-03T04:05:06+02:00').getHours() == 2",
       "timestamp('2025-02-03T04:05:06Z').getHours('UTC') == 4",
       "duration('90m').getHours() == 1 && duration('90m').getMinutes() == 90"});
  ExpectEach(
      {{"timestamp(253402300799) + duration('1s')", "error: timestamp overflow"},
       {"timestamp(253402300800)", "program instantiation failed: timestamp overflow"},
       {"timestamp(0).getHours('../../etc/passwd')", "error: unknown time zone ../../etc/passwd"}});
}

TEST(Logic, AbsorbsErrors) {
  ExpectTrue({"true || 1 / 0 == 0", "1 / 0 == 0 || true", "!(false && 1 / 0 == 0)",
              "!(1 / 0 == 0 && false)", "1 / 0 == 0 || 1 / 0 == 1 || true"});
  ExpectEach({{"false || 1 / 0 == 0", "error: division by zero"},
              {"true && 1 % 0 == 0", "error: modulus by zero"},
              {"1 / 0 == 0 || 1 % 0 == 0", "error: division by zero"},
              {"1 / 0 == 0 ? true : false", "error: division by zero"}});
}

TEST(Equality, GoesIntoListsAndMaps) {
  ExpectTrue({"[1, 2] == [1, 2]", "[1, 2] != [2, 1]", "[dyn(1)] == [dyn(1.0)]",
              "{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "{'a': 1} != {'a': 2}",
              "dyn({1: 'a'}) == {1u: 'a'}", "null == null", "dyn(1) != null", "dyn([1]) != 1"});
}

TEST(Maps, HaveNullAsAKey) {
  ExpectTrue({"{null: 1}.size() == 1", "null in {null: 1}", "{null: 1} == {null: 1}",
              "{dyn(null): 1, dyn('a'): 2}.size() == 2", "!(dyn(null) in {'a': 1})"});
  ExpectEach({{"[dyn(null)].exists(x, dyn({null: 1})[x] == 1)",
               "error: invalid qualifier type: types.Null"}});
}

// As cel-go v0.26 answers: durations, timestamps and types are keys by what they are, lists and
// maps by which one it is.
TEST(Maps, HaveKeysThatCannotBeLookedUp) {
  ExpectTrue({"{duration('1s'): 1}.size() == 1",
              "duration('1000ms') in {duration('1s'): 1}",
              "{duration('1s'): 1, duration('1000ms'): 2}.size() == 1",
              "{duration('1s'): 1} == {duration('1s'): 1}",
              "{duration('1s'): 1}.all(k, k == duration('1s'))",
              "{duration('1s'): 1}.map(k, string(k)) == ['1s']",
              "{[1]: 1}.size() == 1",
              "cel.bind(k, [1], k in {k: 1})",
              "!([1] in {[1]: 1})",
              "{[1]: 1} != {[1]: 1}",
              "{[1]: 1, [1]: 2}.size() == 2",
              "cel.bind(m, {[1]: 1}, m == m)",
              "[[1]].all(x, x in {x: 1})",
              "{[1]: 1}.all(k, k == [1])",
              "{{'a': 1}: 1}.size() == 1",
              "!({'a': 1} in {{'a': 1}: 1})",
              "cel.bind(k, {'a': 1}, k in {k: 1})",
              "{int: 1}.size() == 1",
              "type(1) in {int: 1}",
              "type([1]) in {list: 1}",
              "{int: 1} == {int: 1}",
              "timestamp('2020-01-01T00:00:00Z') in {timestamp('2020-01-01T00:00:00Z'): 1}",
              "!(timestamp('2020-01-01T01:00:00+01:00') in "
              "{timestamp('2020-01-01T00:00:00Z'): 1})",
              "[1] in [[1]]",
              "duration('1s') in [duration('1s')]"});
  ExpectEach({{"[dyn(duration('1s'))].exists(x, dyn({null: 1})[x] == 1)",
               "error: invalid qualifier type: types.Duration"},
              {"[dyn([1])].exists(x, dyn({null: 1})[x] == 1)",
               "error: invalid qualifier type: *types.baseList"},
              {"[dyn({'a': 1})].exists(x, dyn({null: 1})[x] == 1)",
               "error: invalid qualifier type: *types.baseMap"},
              {"[dyn(int)].exists(x, dyn({null: 1})[x] == 1)",
               "error: invalid qualifier type: *types.Type"},
              {"[dyn(quantity('1'))].exists(x, dyn({null: 1})[x] == 1)",
               "error: invalid qualifier type: cel.Quantity"},
              {"[b'a'].all(x, {x: 1}.size() == 1)",
               "error: internal error: runtime error: hash of unhashable type types.Bytes"},
              {"{semver('1.0.0'): 1}.size() == 1",
               "error: internal error: runtime error: hash of unhashable type cel.Semver"}});
}

TEST(Lists, AreIndexed) {
  ExpectTrue({"[1, 2][0] == 1", "dyn([1, 2])[1.0] == 2", "dyn([1, 2])[1u] == 2",
              "{'a': 1}['a'] == 1", "{'a': 1}.a == 1", "{1: 'x'}[1] == 'x'",
              "dyn({1: 'x'})[1.0] == 'x'", "has({'a': 1}.a) && !has({'a': 1}.b)",
              "[1] + [2, 3] == [1, 2, 3]", "'a' in {'a': 1}", "!('b' in {'a': 1})"});
  ExpectEach({{"[1][1]", "error: index out of bounds: 1"},
              {"[1][-1]", "error: index out of bounds: -1"},
              {"dyn([1])['a']", "error: unsupported index type 'string' in list"},
              {"{'a': 1}.b", "error: no such key: b"},
              {"{2: 1}[3]", "error: no such key: 3"}});
}

}  // namespace
}  // namespace berth::cel
