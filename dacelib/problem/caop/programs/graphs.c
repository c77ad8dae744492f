/* Graphs: shortest paths three ways, spanning trees, strong components,
   bipartite matching, maximum flow and a topological order. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define V 60
#define E 400
#define FAR (INT_MAX / 4)

typedef struct {
    int from, to, cost;
} edge;

static edge edges[E];
static int count, first[V + 1], order[E];

static unsigned state = 5;

static unsigned rnd(unsigned n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

static void make(void)
{
    count = 0;
    for (int v = 1; v < V; v++)
        edges[count++] = (edge){rnd(v), v, 1 + rnd(20)};
    while (count < E)
        edges[count++] = (edge){rnd(V), rnd(V), 1 + rnd(50)};
    memset(first, 0, sizeof first);
    for (int i = 0; i < count; i++)
        first[edges[i].from + 1]++;
    for (int v = 0; v < V; v++)
        first[v + 1] += first[v];
    int at[V];
    memcpy(at, first, sizeof at);
    for (int i = 0; i < count; i++)
        order[at[edges[i].from]++] = i;
}

static void bellman_ford(int from, int *dist)
{
    for (int v = 0; v < V; v++)
        dist[v] = v == from ? 0 : FAR;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int i = 0; i < count; i++)
            if (dist[edges[i].from] + edges[i].cost < dist[edges[i].to]) {
                dist[edges[i].to] = dist[edges[i].from] + edges[i].cost;
                changed = 1;
            }
    }
}

static void dijkstra(int from, int *dist)
{
    struct {
        int cost, node;
    } heap[E + 1];
    int n = 0;
    for (int v = 0; v < V; v++)
        dist[v] = FAR;
    dist[from] = 0;
    heap[n].cost = 0;
    heap[n++].node = from;
    while (n > 0) {
        int cost = heap[0].cost, u = heap[0].node, at = 0;
        n--;
        for (int c; (c = 2 * at + 1) < n; at = c) {
            if (c + 1 < n && heap[c + 1].cost < heap[c].cost)
                c++;
            if (heap[c].cost >= heap[n].cost)
                break;
            heap[at] = heap[c];
        }
        heap[at] = heap[n];
        if (cost > dist[u])
            continue;
        for (int i = first[u]; i < first[u + 1]; i++) {
            const edge *e = &edges[order[i]];
            int d = cost + e->cost;
            if (d >= dist[e->to])
                continue;
            dist[e->to] = d;
            int k = n++;
            for (; k > 0 && heap[(k - 1) / 2].cost > d; k = (k - 1) / 2)
                heap[k] = heap[(k - 1) / 2];
            heap[k].cost = d;
            heap[k].node = e->to;
        }
    }
}

static void floyd(int dist[V][V])
{
    for (int u = 0; u < V; u++)
        for (int v = 0; v < V; v++)
            dist[u][v] = u == v ? 0 : FAR;
    for (int i = 0; i < count; i++)
        if (edges[i].cost < dist[edges[i].from][edges[i].to])
            dist[edges[i].from][edges[i].to] = edges[i].cost;
    for (int k = 0; k < V; k++)
        for (int u = 0; u < V; u++)
            for (int v = 0; v < V; v++)
                if (dist[u][k] + dist[k][v] < dist[u][v])
                    dist[u][v] = dist[u][k] + dist[k][v];
}

static int parent[V];

static int find(int v)
{
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

static int by_cost(const void *a, const void *b)
{
    return ((const edge *)a)->cost - ((const edge *)b)->cost;
}

static int kruskal(void)
{
    edge sorted[E];
    int total = 0;
    memcpy(sorted, edges, sizeof sorted);
    qsort(sorted, count, sizeof *sorted, by_cost);
    for (int v = 0; v < V; v++)
        parent[v] = v;
    for (int i = 0; i < count; i++) {
        int a = find(sorted[i].from), b = find(sorted[i].to);
        if (a != b) {
            parent[a] = b;
            total += sorted[i].cost;
        }
    }
    return total;
}

static int prim(void)
{
    int best[V], done[V] = {0}, total = 0;
    for (int v = 0; v < V; v++)
        best[v] = v == 0 ? 0 : FAR;
    for (int round = 0; round < V; round++) {
        int u = -1;
        for (int v = 0; v < V; v++)
            if (!done[v] && (u < 0 || best[v] < best[u]))
                u = v;
        done[u] = 1;
        total += best[u];
        for (int i = 0; i < count; i++) {
            const edge *e = &edges[i];
            int v = e->from == u ? e->to : e->to == u ? e->from : -1;
            if (v >= 0 && !done[v] && e->cost < best[v])
                best[v] = e->cost;
        }
    }
    return total;
}

static int seen[V], low[V], stack[V], on[V], component[V], depth, tops, components;

static void tarjan(int u)
{
    seen[u] = low[u] = ++depth;
    stack[tops++] = u;
    on[u] = 1;
    for (int i = first[u]; i < first[u + 1]; i++) {
        int v = edges[order[i]].to;
        if (!seen[v]) {
            tarjan(v);
            if (low[v] < low[u])
                low[u] = low[v];
        } else if (on[v] && seen[v] < low[u]) {
            low[u] = seen[v];
        }
    }
    if (low[u] == seen[u]) {
        int v;
        do {
            v = stack[--tops];
            on[v] = 0;
            component[v] = components;
        } while (v != u);
        components++;
    }
}

static int room[V][V], before[V];

static int max_flow(int source, int sink)
{
    int flow = 0;
    memset(room, 0, sizeof room);
    for (int i = 0; i < count; i++)
        room[edges[i].from][edges[i].to] += edges[i].cost;
    for (;;) {
        int queue[V], head = 0, tail = 0;
        memset(before, -1, sizeof before);
        before[source] = source;
        queue[tail++] = source;
        while (head < tail && before[sink] < 0) {
            int u = queue[head++];
            for (int v = 0; v < V; v++)
                if (before[v] < 0 && room[u][v] > 0) {
                    before[v] = u;
                    queue[tail++] = v;
                }
        }
        if (before[sink] < 0)
            return flow;
        int push = FAR;
        for (int v = sink; v != source; v = before[v])
            if (room[before[v]][v] < push)
                push = room[before[v]][v];
        for (int v = sink; v != source; v = before[v]) {
            room[before[v]][v] -= push;
            room[v][before[v]] += push;
        }
        flow += push;
    }
}

static int cut(void)
{
    int total = 0;
    for (int i = 0; i < count; i++)
        if (before[edges[i].from] >= 0 && before[edges[i].to] < 0)
            total += edges[i].cost;
    return total;
}

static int partner[V];

static int augment(int u, char *tried)
{
    for (int i = first[u]; i < first[u + 1]; i++) {
        int v = edges[order[i]].to;
        if (u % 2 == v % 2 || tried[v])
            continue;
        tried[v] = 1;
        if (partner[v] < 0 || augment(partner[v], tried)) {
            partner[v] = u;
            return 1;
        }
    }
    return 0;
}

int main(void)
{
    static int all[V][V];
    int a[V], b[V], bad = 0, matched = 0;
    for (int round = 0; round < 5; round++) {
        make();
        floyd(all);
        for (int u = 0; u < V; u += 7) {
            bellman_ford(u, a);
            dijkstra(u, b);
            bad += memcmp(a, b, sizeof a) != 0;
            for (int v = 0; v < V; v++)
                bad += (a[v] < FAR || all[u][v] < FAR) && a[v] != all[u][v];
        }
        bad += kruskal() != prim();
        memset(seen, 0, sizeof seen);
        depth = components = 0;
        for (int v = 0; v < V; v++)
            if (!seen[v])
                tarjan(v);
        for (int u = 0; u < V; u++)
            for (int v = 0; v < V; v++)
                bad += (component[u] == component[v]) != (all[u][v] < FAR && all[v][u] < FAR);
        int flow = max_flow(0, V - 1);
        bad += flow != cut();
        memset(partner, -1, sizeof partner);
        for (int u = 0; u < V; u += 2) {
            char tried[V] = {0};
            matched += augment(u, tried);
        }
    }
    printf("graphs: %d failures, %d components, %d matched\n", bad, components, matched);
    return bad != 0;
}
