// SPDX-License-Identifier: Apache-2.0
#include "tests/cel/evaluation.h"

namespace berth::cel {
namespace {

TEST(Macros, QuantifyOverLists) {
  ExpectTrue({"[1, 2].all(x, x > 0)", "![1, 2].all(x, x > 1)", "[].all(x, x)",
              "[1, 2].exists(x, x == 2)", "![].exists(x, true)", "[1, 2].exists_one(x, x > 1)",
              "![2, 2].exists_one(x, x > 1)", "{'a': 1}.all(k, k == 'a')",
              "{'a': 1, 'b': 2}.exists(k, k == 'b')"});
}

// The environment of Kubernetes 1.35 has it for two variables only.
TEST(Macros, ExistsOneWithAHumpTakesTwoVariables) {
  ExpectRefused({{"[1, 2].existsOne(x, x > 1)", "undeclared reference to 'existsOne'"}});
  ExpectTrue({"[1, 2].existsOne(i, v, v == 2)"});
}

TEST(Macros, AbsorbErrorsThatDoNotDecide) {
  ExpectTrue({"[0, 2].exists(x, 4 / x == 2)", "![0, 2].all(x, 4 / x == 3)"});
  ExpectEach({{"[0, 2].all(x, 4 / x == 2)", "error: division by zero"},
              {"[0, 2].exists(x, 4 / x == 3)", "error: division by zero"},
              {"[0, 2].exists_one(x, 4 / x == 2)", "error: division by zero"},
              {"[0].map(x, 1 / x).size()", "error: division by zero"}});
}

TEST(Macros, TransformLists) {
  ExpectTrue({"[1, 2].map(x, x * 2) == [2, 4]", "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]",
              "[1, 2, 3].filter(x, x > 1) == [2, 3]", "[1].map(x, [2].map(y, x + y)) == [[3]]",
              "{'a': 1}.map(k, k + '!') == ['a!']", "[[1, 2], [3]].map(x, x.size()) == [2, 1]"});
}

TEST(Macros, HaveTwoVariables) {
  ExpectTrue({"[5, 6].all(i, v, v == i + 5)", "{'a': 1}.exists(k, v, k == 'a' && v == 1)",
              "[1, 2].existsOne(i, v, v == 2)", "[1, 2].exists_one(i, v, v == 2)",
              "[5, 6].transformList(i, v, i + v) == [5, 7]",
              "[5, 6].transformList(i, v, v > 5, i) == [1]",
              "{'a': 1, 'b': 2}.transformMap(k, v, v + 1) == {'a': 2, 'b': 3}",
              "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) == {'b': 2}",
              "{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}",
              "{'a': 1, 'b': 2}.transformMapEntry(k, v, v > 1, {v: k}) == {2: 'b'}"});
  ExpectEach({{"{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k}).size()",
               "error: insert failed: key 1 already exists"}});
}

TEST(Macros, Bind) {
  ExpectTrue({"cel.bind(x, 2, x * x) == 4", "cel.bind(x, 1 / 0, true)",
              "cel.bind(x, [1], cel.bind(y, x + [2], y + x)) == [1, 2, 1]",
              "[1, 2].map(x, cel.bind(y, x + 1, y * y)) == [4, 9]",
              "cel.bind(a, [1, 2].map(x, x), [3].map(y, a[0] + y)) == [4]"});
  ExpectEach({{"cel.bind(x, 1 / 0, x == 1)", "error: division by zero"}});
}

TEST(Macros, Shadow) {
  ExpectTrue(
      {"[1].all(x, [2].all(x, x == 2) && x == 1)", "cel.bind(x, 1, cel.bind(x, x + 1, x)) == 2"});
}

TEST(Macros, RefuseWhatDoesNotFit) {
  ExpectRefused({{"[1].all(1, true)", "1:9: argument must be a simple name"},
                 {"[1].map(a.b, 1)", "argument must be a simple name"},
                 {"[1].all(x, x, true)", "duplicate variable name: x"},
                 {"[1].map(__result__, 1)", "iteration variable overwrites accumulator variable"},
                 {"cel.bind(1, 1, 1)", "cel.bind() variable names must be simple identifiers"},
                 {"1.all(x, true)", ""},
                 {"true.all(x, x)", "expression of type 'bool' cannot be range of a comprehension"},
                 {"'abc'.map(c, c)", "cannot be range of a comprehension"},
                 {"[1].all(x, y)", "undeclared reference to 'y'"},
                 {"[1].all(x, x > 0) && x == 1", "undeclared reference to 'x'"}});
}

TEST(Macros, CannotSeeTheAccumulator) {
  ExpectRefused({{"[1].all(x, @result)", "token recognition error"}});
}

}  // namespace
}  // namespace berth::cel
