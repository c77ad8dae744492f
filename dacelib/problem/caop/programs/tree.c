/* Ordered maps: an AVL tree, a treap with splits, a skip list and a binary
   heap with decrease-key. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t state = 1;

static uint32_t rnd(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

/* AVL */
typedef struct avl {
    struct avl *left, *right;
    int key, height;
} avl;

static int height(const avl *t) { return t ? t->height : 0; }

static void measure(avl *t)
{
    int l = height(t->left), r = height(t->right);
    t->height = (l > r ? l : r) + 1;
}

static avl *turn_right(avl *t)
{
    avl *l = t->left;
    t->left = l->right;
    l->right = t;
    measure(t);
    measure(l);
    return l;
}

static avl *turn_left(avl *t)
{
    avl *r = t->right;
    t->right = r->left;
    r->left = t;
    measure(t);
    measure(r);
    return r;
}

static avl *balance(avl *t)
{
    measure(t);
    int b = height(t->left) - height(t->right);
    if (b > 1) {
        if (height(t->left->left) < height(t->left->right))
            t->left = turn_left(t->left);
        return turn_right(t);
    }
    if (b < -1) {
        if (height(t->right->right) < height(t->right->left))
            t->right = turn_right(t->right);
        return turn_left(t);
    }
    return t;
}

static avl *avl_insert(avl *t, int key)
{
    if (!t) {
        t = calloc(1, sizeof *t);
        t->key = key;
        t->height = 1;
        return t;
    }
    if (key < t->key)
        t->left = avl_insert(t->left, key);
    else if (key > t->key)
        t->right = avl_insert(t->right, key);
    return balance(t);
}

static avl *take_least(avl *t, avl **least)
{
    if (!t->left) {
        *least = t;
        return t->right;
    }
    t->left = take_least(t->left, least);
    return balance(t);
}

static avl *avl_remove(avl *t, int key)
{
    if (!t)
        return NULL;
    if (key < t->key) {
        t->left = avl_remove(t->left, key);
    } else if (key > t->key) {
        t->right = avl_remove(t->right, key);
    } else {
        avl *gone = t, *next;
        if (!t->right) {
            t = t->left;
            free(gone);
            return t;
        }
        avl *right = take_least(t->right, &next);
        next->left = t->left;
        next->right = right;
        free(gone);
        t = next;
    }
    return balance(t);
}

static int avl_check(const avl *t, int low, int high, int *count)
{
    if (!t)
        return 1;
    ++*count;
    int b = height(t->left) - height(t->right);
    return low < t->key && t->key < high && b >= -1 && b <= 1 &&
           avl_check(t->left, low, t->key, count) && avl_check(t->right, t->key, high, count);
}

static void avl_free(avl *t)
{
    if (t) {
        avl_free(t->left);
        avl_free(t->right);
        free(t);
    }
}

/* Treap, by split and merge, with sizes. */
typedef struct treap {
    struct treap *left, *right;
    uint32_t rank;
    int key, size;
} treap;

static int size(const treap *t) { return t ? t->size : 0; }

static treap *sized(treap *t)
{
    t->size = size(t->left) + size(t->right) + 1;
    return t;
}

static void split(treap *t, int key, treap **low, treap **high)
{
    if (!t) {
        *low = *high = NULL;
    } else if (t->key < key) {
        split(t->right, key, &t->right, high);
        *low = sized(t);
    } else {
        split(t->left, key, low, &t->left);
        *high = sized(t);
    }
}

static treap *merge(treap *a, treap *b)
{
    if (!a || !b)
        return a ? a : b;
    if (a->rank > b->rank) {
        a->right = merge(a->right, b);
        return sized(a);
    }
    b->left = merge(a, b->left);
    return sized(b);
}

static int kth(const treap *t, int k)
{
    while (k != size(t->left)) {
        if (k < size(t->left)) {
            t = t->left;
        } else {
            k -= size(t->left) + 1;
            t = t->right;
        }
    }
    return t->key;
}

/* Skip list */
#define LEVELS 12

