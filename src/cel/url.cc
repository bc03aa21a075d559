// SPDX-License-Identifier: Apache-2.0
#include "cel/url.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cel/quoting.h"

namespace berth::cel {
namespace {

enum class Mode { kPath, kHost, kZone, kUser, kQuery, kFragment };

bool IsOneOf(char c, absl::string_view characters) {
  return characters.find(c) != absl::string_view::npos;
}

absl::Status Invalid(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("parse ", Quote(text), ": ", why));
}

// net/url shouldEscape, for paths and hosts.
bool MustEscape(char c, Mode mode) {
  if (absl::ascii_isalnum(c)) return false;
  const bool is_host = mode == Mode::kHost || mode == Mode::kZone;
  if (is_host && IsOneOf(c, "!$&'()*+,;=:[]<>\"")) return false;
  if (IsOneOf(c, "-_.~")) return false;
  if (IsOneOf(c, "$&+,/:;=?@")) return mode == Mode::kPath ? c == '?' : true;
  return true;
}

// nullopt if an escape is none, or a character may not stand there.
std::optional<std::string> Unescape(absl::string_view text, Mode mode) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      const absl::string_view hex = text.substr(i + 1, 2);
      if (hex.size() < 2 || !absl::ascii_isxdigit(hex[0]) || !absl::ascii_isxdigit(hex[1])) {
        return std::nullopt;
      }
      const std::string byte = absl::HexStringToBytes(hex);
      // Hosts may have escapes for other than ASCII only, and the mark of a zone.
      if (mode == Mode::kHost && static_cast<unsigned char>(byte[0]) < 0x80 && hex != "25") {
        return std::nullopt;
      }
      if (mode == Mode::kZone && hex != "25" && byte[0] != ' ' &&
          MustEscape(byte[0], Mode::kHost)) {
        return std::nullopt;
      }
      result += byte;
      i += 2;
    } else if (c == '+' && mode == Mode::kQuery) {
      result.push_back(' ');
    } else {
      const bool is_host = mode == Mode::kHost || mode == Mode::kZone;
      if (is_host && absl::ascii_isascii(c) && MustEscape(c, mode)) return std::nullopt;
      result.push_back(c);
    }
  }
  return result;
}

std::string EscapePath(absl::string_view path) {
  std::string result;
  for (const char c : path) {
    if (MustEscape(c, Mode::kPath)) {
      result += absl::StrCat("%", absl::AsciiStrToUpper(absl::BytesToHexString({&c, 1})));
    } else {
      result.push_back(c);
    }
  }
  return result;
}

// As URL.EscapedPath: what was written, if it may stand so.
std::optional<std::string> CanonicalPath(absl::string_view written) {
  const std::optional<std::string> path = Unescape(written, Mode::kPath);
  if (!path) return std::nullopt;
  const bool may_stand = std::all_of(written.begin(), written.end(), [](char c) {
    return IsOneOf(c, "!$&'()*+,;=:@[]%") || !MustEscape(c, Mode::kPath);
  });
  return may_stand ? std::string(written) : EscapePath(*path);
}

bool IsOptionalPort(absl::string_view port) {
  if (port.empty()) return true;
  return port[0] == ':' && std::all_of(port.begin() + 1, port.end(), absl::ascii_isdigit);
}

std::optional<std::string> ParseHost(absl::string_view host) {
  if (absl::StartsWith(host, "[")) {
    const size_t end = host.rfind(']');
    if (end == absl::string_view::npos || !IsOptionalPort(host.substr(end + 1))) {
      return std::nullopt;
    }
    const size_t zone = host.substr(0, end).find("%25");
    if (zone != absl::string_view::npos) {
      const auto before = Unescape(host.substr(0, zone), Mode::kHost);
      const auto inside = Unescape(host.substr(zone, end - zone), Mode::kZone);
      const auto behind = Unescape(host.substr(end), Mode::kHost);
      if (!before || !inside || !behind) return std::nullopt;
      return absl::StrCat(*before, *inside, *behind);
    }
  } else if (const size_t colon = host.rfind(':'); colon != absl::string_view::npos) {
    if (!IsOptionalPort(host.substr(colon))) return std::nullopt;
  }
  return Unescape(host, Mode::kHost);
}

bool IsUserinfo(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(c) || IsOneOf(c, "-._:~!$&'()*+,;=%@");
  });
}

