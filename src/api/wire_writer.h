// Appends fields in the protobuf wire format to a text.
#ifndef BERTH_SRC_API_WIRE_WRITER_H_
#define BERTH_SRC_API_WIRE_WRITER_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace berth {

class WireWriter {
 public:
  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  void Clear() { bytes_.clear(); }
  // Takes back everything after the first `size` bytes.
  void Truncate(size_t size) { bytes_.resize(size); }

  void Varint(uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<char>(value));
  }
  void VarintField(uint32_t tag, uint64_t value) {
    Varint(tag);
    Varint(value);
  }
  void DoubleField(uint32_t tag, double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    Varint(tag);
    for (int i = 0; i < 8; ++i, bits >>= 8) bytes_.push_back(static_cast<char>(bits));
  }
  void StringField(uint32_t tag, absl::string_view value) {
    Varint(tag);
    Varint(value.size());
    bytes_.append(value.data(), value.size());
  }

  // A nested message: its fields are what is appended between Begin() and End(begin).
  size_t Begin(uint32_t tag) {
    Varint(tag);
    bytes_.push_back(0);  // the length, usually one byte
    return bytes_.size();
  }
  void End(size_t begin) {
    uint64_t length = bytes_.size() - begin;
    if (length < 0x80) {
      bytes_[begin - 1] = static_cast<char>(length);
      return;
    }
    char varint[10];
    int n = 0;
    for (; length >= 0x80; length >>= 7) varint[n++] = static_cast<char>(length | 0x80);
    varint[n++] = static_cast<char>(length);
    bytes_[begin - 1] = varint[0];
    bytes_.insert(begin, varint + 1, n - 1);
  }

 private:
  std::string bytes_;
};

}  // namespace berth

#endif  // BERTH_SRC_API_WIRE_WRITER_H_
