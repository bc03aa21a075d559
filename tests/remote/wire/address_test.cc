// SPDX-License-Identifier: Apache-2.0
#include "remote/wire/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using ::testing::HasSubstr;

TEST(WireAddress, IsASocketOrAHostAndAPort) {
  const struct {
    absl::string_view text, want;
  } cases[] = {{"unix:/run/x.sock", "unix:/run/x.sock"},
               {"unix:///run/x.sock", "unix:/run/x.sock"},
               {"127.0.0.1:7000", "127.0.0.1:7000"},
               {"[::1]:7000", "[::1]:7000"},
               {"plugin.example.com:443", "plugin.example.com:443"}};
  for (const auto& c : cases) {
    const auto address = WireAddress::Parse(c.text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), c.want);
  }
}

TEST(WireAddress, NothingElse) {
  for (const absl::string_view text :
       {"", "unix:", "unix:relative.sock", "plugin", "plugin:", "plugin:70000", "plugin:-1",
        ":7000", "::1:7000", "http://plugin:80"}) {
    EXPECT_FALSE(WireAddress::Parse(text).ok()) << text;
  }
  EXPECT_FALSE(WireAddress::Parse("unix:/" + std::string(200, 'x')).ok());
}

TEST(WireAddress, WithoutTlsOnlyTheLoopbackIsTrusted) {
  const TlsFiles none, all = {.ca_file = "ca", .cert_file = "cert", .key_file = "key"};
  const auto trust = [](absl::string_view text, const TlsFiles& tls) {
    return std::string(CheckTrust(*WireAddress::Parse(text), tls).message());
  };
  EXPECT_EQ(trust("unix:/run/x.sock", none), "");
  EXPECT_EQ(trust("127.0.0.1:7000", none), "");
  EXPECT_EQ(trust("[::1]:7000", none), "");
  EXPECT_THAT(trust("0.0.0.0:7000", none), HasSubstr("not on the loopback"));
  EXPECT_THAT(trust("127.example.com:7000", none), HasSubstr("not on the loopback"));
  EXPECT_THAT(trust("plugin:7000", none), HasSubstr("mutual TLS"));
  EXPECT_EQ(trust("plugin:7000", all), "");
  EXPECT_THAT(trust("unix:/run/x.sock", all), HasSubstr("file permissions"));
  EXPECT_THAT(trust("plugin:7000", {.ca_file = "ca"}), HasSubstr("all of"));
}

}  // namespace
}  // namespace berth
