// A program of `bang_func`: arguments from the file that the first word names, results to the second.
//
// A record is a letter and what it is: t tensor (type, number of sizes, sizes, bytes), i integer, d number, v list of
// integers (their number, then each); integers are of 64 bits.  Files are those of `benchmarks.contest.records`.
#pragma once
#include <framework/core/MLUStream.h>
#include <torch/extension.h>

#include <fstream>
#include <tuple>
#include <type_traits>

namespace contest {
class Records {
  std::ifstream file;

  template <class T>
  T raw() {
    T value;
    file.read(reinterpret_cast<char *>(&value), sizeof value);
    return value;
  }

 public:
  std::vector<at::Tensor> inputs;

  explicit Records(const char *path) : file(path, std::ios::binary) {}

  template <class T>
  T next() {
    using Plain = std::decay_t<T>;
    const char kind = raw<char>();
    if constexpr (std::is_same_v<Plain, at::Tensor>) {
      const auto type = static_cast<at::ScalarType>(raw<int64_t>());
      std::vector<int64_t> sizes(raw<int64_t>());
      for (auto &size : sizes) size = raw<int64_t>();
      at::Tensor tensor(sizes, at::TensorOptions(type).device(at::kPrivateUse1));
      std::vector<char> bytes(tensor.nbytes());
      file.read(bytes.data(), bytes.size());
      cnrtMemcpy(tensor.data_ptr(), bytes.data(), bytes.size(), cnrtMemcpyHostToDev);
      inputs.push_back(tensor.view(sizes));
      return tensor;
    } else if constexpr (std::is_arithmetic_v<Plain>) {
      return kind == 'd' ? static_cast<Plain>(raw<double>()) : static_cast<Plain>(raw<int64_t>());
    } else {
      Plain list(raw<int64_t>());
      for (auto &one : list) one = raw<int64_t>();
      return list;
    }
  }
};

// The bytes of a tensor in the order of its elements.
inline std::vector<char> bytes_of(const at::Tensor &tensor) {
  const size_t size = tensor.element_size();
  size_t held = tensor.numel() != 0;
  for (int64_t i = 0; i < tensor.dim() && held; ++i) held += (tensor.size(i) - 1) * tensor.stride(i);
  std::vector<char> storage(held * size), bytes(tensor.nbytes());
  cnrtMemcpy(storage.data(), tensor.data_ptr(), storage.size(), tensor.is_cpu() ? cnrtMemcpyHostToHost : cnrtMemcpyDevToHost);
  if (tensor.is_contiguous()) return storage;
  for (int64_t n = 0; n < tensor.numel(); ++n) {
    int64_t rest = n, at = 0;
    for (int64_t i = tensor.dim() - 1; i >= 0; rest /= tensor.size(i--)) at += rest % tensor.size(i) * tensor.stride(i);
    std::memcpy(bytes.data() + n * size, storage.data() + at * size, size);
  }
  return bytes;
}

inline void put(std::ofstream &file, const at::Tensor &tensor) {
  const std::vector<char> bytes = bytes_of(tensor);
  auto number = [&](int64_t value) { file.write(reinterpret_cast<const char *>(&value), sizeof value); };
  file.put('t');
  number(static_cast<int64_t>(tensor.scalar_type()));
  number(tensor.dim());
  for (int64_t i = 0; i < tensor.dim(); ++i) number(tensor.size(i));
  file.write(bytes.data(), bytes.size());
}

inline void put(std::ofstream &file, const std::vector<at::Tensor> &list) {
  for (const auto &one : list) put(file, one);
}

template <class Result, class... Arguments>
int run(Result (*function)(Arguments...), char **words) {
  Records records(words[1]);
  try {
    std::tuple<std::decay_t<Arguments>...> given{records.next<Arguments>()...};  // in the order of the list
    cnrtNotifier_t begin, end;
    cnrtNotifierCreate(&begin);
    cnrtNotifierCreate(&end);
    cnrtPlaceNotifier(begin, torch_mlu::getCurMLUStream());
    Result result = std::apply(function, given);
    cnrtPlaceNotifier(end, torch_mlu::getCurMLUStream());
    if (cnrtSyncDevice() != cnrtSuccess || cnrtGetLastError() != cnrtSuccess) return 1;
    float time = 0;
    cnrtNotifierDuration(begin, end, &time);
    std::fprintf(stderr, "CONTEST_US %.3f\n", time);
    std::ofstream file(words[2], std::ios::binary);
    put(file, result);
    std::ofstream left(std::string(words[2]) + ".inputs", std::ios::binary);
    put(left, records.inputs);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
}  // namespace contest
