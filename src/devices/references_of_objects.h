// SPDX-License-Identifier: Apache-2.0
// Names in claims, slices and pods of which nothing is among the objects of a cluster.
#ifndef BERTH_SRC_DEVICES_REFERENCES_OF_OBJECTS_H_
#define BERTH_SRC_DEVICES_REFERENCES_OF_OBJECTS_H_

#include "berth/api/manifest.h"
#include "berth/api/problem.h"

namespace berth {

// Warnings, since what is missing may come later: templates and claims of pods without a node,
// classes of claims and templates, nodes of slices. With what there is of that name elsewhere. Once
// for each name that is missing, and nothing of a kind of which there is no object at all.
Problems CheckDeviceReferencesOf(const Manifests& manifests);

}  // namespace berth

#endif  // BERTH_SRC_DEVICES_REFERENCES_OF_OBJECTS_H_
