#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts the plugin's process at a socket of its own, and simulates the cluster of this folder with it.
#
#   simulate.sh SERVED_PLUGIN BERTH
here=$(dirname "$0")
folder=$(mktemp -d)
"$1" "unix:$folder/keep-for.sock" &
trap 'kill $!; rm -rf "$folder"' EXIT
sed "s|unix:.*|unix:$folder/keep-for.sock|" "$here/config.yaml" >"$folder/config.yaml"
"$2" simulate --config "$folder/config.yaml" --cluster "$here/cluster.yaml" -o json
