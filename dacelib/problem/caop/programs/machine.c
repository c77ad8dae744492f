/* A small language: expressions and statements are compiled to the code of a
   stack machine, which is improved a little and run. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum op { PUSH, LOAD, STORE, ADD, SUB, MUL, DIV, MOD, LESS, EQUAL, NOT, NEG, JUMP, JUMP0, PRINT, CALL, RETURN, ARG, HALT };

typedef struct {
    enum op op;
    int arg;
} instruction;

#define MAX_CODE 512
#define MAX_NAMES 32

typedef struct {
    const char *p;
    instruction code[MAX_CODE];
    int n, names, functions;
    char name[MAX_NAMES][16];
    struct {
        char name[16];
        int entry, args;
    } function[MAX_NAMES];
    char parameter[8][16];
    int parameters;
    const char *error;
} compiler;

static void emit(compiler *c, enum op op, int arg)
{
    if (c->n == MAX_CODE) {
        c->error = "the program is too long";
        return;
    }
    c->code[c->n].op = op;
    c->code[c->n++].arg = arg;
}

static void blanks(compiler *c)
{
    while (isspace((unsigned char)*c->p))
        c->p++;
}

static int accept(compiler *c, const char *word)
{
    blanks(c);
    size_t n = strlen(word);
    if (strncmp(c->p, word, n) != 0 || (isalpha((unsigned char)word[0]) && isalnum((unsigned char)c->p[n])))
        return 0;
    c->p += n;
    return 1;
}

static void expect(compiler *c, const char *word)
{
    if (!accept(c, word) && !c->error)
        c->error = word;
}

static int read_name(compiler *c, char *name)
{
    int n = 0;
    blanks(c);
    if (!isalpha((unsigned char)*c->p))
        return 0;
    while (isalnum((unsigned char)*c->p)) {
        if (n < 15)
            name[n++] = *c->p;
        c->p++;
    }
    name[n] = 0;
    return 1;
}

static int variable(compiler *c, const char *name)
{
    for (int i = 0; i < c->names; i++)
        if (strcmp(c->name[i], name) == 0)
            return i;
    if (c->names == MAX_NAMES) {
        c->error = "too many names";
        return 0;
    }
    strcpy(c->name[c->names], name);
    return c->names++;
}

static void expression(compiler *c);

static void primary(compiler *c)
{
    char name[16];
    blanks(c);
    if (isdigit((unsigned char)*c->p)) {
        int v = 0;
        while (isdigit((unsigned char)*c->p))
            v = v * 10 + *c->p++ - '0';
        emit(c, PUSH, v);
    } else if (accept(c, "(")) {
        expression(c);
        expect(c, ")");
    } else if (accept(c, "-")) {
        primary(c);
        emit(c, NEG, 0);
    } else if (accept(c, "!")) {
        primary(c);
        emit(c, NOT, 0);
    } else if (read_name(c, name)) {
        if (accept(c, "(")) {
            int args = 0, f = 0;
            while (f < c->functions && strcmp(c->function[f].name, name) != 0)
                f++;
            if (!accept(c, ")")) {
                do {
                    expression(c);
                    args++;
                } while (accept(c, ","));
                expect(c, ")");
            }
            if (f == c->functions || c->function[f].args != args)
                c->error = "no such function";
            emit(c, CALL, f);
            return;
        }
        for (int i = 0; i < c->parameters; i++)
            if (strcmp(c->parameter[i], name) == 0) {
                emit(c, ARG, i);
                return;
            }
        emit(c, LOAD, variable(c, name));
    } else if (!c->error) {
        c->error = "a value";
    }
}

static void product(compiler *c)
{
    primary(c);
    while (!c->error) {
        enum op op = accept(c, "*") ? MUL : accept(c, "/") ? DIV : accept(c, "%") ? MOD : HALT;
        if (op == HALT)
            return;
        primary(c);
        emit(c, op, 0);
    }
}

static void sum(compiler *c)
{
    product(c);
    while (!c->error) {
        enum op op = accept(c, "+") ? ADD : accept(c, "-") ? SUB : HALT;
        if (op == HALT)
            return;
        product(c);
        emit(c, op, 0);
    }
}

static void expression(compiler *c)
{
    sum(c);
    if (accept(c, "<")) {
        sum(c);
        emit(c, LESS, 0);
    } else if (accept(c, "==")) {
        sum(c);
        emit(c, EQUAL, 0);
    }
}

static void block(compiler *c);

static void statement(compiler *c)
{
    char name[16];
    if (accept(c, "while")) {
        int top = c->n;
        expression(c);
        int out = c->n;
        emit(c, JUMP0, 0);
        block(c);
        emit(c, JUMP, top);
        c->code[out].arg = c->n;
    } else if (accept(c, "if")) {
        expression(c);
        int out = c->n;
        emit(c, JUMP0, 0);
        block(c);
        if (accept(c, "else")) {
            int end = c->n;
            emit(c, JUMP, 0);
            c->code[out].arg = c->n;
            block(c);
            out = end;
        }
        c->code[out].arg = c->n;
    } else if (accept(c, "print")) {
        expression(c);
        emit(c, PRINT, 0);
        expect(c, ";");
    } else if (accept(c, "return")) {
        expression(c);
        emit(c, RETURN, c->parameters);
        expect(c, ";");
    } else if (accept(c, "def")) {
        int skip = c->n, f = c->functions;
        emit(c, JUMP, 0);
        if (f == MAX_NAMES || !read_name(c, c->function[f].name)) {
            c->error = "a function's name";
            return;
        }
        c->functions++;
        expect(c, "(");
        c->parameters = 0;
        while (c->parameters < 8 && read_name(c, c->parameter[c->parameters])) {
            c->parameters++;
            accept(c, ",");
        }
        expect(c, ")");
        c->function[f].entry = c->n;
        c->function[f].args = c->parameters;
        block(c);
        emit(c, PUSH, 0);
        emit(c, RETURN, c->parameters);
        c->parameters = 0;
        c->code[skip].arg = c->n;
    } else if (read_name(c, name)) {
        expect(c, "=");
        expression(c);
        emit(c, STORE, variable(c, name));
        expect(c, ";");
    } else if (!c->error) {
        c->error = "a statement";
    }
}

static void block(compiler *c)
{
    expect(c, "{");
    while (!c->error && !accept(c, "}"))
        statement(c);
}

/* Jumps to jumps go to the end at once. */
static int improve(compiler *c)
{
    int changed = 0;
    for (int i = 0; i < c->n; i++) {
        instruction *in = &c->code[i];
        if (in->op == JUMP || in->op == JUMP0) {
            int to = in->arg;
            for (int k = 0; k < 8 && to < c->n && c->code[to].op == JUMP; k++)
                to = c->code[to].arg;
            changed += to != in->arg;
            in->arg = to;
        }
    }
    return changed;
}

