// SPDX-License-Identifier: Apache-2.0
// Strings, regular expressions and formats; many cases are those of cel-go ext/strings_test.go.
#include "tests/cel/evaluation.h"

namespace berth::cel {
namespace {

TEST(Strings, CountCharacters) {
  ExpectTrue({"'tacocat'.charAt(3) == 'o'",
              "'tacocat'.charAt(7) == ''",
              "'\u00a9\u03b1T'.charAt(0) == '\u00a9'",
              "'\u00a9\u03b1T'.size() == 3",
              "'tacocat'.indexOf('') == 0",
              "'tacocat'.indexOf('ac') == 1",
              "'tacocat'.indexOf('none') == -1",
              "'tacocat'.indexOf('a', 3) == 5",
              "'tacocat'.indexOf('', 3) == 3",
              "'ta\u00a9o\u03b1T'.indexOf('\u00a9') == 2",
              "'tacocat'.lastIndexOf('at') == 5",
              "'tacocat'.lastIndexOf('') == 7",
              "'tacocat'.lastIndexOf('none') == -1",
              "'tacocat'.lastIndexOf('a', 4) == 1",
              "'tacocat'.lastIndexOf('a', 0) == -1",
              "'ab'.lastIndexOf('abc') == -1",
              "'tacocat'.substring(4) == 'cat'",
              "'tacocat'.substring(0, 4) == 'taco'",
              "'ta\u00a9o\u03b1T'.substring(2, 6) == '\u00a9o\u03b1T'",
              "'a'.substring(1) == ''"});
  ExpectEach({{"'tacocat'.charAt(30)", "error: index out of range: 30"},
              {"'tacocat'.indexOf('a', -1)", "error: index out of range: -1"},
              {"'tacocat'.lastIndexOf('a', -1)", "error: index out of range: -1"},
              {"'tacocat'.substring(40)", "error: index out of range: 40"},
              {"'tacocat'.substring(1, 50)", "error: index out of range: 50"},
              {"'tacocat'.substring(3, 1)", "error: invalid substring range. start: 3, end: 1"}});
}

TEST(Strings, ReplaceAndSplit) {
  ExpectTrue({"'hello hello'.replace('he', 'we') == 'wello wello'",
              "'hello hello'.replace('he', 'we', 1) == 'wello hello'",
              "'hello hello'.replace('he', 'we', 0) == 'hello hello'",
              "'ab'.replace('', '-') == '-a-b-'", "'ab'.replace('', '-', 2) == '-a-b'",
              "''.replace('', 'x') == 'x'", "'12 days'.replace('', '_') == '_1_2_ _d_a_y_s_'",
              "'a,b,c'.split(',') == ['a', 'b', 'c']", "'a,b,c'.split(',', 2) == ['a', 'b,c']",
              "'a,b'.split(',', 0).size() == 0", "'a,b'.split(',', 1) == ['a,b']",
              "'a,b'.split(',', -1) == ['a', 'b']", "'ab'.split('') == ['a', 'b']",
              "'abc'.split('', 2) == ['a', 'bc']", "''.split(',') == ['']",
              "''.split('').size() == 0", "['a', 'b'].join() == 'ab'",
              "['a', 'b'].join('-') == 'a-b'", "[].join('-') == ''"});
  ExpectEach({{"[dyn('a'), dyn(1)].join()", "error: join: invalid input: 1"}});
}

TEST(Strings, TrimAndChangeCase) {
  ExpectTrue({"' \\f\\n\\r\\t\\vtext  '.trim() == 'text'", "'\u2003x\u00a0'.trim() == 'x'",
              "''.trim() == ''", "'TaC\u00d3'.lowerAscii() == 'tac\u00d3'",
              "'tac\u00f3'.upperAscii() == 'TAC\u00f3'", "'abc'.contains('b')",
              "'abc'.startsWith('ab') && 'abc'.endsWith('bc')", "'abc'.contains('')"});
}

TEST(Strings, Quote) {
  ExpectTrue({R"(strings.quote('a"b\\c\n\t') == "\"a\\\"b\\\\c\\n\\t\"")",
              R"(strings.quote('é') == "\"é\"")"});
}

TEST(Strings, Format) {
  ExpectEach({{"'%s %s %s %s'.format(['a', 1, 2u, true])", "a 1 2 true"},
              {"'%s'.format([null])", "null"},
              {"'%s'.format([1.5])", "1.5"},
              {"'%s'.format([['a', 1.5, b'x', null]])", "[\"a\", 1.500000, b\"x\", null]"},
              {"'%s'.format([{'b': 1, 'a': [true]}])", "{\"a\":[true], \"b\":1}"},
              {"'%s'.format([duration('1h')])", "3600s"},
              {"'%s'.format([[duration('1h')]])", "[duration(\"3600s\")]"},
              {"'%s'.format([type(1)])", "int"},
              {"'%d%%'.format([12])", "12%"},
              {"'%f'.format([1.0])", "1.000000"},
              {"'%.3f'.format([10000.1239])", "10,000.124"},
              {"'%.0f'.format([-1234567.0])", "-1,234,567"},
              {"'%e'.format([1052.032911275])", "1.052033\u00d710\u2070\u00b3"},
              {"'%.1e'.format([0.00012])", "1.2\u00d710\u207b\u2070\u2074"},
              {"'%f %f'.format([1.0 / 0.0, 'NaN'])", "\u221e NaN"},
              {"'%b %b'.format([5, true])", "101 1"},
              {"'%x %X %x'.format([255, 255, 'hi'])", "ff FF 6869"},
              {"'%x'.format([-255])", "-ff"},
              {"'%o'.format([8])", "10"},
              {"'plain'.format([])", "plain"}});
  ExpectRefused(
      {{"'%f'.format([1])", "fixed-point clause can only be used on doubles, was given int"},
       {"'%b'.format(['a'])", "can be formatted as binary, was given string"},
       {"'%o'.format([1.0])", "octal clause can only be used on integers"},
       {"'%.f'.format([1.0])", "error while converting precision to integer"},
       {"'%'.format([1])", "unexpected end of string"},
       {"'%s'.format([ip('::1')])", "was given net.IP"}});
}

TEST(Regex, FollowsRe2) {
  ExpectTrue({"'foobar'.matches('o+b')", "!'foobar'.matches('^o')", "matches('abc', 'b')",
              "'abc 123'.find('[0-9]+') == '123'", "'abc'.find('[0-9]+') == ''",
              "'123 abc 456'.findAll('[0-9]+') == ['123', '456']",
              "'123 abc 456'.findAll('[0-9]+', 1) == ['123']",
              "'123'.findAll('[0-9]+', 0).size() == 0", "'abc'.findAll('x*').size() == 4",
              "'abaab'.findAll('a*') == ['a', 'aa', '']"});
  ExpectEach({{"'a'.matches('(' + '')", "error: error parsing regexp: missing ): ("}});
}

TEST(Formats, Validate) {
  ExpectTrue({"!format.dns1123Label().validate('my-label').hasValue()",
              "format.dns1123Label().validate('My.label').value().size() == 1",
              "format.dns1123Label().validate('a.b').value() == ['must not contain dots']",
              "!format.dns1123LabelPrefix().validate('my-label-').hasValue()",
              "!format.dns1123Subdomain().validate('a.b-c.d').hasValue()",
              "format.dns1035Label().validate('1a').hasValue()",
              "!format.qualifiedName().validate('example.com/MyName').hasValue()",
              "format.qualifiedName().validate('a/b/c').hasValue()",
              "!format.labelValue().validate('').hasValue()",
              "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
              "!format.byte().validate('aGVsbG8=').hasValue()",
              "format.byte().validate('a').hasValue()",
              "!format.date().validate('2024-02-29').hasValue()",
              "format.date().validate('2023-02-29').hasValue()",
              "!format.datetime().validate('2023-01-01T12:00:00Z').hasValue()",
              "format.datetime().validate('2023-01-01T25:00:00Z').hasValue()",
              "!format.uri().validate('https://a/b').hasValue()",
              "format.uri().validate('a').hasValue()",
              "format.named('uuid').value() == format.uuid()",
              "!format.named('nosuch').hasValue()"});
}

}  // namespace
}  // namespace berth::cel
