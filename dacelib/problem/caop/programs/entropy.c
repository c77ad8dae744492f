/* Entropy coders: canonical Huffman codes, adaptive arithmetic coding, Golomb
   codes, and Hamming codes against single errors. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX 16384

typedef struct {
    unsigned char data[2 * MAX];
    size_t bits, at;
} bitstream;

static void put_bit(bitstream *b, int bit)
{
    if (b->bits % 8 == 0)
        b->data[b->bits / 8] = 0;
    b->data[b->bits / 8] |= bit << b->bits % 8;
    b->bits++;
}

static int get_bit(bitstream *b)
{
    if (b->at >= b->bits)
        return 0;
    int bit = b->data[b->at / 8] >> b->at % 8 & 1;
    b->at++;
    return bit;
}

static void put_bits(bitstream *b, unsigned value, int n)
{
    while (n-- > 0)
        put_bit(b, value >> n & 1);
}

static unsigned get_bits(bitstream *b, int n)
{
    unsigned v = 0;
    while (n-- > 0)
        v = v << 1 | get_bit(b);
    return v;
}

/* Huffman: code lengths from a tree, codes in canonical order. */
static void huffman_lengths(const unsigned *count, unsigned char *length)
{
    struct {
        unsigned weight;
        int parent;
    } node[512];
    int live[512], n = 0, nodes = 256;
    memset(length, 0, 256);
    for (int i = 0; i < 256; i++) {
        node[i].weight = count[i];
        if (count[i])
            live[n++] = i;
    }
    if (n == 1) {
        length[live[0]] = 1;
        return;
    }
    while (n > 1) {
        int pick[2];
        for (int k = 0; k < 2; k++) {
            int best = 0;
            for (int i = 1; i < n; i++)
                if (node[live[i]].weight < node[live[best]].weight)
                    best = i;
            pick[k] = live[best];
            live[best] = live[--n];
        }
        node[nodes].weight = node[pick[0]].weight + node[pick[1]].weight;
        node[pick[0]].parent = node[pick[1]].parent = nodes;
        live[n++] = nodes++;
    }
    for (int i = 0; i < 256; i++)
        if (count[i]) {
            int l = 0;
            for (int at = i; at != nodes - 1; at = node[at].parent)
                l++;
            length[i] = l;
        }
}

static void canonical(const unsigned char *length, uint32_t *code)
{
    uint32_t next = 0;
    for (int l = 1; l < 32; l++) {
        for (int i = 0; i < 256; i++)
            if (length[i] == l)
                code[i] = next++;
        next <<= 1;
    }
}

static void huffman_encode(bitstream *b, const unsigned char *in, size_t n, unsigned char *length)
{
    unsigned count[256] = {0};
    uint32_t code[256];
    for (size_t i = 0; i < n; i++)
        count[in[i]]++;
    huffman_lengths(count, length);
    canonical(length, code);
    for (size_t i = 0; i < n; i++)
        put_bits(b, code[in[i]], length[in[i]]);
}

static void huffman_decode(bitstream *b, unsigned char *out, size_t n, const unsigned char *length)
{
    int per[32] = {0}, start[33], symbols[256], k = 0;
    for (int l = 1; l < 32; l++) {
        start[l] = k;
        for (int i = 0; i < 256; i++)
            if (length[i] == l) {
                symbols[k++] = i;
                per[l]++;
            }
    }
    for (size_t i = 0; i < n; i++) {
        int code = 0, first = 0;
        for (int l = 1; l < 32; l++) {
            code = code << 1 | get_bit(b);
            first <<= 1;
            if (code - first < per[l]) {
                out[i] = symbols[start[l] + code - first];
                break;
            }
            first += per[l];
        }
    }
}

/* Arithmetic coding, bit by bit, each with a probability that learns. */
typedef struct {
    uint16_t p[256];
} model;

static void model_init(model *m)
{
    for (int i = 0; i < 256; i++)
        m->p[i] = 32768;
}

static void model_learn(uint16_t *p, int bit)
{
    if (bit)
        *p += (65535 - *p) >> 5;
    else
        *p -= *p >> 5;
    if (*p < 64)
        *p = 64;
}

