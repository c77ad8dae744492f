/* Digests and ciphers: SHA-256, CRC-32, Adler-32, SipHash, ChaCha20, XTEA,
   base 64 and a few random generators. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }
static uint32_t rotl(uint32_t x, int n) { return x << n | x >> (32 - n); }
static uint64_t rotl64(uint64_t x, int n) { return x << n | x >> (64 - n); }

static const uint32_t k256[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

typedef struct {
    uint32_t h[8];
    unsigned char block[64];
    uint64_t length;
} sha256;

static void sha_block(sha256 *s)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)s->block[4 * i] << 24 | s->block[4 * i + 1] << 16 | s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
    }
    memcpy(v, s->h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + k256[i] + w[i];
        uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        s->h[i] += v[i];
}

static void sha_init(sha256 *s)
{
    static const uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->h, h, sizeof h);
    s->length = 0;
}

static void sha_add(sha256 *s, const void *data, size_t n)
{
    const unsigned char *p = data;
    while (n-- > 0) {
        s->block[s->length++ % 64] = *p++;
        if (s->length % 64 == 0)
            sha_block(s);
    }
}

static void sha_hex(sha256 *s, char *out)
{
    uint64_t bits = s->length * 8;
    unsigned char end[8];
    for (int i = 0; i < 8; i++)
        end[i] = bits >> (56 - 8 * i);
    sha_add(s, "\x80", 1);
    while (s->length % 64 != 56)
        sha_add(s, "", 1);
    sha_add(s, end, 8);
    for (int i = 0; i < 8; i++)
        sprintf(out + 8 * i, "%08x", s->h[i]);
}

static uint32_t crc32(const unsigned char *p, size_t n)
{
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int k = 0; k < 8; k++)
                c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
            table[i] = c;
        }
    uint32_t c = ~0u;
    while (n-- > 0)
        c = c >> 8 ^ table[(c ^ *p++) & 255];
    return ~c;
}

static uint32_t adler32(const unsigned char *p, size_t n)
{
    uint32_t a = 1, b = 0;
    while (n-- > 0) {
        a = (a + *p++) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

#define SIPROUND                                                                     \
    do {                                                                             \
        v0 += v1; v1 = rotl64(v1, 13) ^ v0; v0 = rotl64(v0, 32);                     \
        v2 += v3; v3 = rotl64(v3, 16) ^ v2;                                          \
        v0 += v3; v3 = rotl64(v3, 21) ^ v0;                                          \
        v2 += v1; v1 = rotl64(v1, 17) ^ v2; v2 = rotl64(v2, 32);                     \
    } while (0)

static uint64_t siphash(const unsigned char *p, size_t n, uint64_t k0, uint64_t k1)
{
    uint64_t v0 = k0 ^ 0x736f6d6570736575, v1 = k1 ^ 0x646f72616e646f6d;
    uint64_t v2 = k0 ^ 0x6c7967656e657261, v3 = k1 ^ 0x7465646279746573;
    uint64_t last = (uint64_t)n << 56;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t m = 0;
        for (int i = 0; i < 8; i++)
            m |= (uint64_t)p[i] << 8 * i;
        v3 ^= m;
        SIPROUND;
        SIPROUND;
        v0 ^= m;
    }
    for (size_t i = 0; i < n; i++)
        last |= (uint64_t)p[i] << 8 * i;
    v3 ^= last;
    SIPROUND;
    SIPROUND;
    v0 ^= last;
    v2 ^= 255;
    for (int i = 0; i < 4; i++)
        SIPROUND;
    return v0 ^ v1 ^ v2 ^ v3;
}

static void quarter(uint32_t *x, int a, int b, int c, int d)
{
    x[a] += x[b]; x[d] = rotl(x[d] ^ x[a], 16);
    x[c] += x[d]; x[b] = rotl(x[b] ^ x[c], 12);
    x[a] += x[b]; x[d] = rotl(x[d] ^ x[a], 8);
    x[c] += x[d]; x[b] = rotl(x[b] ^ x[c], 7);
}

static void chacha(const uint32_t *in, unsigned char *out)
{
    uint32_t x[16];
    memcpy(x, in, sizeof x);
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 4; k++)
            quarter(x, k, 4 + k, 8 + k, 12 + k);
        for (int k = 0; k < 4; k++)
            quarter(x, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4);
    }
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 4; k++)
            out[4 * i + k] = (x[i] + in[i]) >> 8 * k;
}

static void xtea(uint32_t *v, const uint32_t *key, int decrypt)
{
    const uint32_t delta = 0x9e3779b9;
    uint32_t a = v[0], b = v[1], sum = decrypt ? delta * 32 : 0;
    for (int i = 0; i < 32; i++) {
        if (decrypt) {
            b -= ((a << 4 ^ a >> 5) + a) ^ (sum + key[sum >> 11 & 3]);
            sum -= delta;
            a -= ((b << 4 ^ b >> 5) + b) ^ (sum + key[sum & 3]);
        } else {
            a += ((b << 4 ^ b >> 5) + b) ^ (sum + key[sum & 3]);
            sum += delta;
            b += ((a << 4 ^ a >> 5) + a) ^ (sum + key[sum >> 11 & 3]);
        }
    }
    v[0] = a;
    v[1] = b;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void base64(const unsigned char *in, size_t n, char *out)
{
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = in[i] << 16 | (i + 1 < n ? in[i + 1] << 8 : 0) | (i + 2 < n ? in[i + 2] : 0);
        *out++ = digits[v >> 18];
        *out++ = digits[v >> 12 & 63];
        *out++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
        *out++ = i + 2 < n ? digits[v & 63] : '=';
    }
    *out = 0;
}

static size_t unbase64(const char *in, unsigned char *out)
{
    uint32_t v = 0;
    int bits = 0;
    size_t n = 0;
    for (; *in && *in != '='; in++) {
        const char *d = strchr(digits, *in);
        if (!d)
            return 0;
        v = v << 6 | (uint32_t)(d - digits);
        if ((bits += 6) >= 8)
            out[n++] = v >> (bits -= 8);
    }
    return n;
}

int main(void)
{
    const unsigned char *check = (const unsigned char *)"123456789";
    unsigned char key[16], data[64], back[64];
    char hex[65], text[100];
    int bad = 0;
    sha256 s;
    sha_init(&s);
    sha_add(&s, "abc", 3);
    sha_hex(&s, hex);
    bad += strcmp(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") != 0;
    bad += crc32(check, 9) != 0xcbf43926 || adler32(check, 9) != 0x091e01de;
    for (int i = 0; i < 16; i++)
        key[i] = data[i] = i;
    bad += siphash(data, 15, 0x0706050403020100, 0x0f0e0d0c0b0a0908) != 0xa129ca6149be45e5;
    uint32_t state[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (int i = 0; i < 8; i++)
        state[4 + i] = 0x03020100 + 0x04040404 * i;
    state[12] = 1;
    state[13] = 0x09000000;
    state[14] = 0x4a000000;
    chacha(state, data);
    bad += data[0] != 0x10 || data[1] != 0xf1 || data[63] != 0x4e;
    uint32_t v[2] = {0x41424344, 0x45464748}, k[4] = {0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f};
    xtea(v, k, 0);
    bad += v[0] != 0x497df3d0 || v[1] != 0x72612cb5;
    xtea(v, k, 1);
    bad += v[0] != 0x41424344;
    for (size_t n = 1; n <= 16; n++) {
        base64(key, n, text);
        bad += unbase64(text, back) != n || memcmp(key, back, n) != 0;
    }
    printf("digest: %d failures\n", bad);
    return bad != 0;
}
