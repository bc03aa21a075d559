// SPDX-License-Identifier: Apache-2.0
// Implementation of completion.h: answers from CLI11's description of the commands.
#include "app/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "app/run_flags.h"

namespace berth {
namespace {

constexpr absl::string_view kBash = R"(# bash completion of $P: source <($P completion bash)
_$F() {
  local line candidate current=${COMP_WORDS[COMP_CWORD]} words
  [ "$current" = "=" ] && current=
  words=("${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current")
  COMPREPLY=()
  while IFS= read -r line; do
    candidate=${line%%$'\t'*}
    if [ "$line" = ":files" ]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "$current")
    else
      COMPREPLY+=("$candidate")
    fi
  done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
}
complete -F _$F $P
)";

constexpr absl::string_view kZsh = R"(#compdef $P
# zsh completion of $P: $P completion zsh > "${fpath[1]}/_$P"
_$F() {
  local line candidates=() files=0
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ "$line" == ":files" ]]; then
      files=1
    elif [[ -n "$line" ]]; then
      candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    fi
  done
  (( ${#candidates} )) && _describe 'completions' candidates
  (( files )) && _files
}
if [ "${funcstack[1]}" = "_$F" ]; then _$F "$@"; else compdef _$F $P; fi
)";

constexpr absl::string_view kFish = R"(# fish completion of $P: $P completion fish | source
function __$F_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c $P -f -a '(__$F_complete)'
)";

class Answer {
 public:
  explicit Answer(absl::string_view begun) : begun_(begun) {}

  void Add(absl::string_view word, absl::string_view description) {
    if (!absl::StartsWith(word, begun_)) return;
    absl::StrAppend(&text_, word, "\t", description, "\n");
  }
  // What `type` stands for: the words of a choice, or a file.
  void AddValues(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    if (absl::StrContains(type, "FILE") || absl::StrContains(type, "DIR")) {
      files_ = true;
      return;
    }
    if (type == absl::AsciiStrToUpper(type)) return;  // a word for any text
    for (const absl::string_view word : absl::StrSplit(type, '|')) Add(word, "");
  }
  void AddFlags(const CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_group() == kIdleFlagGroup) continue;  // in no help either
      for (const std::string& name : option->get_lnames()) {
        Add(absl::StrCat("--", name), option->get_description());
      }
    }
  }
  void AddCommands(const CLI::App& app) {
    for (const CLI::App* command : app.get_subcommands({})) {
      Add(command->get_name(), command->get_description());
    }
  }
  std::string Finish() const { return absl::StrCat(text_, files_ ? ":files\n" : ""); }

 private:
  const std::string begun_;
  std::string text_;
  bool files_ = false;
};

bool IsFlag(absl::string_view word) { return word.size() > 1 && word[0] == '-'; }

const CLI::App* FindCommand(const CLI::App& app, absl::string_view name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

// The flag whose value comes behind `words`, or null.
const CLI::Option* FlagThatWants(const CLI::App& command, absl::Span<const std::string> words) {
  for (size_t i = words.size(); i > 0; --i) {
    if (!IsFlag(words[i - 1])) continue;
    const CLI::Option* const option = command.get_option_no_throw(words[i - 1]);
    if (option == nullptr) return nullptr;
    const size_t values = words.size() - i;
    return static_cast<int>(values) < option->get_expected_max() ? option : nullptr;
  }
  return nullptr;
}

}  // namespace

std::string CompletionScript(absl::string_view shell, absl::string_view program) {
  std::string function(program);
  for (char& c : function) {
    if (!absl::ascii_isalnum(c)) c = '_';
  }
  return absl::StrReplaceAll(shell == "bash"  ? kBash
                             : shell == "zsh" ? kZsh
                                              : kFish,
                             {{"$P", program}, {"$F", function}});
}

std::string Complete(const CLI::App& app, absl::Span<const std::string> all_words) {
  std::vector<std::string> words;
  std::string begun = all_words.empty() ? "" : all_words.back();
  for (size_t i = 0; i + 1 < all_words.size(); ++i) {
    if (all_words[i] == "=") continue;  // as bash splits --flag=value
    const size_t equals = IsFlag(all_words[i]) ? all_words[i].find('=') : std::string::npos;
    words.push_back(all_words[i].substr(0, equals));
    if (equals != std::string::npos) words.push_back(all_words[i].substr(equals + 1));
  }
  if (const size_t equals = begun.find('='); IsFlag(begun) && equals != std::string::npos) {
    words.push_back(begun.substr(0, equals));
    begun = begun.substr(equals + 1);
  }

  Answer answer(begun);
  const CLI::App* command = &app;
  for (size_t i = 0; i < words.size(); ++i) {
    if (IsFlag(words[i])) continue;
    command = FindCommand(app, words[i]);
    words.erase(words.begin(), words.begin() + static_cast<ptrdiff_t>(i) + 1);
    break;
  }
  if (command == nullptr) return "";
  const CLI::Option* const flag = FlagThatWants(*command, words);
  if (flag != nullptr && !IsFlag(begun)) {
    answer.AddValues(*flag);
  } else if (IsFlag(begun) || begun == "-") {
    answer.AddFlags(*command);
  } else if (command == &app || command->get_name() == "help") {
    answer.AddCommands(app);
  } else {
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional()) answer.AddValues(*option);
    }
  }
  return answer.Finish();
}

}  // namespace berth
