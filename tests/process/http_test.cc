// SPDX-License-Identifier: Apache-2.0
// Queries, paths and methods.
#include "process/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(QueryValues, AreDecodedAndInOrder) {
  EXPECT_THAT(QueryValues("", "a"), IsEmpty());
  EXPECT_THAT(QueryValues("verbose", "verbose"), ElementsAre(""));
  EXPECT_THAT(QueryValues("a=1&b=2&a=3", "a"), ElementsAre("1", "3"));
  EXPECT_THAT(QueryValues("a=x%2Fy+z%", "a"), ElementsAre("x/y z%"));
  EXPECT_THAT(QueryValues("a=%4", "a"), ElementsAre("%4"));
  EXPECT_THAT(QueryValues("a=b=c&&%61=d", "a"), ElementsAre("b=c", "d"));
}

TEST(Endpoints, AnswerTheirPathAlone) {
  Endpoints endpoints;
  endpoints.Add("/metrics",
                [](const ServerRequest& request) { return ServerResponse{.body = request.query}; });
  struct Case {
    std::string method, path;
    int code;
    std::string body;
  };
  for (const Case& c : std::vector<Case>{
           {"GET", "/metrics", 200, "q"},
           {"HEAD", "/metrics", 200, "q"},
           {"POST", "/metrics", 405, "Method Not Allowed\n"},
           {"GET", "/metrics/", 404, "404 page not found\n"},
           {"GET", "/Metrics", 404, "404 page not found\n"},
           {"DELETE", "/", 404, "404 page not found\n"},
       }) {
    const ServerResponse response =
        endpoints.Answer({.method = c.method, .path = c.path, .query = "q"});
    EXPECT_EQ(response.code, c.code) << c.method << " " << c.path;
    EXPECT_EQ(response.body, c.body) << c.method << " " << c.path;
  }
}

}  // namespace
}  // namespace berth
