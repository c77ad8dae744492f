/* Strings: searching, edit distance, wildcards, words, numbers, case, paths,
   UTF-8 and formatting of paragraphs. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_kmp(const char *text, const char *word)
{
    int m = strlen(word), border[128], k = 0;
    border[0] = 0;
    for (int i = 1; i < m; i++) {
        while (k > 0 && word[i] != word[k])
            k = border[k - 1];
        if (word[i] == word[k])
            k++;
        border[i] = k;
    }
    k = 0;
    for (int i = 0; text[i]; i++) {
        while (k > 0 && text[i] != word[k])
            k = border[k - 1];
        if (text[i] == word[k])
            k++;
        if (k == m)
            return i - m + 1;
    }
    return -1;
}

static int find_horspool(const char *text, const char *word)
{
    int n = strlen(text), m = strlen(word), shift[256];
    for (int c = 0; c < 256; c++)
        shift[c] = m;
    for (int i = 0; i < m - 1; i++)
        shift[(unsigned char)word[i]] = m - 1 - i;
    for (int at = 0; at + m <= n; at += shift[(unsigned char)text[at + m - 1]])
        if (memcmp(text + at, word, m) == 0)
            return at;
    return -1;
}

static int edit_distance(const char *a, const char *b)
{
    int n = strlen(a), m = strlen(b), row[128];
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = corner + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            corner = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

static int common_length(const char *a, const char *b)
{
    int n = strlen(a), m = strlen(b);
    int *table = calloc((n + 1) * (m + 1), sizeof *table);
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int *t = table + i * (m + 1) + j;
            if (a[i - 1] == b[j - 1])
                *t = t[-m - 2] + 1;
            else
                *t = t[-1] > t[-m - 1] ? t[-1] : t[-m - 1];
        }
    int length = table[n * (m + 1) + m];
    free(table);
    return length;
}

static int matches(const char *pattern, const char *s)
{
    const char *star = NULL, *back = NULL;
    while (*s) {
        if (*pattern == '*') {
            star = pattern++;
            back = s;
        } else if (*pattern == '[') {
            int invert = pattern[1] == '!', in = 0;
            const char *p = pattern + 1 + invert;
            for (; *p && *p != ']'; p++) {
                if (p[1] == '-' && p[2] && p[2] != ']') {
                    in |= *p <= *s && *s <= p[2];
                    p += 2;
                } else {
                    in |= *p == *s;
                }
            }
            if (in == invert) {
                if (!star)
                    return 0;
                pattern = star + 1;
                s = ++back;
            } else {
                pattern = p + (*p != 0);
                s++;
            }
        } else if (*pattern == '?' || *pattern == *s) {
            pattern++;
            s++;
        } else if (star) {
            pattern = star + 1;
            s = ++back;
        } else {
            return 0;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static char *format_number(long long v, int base, char *end)
{
    unsigned long long u = v < 0 ? 0ULL - (unsigned long long)v : (unsigned long long)v;
    *end = 0;
    do
        *--end = "0123456789abcdefghijklmnopqrstuvwxyz"[u % base];
    while (u /= base);
    if (v < 0)
        *--end = '-';
    return end;
}

static int parse_number(const char *s, int base, long long *out)
{
    int negative = 0, any = 0;
    unsigned long long v = 0;
    if (*s == '-' || *s == '+')
        negative = *s++ == '-';
    for (; *s; s++) {
        int d = isdigit((unsigned char)*s) ? *s - '0' : isalpha((unsigned char)*s) ? tolower((unsigned char)*s) - 'a' + 10 : 99;
        if (d >= base)
            return 0;
        if (v > ((unsigned long long)LLONG_MAX + negative - d) / base)
            return 0;
        v = v * base + d;
        any = 1;
    }
    *out = negative ? (long long)(0 - v) : (long long)v;
    return any;
}

static void reverse_words(char *s)
{
    int n = strlen(s);
    for (int i = 0, j = n - 1; i < j; i++, j--) {
        char t = s[i];
        s[i] = s[j];
        s[j] = t;
    }
    for (int i = 0; i < n;) {
        int end = i;
        while (end < n && s[end] != ' ')
            end++;
        for (int a = i, b = end - 1; a < b; a++, b--) {
            char t = s[a];
            s[a] = s[b];
            s[b] = t;
        }
        i = end + 1;
    }
}

static void clean_path(const char *path, char *out)
{
    int at[64], n = 0;
    char *to = out;
    *to++ = '/';
    while (*path) {
        while (*path == '/')
            path++;
        const char *end = path;
        while (*end && *end != '/')
            end++;
        int length = end - path;
        if (length == 2 && path[0] == '.' && path[1] == '.') {
            if (n > 0)
                to = out + at[--n];
        } else if (length > 0 && !(length == 1 && path[0] == '.')) {
            at[n++] = to - out;
            memcpy(to, path, length);
            to += length;
            *to++ = '/';
        }
        path = end;
    }
    if (to > out + 1)
        to--;
    *to = 0;
}

static int decode_utf8(const unsigned char *s, unsigned *code)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
    if (n == 0)
        return 0;
    *code = n == 1 ? *s : *s & (0x7f >> n);
    for (int i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        *code = *code << 6 | (s[i] & 63);
    }
    if (*code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
        return 0;
    return n;
}

static int wrap(const char *text, int width, char *out)
{
    int lines = 1, column = 0;
    while (*text) {
        while (*text == ' ')
            text++;
        int n = strcspn(text, " ");
        if (n == 0)
            break;
        if (column > 0 && column + 1 + n > width) {
            *out++ = '\n';
            lines++;
            column = 0;
        } else if (column > 0) {
            *out++ = ' ';
            column++;
        }
        memcpy(out, text, n);
        out += n;
        column += n;
        text += n;
    }
    *out = 0;
    return lines;
}

static unsigned soundex(const char *name)
{
    static const char code[] = "01230120022455012623010202";
    char last = 0;
    unsigned key = toupper((unsigned char)*name), n = 0;
    for (; *name && n < 4; name++) {
        if (!isalpha((unsigned char)*name))
            continue;
        char c = code[toupper((unsigned char)*name) - 'A'];
        if (n == 0)
            n = 1;
        else if (c != '0' && c != last) {
            key = key << 8 | (unsigned char)c;
            n++;
        }
        last = c;
    }
    for (; n < 4; n++)
        key = key << 8 | '0';
    return key;
}

int main(void)
{
    const char *text = "the quick brown fox jumps over the lazy dog while the other dogs sleep";
    const char *words[] = {"the", "fox", "dogs", "sleep", "cat", "brown fox", "p"};
    char buffer[256];
    int bad = 0;
    for (int i = 0; i < 7; i++) {
        const char *at = strstr(text, words[i]);
        int want = at ? at - text : -1;
        bad += find_kmp(text, words[i]) != want || find_horspool(text, words[i]) != want;
    }
    bad += edit_distance("kitten", "sitting") != 3 || common_length("AGGTAB", "GXTXAYB") != 4;
    bad += !matches("*.c", "text.c") || matches("*.c", "text.h") || !matches("t[a-f]x?.[!h]", "text.c") || !matches("*a*b*", "xxaxxbxx");
    for (long long v = -1000003; v < 2000000; v += 98765) {
        long long w;
        char *s = format_number(v, 36, buffer + 100);
        bad += !parse_number(s, 36, &w) || w != v;
    }
    long long w;
    bad += parse_number("9223372036854775808", 10, &w) || !parse_number("-9223372036854775808", 10, &w) || w != LLONG_MIN;
    strcpy(buffer, "one two three");
    reverse_words(buffer);
    bad += strcmp(buffer, "three two one") != 0;
    clean_path("/usr/./lib/../bin//gcc/", buffer);
    bad += strcmp(buffer, "/usr/bin/gcc") != 0;
    unsigned code;
    bad += decode_utf8((const unsigned char *)"\xe2\x82\xac", &code) != 3 || code != 0x20ac;
    bad += decode_utf8((const unsigned char *)"\xc0\x80", &code) != 0;
    bad += wrap(text, 20, buffer) != 4;
    bad += soundex("Robert") != soundex("Rupert") || soundex("Robert") == soundex("Rubin");
    printf("text: %d failures\n", bad);
    return bad != 0;
}
