#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Schedules the generated workloads and prints one table; see bench/workloads/measure.py for the flags.
#
#   bench/run.sh                                   all that kube-scheduler is compared on
#   bench/run.sh basic gang --seed 7 --runs 5      some of them
#   bench/run.sh --against 'CMD {config} {file}'   beside another scheduler, runs alternating
#
# Builds the preset `bench` first, unless BERTH_BIN names a folder with programs that are built already.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${BERTH_BIN-}" ]; then
  [ -f build/bench/build.ninja ] || cmake --preset bench >&2
  cmake --build build/bench --target berth berth_count berth_pauses >&2
  BERTH_BIN=build/bench
fi
exec python3 bench/workloads/measure.py --bin "$BERTH_BIN" "$@"
