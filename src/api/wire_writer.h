// SPDX-License-Identifier: Apache-2.0
// Appends fields in the protobuf wire format to a text. The encoding is protobuf's; what its
// streams cannot do is to write a nested message before its length is known.
#ifndef BERTH_SRC_API_WIRE_WRITER_H_
#define BERTH_SRC_API_WIRE_WRITER_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace berth {

class WireWriter {
 public:
  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

  void VarintField(uint32_t tag, uint64_t value) {
    Varint(tag);
    Varint(value);
  }
  void DoubleField(uint32_t tag, double value) {
    Varint(tag);
    uint8_t bytes[sizeof(value)];
    Append(bytes, CodedOutputStream::WriteLittleEndian64ToArray(
                      google::protobuf::internal::WireFormatLite::EncodeDouble(value), bytes));
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
    uint8_t length[kMaxVarintBytes];
    const uint8_t* const end =
        CodedOutputStream::WriteVarint64ToArray(bytes_.size() - begin, length);
    bytes_[begin - 1] = static_cast<char>(length[0]);
    if (end - length > 1) {
      bytes_.insert(begin, reinterpret_cast<const char*>(length) + 1,
                    static_cast<size_t>(end - length) - 1);
    }
  }

 private:
  using CodedOutputStream = google::protobuf::io::CodedOutputStream;
  static constexpr size_t kMaxVarintBytes = 10;

  void Varint(uint64_t value) {
    if (value < 0x80) return bytes_.push_back(static_cast<char>(value));  // most are
    uint8_t bytes[kMaxVarintBytes];
    Append(bytes, CodedOutputStream::WriteVarint64ToArray(value, bytes));
  }
  void Append(const uint8_t* begin, const uint8_t* end) {
    bytes_.append(reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin));
  }

  std::string bytes_;
};

}  // namespace berth

#endif  // BERTH_SRC_API_WIRE_WRITER_H_
