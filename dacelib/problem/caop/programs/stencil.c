/* Grids: heat flow, Gauss-Seidel relaxation, a wave, edge detection in a
   picture, the game of life and a flood fill. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define W 64
#define H 48

typedef double grid[H][W];

static void heat(grid next, grid now, double rate)
{
    for (int i = 1; i < H - 1; i++)
        for (int j = 1; j < W - 1; j++)
            next[i][j] = now[i][j] + rate * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1] - 4 * now[i][j]);
    for (int i = 0; i < H; i++) {
        next[i][0] = next[i][1];
        next[i][W - 1] = next[i][W - 2];
    }
    for (int j = 0; j < W; j++) {
        next[0][j] = next[1][j];
        next[H - 1][j] = next[H - 2][j];
    }
}

static int relax(grid u, grid source, double omega, double limit)
{
    for (int round = 1; round <= 5000; round++) {
        double change = 0;
        for (int i = 1; i < H - 1; i++)
            for (int j = 1; j < W - 1; j++) {
                double v = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] + source[i][j]);
                double d = omega * (v - u[i][j]);
                u[i][j] += d;
                change = fmax(change, fabs(d));
            }
        if (change < limit)
            return round;
    }
    return -1;
}

static double wave(int steps)
{
    static grid a, b, c;
    double energy = 0;
    double(*old)[W] = a, (*now)[W] = b, (*next)[W] = c;
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    memset(c, 0, sizeof c);
    now[H / 2][W / 2] = old[H / 2][W / 2] = 1;
    while (steps-- > 0) {
        for (int i = 1; i < H - 1; i++)
            for (int j = 1; j < W - 1; j++)
                next[i][j] = 2 * now[i][j] - old[i][j] + 0.2 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1] - 4 * now[i][j]);
        double(*t)[W] = old;
        old = now;
        now = next;
        next = t;
    }
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            energy += now[i][j] * now[i][j];
    return energy;
}

typedef unsigned char picture[H][W];

static void sobel(picture out, picture in)
{
    static const int kx[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
    memset(out, 0, sizeof(picture));
    for (int i = 1; i < H - 1; i++)
        for (int j = 1; j < W - 1; j++) {
            int gx = 0, gy = 0;
            for (int a = -1; a <= 1; a++)
                for (int b = -1; b <= 1; b++) {
                    gx += kx[a + 1][b + 1] * in[i + a][j + b];
                    gy += kx[b + 1][a + 1] * in[i + a][j + b];
                }
            int g = abs(gx) + abs(gy);
            out[i][j] = g > 255 ? 255 : g;
        }
}

static int compare_bytes(const void *a, const void *b)
{
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

static void median(picture out, picture in)
{
    memcpy(out, in, sizeof(picture));
    for (int i = 1; i < H - 1; i++)
        for (int j = 1; j < W - 1; j++) {
            unsigned char v[9];
            int n = 0;
            for (int a = -1; a <= 1; a++)
                for (int b = -1; b <= 1; b++)
                    v[n++] = in[i + a][j + b];
            qsort(v, 9, 1, compare_bytes);
            out[i][j] = v[4];
        }
}

static int life(picture g, int rounds)
{
    static picture next;
    while (rounds-- > 0) {
        for (int i = 0; i < H; i++)
            for (int j = 0; j < W; j++) {
                int n = 0;
                for (int a = -1; a <= 1; a++)
                    for (int b = -1; b <= 1; b++)
                        if (a || b)
                            n += g[(i + a + H) % H][(j + b + W) % W];
                next[i][j] = n == 3 || (n == 2 && g[i][j]);
            }
        memcpy(g, next, sizeof next);
    }
    int alive = 0;
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            alive += g[i][j];
    return alive;
}

static int fill(picture g, int row, int column, unsigned char with)
{
    static struct {
        short row, column;
    } stack[4 * W * H];
    int n = 0, filled = 0;
    unsigned char was = g[row][column];
    if (was == with)
        return 0;
    stack[n].row = row;
    stack[n++].column = column;
    while (n > 0) {
        int i = stack[--n].row, j = stack[n].column;
        if (i < 0 || i >= H || j < 0 || j >= W || g[i][j] != was)
            continue;
        g[i][j] = with;
        filled++;
        for (int k = 0; k < 4; k++) {
            stack[n].row = i + (k == 0) - (k == 1);
            stack[n++].column = j + (k == 2) - (k == 3);
        }
    }
    return filled;
}

int main(void)
{
    static grid a, b, source;
    static picture p, q;
    int bad = 0;
    double before = 0, after = 0;
    for (int i = 20; i < 28; i++)
        for (int j = 25; j < 35; j++)
            a[i][j] = before += 1, a[i][j] = 1;
    for (int t = 0; t < 50; t++) {
        heat(b, a, 0.2);
        heat(a, b, 0.2);
    }
    for (int i = 1; i < H - 1; i++)
        for (int j = 1; j < W - 1; j++)
            after += a[i][j];
    bad += fabs(after - before) > 1e-6 * before;

    memset(a, 0, sizeof a);
    source[10][10] = 1;
    source[30][40] = -1;
    int rounds = relax(a, source, 1.8, 1e-9);
    bad += rounds < 0 || a[10][10] <= 0 || a[30][40] >= 0;
    bad += !(wave(100) > 0);

    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            p[i][j] = j < W / 2 ? 10 : 200;
    sobel(q, p);
    bad += q[20][W / 2] != 255 || q[20][5] != 0;
    p[20][5] = 255;
    median(q, p);
    bad += q[20][5] != 10;

    memset(p, 0, sizeof p);
    p[1][2] = p[2][3] = p[3][1] = p[3][2] = p[3][3] = 1; /* a glider */
    bad += life(p, 100) != 5;

    memset(p, 0, sizeof p);
    for (int i = 0; i < H; i++)
        p[i][W / 2] = 1;
    bad += fill(p, 0, 0, 7) != H * (W / 2) || p[H - 1][W - 1] != 0;
    printf("stencil: %d failures, %d rounds\n", bad, rounds);
    return bad != 0;
}
