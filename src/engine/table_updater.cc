// SPDX-License-Identifier: Apache-2.0
// Implementation of table_updater.h.
#include "engine/table_updater.h"

namespace berth {

// So that the first cycle need not build what covers the whole cluster.
void TableUpdater::Prime(uint64_t events) {
  cluster_.Refresh();
  updated_at_ = Changes(events);
  order_ = cluster_.nodes().order_version();
  for (const Framework* framework : profiles_.all()) {
    const Aspects aspects = framework->signer().DependenciesOf(~PluginMask{0});
    if ((aspects & Aspect::kOtherNodes) != 0) cluster_.nodes().pods();
    framework->RunOnSynced();
  }
}

// So that no cycle builds it again because more happened than the journals keep. Of nodes that
// come and go they keep few.
void TableUpdater::Update(uint64_t events, bool before_attempt) {
  constexpr uint64_t kMany = 512;  // half of what NodeTable keeps at least
  const bool many = Changes(events) - updated_at_ >= kMany;
  if (!before_attempt && !many) return;
  cluster_.Refresh();
  const bool moved = order_ != cluster_.nodes().order_version();
  if (!moved && !many) return;
  updated_at_ = Changes(events);
  order_ = cluster_.nodes().order_version();
  for (const Framework* framework : profiles_.all()) framework->RunBeforeJournalOverflow();
}

}  // namespace berth
