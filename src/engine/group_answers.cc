// SPDX-License-Identifier: Apache-2.0
// Implementation of group_answers.h.
#include "engine/group_answers.h"

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

// A group that evicts has a plan, whatever the search said before.
absl::string_view AnswerText(const AttemptResult& result) {
  if (!result.plans.empty()) return "room is made: planned";
  switch (result.answer) {
    case GroupAnswer::kInfeasible:
      return "no place: proven";
    case GroupAnswer::kUndecided:
      return "no place: undecided";
    default:
      return "";
  }
}

absl::string_view MovesText(MovesAnswer moves) {
  switch (moves) {
    case MovesAnswer::kFewest:
      return "moves: proven that no fewer do";
    case MovesAnswer::kSome:
      return "moves: perhaps fewer would do";
    case MovesAnswer::kNoHelp:
      return "moves: proven that none help";
    case MovesAnswer::kUndecided:
      return "moves: undecided";
    case MovesAnswer::kNone:
      break;
  }
  return "";
}

}  // namespace

void CountGroupAnswer(const AttemptRequest& request, const AttemptResult& result,
                      CounterSet& counters) {
  if (request.group.empty() || result.minimum_reached) return;
  for (const absl::string_view text : {AnswerText(result), MovesText(result.moves)}) {
    if (text.empty()) continue;
    counters.Find(absl::StrCat(request.framework->plugins().group_name.view(), "/", text)).Add();
  }
}

}  // namespace berth
