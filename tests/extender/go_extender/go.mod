// SPDX-License-Identifier: Apache-2.0
module berth.dev/tests/extender

go 1.21