typedef struct skip {
    int key;
    struct skip *next[LEVELS];
} skip;

static void skip_path(skip *head, int key, skip **path)
{
    for (int l = LEVELS - 1; l >= 0; l--) {
        while (head->next[l] && head->next[l]->key < key)
            head = head->next[l];
        path[l] = head;
    }
}

static int skip_insert(skip *head, int key)
{
    skip *path[LEVELS];
    skip_path(head, key, path);
    if (path[0]->next[0] && path[0]->next[0]->key == key)
        return 0;
    skip *n = calloc(1, sizeof *n);
    n->key = key;
    uint32_t r = rnd();
    for (int l = 0; l < LEVELS; l++) {
        n->next[l] = path[l]->next[l];
        path[l]->next[l] = n;
        if (r >> l & 1)
            break;
    }
    return 1;
}

static int skip_remove(skip *head, int key)
{
    skip *path[LEVELS];
    skip_path(head, key, path);
    skip *n = path[0]->next[0];
    if (!n || n->key != key)
        return 0;
    for (int l = 0; l < LEVELS && path[l]->next[l] == n; l++)
        path[l]->next[l] = n->next[l];
    free(n);
    return 1;
}

/* Heap with places */
#define HEAP 500

static int heap[HEAP], place[HEAP], cost[HEAP], heap_size;

static void heap_set(int at, int item)
{
    heap[at] = item;
    place[item] = at;
}

static void heap_up(int at)
{
    int item = heap[at];
    for (; at > 0 && cost[heap[(at - 1) / 2]] > cost[item]; at = (at - 1) / 2)
        heap_set(at, heap[(at - 1) / 2]);
    heap_set(at, item);
}

static void heap_down(int at)
{
    int item = heap[at];
    for (;;) {
        int c = 2 * at + 1;
        if (c >= heap_size)
            break;
        if (c + 1 < heap_size && cost[heap[c + 1]] < cost[heap[c]])
            c++;
        if (cost[heap[c]] >= cost[item])
            break;
        heap_set(at, heap[c]);
        at = c;
    }
    heap_set(at, item);
}

static int heap_pop(void)
{
    int top = heap[0];
    heap_set(0, heap[--heap_size]);
    if (heap_size > 0)
        heap_down(0);
    return top;
}

int main(void)
{
    static char in[1000];
    int bad = 0, want = 0, count = 0;
    avl *t = NULL;
    treap *p = NULL;
    static skip head;
    for (int i = 0; i < 3000; i++) {
        int key = rnd() % 1000;
        treap *a, *b, *c;
        split(p, key, &a, &b);
        split(b, key + 1, &b, &c);
        if (i % 3 == 2) {
            t = avl_remove(t, key);
            bad += skip_remove(&head, key) != in[key];
            free(b);
            b = NULL;
            want -= in[key];
            in[key] = 0;
        } else {
            t = avl_insert(t, key);
            bad += skip_insert(&head, key) == in[key];
            if (!b) {
                b = calloc(1, sizeof *b);
                b->key = key;
                b->rank = rnd();
                b->size = 1;
            }
            want += !in[key];
            in[key] = 1;
        }
        p = merge(merge(a, b), c);
    }
    bad += !avl_check(t, -1, 1000, &count) || count != want || size(p) != want;
    int k = 0;
    skip *s = head.next[0];
    for (int key = 0; key < 1000; key++)
        if (in[key]) {
            bad += kth(p, k++) != key || s->key != key;
            s = s->next[0];
        }
    avl_free(t);
    for (heap_size = 0; heap_size < HEAP;) {
        cost[heap_size] = rnd() % 10000;
        heap_set(heap_size, heap_size);
        heap_up(heap_size++);
    }
    for (int i = 0; i < HEAP; i += 5) {
        cost[i] -= 3000;
        heap_up(place[i]);
    }
    for (int last = -10000; heap_size > 0;) {
        int top = heap_pop();
        bad += cost[top] < last;
        last = cost[top];
    }
    printf("tree: %d failures, %d keys\n", bad, want);
    return bad != 0;
}
