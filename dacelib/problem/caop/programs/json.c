/* A reader and writer of JSON: values in a tree, errors with their place,
   escapes, look-up by path. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NIL, BOOLEAN, NUMBER, STRING, ARRAY, OBJECT };

typedef struct value {
    enum kind kind;
    double number;
    char *text;
    struct value **item;
    char **name;
    int size;
} value;

typedef struct {
    const char *at, *start, *error;
    int depth;
} reader;

static value *make(enum kind k)
{
    value *v = calloc(1, sizeof *v);
    v->kind = k;
    return v;
}

static void release(value *v)
{
    if (!v)
        return;
    for (int i = 0; i < v->size; i++) {
        release(v->item[i]);
        if (v->name)
            free(v->name[i]);
    }
    free(v->item);
    free(v->name);
    free(v->text);
    free(v);
}

static void append(value *v, char *name, value *item)
{
    if ((v->size & (v->size - 1)) == 0) {
        int room = v->size ? 2 * v->size : 1;
        v->item = realloc(v->item, room * sizeof *v->item);
        if (v->kind == OBJECT)
            v->name = realloc(v->name, room * sizeof *v->name);
    }
    if (v->kind == OBJECT)
        v->name[v->size] = name;
    v->item[v->size++] = item;
}

static void *fail(reader *r, const char *why)
{
    if (!r->error)
        r->error = why;
    return NULL;
}

static void blanks(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')
        r->at++;
}

static int hex4(const char *s)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)s[i]))
            return -1;
        int c = tolower((unsigned char)s[i]);
        v = v << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return v;
}

static char *put_utf8(char *to, unsigned c)
{
    if (c < 0x80) {
        *to++ = c;
    } else if (c < 0x800) {
        *to++ = 0xc0 | c >> 6;
        *to++ = 0x80 | (c & 63);
    } else if (c < 0x10000) {
        *to++ = 0xe0 | c >> 12;
        *to++ = 0x80 | (c >> 6 & 63);
        *to++ = 0x80 | (c & 63);
    } else {
        *to++ = 0xf0 | c >> 18;
        *to++ = 0x80 | (c >> 12 & 63);
        *to++ = 0x80 | (c >> 6 & 63);
        *to++ = 0x80 | (c & 63);
    }
    return to;
}

static char *read_string(reader *r)
{
    if (*r->at != '"')
        return fail(r, "a string was expected");
    const char *end = ++r->at;
    while (*end && *end != '"')
        end += *end == '\\' && end[1] ? 2 : 1;
    if (!*end)
        return fail(r, "a string does not end");
    char *text = malloc(end - r->at + 1), *to = text;
    while (r->at < end) {
        unsigned char c = *r->at++;
        if (c < 32) {
            free(text);
            return fail(r, "a control character in a string");
        }
        if (c != '\\') {
            *to++ = c;
            continue;
        }
        switch (c = *r->at++) {
        case 'n': *to++ = '\n'; break;
        case 't': *to++ = '\t'; break;
        case 'r': *to++ = '\r'; break;
        case 'b': *to++ = '\b'; break;
        case 'f': *to++ = '\f'; break;
        case '"':
        case '\\':
        case '/': *to++ = c; break;
        case 'u': {
            int code = hex4(r->at), low;
            if (code < 0) {
                free(text);
                return fail(r, "four hexadecimal digits were expected");
            }
            r->at += 4;
            if (code >> 10 == 0x36 && r->at[0] == '\\' && r->at[1] == 'u' && (low = hex4(r->at + 2)) >> 10 == 0x37) {
                code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
                r->at += 6;
            }
            to = put_utf8(to, code);
            break;
        }
        default:
            free(text);
            return fail(r, "an unknown escape");
        }
    }
    *to = 0;
    r->at = end + 1;
    return text;
}

static value *read_value(reader *r);

static value *read_list(reader *r, enum kind kind, char close)
{
    value *v = make(kind);
    r->at++;
    blanks(r);
    if (*r->at == close) {
        r->at++;
        return v;
    }
    for (;;) {
        char *name = NULL;
        blanks(r);
        if (kind == OBJECT) {
            if (!(name = read_string(r)))
                break;
            blanks(r);
            if (*r->at++ != ':') {
                r->at--;
                free(name);
                fail(r, "a colon was expected");
                break;
            }
        }
        value *item = read_value(r);
        if (!item) {
            free(name);
            break;
        }
        append(v, name, item);
        blanks(r);
        if (*r->at == close) {
            r->at++;
            return v;
        }
        if (*r->at != ',') {
            fail(r, kind == OBJECT ? "a comma or } was expected" : "a comma or ] was expected");
            break;
        }
        r->at++;
    }
    release(v);
    return NULL;
}

static value *read_number(reader *r)
{
    const char *p = r->at;
    p += *p == '-';
    if (*p == '0')
        p++;
    else if (isdigit((unsigned char)*p))
        while (isdigit((unsigned char)*p))
            p++;
    else
        return fail(r, "a value was expected");
    if (*p == '.') {
        if (!isdigit((unsigned char)*++p))
            return fail(r, "digits were expected behind the point");
        while (isdigit((unsigned char)*p))
            p++;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '+' || *p == '-';
        if (!isdigit((unsigned char)*p))
            return fail(r, "an exponent was expected");
        while (isdigit((unsigned char)*p))
            p++;
    }
    value *v = make(NUMBER);
    v->number = strtod(r->at, NULL);
    r->at = p;
    return v;
}

static value *read_value(reader *r)
{
    static const struct {
        const char *word;
        enum kind kind;
        int number;
    } words[] = {{"null", NIL, 0}, {"true", BOOLEAN, 1}, {"false", BOOLEAN, 0}};
    value *v = NULL;
    if (++r->depth > 100)
        return fail(r, "too deep");
    blanks(r);
    if (*r->at == '{') {
        v = read_list(r, OBJECT, '}');
    } else if (*r->at == '[') {
        v = read_list(r, ARRAY, ']');
    } else if (*r->at == '"') {
        char *text = read_string(r);
        if (text) {
            v = make(STRING);
            v->text = text;
        }
    } else {
        for (int i = 0; i < 3 && !v; i++) {
            size_t n = strlen(words[i].word);
            if (strncmp(r->at, words[i].word, n) == 0) {
                v = make(words[i].kind);
                v->number = words[i].number;
                r->at += n;
            }
        }
        if (!v)
            v = read_number(r);
    }
    r->depth--;
    return v;
}

static value *parse(const char *text, const char **error, int *line)
{
    reader r = {text, text, NULL, 0};
    value *v = read_value(&r);
    blanks(&r);
    if (v && *r.at) {
        fail(&r, "something stands behind the value");
        release(v);
        v = NULL;
    }
    *error = r.error;
    *line = 1;
    for (const char *p = text; p < r.at; p++)
        *line += *p == '\n';
    return v;
}

static char *write_string(char *to, const char *s)
{
    *to++ = '"';
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') {
            *to++ = '\\';
            *to++ = *s;
        } else if ((unsigned char)*s < 32) {
            to += sprintf(to, "\\u%04x", *s);
        } else {
            *to++ = *s;
        }
    }
    *to++ = '"';
    return to;
}

static char *write(char *to, const value *v)
{
    switch (v->kind) {
    case NIL:
        return to + sprintf(to, "null");
    case BOOLEAN:
        return to + sprintf(to, v->number ? "true" : "false");
    case NUMBER:
        return to + sprintf(to, v->number == floor(v->number) && fabs(v->number) < 1e15 ? "%.0f" : "%.17g", v->number);
    case STRING:
        return write_string(to, v->text);
    default:
        *to++ = v->kind == ARRAY ? '[' : '{';
        for (int i = 0; i < v->size; i++) {
            if (i > 0)
                *to++ = ',';
            if (v->kind == OBJECT) {
                to = write_string(to, v->name[i]);
                *to++ = ':';
            }
            to = write(to, v->item[i]);
        }
        *to++ = v->kind == ARRAY ? ']' : '}';
        *to = 0;
        return to;
    }
}

/* a.b.2.c */
static const value *look_up(const value *v, const char *path)
{
    while (v && *path) {
        size_t n = strcspn(path, ".");
        const value *next = NULL;
        if (v->kind == ARRAY) {
            int i = atoi(path);
            if (i >= 0 && i < v->size)
                next = v->item[i];
        } else if (v->kind == OBJECT) {
            for (int i = 0; i < v->size && !next; i++)
                if (strlen(v->name[i]) == n && strncmp(v->name[i], path, n) == 0)
                    next = v->item[i];
        }
        v = next;
        path += n + (path[n] == '.');
    }
    return v;
}

