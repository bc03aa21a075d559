// SPDX-License-Identifier: Apache-2.0
// Literals, precedence and what is no expression; by the sections of cel-spec's language
// definition.
#include "tests/cel/evaluation.h"

namespace berth::cel {
namespace {

TEST(Parser, ReadsNumbers) {
  ExpectEach({{"0x1F", "31"},
              {"-0x1F", "-31"},
              {"0x10u", "16"},
              {"18446744073709551615u", "18446744073709551615"},
              {"9223372036854775807", "9223372036854775807"},
              {"-9223372036854775808", "-9223372036854775808"},
              {"- 5", "-5"},
              {"--5", "5"},
              {"1.5e3", "1500"},
              {".5", "0.5"},
              {"1E2", "100"}});
  ExpectRefused({{"9223372036854775808", "invalid int literal"},
                 {"18446744073709551616u", "invalid uint literal"},
                 {"1e999", "invalid double literal"}});
}

TEST(Parser, ReadsStrings) {
  ExpectEach({{"'a\"b'", "a\"b"},
              {R"("a\"b\\\n\t\x41\101\u00e9\U0001F600")", "a\"b\\\n\tAA\u00e9\U0001F600"},
              {R"(r"\d")", "\\d"},
              {R"(R'\n')", "\\n"},
              {"\"\"\"a\n\"b\"\"\"", "a\n\"b"},
              {"'''it's'''", "it's"},
              {"r'''\\'''", "\\"},
              {"'''a\r\nb'''", "a\nb"},
              {"''", ""}});
  ExpectTrue({R"(b"\xff\377" == b'\xff\xff')", R"(b"é" == b"\xc3\xa9")", R"(br'\x' == b'\\x')"});
}

TEST(Parser, RefusesStringsThatAreNone) {
  ExpectRefused({{R"("a)", "token recognition error"},
                 {"'a\nb'", "token recognition error"},
                 {R"("\q")", "token recognition error"},
                 {R"("\ud800")", "token recognition error"},
                 {R"("\x4")", "token recognition error"},
                 {R"(b"\u00e9")", ""}});
}

TEST(Parser, BindsOperatorsByPrecedence) {
  ExpectTrue({"1 + 2 * 3 == 7", "(1 + 2) * 3 == 9", "10 - 3 - 2 == 5", "100 / 10 / 5 == 2",
              "true || false && false", "!false && true", "1 < 2 == true",
              "1 == 1 ? true : 1 / 0 == 0", "false ? 1 == 2 : true ? 2 == 2 : false",
              "2 in [1, 2] && !(3 in [1, 2])", "!!true", "!!!false", "-(-1) == 1",
              "[1, 2,].size() == 2", "{'a': 1,}.size() == 1", "[,].size() == 0",
              "1 + 1 // a comment\n == 2", "  \t\n true"});
}

TEST(Parser, SaysWhatIsWrongWhere) {
  ExpectEach(
      {{"1 +",
        "compilation failed: ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting "
        "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
        "STRING, BYTES, IDENTIFIER}\n | 1 +\n | ...^"},
       {"true &&\n  é",
        "compilation failed: ERROR: <input>:2:3: Syntax error: token recognition "
        "error at: 'é'\n |   é\n | ..\uff3e\nERROR: <input>:2:4: Syntax error: "
        "mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', "
        "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
        "IDENTIFIER}\n |   é\n | ..\uff0e^"}});
  ExpectRefused({{"", "mismatched input '<EOF>'"},
                 {"(1", "missing ')' at '<EOF>'"},
                 {"[1 2]", "missing ']' at '2'"},
                 {"{1}", "missing ':' at '}'"},
                 {"a.1", ""},
                 {"1 ? 2", "missing ':' at '<EOF>'"},
                 {"while", "reserved identifier: while"},
                 {"a.`b`", "unsupported syntax: '`'"},
                 {"1 = 1", "token recognition error at: '= '"},
                 {"1 & 1", "token recognition error at: '& '"},
                 {"\xff", "not valid UTF-8"},
                 {"1 1", "extraneous input '1' expecting <EOF>"}});
}

TEST(Parser, RefusesMessages) {
  ExpectRefused({{"google.protobuf.Timestamp{seconds: 1}", "is not a message type"},
                 {"Foo{}", "undeclared reference to 'Foo'"},
                 {"a.b.Foo{x: 1, ?y: 2}", "undeclared reference to 'a.b.Foo'"}});
}

}  // namespace
}  // namespace berth::cel
