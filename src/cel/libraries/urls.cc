// SPDX-License-Identifier: Apache-2.0
// apiserver pkg/cel/library/urls.go
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cel/cost.h"
#include "cel/libraries/libraries.h"
#include "cel/url.h"

namespace berth::cel {
namespace {

class UrlValue final : public Opaque {
 public:
  static constexpr absl::string_view kTypeName = "kubernetes.URL";

  explicit UrlValue(Url url) : url_(std::move(url)) {}
  const Url& url() const { return url_; }
  absl::string_view type_name() const override { return kTypeName; }
  std::optional<bool> Equals(const Opaque& other) const override {
    const auto* url = dynamic_cast<const UrlValue*>(&other);
    if (url == nullptr) return std::nullopt;
    return url_ == url->url_;
  }

 private:
  Url url_;
};

const Url& Of(const Value& value) { return value.As<UrlValue>()->url(); }

Value Parse(Budget&, Arguments a) {
  absl::Status status = CheckRequestUri(a[0].text());
  absl::StatusOr<Url> url = Url::Parse(a[0].text());
  if (status.ok()) status = url.status();
  if (!status.ok()) {
    return Value::Error(
        absl::StrCat("URL parse error during conversion from string: ", status.message()));
  }
  return Value(Value::Content(OpaquePointer(std::make_shared<const UrlValue>(*std::move(url)))));
}

Value Query(Budget& budget, Arguments a) {
  if (!budget.WorkOnSearch(Of(a[0]).query.size(), Of(a[0]).query.size())) return Budget::Exceeded();
  Map map;
  for (const auto& [key, values] : Of(a[0]).QueryValues()) {
    std::vector<Value> list;
    for (const std::string& value : values) list.push_back(Value::String(value));
    map.Set(Value::String(key), Value::MakeList(std::move(list)));
  }
  return Value::MakeMap(std::move(map));
}

}  // namespace

void AddUrls(Environment& environment) {
  const Type url = Type::Struct(UrlValue::kTypeName), string = Type::String();
  environment.AddType(url);
  environment.AddFunction("url", "string_to_url", {string}, url, Parse);
  environment.AddFunction(
      "isURL", "is_url_string", {string}, Type::Bool(),
      [](Budget&, Arguments a) { return Value::Bool(CheckRequestUri(a[0].text()).ok()); });
  environment.SetCost("url", TraverseFirst);

  using Part = absl::string_view (*)(const Url&);
  const auto add = [&](absl::string_view name, Part part) {
    environment.AddMember(name, absl::StrCat("url_", name), {url}, string,
                          [part](Budget&, Arguments a) { return Value::String(part(Of(a[0]))); });
  };
  add("getScheme", [](const Url& u) -> absl::string_view { return u.scheme; });
  add("getHost", [](const Url& u) -> absl::string_view { return u.host; });
  add("getHostname", [](const Url& u) { return u.hostname(); });
  add("getPort", [](const Url& u) { return u.port(); });
  add("getEscapedPath", [](const Url& u) -> absl::string_view { return u.escaped_path; });
  environment.AddMember("getQuery", "url_get_query", {url}, Type::Map(string, Type::List(string)),
                        Query);
}

}  // namespace berth::cel