int main(void)
{
    static const char *wrong[] = {"", "{", "[1,]", "{\"a\" 1}", "01", "1.", "\"x", "\"\\q\"", "tru", "[1] 2", "\"\\u12g4\"", "-", "1e", "{1:2}"};
    static const char text[] = "{\"name\": \"dace\", \"list\": [1, -2.5e3, true, null, {\"x\": \"\\u20ac\\n\\\"\"}],\n \"empty\": {}, \"none\": []}";
    static char first[1000], second[1000];
    const char *error;
    int bad = 0, line;
    value *v = parse(text, &error, &line);
    bad += !v;
    const value *x = look_up(v, "list.1");
    bad += !x || x->number != -2500;
    x = look_up(v, "list.4.x");
    bad += !x || strcmp(x->text, "\xe2\x82\xac\n\"") != 0;
    bad += look_up(v, "list.9") != NULL || look_up(v, "name.x") != NULL;
    write(first, v);
    release(v);
    v = parse(first, &error, &line);
    bad += !v;
    write(second, v);
    release(v);
    bad += strcmp(first, second) != 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        v = parse(wrong[i], &error, &line);
        bad += v != NULL || !error;
        release(v);
    }
    v = parse("[1,\n2,\n3 4]", &error, &line);
    bad += v != NULL || line != 3;
    printf("json: %d failures, %s\n", bad, first);
    return bad != 0;
}