static const char *run(const compiler *c, long *out, int *outs, long limit)
{
    long stack[256], global[MAX_NAMES] = {0};
    int frame[64], back[64], depth = 0, top = 0, at = 0, base = 0;
    while (limit-- > 0) {
        const instruction *in = &c->code[at++];
        if (top > 250)
            return "the stack is full";
        long *t = stack + top;
        switch (in->op) {
        case PUSH: stack[top++] = in->arg; break;
        case LOAD: stack[top++] = global[in->arg]; break;
        case STORE: global[in->arg] = stack[--top]; break;
        case ARG: stack[top] = stack[base + in->arg]; top++; break;
        case ADD: t[-2] += t[-1]; top--; break;
        case SUB: t[-2] -= t[-1]; top--; break;
        case MUL: t[-2] *= t[-1]; top--; break;
        case DIV:
        case MOD:
            if (t[-1] == 0)
                return "a division by zero";
            if (in->op == DIV)
                t[-2] /= t[-1];
            else
                t[-2] %= t[-1];
            top--;
            break;
        case LESS: t[-2] = t[-2] < t[-1]; top--; break;
        case EQUAL: t[-2] = t[-2] == t[-1]; top--; break;
        case NOT: t[-1] = !t[-1]; break;
        case NEG: t[-1] = -t[-1]; break;
        case JUMP: at = in->arg; break;
        case JUMP0:
            if (!stack[--top])
                at = in->arg;
            break;
        case PRINT: out[(*outs)++ % 64] = stack[--top]; break;
        case CALL:
            if (depth == 64)
                return "too deep";
            frame[depth] = base;
            back[depth++] = at;
            base = top - c->function[in->arg].args;
            at = c->function[in->arg].entry;
            break;
        case RETURN: {
            if (depth == 0)
                return "a return outside of a function";
            long v = stack[top - 1];
            top = base;
            stack[top++] = v;
            base = frame[--depth];
            at = back[depth];
            break;
        }
        case HALT: return NULL;
        }
    }
    return "it does not end";
}

static const char *execute(const char *source, long *out, int *outs)
{
    static compiler c;
    memset(&c, 0, sizeof c);
    c.p = source;
    *outs = 0;
    while (!c.error && (blanks(&c), *c.p))
        statement(&c);
    emit(&c, HALT, 0);
    if (c.error)
        return c.error;
    improve(&c);
    return run(&c, out, outs, 1000000);
}

int main(void)
{
    static const char primes[] =
        "n = 2; while n < 60 { d = 2; prime = 1; while d*d < n+1 { if n % d == 0 { prime = 0; } d = d + 1; }"
        " if prime { print n; } n = n + 1; }";
    static const char functions[] =
        "def fib(n) { if n < 2 { return n; } else { return fib(n-1) + fib(n-2); } }"
        "def gcd(a, b) { if b == 0 { return a; } return gcd(b, a % b); }"
        "print fib(15); print gcd(252, 105); print -(2 - 3*4) / (1 + 1); print !0 + !5;";
    static const char *wrong[] = {"x = ;", "while 1 { }", "print 1/0;", "f(1);", "x = (1;", "def f( { }", "return 1;", "def f(n) { return f(n); } print f(1);"};
    long out[64];
    int bad = 0, n;
    bad += execute(primes, out, &n) != NULL || n != 17 || out[16] != 59;
    bad += execute(functions, out, &n) != NULL || n != 4 || out[0] != 610 || out[1] != 21 || out[2] != 5 || out[3] != 1;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        bad += execute(wrong[i], out, &n) == NULL;
    printf("machine: %d failures\n", bad);
    return bad != 0;
}
