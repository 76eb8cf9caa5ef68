// The works of `table.py` twice, for the compiler to do with what it can, without checks and counts: as plain loops over whole arrays, and
// (`_by_tiles`) with the copies to a buffer and back and the passes over it that the kernels make.
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

alignas(64) static float room[6][1 << 18];

void add_by_tiles(float *out, const float *a, const float *b, int64_t n, int64_t tile) {
  float *left = room[0], *right = room[1];
  for (int64_t at = 0; at < n; at += tile) {
    memcpy(left, a + at, tile * sizeof(float));
    memcpy(right, b + at, tile * sizeof(float));
    for (int64_t i = 0; i < tile; ++i) left[i] += right[i];
    memcpy(out + at, left, tile * sizeof(float));
  }
}

void shift_by_tiles(float *out, const float *in, const int32_t *by, int64_t images, int64_t frames, int64_t channels, int64_t cells, int64_t groups) {
  float *tile = room[0];
  for (int64_t image = 0; image < images; ++image)
    for (int64_t channel = 0; channel < channels; ++channel) {
      const int64_t first = (image * frames * channels + channel) * cells, frame = channels * cells;
      const int64_t t = by[image * groups + channel / (channels / groups)];
      memset(tile, 0, frames * cells * sizeof(float));
      for (int64_t f = t > 0 ? t : 0; f < frames && f - t < frames; ++f) memcpy(tile + f * cells, in + first + (f - t) * frame, cells * sizeof(float));
      for (int64_t f = 0; f < frames; ++f) memcpy(out + first + f * frame, tile + f * cells, cells * sizeof(float));
    }
}

static void turned(float *to, const float *from, int64_t height, int64_t width) {
  for (int64_t h = 0; h < height; h += 8)
    for (int64_t w = 0; w < width; w += 8)
      for (int64_t i = 0; i < 8; ++i)
        for (int64_t j = 0; j < 8; ++j) to[(w + j) * height + h + i] = from[(h + i) * width + w + j];
}

// Tiles of co channels and no points, multiples of 8 that divide all there are.
void spread_by_tiles(float *out, const float *in, const int32_t *to, const float *weight, int64_t batches, int64_t channels, int64_t n, int64_t m, int64_t co, int64_t no) {
  float *given = room[0], *product = room[1], *rows = room[2], *sums = room[3], *weights = room[4];
  int32_t *places = (int32_t *)room[5];
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t c = 0; c < channels; c += co) {
      memset(sums, 0, m * co * sizeof(float));
      for (int64_t first = 0; first < n; first += no) {
        const int64_t point = (batch * n + first) * 3;
        memcpy(places, to + point, no * 3 * sizeof(int32_t));
        memcpy(weights, weight + point, no * 3 * sizeof(float));
        for (int64_t k = 0; k < co; ++k) memcpy(given + k * no, in + (batch * channels + c + k) * n + first, no * sizeof(float));
        for (int64_t j = 0; j < 3; ++j) {
          float *own = weights + 3 * no;
          for (int64_t i = 0; i < no; ++i) own[i] = weights[3 * i + j];
          for (int64_t k = 0; k < co; ++k)
            for (int64_t i = 0; i < no; ++i) product[k * no + i] = given[k * no + i] * own[i];
          turned(rows, product, co, no);
          for (int64_t i = 0; i < no; ++i) {
            float *row = sums + places[3 * i + j] * co;
            for (int64_t k = 0; k < co; ++k) row[k] += rows[i * co + k];
          }
        }
      }
      turned(product, sums, m, co);
      for (int64_t k = 0; k < co; ++k) memcpy(out + (batch * channels + c + k) * m, product + k * m, m * sizeof(float));
    }
}

static void added(float *sums, float *part, const float *given, const int32_t *mask, float weight, int64_t channels) {
  for (int64_t c = 0; c < channels; ++c) part[c] = given[c] * weight;
  int32_t *bits = (int32_t *)part;
  for (int64_t c = 0; c < channels; ++c) bits[c] &= mask[c];
  for (int64_t c = 0; c < channels; ++c) sums[c] += part[c];
}

// Each of the points on a border takes the channels whose largest it is, by a mask.
void borders_by_tiles(float *out, const float *in, const float *boxes, const int32_t *largest, int64_t images, int64_t k, int64_t channels, int64_t height, int64_t width, int64_t pool) {
  float *given = room[0], *part = room[1];
  int32_t *names = (int32_t *)room[2], *mask = (int32_t *)room[3];
  memset(out, 0, images * height * width * 4 * channels * sizeof(float));
  for (int64_t box = 0; box < images * k; ++box) {
    const float *corner = boxes + box * 4;
    const float across = (corner[2] - corner[0]) / pool, down = (corner[3] - corner[1]) / pool;
    float *image = out + box / k * height * width * 4 * channels;
    for (int border = 0; border < 4; ++border) {
      const float dx = border == 0 ? across : border == 2 ? -across : 0, dy = border == 1 ? down : border == 3 ? -down : 0;
      const int64_t first = (box * 4 + border) * channels;
      for (int64_t point = 0; point <= pool; ++point) {
        const float x = corner[border / 2 * 2] + dx * point, y = corner[border / 2 * 2 + 1] + dy * point;
        if (x < -1 || x > width || y < -1 || y > height) continue;
        int64_t left, right, top, bottom;
        const float fx = within(x, width, &left, &right), fy = within(y, height, &top, &bottom);
        memcpy(names, largest + first, channels * sizeof(int32_t));
        memcpy(given, in + first, channels * sizeof(float));
        for (int64_t c = 0; c < channels; ++c) mask[c] = -(names[c] == point);
        float *sums = image + border * channels;
        added(sums + (top * width + left) * 4 * channels, part, given, mask, (1 - fy) * (1 - fx), channels);
        added(sums + (top * width + right) * 4 * channels, part, given, mask, (1 - fy) * fx, channels);
        added(sums + (bottom * width + left) * 4 * channels, part, given, mask, fy * (1 - fx), channels);
        added(sums + (bottom * width + right) * 4 * channels, part, given, mask, fy * fx, channels);
      }
    }
  }
}
}