static size_t range_encode(const unsigned char *in, size_t n, unsigned char *out)
{
    uint32_t low = 0, high = 0xffffffff;
    size_t size = 0;
    model m;
    model_init(&m);
    for (size_t i = 0; i < n; i++) {
        int context = 1;
        for (int k = 7; k >= 0; k--) {
            int bit = in[i] >> k & 1;
            uint32_t mid = low + (uint32_t)(((uint64_t)(high - low) * m.p[context]) >> 16);
            if (bit)
                high = mid;
            else
                low = mid + 1;
            model_learn(&m.p[context], bit);
            context = context << 1 | bit;
            while ((low ^ high) >> 24 == 0) {
                out[size++] = low >> 24;
                low <<= 8;
                high = high << 8 | 255;
            }
        }
    }
    for (int k = 0; k < 4; k++) {
        out[size++] = high >> 24;
        high <<= 8;
    }
    return size;
}

static void range_decode(const unsigned char *in, unsigned char *out, size_t n)
{
    uint32_t low = 0, high = 0xffffffff, x = 0;
    model m;
    model_init(&m);
    for (int k = 0; k < 4; k++)
        x = x << 8 | *in++;
    for (size_t i = 0; i < n; i++) {
        int context = 1;
        while (context < 256) {
            uint32_t mid = low + (uint32_t)(((uint64_t)(high - low) * m.p[context]) >> 16);
            int bit = x <= mid;
            if (bit)
                high = mid;
            else
                low = mid + 1;
            model_learn(&m.p[context], bit);
            context = context << 1 | bit;
            while ((low ^ high) >> 24 == 0) {
                low <<= 8;
                high = high << 8 | 255;
                x = x << 8 | *in++;
            }
        }
        out[i] = context;
    }
}

static void golomb_put(bitstream *b, unsigned v, int k)
{
    for (unsigned q = v >> k; q > 0; q--)
        put_bit(b, 1);
    put_bit(b, 0);
    put_bits(b, v & ((1u << k) - 1), k);
}

static unsigned golomb_get(bitstream *b, int k)
{
    unsigned q = 0;
    while (get_bit(b))
        q++;
    return q << k | get_bits(b, k);
}

static int parity(unsigned v)
{
    v ^= v >> 8;
    v ^= v >> 4;
    return 0x6996 >> (v & 15) & 1;
}

static unsigned hamming(unsigned nibble)
{
    unsigned d = (nibble & 1) << 2 | (nibble & 2) << 3 | (nibble & 4) << 3 | (nibble & 8) << 3;
    return d | parity(d & 0x55) | parity(d & 0x66) << 1 | parity(d & 0x78) << 3;
}

static unsigned unhamming(unsigned w)
{
    unsigned at = parity(w & 0x55) | parity(w & 0x66) << 1 | parity(w & 0x78) << 2;
    if (at)
        w ^= 1u << (at - 1);
    return (w >> 2 & 1) | (w >> 3 & 2) | (w >> 3 & 4) | (w >> 3 & 8);
}

int main(void)
{
    static unsigned char text[MAX], back[MAX], packed[2 * MAX], length[256];
    static bitstream b;
    int bad = 0;
    uint32_t r = 3;
    for (int i = 0; i < MAX; i++) {
        r = r * 1664525u + 1013904223u;
        text[i] = 'a' + __builtin_clz(r | 1);
    }
    huffman_encode(&b, text, MAX, length);
    huffman_decode(&b, back, MAX, length);
    size_t huffman = b.bits / 8;
    bad += memcmp(text, back, MAX) != 0 || huffman * 3 > MAX;
    size_t range = range_encode(text, MAX, packed);
    range_decode(packed, back, MAX);
    bad += memcmp(text, back, MAX) != 0 || range > huffman + huffman / 10;
    memset(&b, 0, sizeof b);
    for (int i = 0; i < 300; i++)
        golomb_put(&b, i * i % 97, 4);
    for (int i = 0; i < 300; i++)
        bad += golomb_get(&b, 4) != (unsigned)(i * i % 97);
    for (unsigned v = 0; v < 16; v++)
        for (int e = -1; e < 7; e++)
            bad += unhamming(hamming(v) ^ (e < 0 ? 0 : 1u << e)) != v;
    printf("entropy: %d failures, %d bytes in %zu and %zu\n", bad, MAX, huffman, range);
    return bad != 0;
}
