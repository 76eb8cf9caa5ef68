// The works of `table.py` as plain loops over whole arrays, for the compiler to do with what it can: no tiles, no checks, no counts.
#include <cmath>
#include <cstdint>
#include <cstring>

extern "C" {

void add(float *out, const float *a, const float *b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

// Images of T frames with C channels of `cells` elements: each group of channels is shifted in time, with zeros behind it.
void shift(float *out, const float *in, const int32_t *by, int64_t images, int64_t frames, int64_t channels, int64_t cells, int64_t groups) {
  const int64_t width = channels / groups * cells, frame = channels * cells;
  for (int64_t image = 0; image < images; ++image)
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t t = 0; t < frames; ++t) {
        const int64_t from = t - by[image * groups + group];
        float *to = out + (image * frames + t) * frame + group * width;
        if (from < 0 || from >= frames) memset(to, 0, width * sizeof(float));
        else memcpy(to, in + (image * frames + from) * frame + group * width, width * sizeof(float));
      }
}

// Gradients of n points go to the three of m points that each was interpolated from.
void spread(float *out, const float *in, const int32_t *to, const float *weight, int64_t batches, int64_t channels, int64_t n, int64_t m) {
  memset(out, 0, batches * channels * m * sizeof(float));
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t channel = 0; channel < channels; ++channel) {
      float *sums = out + (batch * channels + channel) * m;
      const float *row = in + (batch * channels + channel) * n;
      const int32_t *places = to + batch * n * 3;
      const float *weights = weight + batch * n * 3;
      for (int64_t i = 0; i < 3 * n; ++i) sums[places[i]] += row[i / 3] * weights[i];
    }
}

static float within(float value, int64_t size, int64_t *low, int64_t *high) {
  value = value < 0 ? 0 : value;
  *low = (int64_t)value;
  if (*low >= size - 1) { *low = *high = size - 1; return 0; }
  *high = *low + 1;
  return value - (float)*low;
}

// Gradients of the largest point on each border of k boxes go to the four cells around it.
void borders(float *out, const float *in, const float *boxes, const int32_t *largest, int64_t images, int64_t k, int64_t channels, int64_t height, int64_t width, int64_t pool) {
  memset(out, 0, images * height * width * 4 * channels * sizeof(float));
  for (int64_t box = 0; box < images * k; ++box) {
    const float *corner = boxes + box * 4;
    const float across = (corner[2] - corner[0]) / pool, down = (corner[3] - corner[1]) / pool;
    float *image = out + box / k * height * width * 4 * channels;
    for (int border = 0; border < 4; ++border) {
      const float x0 = corner[border / 2 * 2], y0 = corner[border / 2 * 2 + 1];
      const float dx = border == 0 ? across : border == 2 ? -across : 0, dy = border == 1 ? down : border == 3 ? -down : 0;
      const int64_t first = (box * 4 + border) * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const float x = x0 + dx * largest[first + c], y = y0 + dy * largest[first + c], g = in[first + c];
        if (x < -1 || x > width || y < -1 || y > height) continue;
        int64_t left, right, top, bottom;
        const float fx = within(x, width, &left, &right), fy = within(y, height, &top, &bottom);
        float *sums = image + border * channels + c;
        sums[(top * width + left) * 4 * channels] += g * (1 - fy) * (1 - fx);
        sums[(top * width + right) * 4 * channels] += g * (1 - fy) * fx;
        sums[(bottom * width + left) * 4 * channels] += g * fy * (1 - fx);
        sums[(bottom * width + right) * 4 * channels] += g * fy * fx;
      }
    }
  }
}
}
