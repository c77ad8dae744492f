/* Sorting and selecting: insertion, shell, heap, merge, quick and radix sort,
   a median of medians, permutations, and a priority of strings. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

typedef void (*sorter)(int *, int);

static void insertion(int *a, int n)
{
    for (int i = 1; i < n; i++) {
        int v = a[i], j = i;
        for (; j > 0 && a[j - 1] > v; j--)
            a[j] = a[j - 1];
        a[j] = v;
    }
}

static void shell(int *a, int n)
{
    static const int gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};
    for (int g = 0; g < 8; g++)
        for (int gap = gaps[g], i = gap; i < n; i++) {
            int v = a[i], j = i;
            for (; j >= gap && a[j - gap] > v; j -= gap)
                a[j] = a[j - gap];
            a[j] = v;
        }
}

static void sift(int *a, int i, int n)
{
    int v = a[i];
    for (int c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && a[c + 1] > a[c])
            c++;
        if (a[c] <= v)
            break;
        a[i] = a[c];
    }
    a[i] = v;
}

static void heap(int *a, int n)
{
    for (int i = n / 2 - 1; i >= 0; i--)
        sift(a, i, n);
    for (int i = n - 1; i > 0; i--) {
        int t = a[0];
        a[0] = a[i];
        a[i] = t;
        sift(a, 0, i);
    }
}

static void merge_parts(int *a, int *b, int n)
{
    if (n < 12) {
        insertion(a, n);
        return;
    }
    int m = n / 2, i = 0, j = m, k = 0;
    merge_parts(a, b, m);
    merge_parts(a + m, b, n - m);
    memcpy(b, a, m * sizeof *a);
    while (i < m && j < n)
        a[k++] = a[j] < b[i] ? a[j++] : b[i++];
    while (i < m)
        a[k++] = b[i++];
}

static void merge(int *a, int n)
{
    static int spare[N];
    merge_parts(a, spare, n);
}

static void quick(int *a, int n)
{
    while (n > 12) {
        int x = a[0], y = a[n / 2], z = a[n - 1];
        int pivot = x < y ? (y < z ? y : x < z ? z : x) : (x < z ? x : y < z ? z : y);
        int i = 0, j = n - 1;
        for (;; i++, j--) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i >= j)
                break;
            int t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
        if (i < n - i) {
            quick(a, i);
            a += i;
            n -= i;
        } else {
            quick(a + i, n - i);
            n = i;
        }
    }
    insertion(a, n);
}

static void radix(int *a, int n)
{
    static uint32_t b[N], c[N];
    for (int i = 0; i < n; i++)
        b[i] = (uint32_t)a[i] ^ 0x80000000u;
    uint32_t *from = b, *to = c;
    for (int shift = 0; shift < 32; shift += 8) {
        int count[257] = {0};
        for (int i = 0; i < n; i++)
            count[(from[i] >> shift & 255) + 1]++;
        for (int k = 0; k < 256; k++)
            count[k + 1] += count[k];
        for (int i = 0; i < n; i++)
            to[count[from[i] >> shift & 255]++] = from[i];
        uint32_t *t = from;
        from = to;
        to = t;
    }
    for (int i = 0; i < n; i++)
        a[i] = (int)(from[i] ^ 0x80000000u);
}

static int select_kth(int *a, int n, int k)
{
    for (;;) {
        if (n <= 10) {
            insertion(a, n);
            return a[k];
        }
        int groups = 0;
        for (int i = 0; i + 5 <= n; i += 5) {
            insertion(a + i, 5);
            int t = a[groups];
            a[groups++] = a[i + 2];
            a[i + 2] = t;
        }
        int pivot = select_kth(a, groups, groups / 2), low = 0, at = 0, high = n;
        while (at < high) {
            if (a[at] < pivot) {
                int t = a[at];
                a[at++] = a[low];
                a[low++] = t;
            } else if (a[at] > pivot) {
                int t = a[at];
                a[at] = a[--high];
                a[high] = t;
            } else {
                at++;
            }
        }
        if (k < low) {
            n = low;
        } else if (k < high) {
            return pivot;
        } else {
            a += high;
            n -= high;
            k -= high;
        }
    }
}

static int next_permutation(int *a, int n)
{
    int i = n - 2, j = n - 1;
    while (i >= 0 && a[i] >= a[i + 1])
        i--;
    if (i < 0)
        return 0;
    while (a[j] <= a[i])
        j--;
    int t = a[i];
    a[i] = a[j];
    a[j] = t;
    for (i++, j = n - 1; i < j; i++, j--) {
        t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
    return 1;
}

typedef struct {
    char name[12];
    int rank;
} record;

static int by_rank_then_name(const void *a, const void *b)
{
    const record *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : strcmp(x->name, y->name);
}

static void sort_strings(const char **s, int n, int depth)
{
    while (n > 1) {
        int low = 0, at = 0, high = n, pivot = (unsigned char)s[n / 2][depth];
        while (at < high) {
            int c = (unsigned char)s[at][depth];
            const char *t = s[at];
            if (c < pivot) {
                s[at++] = s[low];
                s[low++] = t;
            } else if (c > pivot) {
                s[at] = s[--high];
                s[high] = t;
            } else {
                at++;
            }
        }
        sort_strings(s, low, depth);
        if (pivot)
            sort_strings(s + low, high - low, depth + 1);
        s += high;
        n -= high;
    }
}

int main(void)
{
    static const sorter sorters[] = {insertion, shell, heap, merge, quick, radix};
    static int a[N], b[N], want[N];
    static record r[200];
    static char words[200][8];
    const char *order[200];
    int bad = 0, permutations = 1;
    uint32_t x = 99;
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < N; i++) {
            x = x * 1664525u + 1013904223u;
            a[i] = kind == 0 ? (int)x : kind == 1 ? i : kind == 2 ? N - i : (int)(x >> 16) % 10;
        }
        memcpy(want, a, sizeof a);
        insertion(want, N);
        for (size_t s = 0; s < sizeof sorters / sizeof *sorters; s++) {
            memcpy(b, a, sizeof a);
            sorters[s](b, N);
            bad += memcmp(b, want, sizeof b) != 0;
        }
        for (int k = 0; k < N; k += 111) {
            memcpy(b, a, sizeof a);
            bad += select_kth(b, N, k) != want[k];
        }
    }
    int p[6] = {0, 1, 2, 3, 4, 5};
    while (next_permutation(p, 6))
        permutations++;
    bad += permutations != 720;
    for (int i = 0; i < 200; i++) {
        x = x * 1664525u + 1013904223u;
        r[i].rank = x >> 28;
        sprintf(r[i].name, "n%u", x >> 8 & 1023);
        sprintf(words[i], "w%u", x >> 12 & 4095);
        order[i] = words[i];
    }
    qsort(r, 200, sizeof *r, by_rank_then_name);
    sort_strings(order, 200, 0);
    for (int i = 1; i < 200; i++)
        bad += by_rank_then_name(&r[i - 1], &r[i]) > 0 || strcmp(order[i - 1], order[i]) > 0;
    printf("sorting: %d failures\n", bad);
    return bad != 0;
}
