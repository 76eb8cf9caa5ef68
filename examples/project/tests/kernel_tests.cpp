// A test program without a framework: each test is chosen by its name, and compares with a reference on the host.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels.h"

namespace {

float *onDevice(const std::vector<float> &values) {
  float *device = nullptr;
  CNRT_CHECK(cnrtMalloc((void **)&device, values.size() * sizeof(float)));
  CNRT_CHECK(cnrtMemcpy(device, (void *)values.data(), values.size() * sizeof(float), cnrtMemcpyHostToDev));
  return device;
}

bool close(const std::vector<float> &found, const std::vector<float> &wanted) {
  for (size_t i = 0; i < wanted.size(); i++) {
    if (std::fabs(found[i] - wanted[i]) > 1e-4f * std::fabs(wanted[i]) + 1e-6f) {
      printf("element %zu is %g, not %g\n", i, found[i], wanted[i]);
      return false;
    }
  }
  return true;
}

bool testScale(cnrtQueue_t queue) {
  std::vector<float> in(10001), out(in.size()), wanted(in.size());
  std::iota(in.begin(), in.end(), -5000.f);
  for (size_t i = 0; i < in.size(); i++) wanted[i] = in[i] * 0.25f;
  float *a = onDevice(in), *b = onDevice(out);
  CNRT_CHECK(scale(b, a, 0.25f, (int)in.size(), queue));
  CNRT_CHECK(cnrtQueueSync(queue));
  CNRT_CHECK(cnrtMemcpy(out.data(), b, out.size() * sizeof(float), cnrtMemcpyDevToHost));
  CNRT_CHECK(cnrtFree(a));
  CNRT_CHECK(cnrtFree(b));
  return close(out, wanted) && scale(b, a, 1.f, -1, queue) == cnrtErrorArgsInvalid;
}

bool testRowSum(cnrtQueue_t queue) {
  const int rows = 7, columns = 100;
  std::vector<float> in(rows * columns), out(rows), wanted(rows);
  for (int i = 0; i < rows * columns; i++) in[i] = (float)(i % 13) - 6;
  for (int r = 0; r < rows; r++) wanted[r] = std::accumulate(&in[r * columns], &in[(r + 1) * columns], 0.f);
  float *a = onDevice(in), *b = onDevice(out);
  CNRT_CHECK(rowSum(b, a, rows, columns, queue));
  CNRT_CHECK(cnrtQueueSync(queue));
  CNRT_CHECK(cnrtMemcpy(out.data(), b, out.size() * sizeof(float), cnrtMemcpyDevToHost));
  CNRT_CHECK(cnrtFree(a));
  CNRT_CHECK(cnrtFree(b));
  return close(out, wanted);
}

}  // namespace

int main(int argc, char **argv) {
  cnrtQueue_t queue;
  CNRT_CHECK(cnrtSetDevice(0));
  CNRT_CHECK(cnrtQueueCreate(&queue));
  bool good = true;
  for (const char *name : {"scale", "row_sum"}) {
    if (argc > 1 && strcmp(argv[1], name) != 0) continue;
    bool passed = strcmp(name, "scale") == 0 ? testScale(queue) : testRowSum(queue);
    printf("%s: %s\n", name, passed ? "passed" : "FAILED");
    good = good && passed;
  }
  CNRT_CHECK(cnrtQueueDestroy(queue));
  return good ? 0 : 1;
}
