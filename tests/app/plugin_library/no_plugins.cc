// SPDX-License-Identifier: Apache-2.0
// A shared object of something else.
extern "C" __attribute__((visibility("default"))) int unrelated() { return 1; }