// The scheme, cut off the front of `rest`; "" if there is none, nullopt if there is nothing before
// the colon.
std::optional<std::string> CutScheme(absl::string_view& rest) {
  for (size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (absl::ascii_isalpha(c)) continue;
    if (i > 0 && (absl::ascii_isdigit(c) || IsOneOf(c, "+-."))) continue;
    if (c != ':') return "";
    if (i == 0) return std::nullopt;
    std::string scheme = absl::AsciiStrToLower(rest.substr(0, i));
    rest.remove_prefix(i + 1);
    return scheme;
  }
  return "";
}

// net/url parse. A request is an absolute URI or an absolute path.
absl::StatusOr<Url> ParseUrl(absl::string_view text, bool is_request) {
  Url url;
  if (std::any_of(text.begin(), text.end(), absl::ascii_iscntrl)) {
    return Invalid(text, "net/url: invalid control character in URL");
  }
  if (text.empty() && is_request) return Invalid(text, "empty url");
  if (text == "*") {
    url.escaped_path = "*";
    return url;
  }
  absl::string_view rest = text;
  const std::optional<std::string> scheme = CutScheme(rest);
  if (!scheme) return Invalid(text, "missing protocol scheme");
  url.scheme = *scheme;
  if (const size_t mark = rest.find('?'); mark != absl::string_view::npos) {
    url.query = std::string(rest.substr(mark + 1));
    rest = rest.substr(0, mark);
  }
  if (!absl::StartsWith(rest, "/")) {
    if (!url.scheme.empty()) {
      url.opaque = std::string(rest);
      return url;
    }
    if (is_request) return Invalid(text, "invalid URI for request");
    if (absl::StrContains(rest.substr(0, rest.find('/')), ':')) {
      return Invalid(text, "first path segment in URL cannot contain colon");
    }
  }
  const bool has_authority = !url.scheme.empty() || (!is_request && !absl::StartsWith(rest, "///"));
  if (has_authority && absl::StartsWith(rest, "//")) {
    const size_t end = std::min(rest.find('/', 2), rest.size());
    absl::string_view authority = rest.substr(2, end - 2);
    rest.remove_prefix(end);
    if (const size_t at = authority.rfind('@'); at != absl::string_view::npos) {
      const absl::string_view user = authority.substr(0, at);
      if (!IsUserinfo(user) || !Unescape(user, Mode::kUser)) {
        return Invalid(text, "net/url: invalid userinfo");
      }
      url.user = std::string(user);
      authority.remove_prefix(at + 1);
    }
    const std::optional<std::string> host = ParseHost(authority);
    if (!host) return Invalid(text, absl::StrCat("invalid host ", Quote(authority)));
    url.host = *host;
  }
  const std::optional<std::string> path = CanonicalPath(rest);
  if (!path) return Invalid(text, "invalid URL escape");
  url.escaped_path = *path;
  return url;
}

// Where the port of a host begins, with its colon; its end if it has none.
size_t PortBegin(absl::string_view host) {
  const size_t colon = host.rfind(':');
  const bool has_port = colon != absl::string_view::npos && IsOptionalPort(host.substr(colon));
  return has_port ? colon : host.size();
}

}  // namespace

absl::StatusOr<Url> Url::Parse(absl::string_view text) {
  const size_t mark = std::min(text.find('#'), text.size());
  absl::StatusOr<Url> url = ParseUrl(text.substr(0, mark), /*is_request=*/false);
  if (!url.ok() || mark == text.size()) return url;
  url->fragment = std::string(text.substr(mark + 1));
  if (!Unescape(url->fragment, Mode::kFragment)) return Invalid(text, "invalid URL escape");
  return url;
}

absl::string_view Url::hostname() const {
  absl::string_view name = absl::string_view(host).substr(0, PortBegin(host));
  if (absl::StartsWith(name, "[") && absl::EndsWith(name, "]")) {
    name = name.substr(1, name.size() - 2);
  }
  return name;
}

absl::string_view Url::port() const {
  const size_t begin = PortBegin(host);
  return begin == host.size() ? "" : absl::string_view(host).substr(begin + 1);
}

std::vector<std::pair<std::string, std::vector<std::string>>> Url::QueryValues() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
  for (const absl::string_view part : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    if (absl::StrContains(part, ';')) continue;  // net/url drops what it cannot read
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const auto key = Unescape(pair.first, Mode::kQuery),
               value = Unescape(pair.second, Mode::kQuery);
    if (!key || !value) continue;
    auto found = std::find_if(values.begin(), values.end(),
                              [&](const auto& entry) { return entry.first == *key; });
    if (found == values.end()) found = values.insert(values.end(), {*key, {}});
    found->second.push_back(*value);
  }
  return values;
}

absl::Status CheckRequestUri(absl::string_view text) {
  return ParseUrl(text, /*is_request=*/true).status();
}

}  // namespace berth::cel
