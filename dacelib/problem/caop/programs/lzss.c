/* A compressor of the Lempel-Ziv family with hash chains and lazy matching,
   a run-length coder and a move-to-front transform. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 4096
#define MIN_MATCH 3
#define MAX_MATCH 66
#define HASH 4096

typedef struct {
    unsigned char *data;
    size_t size, room;
} buffer;

static void put(buffer *b, int byte)
{
    if (b->size == b->room) {
        b->room = b->room ? 2 * b->room : 256;
        b->data = realloc(b->data, b->room);
    }
    b->data[b->size++] = byte;
}

typedef struct {
    int head[HASH];
    int chain[WINDOW];
    const unsigned char *in;
    int size;
} matcher;

static unsigned hash3(const unsigned char *p)
{
    return ((p[0] << 16 | p[1] << 8 | p[2]) * 2654435761u) >> 20;
}

static void remember(matcher *m, int at)
{
    if (at + MIN_MATCH > m->size)
        return;
    unsigned h = hash3(m->in + at);
    m->chain[at % WINDOW] = m->head[h];
    m->head[h] = at;
}

static int longest(const matcher *m, int at, int *where)
{
    int best = 0, tries = 64;
    if (at + MIN_MATCH > m->size)
        return 0;
    int limit = m->size - at < MAX_MATCH ? m->size - at : MAX_MATCH;
    for (int c = m->head[hash3(m->in + at)]; c >= 0 && at - c < WINDOW && tries-- > 0; c = m->chain[c % WINDOW]) {
        int n = 0;
        while (n < limit && m->in[c + n] == m->in[at + n])
            n++;
        if (n > best) {
            best = n;
            *where = c;
            if (n == limit)
                break;
        }
        if (m->chain[c % WINDOW] >= c)
            break;
    }
    return best;
}

/* Groups of eight items behind a byte that says which are matches: 12 bits of
   distance, 4 of length, and a byte more for long ones. */
static void compress(const unsigned char *in, int size, buffer *out)
{
    matcher *m = malloc(sizeof *m);
    m->in = in;
    m->size = size;
    for (int i = 0; i < HASH; i++)
        m->head[i] = -1;
    for (int i = 0; i < WINDOW; i++)
        m->chain[i] = -1;
    size_t control = 0;
    int bit = 8;
    for (int at = 0; at < size;) {
        int where = 0, next = 0, n = longest(m, at, &where);
        if (bit == 8) {
            control = out->size;
            put(out, 0);
            bit = 0;
        }
        remember(m, at);
        if (n >= MIN_MATCH && n < MAX_MATCH && longest(m, at + 1, &next) > n)
            n = 0; /* a better one begins at the next byte */
        if (n >= MIN_MATCH) {
            int distance = at - where, extra = n - MIN_MATCH;
            out->data[control] |= 1 << bit;
            put(out, distance & 255);
            put(out, (distance >> 8) << 4 | (extra < 15 ? extra : 15));
            if (extra >= 15)
                put(out, extra - 15);
            for (int i = 1; i < n; i++)
                remember(m, at + i);
            at += n;
        } else {
            put(out, in[at++]);
        }
        bit++;
    }
    free(m);
}

static int expand(const unsigned char *in, size_t size, buffer *out)
{
    size_t at = 0;
    while (at < size) {
        int control = in[at++];
        for (int bit = 0; bit < 8 && at < size; bit++) {
            if (!(control >> bit & 1)) {
                put(out, in[at++]);
                continue;
            }
            if (at + 2 > size)
                return 0;
            int distance = in[at] | (in[at + 1] >> 4) << 8, n = (in[at + 1] & 15) + MIN_MATCH;
            at += 2;
            if (n == 15 + MIN_MATCH) {
                if (at == size)
                    return 0;
                n += in[at++];
            }
            if (distance == 0 || (size_t)distance > out->size)
                return 0;
            while (n-- > 0)
                put(out, out->data[out->size - distance]);
        }
    }
    return 1;
}

static void pack_runs(const unsigned char *in, size_t size, buffer *out)
{
    for (size_t i = 0; i < size;) {
        size_t run = 1;
        while (i + run < size && run < 129 && in[i + run] == in[i])
            run++;
        if (run >= 3) {
            put(out, 126 + run);
            put(out, in[i]);
            i += run;
            continue;
        }
        size_t start = i;
        while (i < size && i - start < 128 && !(i + 2 < size && in[i] == in[i + 1] && in[i] == in[i + 2]))
            i++;
        put(out, i - start - 1);
        while (start < i)
            put(out, in[start++]);
    }
}

static void unpack_runs(const unsigned char *in, size_t size, buffer *out)
{
    for (size_t i = 0; i < size;) {
        int c = in[i++];
        if (c < 128) {
            for (int k = 0; k <= c; k++)
                put(out, in[i++]);
        } else {
            if (c > 128)
                for (int k = 0; k < c - 126; k++)
                    put(out, in[i]);
            else
                return;
            i++;
        }
    }
}

static void front(unsigned char *data, size_t size, int back)
{
    unsigned char order[256];
    for (int i = 0; i < 256; i++)
        order[i] = i;
    for (size_t i = 0; i < size; i++) {
        int at = data[i], c = data[i];
        if (back)
            c = order[at];
        else
            for (at = 0; order[at] != c;)
                at++;
        memmove(order + 1, order, at);
        order[0] = c;
        data[i] = back ? c : at;
    }
}

static size_t make_text(unsigned char *out, size_t size)
{
    static const char *words[] = {"the ", "code ", "size ", "of ", "compiler ", "is ", "small", ", ", "and ", "flags ", "0000000000", "\n"};
    uint32_t r = 7;
    size_t n = 0;
    while (n + 16 < size) {
        r = r * 1664525u + 1013904223u;
        const char *w = words[(r >> 16) % 12];
        memcpy(out + n, w, strlen(w));
        n += strlen(w);
    }
    return n;
}

int main(void)
{
    static unsigned char text[20000], copy[20000];
    int bad = 0;
    size_t n = make_text(text, sizeof text), sizes[3];
    for (int kind = 0; kind < 3; kind++) {
        if (kind == 1)
            for (size_t i = 0; i < n; i++)
                text[i] = (i * i >> 5) * 2654435761u >> 24;
        if (kind == 2)
            memset(text, 'x', n);
        buffer packed = {0}, back = {0};
        compress(text, n, &packed);
        bad += !expand(packed.data, packed.size, &back) || back.size != n || memcmp(text, back.data, n);
        sizes[kind] = packed.size;
        free(packed.data);
        free(back.data);
        buffer runs = {0}, plain = {0};
        pack_runs(text, n, &runs);
        unpack_runs(runs.data, runs.size, &plain);
        bad += plain.size != n || memcmp(text, plain.data, n);
        free(runs.data);
        free(plain.data);
        memcpy(copy, text, n);
        front(copy, n, 0);
        front(copy, n, 1);
        bad += memcmp(copy, text, n) != 0;
    }
    bad += sizes[0] * 2 > n || sizes[1] > n + n / 8 + 1 || sizes[2] * 15 > n;
    printf("lzss: %d failures, %zu bytes in %zu, %zu and %zu\n", bad, n, sizes[0], sizes[1], sizes[2]);
    return bad != 0;
}
