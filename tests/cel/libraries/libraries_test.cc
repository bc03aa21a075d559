// SPDX-License-Identifier: Apache-2.0
// Lists, sets, optional values and the types that Kubernetes adds.
#include "tests/cel/evaluation.h"

namespace berth::cel {
namespace {

TEST(Lists, HaveFunctions) {
  ExpectTrue({"[1, 2, 3, 4].slice(1, 3) == [2, 3]", "[[1], [2, 3]].flatten() == [1, 2, 3]",
              "[dyn(1), dyn([2])].flatten() == [1, 2]", "dyn([1]).flatten() == [1]",
              "[[[1], [2]]].flatten(2) == [1, 2]", "[3, 1, 2].sort() == [1, 2, 3]",
              "['b', 'a'].sort() == ['a', 'b']", "[1, 2, 3].reverse() == [3, 2, 1]",
              "[1, 2, 1].distinct() == [1, 2]", "lists.range(3) == [0, 1, 2]",
              "lists.range(-1).size() == 0", "['ccc', 'a', 'bb'].sortBy(x, x.size())[0] == 'a'",
              "[1, 2].first().value() == 1 && [1, 2].last().value() == 2",
              "!([].first().hasValue())"});
  ExpectEach({{"[1].slice(0, 2)", "error: cannot slice(0, 2), list is length 1"},
              {"[1].slice(1, 0)",
               "error: cannot slice(1, 0), start index must be less than or equal to end index"},
              {"[1].slice(-1, 0)", "error: cannot slice(-1, 0), negative indexes not supported"},
              {"[[1]].flatten(-1)", "error: level must be non-negative"},
              {"dyn(1).flatten()", "error: no such overload: int.flatten()"},
              {"dyn([dyn(1), dyn('a')]).sort()", "error: list elements must have the same type"}});
}

TEST(Lists, HaveSumsAndExtremes) {
  ExpectTrue({"[1, 3, 2].max() == 3", "['a', 'b'].min() == 'a'", "[1.5, 2.5].sum() == 4.0",
              "[].sum() == 0", "[1, 2, 2].isSorted()", "![2, 1].isSorted()",
              "[1, 2, 1].indexOf(1) == 0", "[1, 2, 1].lastIndexOf(1) == 2", "[1].indexOf(2) == -1",
              "[duration('1h'), duration('1m')].sum() == duration('61m')"});
  ExpectEach({{"[].max() == 1", "error: max called on empty list"},
              {"[9223372036854775807, 1].sum()", "error: integer overflow"}});
}

TEST(Sets, Compare) {
  ExpectTrue({"sets.contains([1, 2, 3], [1, 3])", "!sets.contains([1], [1, 2])",
              "sets.contains([], [])", "sets.equivalent([1, 2], [2, 2, 1])",
              "!sets.equivalent([1], [2])", "sets.intersects([1, 2], [2, 3])",
              "!sets.intersects([1], [2])", "sets.contains([dyn(1)], [dyn(1.0)])"});
}

TEST(Optionals, Chain) {
  ExpectTrue({"optional.of(1).hasValue()",
              "!optional.none().hasValue()",
              "optional.of(1).value() == 1",
              "{'a': 1}.?a.orValue(2) == 1",
              "{'a': 1}.?b.orValue(2) == 2",
              "{'a': {'b': 1}}.?a.b.value() == 1",
              "!{'a': {'b': 1}}.?x.b.hasValue()",
              "{'a': {'b': 1}}.?a.?x.orValue(3) == 3",
              "[1, 2][?1].value() == 2",
              "![1][?5].hasValue()",
              "{'a': 1}[?'a'].value() == 1",
              "optional.none().or(optional.of(2)).value() == 2",
              "optional.of(1).orValue(1 / 0) == 1",
              "optional.of(2).optMap(x, x * 2).value() == 4",
              "!optional.none().optMap(x, x).hasValue()",
              "{'a': 1}.?a.optFlatMap(x, {'b': x}.?b).value() == 1",
              "optional.ofNonZeroValue('') == optional.none()",
              "optional.ofNonZeroValue('a') == optional.of('a')",
              "[?{'a': 1}.?a, ?{'a': 1}.?b] == [1]",
              "{?'x': {'a': 1}.?a, ?'y': {'a': 1}.?b} == {'x': 1}",
              "has({'a': {'b': 1}}.?a.b)",
              "[optional.of(1), optional.none()].unwrapOpt() == [1]",
              "optional.unwrap([optional.of(1)]) == [1]",
              "optional.of(1) != optional.of(2)"});
  ExpectEach({{"optional.none().value()", "error: optional.none() dereference"}});
}

TEST(Quantities, Compare) {
  ExpectTrue({"quantity('1.5Gi').compareTo(quantity('1536Mi')) == 0",
              "quantity('1').isGreaterThan(quantity('999m'))",
              "quantity('1k').isLessThan(quantity('1Ki'))", "quantity('50k').asInteger() == 50000",
              "quantity('2').asApproximateFloat() == 2.0", "!quantity('1500m').isInteger()",
              "sign(quantity('-5')) == -1",
              "quantity('50k').add(20).sub(quantity('20')) == quantity('50k')",
              "quantity('20') == quantity('10').add(10)", "quantity('1') != quantity('2')",
              "isQuantity('1e3') && !isQuantity('1.2.3') && !isQuantity('')"});
  ExpectEach({{"quantity('1').asInteger() + 1", "2"},
              {"quantity('1500m').asInteger()", "error: cannot convert value to integer"},
              {"quantity('1') == dyn(1)", "error: no such overload"}});
  ExpectRefused({{"quantity('1') < quantity('2')",
                  "applied to '(kubernetes.Quantity, kubernetes.Quantity)'"}});
}

// As kube-scheduler v1.35 answers: whether a quantity is an integer follows from how it was
// written.
TEST(Quantities, AreIntegersAsTheyWereWritten) {
  ExpectTrue({"quantity('1Gi').isInteger()",
              "quantity('1e3').asInteger() == 1000",
              "quantity('-1').isInteger()",
              "quantity('1E').isInteger()",
              "!quantity('100E').isInteger()",
              "!quantity('1.5Gi').isInteger()",
              "!quantity('2000m').isInteger()",
              "!quantity('1.0').isInteger()",
              "!quantity('0.0').isInteger()",
              "quantity('0').isInteger()",
              "!quantity('7Ei').isInteger()",
              "!quantity('9223372036854775807').isInteger()",
              "quantity('999999999999999999').isInteger()",
              "!quantity('500m').add(quantity('500m')).isInteger()",
              "!quantity('1').add(quantity('1.5Gi')).isInteger()",
              "quantity('1Gi').add(quantity('1k')).asInteger() == 1073742824",
              "quantity('1k').sub(1).asInteger() == 999",
              "quantity('1').add(quantity('0.0')).isInteger()",
              "quantity('1').sub(-9223372036854775807).isGreaterThan(quantity('9E'))",
              "quantity('1').sub(-9223372036854775808).isLessThan(quantity('0'))",
              "quantity('-1').sub(-9223372036854775808).isGreaterThan(quantity('0'))"});
  ExpectEach({{"quantity('2000m').asInteger()", "error: cannot convert value to integer"}});
}

TEST(Semver, FollowsThePrecedence) {
  // https://semver.org/#spec-item-11
  ExpectTrue({"semver('1.0.0-alpha').isLessThan(semver('1.0.0-alpha.1'))",
              "semver('1.0.0-alpha.1').isLessThan(semver('1.0.0-alpha.beta'))",
              "semver('1.0.0-beta.2').isLessThan(semver('1.0.0-beta.11'))",
              "semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
              "semver('1.0.0+a') == semver('1.0.0+b')", "semver('v1.2', true) == semver('1.2.0')",
              "semver('01.02.03', true) == semver('1.2.3')", "semver('1.2.3').minor() == 2",
              "!isSemver('1.2') && isSemver('1.2', true) && !isSemver('v1.2-rc', true)",
              "!isSemver('1.2.3-') && !isSemver('1.2.3-01') && isSemver('1.2.3-0a')",
              "!isSemver('') && !isSemver('1.2.x') && !isSemver('1.2.3+') && !isSemver('-1.2.3')"});
  ExpectEach({{"semver('1.2')", "error: No Major.Minor.Patch elements found"},
              {"semver('01.2.3')", "error: Major number must not contain leading zeroes \"01\""},
              {"semver('1.b.3')", "error: Invalid character(s) found in minor number \"b\""}});
}

TEST(Urls, HaveParts) {
  ExpectTrue(
      {"url('https://user@example.com:80/a%2Fb/c?k=1&k=2&x=%20+#f').getHost() == 'example.com:80'",
       "url('https://example.com:80/').getHostname() == 'example.com'",
       "url('https://[::1]:80/').getHostname() == '::1'", "url('https://[::1]/').getPort() == ''",
       "url('https://example.com:80/').getPort() == '80'",
       "url('HTTPS://a/').getScheme() == 'https'",
       "url('https://a/b%20c d').getEscapedPath() == '/b%20c%20d'",
       "url('https://a/a%2Fb').getEscapedPath() == '/a%2Fb'",
       "url('/a?k=1&k=2&x=%20+').getQuery() == {'k': ['1', '2'], 'x': ['  ']}",
       "url('/a/b').getHost() == ''", "url('https://a/b') == url('https://a/b')",
       "isURL('https://a/b') && isURL('/a') && isURL('mailto:a')",
       "!isURL('a') && !isURL('') && !isURL('../a') && !isURL('https://a:x/') && !isURL('https://a "
       "b/')",
       "!isURL('/a%zz') && !isURL(':a')"});
}

TEST(Addresses, AreRead) {
  ExpectTrue(
      {"ip('127.0.0.1').family() == 4",
       "ip('::1').family() == 6",
       "string(ip('2001:0db8::0:1')) == '2001:db8::1'",
       "string(ip('0:0:1::')) == '0:0:1::'",
       "string(ip('::102:304')) == '::102:304'",
       "ip('::1').isLoopback() && ip('::').isUnspecified()",
       "ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()",
       "ip('169.254.1.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()",
       "ip('8.8.8.8').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
       "ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')",
       "!isIP('1.2.3') && !isIP('01.2.3.4') && !isIP('fe80::1%eth0') && !isIP('::ffff:1.2.3.4')",
       "!isIP('1.2.3.4.5') && !isIP('') && !isIP('1:2:3:4:5:6:7::8')",
       "cidr('192.168.0.0/24').containsIP('192.168.0.1')",
       "!cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))",
       "!cidr('0.0.0.0/0').containsIP('::1')",
       "cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')",
       "!cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/16'))",
       "string(cidr('192.168.1.1/24').masked()) == '192.168.1.0/24'",
       "cidr('192.168.1.1/24') != cidr('192.168.1.0/24')",
       "string(cidr('2001:db8::1/33').masked()) == '2001:db8::/33'",
       "cidr('10.0.0.0/8').prefixLength() == 8 && cidr('10.0.0.0/8').ip() == ip('10.0.0.0')",
       "!isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0/08') && !isCIDR('10.0.0.0/+8') && "
       "!isCIDR('10.0.0.0')"});
}

TEST(Authorizer, IsDeclaredButThereIsNone) {
  ExpectEach({{"dyn(1).allowed()", "error: no such overload: allowed(int)"}});
}

}  // namespace
}  // namespace berth::cel
