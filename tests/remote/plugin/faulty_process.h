// SPDX-License-Identifier: Apache-2.0
// A plugin's process with which something is wrong: a Filter that rejects nodes of the label
// bad=true, or a PostFilter that can do nothing, until it is told to misbehave.
#ifndef BERTH_TESTS_REMOTE_PLUGIN_FAULTY_PROCESS_H_
#define BERTH_TESTS_REMOTE_PLUGIN_FAULTY_PROCESS_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "berth/api/core_v1.pb.h"
#include "berth/check.h"
#include "berth/v1/plugin.grpc.pb.h"
#include "remote/wire/connection.h"

namespace berth::testing {

enum class Fault {
  kNone,
  kHangs,            // answers nothing from now on
  kDies,             // ends the session at a question
  kSlow,             // answers after 400 ms
  kGarbage,          // a bitmap of another length; a node to nominate that there is not
  kOtherQuestion,    // the answer to another revision, or of another kind
  kUnknownCode,      // a reason whose code is none
  kUnknownVictim,    // of PostFilter: a pod that is not on the node
  kVictimsNowhere,   // of PostFilter: victims, and no node
  kEmptyMessage,     // a message of no known kind
  kNeverTakesNodes,  // no Synced
};

class FaultyProcess final : public v1::Plugin::Service {
 public:
  explicit FaultyProcess(std::string address, v1::Point point = v1::FILTER)
      : address_(std::move(address)) {
    description_.set_name("example.com/faulty");
    description_.set_version("1");
    description_.set_protocol_version(v1::PROTOCOL_VERSION_1);
    description_.add_points(point);
    description_.mutable_signature();
    description_.add_depends_on("NodeLabels");
    Begin();
  }

  void Begin() {
    auto server = WireServer::Start(*WireAddress::Parse(address_), {}, {this});
    BERTH_CHECK(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
  }
  void End() { server_.reset(); }

  void Set(Fault fault) { fault_ = fault; }
  v1::Description& description() { return description_; }  // change it while it is ended
  int sessions() const { return sessions_; }
  int questions() const { return questions_; }

  grpc::Status Describe(grpc::ServerContext*, const v1::DescribeRequest*,
                        v1::Description* description) override {
    *description = description_;
    return grpc::Status::OK;
  }

  grpc::Status Session(grpc::ServerContext* context,
                       grpc::ServerReaderWriter<v1::FromPlugin, v1::ToPlugin>* stream) override {
    ++sessions_;
    std::map<uint32_t, bool> bad;
    uint32_t nodes = 0;
    v1::ToPlugin message;
    while (stream->Read(&message)) {
      v1::FromPlugin answer;
      if (message.has_start()) answer.mutable_started();
      if (message.has_update()) {
        nodes = message.update().node_count();
        for (const v1::NodeState& node : message.update().nodes()) {
          const auto& labels = node.node().metadata().labels();
          bad[node.index()] = labels.contains("bad") && labels.at("bad") == "true";
        }
        if (!message.update().full() || fault_ == Fault::kNeverTakesNodes) continue;
        answer.mutable_synced()->set_revision(message.update().revision());
      }
      if (message.has_evaluate() || message.has_post_filter()) {
        ++questions_;
        if (fault_ == Fault::kDies) return grpc::Status::OK;
        if (fault_ == Fault::kSlow) absl::SleepFor(absl::Milliseconds(400));
        while (fault_ == Fault::kHangs && !context->IsCancelled()) {
          absl::SleepFor(absl::Milliseconds(5));
        }
      }
      if (message.has_evaluate()) {
        v1::Evaluation& evaluation = *answer.mutable_evaluation();
        evaluation.set_id(message.evaluate().id());
        evaluation.set_revision(message.evaluate().revision() +
                                (fault_ == Fault::kOtherQuestion ? 1 : 0));
        v1::Status& reason = *evaluation.add_reasons();
        reason.set_code(fault_ == Fault::kUnknownCode ? static_cast<v1::Code>(77)
                                                      : v1::UNSCHEDULABLE_AND_UNRESOLVABLE);
        reason.add_reasons("node(s) were bad");
        std::string bits((nodes + 7) / 8, 0);
        for (const auto& [index, is_bad] : bad) {
          if (is_bad) bits[index / 8] = static_cast<char>(bits[index / 8] | 1 << (index % 8));
        }
        if (fault_ == Fault::kGarbage) bits += "garbage";
        evaluation.set_rejected(bits);
        if (fault_ == Fault::kEmptyMessage) answer.Clear();
      }
      if (message.has_post_filter()) AnswerPostFilter(message.post_filter(), answer);
      stream->Write(answer);
    }
    return grpc::Status::OK;
  }

 private:
  void AnswerPostFilter(const v1::PostFilter& question, v1::FromPlugin& answer) {
    if (fault_ == Fault::kEmptyMessage) return;
    if (fault_ == Fault::kOtherQuestion) {
      answer.mutable_call()->set_id(question.id());
      return;
    }
    v1::PostFilterResult& result = *answer.mutable_post_filter();
    result.set_id(question.id());
    if (fault_ == Fault::kGarbage) {
      result.set_nominated_node("nowhere");
    } else if (fault_ == Fault::kUnknownVictim) {
      result.set_nominated_node("n0");
      result.add_victim_uids("nobody");
    } else if (fault_ == Fault::kVictimsNowhere) {
      result.add_victim_uids("nobody");
    } else {
      result.mutable_status()->set_code(fault_ == Fault::kUnknownCode ? static_cast<v1::Code>(77)
                                                                      : v1::UNSCHEDULABLE);
    }
  }

  const std::string address_;
  v1::Description description_;
  std::atomic<Fault> fault_ = Fault::kNone;
  std::atomic<int> sessions_ = 0, questions_ = 0;
  std::unique_ptr<WireServer> server_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_REMOTE_PLUGIN_FAULTY_PROCESS_H_
