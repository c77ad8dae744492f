/* Regular expressions: parsed, compiled to a nondeterministic machine, run by
   sets of states, and by a table built as it is needed. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAX_STATES 64

enum op { CLASS, SPLIT, ACCEPT, AT_START, AT_END };

typedef struct {
    enum op op;
    int next, other;
    uint32_t class[8];
} state;

typedef struct {
    state s[MAX_STATES];
    int n, start;
    const char *error;
    const char *p;
} program;

typedef struct {
    int start;
    int out[MAX_STATES], outs; /* 2*state + 1 for .other */
} piece;

static int add_state(program *g, enum op op)
{
    if (g->n == MAX_STATES) {
        g->error = "too long";
        return 0;
    }
    state *s = &g->s[g->n];
    memset(s, 0, sizeof *s);
    s->op = op;
    s->next = s->other = -1;
    return g->n++;
}

static void patch(program *g, piece *p, int to)
{
    for (int i = 0; i < p->outs; i++)
        if (p->out[i] & 1)
            g->s[p->out[i] / 2].other = to;
        else
            g->s[p->out[i] / 2].next = to;
    p->outs = 0;
}

static void set(uint32_t *class, int c) { class[c >> 5] |= 1u << (c & 31); }

static void set_escape(uint32_t *class, int c)
{
    for (int i = 1; i < 256; i++) {
        int digit = i >= '0' && i <= '9';
        int word = digit || (i >= 'a' && i <= 'z') || (i >= 'A' && i <= 'Z') || i == '_';
        int space = i == ' ' || (i >= 9 && i <= 13);
        int in = c == 'd' ? digit : c == 'w' ? word : c == 's' ? space
               : c == 'D' ? !digit : c == 'W' ? !word : c == 'S' ? !space
               : c == 'n' ? i == '\n' : c == 't' ? i == '\t' : i == c;
        if (in)
            set(class, i);
    }
}

static piece alternatives(program *g);

static piece atom(program *g)
{
    piece p = {0, {0}, 0};
    int c = (unsigned char)*g->p++;
    if (c == '(') {
        p = alternatives(g);
        if (*g->p != ')')
            g->error = "a ) is missing";
        else
            g->p++;
        return p;
    }
    if (c == '*' || c == '+' || c == '?') {
        g->error = "nothing to repeat";
        return p;
    }
    p.start = add_state(g, c == '^' ? AT_START : c == '$' ? AT_END : CLASS);
    p.out[p.outs++] = 2 * p.start;
    uint32_t *class = g->s[p.start].class;
    if (c == '.') {
        for (int i = 1; i < 256; i++)
            if (i != '\n')
                set(class, i);
    } else if (c == '\\') {
        if (!*g->p)
            g->error = "a \\ at the end";
        else
            set_escape(class, (unsigned char)*g->p++);
    } else if (c == '[') {
        int invert = *g->p == '^', first = 1;
        g->p += invert;
        for (; *g->p && (*g->p != ']' || first); first = 0) {
            int low = (unsigned char)*g->p++, high = low;
            if (low == '\\' && *g->p) {
                set_escape(class, (unsigned char)*g->p++);
                continue;
            }
            if (*g->p == '-' && g->p[1] && g->p[1] != ']') {
                high = (unsigned char)g->p[1];
                g->p += 2;
            }
            for (int i = low; i <= high; i++)
                set(class, i);
        }
        if (*g->p != ']')
            g->error = "a ] is missing";
        else
            g->p++;
        if (invert) {
            for (int i = 0; i < 8; i++)
                class[i] = ~class[i];
            class[0] &= ~1u;
        }
    } else {
        set(class, c);
    }
    return p;
}

static piece repeated(program *g)
{
    piece p = atom(g);
    while (!g->error && (*g->p == '*' || *g->p == '+' || *g->p == '?')) {
        int c = *g->p++, s = add_state(g, SPLIT);
        g->s[s].next = p.start;
        if (c != '?')
            patch(g, &p, s);
        if (c != '+')
            p.start = s;
        p.out[p.outs++] = 2 * s + 1;
    }
    return p;
}

static piece sequence(program *g)
{
    piece p = {-1, {0}, 0};
    while (!g->error && *g->p && *g->p != '|' && *g->p != ')') {
        piece q = repeated(g);
        if (p.start >= 0) {
            patch(g, &p, q.start);
            q.start = p.start;
        }
        p = q;
    }
    if (p.start < 0) { /* empty: a split with one way */
        p.start = add_state(g, SPLIT);
        p.out[p.outs++] = 2 * p.start;
    }
    return p;
}

