/* Fourier transforms: a fast one of powers of two, a plain one, convolution,
   a cosine transform, windows and a spectrum. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX 1024

typedef struct {
    double re, im;
} complex_t;

static const double pi = 3.14159265358979323846;

static complex_t add(complex_t a, complex_t b)
{
    return (complex_t){a.re + b.re, a.im + b.im};
}

static complex_t sub(complex_t a, complex_t b)
{
    return (complex_t){a.re - b.re, a.im - b.im};
}

static complex_t mul(complex_t a, complex_t b)
{
    return (complex_t){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static void reverse_bits(complex_t *x, int n)
{
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            complex_t t = x[i];
            x[i] = x[j];
            x[j] = t;
        }
    }
}

static void fft(complex_t *x, int n, int inverse)
{
    reverse_bits(x, n);
    for (int len = 2; len <= n; len <<= 1) {
        double angle = 2 * pi / len * (inverse ? 1 : -1);
        complex_t step = {cos(angle), sin(angle)};
        for (int i = 0; i < n; i += len) {
            complex_t w = {1, 0};
            for (int k = 0; k < len / 2; k++) {
                complex_t u = x[i + k], v = mul(x[i + k + len / 2], w);
                x[i + k] = add(u, v);
                x[i + k + len / 2] = sub(u, v);
                w = mul(w, step);
            }
        }
    }
    if (inverse)
        for (int i = 0; i < n; i++) {
            x[i].re /= n;
            x[i].im /= n;
        }
}

static void dft(const complex_t *x, complex_t *y, int n)
{
    for (int k = 0; k < n; k++) {
        complex_t s = {0, 0};
        for (int i = 0; i < n; i++) {
            double angle = -2 * pi * ((long)i * k % n) / n;
            s = add(s, mul(x[i], (complex_t){cos(angle), sin(angle)}));
        }
        y[k] = s;
    }
}

static void convolve(const double *a, int n, const double *b, int m, double *out)
{
    static complex_t x[MAX], y[MAX];
    int size = 1;
    while (size < n + m)
        size <<= 1;
    memset(x, 0, sizeof x);
    memset(y, 0, sizeof y);
    for (int i = 0; i < n; i++)
        x[i].re = a[i];
    for (int i = 0; i < m; i++)
        y[i].re = b[i];
    fft(x, size, 0);
    fft(y, size, 0);
    for (int i = 0; i < size; i++)
        x[i] = mul(x[i], y[i]);
    fft(x, size, 1);
    for (int i = 0; i < n + m - 1; i++)
        out[i] = x[i].re;
}

static void dct(const double *x, double *y, int n)
{
    for (int k = 0; k < n; k++) {
        double s = 0;
        for (int i = 0; i < n; i++)
            s += x[i] * cos(pi / n * (i + 0.5) * k);
        y[k] = s;
    }
}

static void idct(const double *y, double *x, int n)
{
    for (int i = 0; i < n; i++) {
        double s = y[0] / 2;
        for (int k = 1; k < n; k++)
            s += y[k] * cos(pi / n * (i + 0.5) * k);
        x[i] = s * 2 / n;
    }
}

enum window { RECTANGLE, HANN, HAMMING, BLACKMAN };

static double window(enum window w, int i, int n)
{
    double t = 2 * pi * i / (n - 1);
    switch (w) {
    case HANN:
        return 0.5 - 0.5 * cos(t);
    case HAMMING:
        return 0.54 - 0.46 * cos(t);
    case BLACKMAN:
        return 0.42 - 0.5 * cos(t) + 0.08 * cos(2 * t);
    default:
        return 1;
    }
}

static int loudest(const double *signal, int n, enum window w)
{
    static complex_t x[MAX];
    for (int i = 0; i < n; i++)
        x[i] = (complex_t){signal[i] * window(w, i, n), 0};
    fft(x, n, 0);
    int best = 0;
    double most = 0;
    for (int k = 0; k < n / 2; k++) {
        double power = x[k].re * x[k].re + x[k].im * x[k].im;
        if (power > most) {
            most = power;
            best = k;
        }
    }
    return best;
}

int main(void)
{
    static complex_t x[MAX], y[MAX], z[MAX];
    static double a[200], b[100], c[512], s[MAX];
    int bad = 0, n = 256;
    unsigned state = 1;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = y[i] = (complex_t){(state >> 8) / 16777216.0, (state & 255) / 256.0};
    }
    dft(x, z, n);
    fft(y, n, 0);
    for (int i = 0; i < n; i++)
        bad += fabs(y[i].re - z[i].re) + fabs(y[i].im - z[i].im) > 1e-9;
    fft(y, n, 1);
    for (int i = 0; i < n; i++)
        bad += fabs(y[i].re - x[i].re) > 1e-12;

    for (int i = 0; i < 200; i++)
        a[i] = sin(i * 0.1);
    for (int i = 0; i < 100; i++)
        b[i] = cos(i * 0.3);
    convolve(a, 200, b, 100, c);
    for (int k = 0; k < 299; k += 13) {
        double want = 0;
        for (int i = 0; i < 100; i++)
            if (k - i >= 0 && k - i < 200)
                want += b[i] * a[k - i];
        bad += fabs(want - c[k]) > 1e-9;
    }

    dct(a, c, 64);
    idct(c, s, 64);
    for (int i = 0; i < 64; i++)
        bad += fabs(s[i] - a[i]) > 1e-9;

    for (int i = 0; i < MAX; i++)
        s[i] = sin(2 * pi * 100 * i / MAX) + 0.5 * sin(2 * pi * 317 * i / MAX);
    for (int w = RECTANGLE; w <= BLACKMAN; w++)
        bad += loudest(s, MAX, w) != 100;
    printf("fourier: %d failures\n", bad);
    return bad != 0;
}
