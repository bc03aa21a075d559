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
  handle.set_bind_status(absl::UnavailableError("binding error"));
  EXPECT_EQ(plugin->Bind(state, *pod, "machine2"), Status::Error("binding error"));
  EXPECT_THAT(handle.bindings(), ElementsAre(::testing::Pair("ns/foo", "machine1"),
                                             ::testing::Pair("ns/foo", "machine2")));
}

}  // namespace
}  // namespace berth::testing
