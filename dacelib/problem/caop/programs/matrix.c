/* Dense linear algebra: products, LU with pivoting, Cholesky, QR by
   Householder reflections, and eigenvalues by Jacobi rotations. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N 24

typedef double matrix[N][N];

static unsigned long state = 12345;

static double uniform(void)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (double)(state >> 33) / 2147483648.0 - 0.5;
}

static void fill(matrix a)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = uniform();
}

static void copy(matrix to, matrix from)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            to[i][j] = from[i][j];
}

static void multiply(matrix c, matrix a, matrix b)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            c[i][j] = 0;
        for (int k = 0; k < N; k++) {
            double f = a[i][k];
            for (int j = 0; j < N; j++)
                c[i][j] += f * b[k][j];
        }
    }
}

/* The product in tiles, which stay in the cache where matrices are large. */
static void multiply_tiled(matrix c, matrix a, matrix b)
{
    enum { TILE = 8 };
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            c[i][j] = 0;
    for (int ii = 0; ii < N; ii += TILE)
        for (int kk = 0; kk < N; kk += TILE)
            for (int jj = 0; jj < N; jj += TILE)
                for (int i = ii; i < ii + TILE; i++)
                    for (int k = kk; k < kk + TILE; k++)
                        for (int j = jj; j < jj + TILE; j++)
                            c[i][j] += a[i][k] * b[k][j];
}

static void transpose(matrix a)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            double t = a[i][j];
            a[i][j] = a[j][i];
            a[j][i] = t;
        }
}

static int lu(matrix a, int *pivot)
{
    int sign = 1;
    for (int k = 0; k < N; k++) {
        int best = k;
        for (int i = k + 1; i < N; i++)
            if (fabs(a[i][k]) > fabs(a[best][k]))
                best = i;
        pivot[k] = best;
        if (a[best][k] == 0)
            return 0;
        if (best != k) {
            sign = -sign;
            for (int j = 0; j < N; j++) {
                double t = a[k][j];
                a[k][j] = a[best][j];
                a[best][j] = t;
            }
        }
        for (int i = k + 1; i < N; i++) {
            double f = a[i][k] /= a[k][k];
            for (int j = k + 1; j < N; j++)
                a[i][j] -= f * a[k][j];
        }
    }
    return sign;
}

static void lu_solve(matrix a, const int *pivot, double *x)
{
    for (int k = 0; k < N; k++) {
        double t = x[k];
        x[k] = x[pivot[k]];
        x[pivot[k]] = t;
    }
    for (int i = 1; i < N; i++)
        for (int j = 0; j < i; j++)
            x[i] -= a[i][j] * x[j];
    for (int i = N - 1; i >= 0; i--) {
        for (int j = i + 1; j < N; j++)
            x[i] -= a[i][j] * x[j];
        x[i] /= a[i][i];
    }
}

static int cholesky(matrix a)
{
    for (int j = 0; j < N; j++) {
        double d = a[j][j];
        for (int k = 0; k < j; k++)
            d -= a[j][k] * a[j][k];
        if (d <= 0)
            return 0;
        a[j][j] = sqrt(d);
        for (int i = j + 1; i < N; i++) {
            double s = a[i][j];
            for (int k = 0; k < j; k++)
                s -= a[i][k] * a[j][k];
            a[i][j] = s / a[j][j];
        }
    }
    for (int i = 0; i < N; i++)
        for (int j = i + 1; j < N; j++)
            a[i][j] = 0;
    return 1;
}

static void householder(matrix a, matrix q)
{
    double v[N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            q[i][j] = i == j;
    for (int k = 0; k < N - 1; k++) {
        double norm = 0, dot = 0;
        for (int i = k; i < N; i++)
            norm += a[i][k] * a[i][k];
        norm = sqrt(norm);
        if (norm == 0)
            continue;
        for (int i = k; i < N; i++)
            v[i] = a[i][k];
        v[k] += v[k] > 0 ? norm : -norm;
        for (int i = k; i < N; i++)
            dot += v[i] * v[i];
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int i = k; i < N; i++)
                s += v[i] * a[i][j];
            s *= 2 / dot;
            for (int i = k; i < N; i++)
                a[i][j] -= s * v[i];
        }
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int i = k; i < N; i++)
                s += v[i] * q[j][i];
            s *= 2 / dot;
            for (int i = k; i < N; i++)
                q[j][i] -= s * v[i];
        }
    }
}

static int jacobi(matrix a, double *value)
{
    for (int sweep = 0; sweep < 50; sweep++) {
        double off = 0;
        for (int p = 0; p < N; p++)
            for (int q = p + 1; q < N; q++)
                off += a[p][q] * a[p][q];
        if (off < 1e-22) {
            for (int i = 0; i < N; i++)
                value[i] = a[i][i];
            return sweep;
        }
        for (int p = 0; p < N; p++)
            for (int q = p + 1; q < N; q++) {
                if (fabs(a[p][q]) < 1e-300)
                    continue;
                double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < N; k++) {
                    double x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - s * y;
                    a[k][q] = s * x + c * y;
                }
                for (int k = 0; k < N; k++) {
                    double x = a[p][k], y = a[q][k];
                    a[p][k] = c * x - s * y;
                    a[q][k] = s * x + c * y;
                }
            }
    }
    return -1;
}

static double distance(matrix a, matrix b)
{
    double d = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            d = fmax(d, fabs(a[i][j] - b[i][j]));
    return d;
}

static matrix a, b, c, d, q;

int main(void)
{
    int pivot[N], bad = 0;
    double x[N], y[N], value[N];

    fill(a);
    fill(b);
    multiply(c, a, b);
    multiply_tiled(d, a, b);
    bad += distance(c, d) > 1e-12;

    for (int i = 0; i < N; i++)
        x[i] = i;
    for (int i = 0; i < N; i++) {
        y[i] = 0;
        for (int j = 0; j < N; j++)
            y[i] += a[i][j] * x[j];
    }
    copy(c, a);
    bad += lu(c, pivot) == 0;
    lu_solve(c, pivot, y);
    for (int i = 0; i < N; i++)
        bad += fabs(x[i] - y[i]) > 1e-8;

    copy(b, a);
    transpose(b);
    multiply(c, a, b);
    for (int i = 0; i < N; i++)
        c[i][i] += 1;
    copy(d, c);
    bad += !cholesky(d);
    copy(b, d);
    transpose(b);
    multiply(q, d, b);
    bad += distance(q, c) > 1e-10;

    copy(b, a);
    householder(b, q);
    multiply(d, q, b);
    bad += distance(d, a) > 1e-10;

    double trace = 0, sum = 0;
    for (int i = 0; i < N; i++)
        trace += c[i][i];
    bad += jacobi(c, value) < 0;
    for (int i = 0; i < N; i++)
        sum += value[i];
    bad += fabs(trace - sum) > 1e-9;
    printf("matrix: %d failures, trace %.6f\n", bad, trace);
    return bad != 0;
}
