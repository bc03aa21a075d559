// SPDX-License-Identifier: Apache-2.0
// Interned strings, and resource names, which share their pool.
#include "berth/api/symbol.h"

#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/string_pool.h"

namespace berth {
namespace {

// A pool keeps its memory to the end of the process, and so does the list of those made here.
StringPool& NewPool() {
  static std::vector<StringPool*>& pools = *new std::vector<StringPool*>();
  pools.push_back(new StringPool());
  return *pools.back();
}

TEST(SymbolTest, EqualTextsAreEqualSymbols) {
  const Symbol a = Symbol::Intern("zone");
  EXPECT_EQ(a, Symbol::Intern(std::string("zone")));
  EXPECT_NE(a, Symbol::Intern("zones"));
  EXPECT_EQ(a.view(), "zone");
  EXPECT_EQ(a.view().data()[4], '\0');
}

TEST(SymbolTest, TheDefaultIsTheEmptyText) {
  EXPECT_EQ(Symbol(), Symbol::Intern(""));
  EXPECT_TRUE(Symbol().empty());
  EXPECT_EQ(Symbol().view(), "");
}

TEST(SymbolTest, OrdersByTextNotByAge) {
  const Symbol later = Symbol::Intern("order-b");
  const Symbol earlier = Symbol::Intern("order-a");
  EXPECT_LT(earlier, later);
  EXPECT_FALSE(later < earlier);
  EXPECT_FALSE(later < later);
}

TEST(SymbolTest, FindDoesNotAdd) {
  EXPECT_EQ(Symbol::Find("never interned"), std::nullopt);
  EXPECT_EQ(Symbol::Find("never interned"), std::nullopt);
  Symbol::Intern("interned now");
  EXPECT_EQ(Symbol::Find("interned now"), Symbol::Intern("interned now"));
}

TEST(StringPoolTest, NumbersDenselyAndKeepsEveryText) {
  StringPool& pool = NewPool();
  const std::string large(100'000, 'x');
  std::vector<std::string> texts = {"", "a", std::string("\0b", 2), large};
  for (int i = 0; i < 10'000; ++i) texts.push_back(absl::StrCat("text-", i));
  for (uint32_t i = 0; i < texts.size(); ++i) ASSERT_EQ(pool.Intern(texts[i]), i);
  ASSERT_EQ(pool.size(), texts.size());
  for (uint32_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(pool.view(i), texts[i]);
    ASSERT_EQ(pool.Intern(texts[i]), i);
  }
}

TEST(StringPoolTest, ThreadsAgree) {
  constexpr int kThreads = 4;
  constexpr int kTexts = 3000;
  StringPool& pool = NewPool();
  std::vector<std::vector<uint32_t>> ids(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&pool, &ids, t] {
      for (int i = 0; i < kTexts; ++i) {
        const std::string text = absl::StrCat("shared-", i);
        ids[t].push_back(pool.Intern(text));
        ASSERT_EQ(pool.view(ids[t].back()), text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.size(), static_cast<uint32_t>(kTexts));
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(ids[t], ids[0]);
}

}  // namespace
}  // namespace berth
