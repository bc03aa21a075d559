// SPDX-License-Identifier: Apache-2.0
// apiserver pkg/cel/library/ip.go and cidr.go
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cel/cost.h"
#include "cel/ip.h"
#include "cel/libraries/libraries.h"
#include "cel/quoting.h"

namespace berth::cel {
namespace {

// An address or a network as a value.
template <typename T>
class NetValue final : public Opaque {
 public:
  explicit NetValue(const T& content) : content_(content) {}
  const T& content() const { return content_; }
  absl::string_view type_name() const override {
    return std::is_same_v<T, IpAddress> ? "net.IP" : "net.CIDR";
  }
  std::optional<bool> Equals(const Opaque& other) const override {
    const auto* same = dynamic_cast<const NetValue*>(&other);
    if (same == nullptr) return std::nullopt;
    return content_ == same->content_;
  }
  uint64_t size() const override {
    if constexpr (std::is_same_v<T, IpAddress>) {
      return static_cast<uint64_t>(content_.bits()) / 8;
    } else {
      return (static_cast<uint64_t>(content_.length) + 7) / 8;
    }
  }

 private:
  T content_;
};

template <typename T>
Value Make(const T& content) {
  return Value(Value::Content(OpaquePointer(std::make_shared<const NetValue<T>>(content))));
}

const IpAddress& Ip(const Value& value) { return value.As<NetValue<IpAddress>>()->content(); }
const IpNetwork& Cidr(const Value& value) { return value.As<NetValue<IpNetwork>>()->content(); }

Value NoAddress(absl::string_view text) {
  const std::string quoted = Quote(text);
  return Value::Error(absl::StrCat("IP Address ", quoted,
                                   " parse error during conversion from string: ParseAddr(", quoted,
                                   "): unable to parse IP"));
}

Value NoNetwork(absl::string_view text) {
  return Value::Error(
      absl::StrCat("network address parse error during conversion from string: network address "
                   "parse error during conversion from string: netip.ParsePrefix(",
                   Quote(text), "): unable to parse"));
}

Value ParseIp(Budget&, Arguments a) {
  const std::optional<IpAddress> address = IpAddress::Parse(a[0].text());
  return address ? Make(*address) : NoAddress(a[0].text());
}

Value IsCanonical(Budget&, Arguments a) {
  const std::optional<IpAddress> address = IpAddress::Parse(a[0].text());
  return address ? Value::Bool(address->ToString() == a[0].text()) : NoAddress(a[0].text());
}

Value ParseCidr(Budget&, Arguments a) {
  const std::optional<IpNetwork> network = IpNetwork::Parse(a[0].text());
  return network ? Make(*network) : NoNetwork(a[0].text());
}

Value ContainsIpText(Budget&, Arguments a) {
  const std::optional<IpAddress> address = IpAddress::Parse(a[1].text());
  return address ? Value::Bool(Cidr(a[0]).Contains(*address)) : NoAddress(a[1].text());
}

Value ContainsCidrText(Budget&, Arguments a) {
  const std::optional<IpNetwork> network = IpNetwork::Parse(a[1].text());
  return network ? Value::Bool(Cidr(a[0]).Contains(*network)) : NoNetwork(a[1].text());
}

// library/cost.go: comparing bytes of the network, and reading what is text.
uint64_t ContainsIpCost(absl::Span<const Value> a, const Value&) {
  return TraversalCost(2 * SizeOf(a[0])) + (a[1].IsString() ? TraversalCost(SizeOf(a[1])) : 0);
}
uint64_t ContainsCidrCost(absl::Span<const Value> a, const Value& result) {
  return ContainsIpCost(a, result) + TraversalCost(SizeOf(a[0])) + 1;
}
// cidr.ip() has the name of ip(string), and takes no reading.
uint64_t IpCost(absl::Span<const Value> a, const Value&) {
  return a[0].As<NetValue<IpNetwork>>() ? 1 : TraversalCost(SizeOf(a[0]));
}

void AddIps(Environment& environment, const Type& ip) {
  const Type string = Type::String(), boolean = Type::Bool();
  environment.AddType(ip);
  environment.AddFunction("ip", "string_to_ip", {string}, ip, ParseIp);
  environment.AddFunction("isIP", "is_ip", {string}, boolean, [](Budget&, Arguments a) {
    return Value::Bool(IpAddress::Parse(a[0].text()).has_value());
  });
  environment.AddFunction("ip.isCanonical", "ip_is_canonical", {string}, boolean, IsCanonical);
  environment.AddFunction("string", "ip_to_string", {ip}, string,
                          [](Budget&, Arguments a) { return Value::String(Ip(a[0]).ToString()); });
  environment.AddMember("family", "ip_family", {ip}, Type::Int(),
                        [](Budget&, Arguments a) { return Value::Int(Ip(a[0]).is_v4() ? 4 : 6); });
  const auto add = [&](absl::string_view name, bool (IpAddress::*is)() const) {
    environment.AddMember(name, absl::StrCat("ip_", name), {ip}, boolean,
                          [is](Budget&, Arguments a) { return Value::Bool((Ip(a[0]).*is)()); });
  };
  add("isUnspecified", &IpAddress::IsUnspecified);
  add("isLoopback", &IpAddress::IsLoopback);
  add("isLinkLocalMulticast", &IpAddress::IsLinkLocalMulticast);
  add("isLinkLocalUnicast", &IpAddress::IsLinkLocalUnicast);
  add("isGlobalUnicast", &IpAddress::IsGlobalUnicast);
}

void AddCidrs(Environment& environment, const Type& ip, const Type& cidr) {
  const Type string = Type::String(), boolean = Type::Bool();
  environment.AddType(cidr);
  environment.AddFunction("cidr", "string_to_cidr", {string}, cidr, ParseCidr);
  environment.AddFunction("isCIDR", "is_cidr", {string}, boolean, [](Budget&, Arguments a) {
    return Value::Bool(IpNetwork::Parse(a[0].text()).has_value());
  });
  environment.AddFunction("string", "cidr_to_string", {cidr}, string, [](Budget&, Arguments a) {
    return Value::String(Cidr(a[0]).ToString());
  });
  environment.AddMember("containsIP", "cidr_contains_ip_string", {cidr, string}, boolean,
                        ContainsIpText);
  environment.AddMember(
      "containsIP", "cidr_contains_ip_ip", {cidr, ip}, boolean,
      [](Budget&, Arguments a) { return Value::Bool(Cidr(a[0]).Contains(Ip(a[1]))); });
  environment.AddMember("containsCIDR", "cidr_contains_cidr_string", {cidr, string}, boolean,
                        ContainsCidrText);
  environment.AddMember(
      "containsCIDR", "cidr_contains_cidr", {cidr, cidr}, boolean,
      [](Budget&, Arguments a) { return Value::Bool(Cidr(a[0]).Contains(Cidr(a[1]))); });
  environment.AddMember("ip", "cidr_ip", {cidr}, ip,
                        [](Budget&, Arguments a) { return Make(Cidr(a[0]).address); });
  environment.AddMember("prefixLength", "cidr_prefix_length", {cidr}, Type::Int(),
                        [](Budget&, Arguments a) { return Value::Int(Cidr(a[0]).length); });
  environment.AddMember("masked", "cidr_masked", {cidr}, cidr,
                        [](Budget&, Arguments a) { return Make(Cidr(a[0]).Masked()); });
}

}  // namespace

void AddAddresses(Environment& environment) {
  const Type ip = Type::Opaque("net.IP"), cidr = Type::Opaque("net.CIDR");
  AddIps(environment, ip);
  AddCidrs(environment, ip, cidr);
  environment.SetCost("ip", IpCost);
  environment.SetCost("ip.isCanonical", TraverseFirstTwice);
  for (const absl::string_view name : {"cidr", "isIP", "isCIDR"}) {
    environment.SetCost(name, TraverseFirst);
  }
  environment.SetCost("containsIP", ContainsIpCost);
  environment.SetCost("containsCIDR", ContainsCidrCost);
}

}  // namespace berth::cel
