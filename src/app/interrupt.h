// SPDX-License-Identifier: Apache-2.0
// Ctrl-C on long work: the first one asks for an end with what there is, the second one is final.
#ifndef BERTH_SRC_APP_INTERRUPT_H_
#define BERTH_SRC_APP_INTERRUPT_H_

namespace berth {

// The exit status of a command that was interrupted: as a shell gives it for SIGINT.
constexpr int kInterruptedStatus = 130;

// From here on the first SIGINT is only recorded; the next one ends the process as usual.
void CatchInterrupts();
// Whether there was one.
bool Interrupted();

}  // namespace berth

#endif  // BERTH_SRC_APP_INTERRUPT_H_