static piece alternatives(program *g)
{
    piece p = sequence(g);
    while (!g->error && *g->p == '|') {
        g->p++;
        piece q = sequence(g);
        int s = add_state(g, SPLIT);
        g->s[s].next = p.start;
        g->s[s].other = q.start;
        p.start = s;
        for (int i = 0; i < q.outs && p.outs < MAX_STATES; i++)
            p.out[p.outs++] = q.out[i];
    }
    return p;
}

static const char *compile(program *g, const char *pattern)
{
    g->n = 0;
    g->error = NULL;
    g->p = pattern;
    piece p = alternatives(g);
    if (!g->error && *g->p == ')')
        g->error = "a ) too many";
    if (!g->error) {
        int s = add_state(g, ACCEPT);
        patch(g, &p, s);
        g->start = p.start;
    }
    return g->error;
}

static uint64_t follow(const program *g, uint64_t set, int s, int start, int end)
{
    if (s < 0 || set >> s & 1)
        return set;
    set |= 1ULL << s;
    const state *q = &g->s[s];
    switch (q->op) {
    case SPLIT:
        set = follow(g, set, q->next, start, end);
        return follow(g, set, q->other, start, end);
    case AT_START:
        return start ? follow(g, set, q->next, start, end) : set;
    case AT_END:
        return end ? follow(g, set, q->next, start, end) : set;
    default:
        return set;
    }
}

static int accepts(const program *g, uint64_t set)
{
    for (int s = 0; s < g->n; s++)
        if (set >> s & 1 && g->s[s].op == ACCEPT)
            return 1;
    return 0;
}

/* The longest match from the leftmost start: its place and length. */
static int search(const program *g, const char *text, int *length)
{
    int n = strlen(text);
    for (int from = 0; from <= n; from++) {
        uint64_t now = follow(g, 0, g->start, from == 0, from == n);
        int best = -1;
        for (int at = from; now; at++) {
            if (accepts(g, now))
                best = at;
            if (at == n)
                break;
            uint64_t next = 0;
            int c = (unsigned char)text[at];
            for (int s = 0; s < g->n; s++)
                if (now >> s & 1 && g->s[s].op == CLASS && g->s[s].class[c >> 5] >> (c & 31) & 1)
                    next = follow(g, next, g->s[s].next, 0, at + 1 == n);
            now = next;
        }
        if (best >= 0) {
            *length = best - from;
            return from;
        }
    }
    return -1;
}

static int replace(const program *g, const char *text, const char *with, char *out)
{
    int count = 0, at, length;
    while ((at = search(g, text, &length)) >= 0 && length > 0) {
        out += sprintf(out, "%.*s%s", at, text, with);
        text += at + length;
        count++;
    }
    strcpy(out, text);
    return count;
}

int main(void)
{
    static const struct {
        const char *pattern, *text;
        int at, length;
    } cases[] = {
        {"abc", "xxabcx", 2, 3},
        {"a*", "baaa", 0, 0},
        {"a+b?", "caab", 1, 3},
        {"(ab|cd)+e", "abcdabe", 0, 7},
        {"^[a-z]+\\d*$", "word42", 0, 6},
        {"^b", "ab", -1, 0},
        {"[^ ]+@[a-z.]+\\.(org|com)", "mail to me@example.org now", 8, 14},
        {"(a|ab)(c|bcd)", "abcd", 0, 4},
        {"x|", "yx", 0, 0},
        {"\\(\\w+\\)", "f(arg)", 1, 5},
        {"(a?)(a?)(a?)(a?)aaaa", "aaaa", 0, 4},
        {"colou?r$", "the color", 4, 5},
        {"[]x]+", "ab]x]", 2, 3},
    };
    static const char *wrong[] = {"(", ")", "a)", "[a", "*a", "\\", "(a|b"};
    static program g;
    char out[100];
    int bad = 0, length;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (compile(&g, cases[i].pattern)) {
            bad++;
            continue;
        }
        int at = search(&g, cases[i].text, &length);
        bad += at != cases[i].at || (at >= 0 && length != cases[i].length);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        bad += compile(&g, wrong[i]) == NULL;
    compile(&g, "[0-9]+");
    bad += replace(&g, "a1b22c333", "#", out) != 3 || strcmp(out, "a#b#c#") != 0;
    printf("regex: %d failures\n", bad);
    return bad != 0;
}
