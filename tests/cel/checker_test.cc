// SPDX-License-Identifier: Apache-2.0
// Types: what fits, and what is said of what does not.
#include "tests/cel/evaluation.h"

namespace berth::cel {
namespace {

TEST(Checker, FindsTheOverload) {
  ExpectRefused(
      {{"1 + 1.0", "1:3: found no matching overload for '_+_' applied to '(int, double)'"},
       {"1 == '1'", "found no matching overload for '_==_' applied to '(int, string)'"},
       {"'a'.size(1)", "'size' applied to 'string.(int)'"},
       {"size(1)", "'size' applied to '(int)'"},
       {"!1", "'!_' applied to '(int)'"},
       {"-'a'", "'-_' applied to '(string)'"},
       {"duration('1s') + 1", "applied to '(duration, int)'"},
       {"timestamp(0) < duration('1s')", "applied to '(timestamp, duration)'"},
       {"1 in 'abc'", "'@in' applied to '(int, string)'"},
       {"nosuch(1)", "undeclared reference to 'nosuch' (in container '')"},
       {"'a'.nosuch()", "undeclared reference to 'nosuch'"},
       {"x", "undeclared reference to 'x'"}});
}

TEST(Checker, RequiresBooleans) {
  ExpectRefused({{"1 && true", "1:1: expected type 'bool' but found 'int'"},
                 {"true || 'a'", "1:9: expected type 'bool' but found 'string'"},
                 {"1 ? 2 : 3", "found no matching overload for '_?_:_'"},
                 {"true ? 1 : 'a'", "found no matching overload for '_?_:_'"},
                 {"[1].all(x, x)", "expected type 'bool' but found 'int'"}});
}

// An attribute is of type any; what a variable without a type is may be a list.
TEST(Checker, RequiresARangeForLoops) {
  ExpectRefused(
      {{"1.map(x, x) == []", "expression of type 'int' cannot be range of a comprehension"},
       {"'a'.all(x, true)", "expression of type 'string' cannot be range"}});
  ExpectTrue({"dyn([1]).all(x, x == 1)"});
}

TEST(Checker, RequiresOneTypeInLiterals) {
  ExpectRefused({{"[1, 'a']", "1:5: expected type 'int' but found 'string'"},
                 {"{1: 1, 'a': 2}", "expected type 'int' but found 'string'"},
                 {"{1: 1, 2: 'a'}", "expected type 'int' but found 'string'"},
                 {"[null, 1]", "expected type 'null' but found 'int'"},
                 {"[[1], ['a']]", "expected type 'list(int)' but found 'list(string)'"}});
  ExpectTrue({"[[], [1]].size() == 2", "[{}, {'a': 1}].size() == 2",
              "'%s %d'.format(['a', 1]) == 'a 1'", "[dyn(1), dyn('a')].size() == 2"});
}

TEST(Checker, KnowsFields) {
  ExpectRefused({{"'a'.b", "type 'string' does not support field selection"},
                 {"[1].b", "type 'list(int)' does not support field selection"},
                 {"ip('::1').b", "type 'net.IP' does not support field selection"},
                 {"has(1)", "invalid argument to has() macro"},
                 {"'a'.?b", "type 'string' does not support field selection"}});
}

TEST(Checker, LeavesDynToTheEvaluation) {
  ExpectTrue({"dyn(1) == 1.0", "dyn(1) != 'a'", "dyn([1]) == [1.0]", "dyn(1) < 2.5",
              "dyn('a') + 'b' == 'ab'", "dyn(1) in [1.0, 2.0]", "size(dyn('abc')) == 3"});
  ExpectEach({{"dyn(1) + 'a'", "error: no such overload"},
              {"dyn(1) < 'a'", "error: no such overload"},
              {"dyn('a').b", "error: no such key: b"},
              {"size(dyn(1))", "error: no such overload: size(int)"},
              {"dyn(1).startsWith('a')", "error: no such overload: startsWith(int, string)"},
              {"dyn(1) && true", "error: no such overload"},
              {"dyn(1) ? 1 : 2", "error: no such overload"},
              {"dyn(1).map(x, x).size()", "error: got 'int', expected iterable type"}});
}

TEST(Checker, TypesAreValues) {
  ExpectTrue({"type(1) == int", "type(type(1)) == type", "type('a') != int", "type([]) == list",
              "type({}) == map", "type(null) == null_type", "type(1u) == uint",
              "type(timestamp(0)) == google.protobuf.Timestamp",
              "type(duration('1s')) == google.protobuf.Duration",
              "type(optional.none()) == optional_type", "type(1.5) == double", "type(b'') == bytes",
              "type(true) == bool"});
}

TEST(Checker, RefusesLiteralsThatAreNone) {
  ExpectRefused({{"duration('1x')", "1:10: invalid duration argument"},
                 {"timestamp('2025')", "invalid timestamp argument"},
                 {"'a'.matches('(')", "invalid matches argument"},
                 {"'a'.find('(') == ''", "error parsing regexp"},
                 {"int('x') == 1", "type conversion error from 'string' to 'int'"},
                 {"uint(-1) == 1u", "unsigned integer overflow"},
                 {"'%d'.format(['a'])",
                  "error during formatting: decimal clause can only be used on integers, was given "
                  "string"},
                 {"'%d'.format([1, 2])", "too many arguments supplied to string.format"},
                 {"'%d %d'.format([1])", "index 1 out of range"},
                 {"'%y'.format([1])", "unrecognized formatting clause \"y\""}});
}

}  // namespace
}  // namespace berth::cel
