// SPDX-License-Identifier: Apache-2.0
// Tests of DefaultBinder.
#include "plugins/default_binder/default_binder.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

TEST(DefaultBinderTest, BindsThroughTheHandle) {
  FakeHandle handle;
  const auto plugin = MakePlugin<DefaultBinder>(handle);
  CycleState state;
  const PodPtr pod = MakePod().Name("foo").Namespace("ns").Obj();
  EXPECT_EQ(plugin->Bind(state, *pod, "machine1"), Status::Success());
  EXPECT_TRUE(handle.bind_metadata().annotations.empty());
  AnnotateWithBind(state, "example.com/cards", "1");
  AnnotateWithBind(state, "example.com/cards", "0-3");
  LabelWithBind(state, "example.com/group", "a");
  handle.set_bind_status(absl::UnavailableError("binding error"));
  EXPECT_EQ(plugin->Bind(state, *pod, "machine2"), Status::Error("binding error"));
  EXPECT_THAT(handle.bindings(), ElementsAre(::testing::Pair("ns/foo", "machine1"),
                                             ::testing::Pair("ns/foo", "machine2")));
  EXPECT_THAT(handle.bind_metadata().annotations,
              ElementsAre(::testing::Pair("example.com/cards", "0-3")));
  EXPECT_THAT(handle.bind_metadata().labels,
              ElementsAre(::testing::Pair("example.com/group", "a")));
}

}  // namespace
}  // namespace berth::testing
