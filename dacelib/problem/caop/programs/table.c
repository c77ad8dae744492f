/* Tables: an open-addressing hash table, a chained one, a trie, a Bloom
   filter, a ring buffer and an LRU cache. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t fnv(const char *s)
{
    uint32_t h = 2166136261u;
    while (*s)
        h = (h ^ (unsigned char)*s++) * 16777619u;
    return h;
}

/* Open addressing with tombstones. */
typedef struct {
    char *key;
    long value;
    enum { FREE, USED, GONE } state;
} slot;

typedef struct {
    slot *slots;
    size_t size, used, filled;
} table;

static void table_init(table *t, size_t size)
{
    t->slots = calloc(size, sizeof *t->slots);
    t->size = size;
    t->used = t->filled = 0;
}

static slot *table_find(table *t, const char *key)
{
    slot *gone = NULL;
    for (size_t i = fnv(key) & (t->size - 1);; i = (i + 1) & (t->size - 1)) {
        slot *s = &t->slots[i];
        if (s->state == FREE)
            return gone ? gone : s;
        if (s->state == GONE) {
            if (!gone)
                gone = s;
        } else if (strcmp(s->key, key) == 0) {
            return s;
        }
    }
}

static void table_put(table *t, const char *key, long value);

static void table_grow(table *t)
{
    table old = *t;
    table_init(t, old.size * 2);
    for (size_t i = 0; i < old.size; i++) {
        if (old.slots[i].state == USED) {
            table_put(t, old.slots[i].key, old.slots[i].value);
            free(old.slots[i].key);
        }
    }
    free(old.slots);
}

static void table_put(table *t, const char *key, long value)
{
    if (t->filled * 4 >= t->size * 3)
        table_grow(t);
    slot *s = table_find(t, key);
    if (s->state != USED) {
        if (s->state == FREE)
            t->filled++;
        s->key = malloc(strlen(key) + 1);
        strcpy(s->key, key);
        s->state = USED;
        t->used++;
    }
    s->value = value;
}

static int table_get(table *t, const char *key, long *value)
{
    slot *s = table_find(t, key);
    if (s->state != USED)
        return 0;
    *value = s->value;
    return 1;
}

static int table_remove(table *t, const char *key)
{
    slot *s = table_find(t, key);
    if (s->state != USED)
        return 0;
    free(s->key);
    s->state = GONE;
    t->used--;
    return 1;
}

static void table_free(table *t)
{
    for (size_t i = 0; i < t->size; i++)
        if (t->slots[i].state == USED)
            free(t->slots[i].key);
    free(t->slots);
}

/* A trie of lower-case words. */
typedef struct trie {
    struct trie *next[26];
    int words;
    unsigned end : 1;
} trie;

static void trie_add(trie *t, const char *word)
{
    for (; *word; word++) {
        trie **n = &t->next[*word - 'a'];
        t->words++;
        if (!*n)
            *n = calloc(1, sizeof **n);
        t = *n;
    }
    t->words++;
    t->end = 1;
}

static int trie_prefix(const trie *t, const char *prefix)
{
    for (; *prefix; prefix++)
        if (!(t = t->next[*prefix - 'a']))
            return 0;
    return t->words;
}

static void trie_free(trie *t)
{
    for (int i = 0; i < 26; i++)
        if (t->next[i]) {
            trie_free(t->next[i]);
            free(t->next[i]);
        }
}

/* A Bloom filter. */
typedef struct {
    uint64_t bits[64];
} bloom;

static void bloom_add(bloom *b, const char *s)
{
    uint32_t h = fnv(s), step = h >> 16 | 1;
    for (int i = 0; i < 4; i++, h += step)
        b->bits[h >> 6 & 63] |= 1ULL << (h & 63);
}

static int bloom_has(const bloom *b, const char *s)
{
    uint32_t h = fnv(s), step = h >> 16 | 1;
    for (int i = 0; i < 4; i++, h += step)
        if (!(b->bits[h >> 6 & 63] >> (h & 63) & 1))
            return 0;
    return 1;
}

/* A cache that forgets what was used least recently. */
#define CACHE 16

typedef struct node {
    struct node *before, *after, *chain;
    int key, value;
} node;

typedef struct {
    node ends, nodes[CACHE], *bucket[CACHE * 2];
    int used, hits, misses;
} cache;

static void cache_init(cache *c)
{
    memset(c, 0, sizeof *c);
    c->ends.before = c->ends.after = &c->ends;
}

static void unlink_node(node *n)
{
    n->before->after = n->after;
    n->after->before = n->before;
}

static void to_front(cache *c, node *n)
{
    n->before = &c->ends;
    n->after = c->ends.after;
    n->after->before = n;
    c->ends.after = n;
}

static int cache_get(cache *c, int key, int (*make)(int))
{
    node **b = &c->bucket[(unsigned)key % (CACHE * 2)], *n;
    for (n = *b; n; n = n->chain)
        if (n->key == key) {
            c->hits++;
            unlink_node(n);
            to_front(c, n);
            return n->value;
        }
    c->misses++;
    if (c->used < CACHE) {
        n = &c->nodes[c->used++];
    } else {
        n = c->ends.before;
        unlink_node(n);
        node **p = &c->bucket[(unsigned)n->key % (CACHE * 2)];
        while (*p != n)
            p = &(*p)->chain;
        *p = n->chain;
    }
    n->key = key;
    n->value = make(key);
    n->chain = *b;
    *b = n;
    to_front(c, n);
    return n->value;
}

static int square(int k) { return k * k; }

int main(void)
{
    table t;
    char key[32];
    long v;
    int bad = 0;
    table_init(&t, 8);
    for (int i = 0; i < 2000; i++) {
        sprintf(key, "key%d", i * 7 % 1000);
        table_put(&t, key, i);
    }
    for (int i = 0; i < 1000; i += 3) {
        sprintf(key, "key%d", i);
        bad += !table_remove(&t, key);
    }
    for (int i = 0; i < 1000; i++) {
        sprintf(key, "key%d", i);
        int found = table_get(&t, key, &v);
        bad += found != (i % 3 != 0) || (found && v * 7 % 1000 != i);
    }
    bad += t.used != 666;
    table_free(&t);

    static trie root;
    static const char *words[] = {"tree", "trie", "try", "true", "truth", "table", "tea", "ten"};
    for (int i = 0; i < 8; i++)
        trie_add(&root, words[i]);
    bad += trie_prefix(&root, "t") != 8 || trie_prefix(&root, "tr") != 5 || trie_prefix(&root, "tru") != 2 || trie_prefix(&root, "x") != 0;
    trie_free(&root);

    static bloom b;
    int wrong = 0;
    for (int i = 0; i < 300; i++) {
        sprintf(key, "in%d", i);
        bloom_add(&b, key);
    }
    for (int i = 0; i < 300; i++) {
        sprintf(key, "in%d", i);
        bad += !bloom_has(&b, key);
        sprintf(key, "out%d", i);
        wrong += bloom_has(&b, key);
    }
    bad += wrong > 60;

    static cache c;
    cache_init(&c);
    for (int i = 0; i < 1000; i++) {
        int k = i % 5 == 0 ? i % 50 : i % 7;
        bad += cache_get(&c, k, square) != k * k;
    }
    bad += c.hits + c.misses != 1000 || c.hits < 700;
    printf("table: %d failures, %d wrong answers of the filter\n", bad, wrong);
    return bad != 0;
}
