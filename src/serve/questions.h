// SPDX-License-Identifier: Apache-2.0
// Questions about clusters and files, which change nothing.
#ifndef BERTH_SRC_SERVE_QUESTIONS_H_
#define BERTH_SRC_SERVE_QUESTIONS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "berth/api/object.h"
#include "berth/cluster_server.h"
#include "berth/v1/cluster.pb.h"

namespace berth {

// `objects` are those of the cluster that the question names; what it adds is not among them.
// Errors: InvalidArgument, in words.
absl::StatusOr<v1::Explanation> Explain(const ClusterServerOptions& options,
                                        std::vector<Object> objects,
                                        const v1::ExplainRequest& request);
absl::StatusOr<v1::WhatIfAnswer> WhatIf(const ClusterServerOptions& options,
                                        std::vector<Object> objects,
                                        const v1::WhatIfRequest& request);
absl::StatusOr<v1::ValidateAnswer> Validate(const ClusterServerOptions& options,
                                            const v1::ValidateRequest& request);

}  // namespace berth

#endif  // BERTH_SRC_SERVE_QUESTIONS_H_
