/* Graphs: by node, by capture, and their launches. */
#include "emulator.h"

enum { GLOBAL_MODE, THREAD_MODE, RELAXED_MODE };
enum { KERNEL_NODE, MEMCPY_NODE, MEMSET_NODE, HOST_NODE, GRAPH_NODE, EMPTY_NODE, WAIT_NODE, RECORD_NODE };

struct Node {
    Object object;
    Graph *graph;
    Work work;
    Node **after, **before; /* what it depends on, and what depends on it */
    int afters, befores;
    int mark; /* for the search for cycles; in a launch, its operation */
};

struct Graph {
    Object object;
    Node **nodes;
    int count, room;
    int marks;
};

struct Exec {
    Object object;
    Op *ops;
    int count, left;
    int *waits; /* of each operation, at the start */
    int **next, *nexts;
    Handle *sources; /* the nodes that they were made from */
    Context **contexts;
    int context_count;
    Op *running, *last; /* launches */
    const Copy **signals; /* of launches that are skipped; NULL before the first */
    int signal_count;
    int dying;
    int error;
};

struct Capture {
    Graph *graph;
    Stream *origin;
    int mode, spoiled, ended, refs;
    pthread_t thread;
    Capture *next;
};

/* ---- Nodes ---- */

static void append(Node ***list, int *number, Node *node) {
    *list = realloc(*list, (size_t)(*number + 1) * sizeof **list);
    (*list)[(*number)++] = node;
}

static void cut(Node **list, int *number, const Node *node) {
    int kept = 0;
    for (int i = 0; i < *number; i++) {
        if (list[i] != node) list[kept++] = list[i];
    }
    *number = kept;
}

static int has(Node *const *list, int number, const Node *node) {
    for (int i = 0; i < number; i++) {
        if (list[i] == node) return 1;
    }
    return 0;
}

static void link_nodes(Node *from, Node *to) {
    append(&from->before, &from->befores, to);
    append(&to->after, &to->afters, from);
}

static Node *new_node(Graph *graph, const Work *work) {
    Node *node = calloc(1, sizeof *node);
    node->graph = graph;
    node->work = *work;
    if (graph->count == graph->room) {
        graph->room = graph->room ? 2 * graph->room : 16;
        graph->nodes = realloc(graph->nodes, (size_t)graph->room * sizeof *graph->nodes);
    }
    graph->nodes[graph->count++] = node;
    add_object(&node->object, NODE);
    return node;
}

static void free_node(Node *node) {
    for (int i = 0; i < node->afters; i++) cut(node->after[i]->before, &node->after[i]->befores, node);
    for (int i = 0; i < node->befores; i++) cut(node->before[i]->after, &node->before[i]->afters, node);
    cut(node->graph->nodes, &node->graph->count, node);
    if (node->work.kind == CHILD) free_graph(node->work.child);
    remove_object(&node->object);
    free(node->after);
    free(node->before);
    free(node);
}

static Graph *new_graph(void) { return calloc(1, sizeof(Graph)); }

void free_graph(Graph *graph) {
    while (graph->count) free_node(graph->nodes[graph->count - 1]);
    free(graph->nodes);
    free(graph);
}

/* A copy without a handle; the nodes' marks are their places. */
static Graph *clone_graph(const Graph *graph) {
    Graph *copy = new_graph();
    for (int n = 0; n < graph->count; n++) {
        graph->nodes[n]->mark = n;
        Node *node = new_node(copy, &graph->nodes[n]->work);
        if (node->work.kind == CHILD) node->work.child = clone_graph(node->work.child);
    }
    for (int n = 0; n < graph->count; n++) {
        for (int a = 0; a < graph->nodes[n]->afters; a++) link_nodes(copy->nodes[graph->nodes[n]->after[a]->mark], copy->nodes[n]);
    }
    return copy;
}

/* ---- Graphs by node ---- */

#define GRAPH_OF(graph, handle) \
    Graph *graph = find_object(handle, GRAPH); \
    CHECK(graph, INVALID_HANDLE)

#define NODE_OF(node, handle) \
    Node *node = find_object(handle, NODE); \
    CHECK(node, INVALID_HANDLE)

API CUresult cuGraphCreate(Handle *handle, unsigned flags) {
    ENTER();
    CHECK(handle && !flags, INVALID_VALUE);
    Graph *graph = new_graph();
    add_object(&graph->object, GRAPH);
    *handle = graph->object.handle;
    LEAVE(OK);
}

API CUresult cuGraphDestroy(Handle handle) {
    ENTER();
    GRAPH_OF(graph, handle);
    free_object(&graph->object);
    LEAVE(OK);
}

API CUresult cuGraphClone(Handle *handle, Handle original) {
    ENTER();
    GRAPH_OF(graph, original);
    CHECK(handle, INVALID_VALUE);
    Graph *copy = clone_graph(graph);
    add_object(&copy->object, GRAPH);
    *handle = copy->object.handle;
    LEAVE(OK);
}

static CUresult add_node(Handle *handle, Handle graph_handle, const Handle *after, size_t afters, const Work *work) {
    Graph *graph = find_object(graph_handle, GRAPH);
    if (!graph) return INVALID_HANDLE;
    if (!handle || (afters && !after)) return INVALID_VALUE;
    for (size_t a = 0; a < afters; a++) {
        const Node *other = find_object(after[a], NODE);
        if (!other || other->graph != graph) return INVALID_VALUE;
        for (size_t b = 0; b < a; b++) {
            if (after[b] == after[a]) return INVALID_VALUE;
        }
    }
    Node *node = new_node(graph, work);
    for (size_t a = 0; a < afters; a++) link_nodes(find_object(after[a], NODE), node);
    *handle = node->object.handle;
    return OK;
}

/* The current context, or none. */
static Context *here(void) {
    Context *context;
    return current(&context) ? NULL : context;
}

typedef struct {
    Handle function;
    unsigned shape[6], shared_bytes;
    void **parameters, **extra;
    Handle kernel, context;
} KernelParameters;

_Static_assert(sizeof(KernelParameters) == 72, "CUDA_KERNEL_NODE_PARAMS_v2");

API CUresult cuGraphAddKernelNode_v2(Handle *node, Handle graph, const Handle *after, size_t afters,
                                     const KernelParameters *parameters) {
    ENTER();
    CHECK(parameters, INVALID_VALUE);
    Work work;
    TRY(make_launch(parameters->function, parameters->shape, parameters->shared_bytes, parameters->parameters,
                    parameters->extra, &work));
    LEAVE(add_node(node, graph, after, afters, &work));
}

static CUresult copy_work(const Box *box, Handle context_handle, Work *work) {
    Context *context;
    CUresult code = context_of(context_handle, &context);
    if (code) return code;
    if (!box || !box->width) return INVALID_VALUE;
    *work = (Work){.kind = COPY, .context = context};
    return copy_of_box(box, context, &work->copy);
}

API CUresult cuGraphAddMemcpyNode(Handle *node, Handle graph, const Handle *after, size_t afters, const Box *box,
                                  Handle context) {
    ENTER();
    Work work;
    TRY(copy_work(box, context, &work));
    LEAVE(add_node(node, graph, after, afters, &work));
}

typedef struct {
    CUdeviceptr target;
    size_t pitch;
    unsigned value, element_bytes;
    size_t width, height;
} FillParameters;

_Static_assert(sizeof(FillParameters) == 40, "CUDA_MEMSET_NODE_PARAMS");

static CUresult fill_work(const FillParameters *p, Handle context_handle, Work *work) {
    Context *context;
    CUresult code = context_of(context_handle, &context);
    if (code) return code;
    if (!p || (p->element_bytes != 1 && p->element_bytes != 2 && p->element_bytes != 4)) return INVALID_VALUE;
    *work = (Work){.kind = FILL, .context = context,
                   .fill = {p->target, p->pitch, p->width, p->height, p->value, p->element_bytes}};
    return check_fill(&work->fill, context);
}

API CUresult cuGraphAddMemsetNode(Handle *node, Handle graph, const Handle *after, size_t afters,
                                  const FillParameters *parameters, Handle context) {
    ENTER();
    Work work;
    TRY(fill_work(parameters, context, &work));
    LEAVE(add_node(node, graph, after, afters, &work));
}

typedef struct {
    HostFunction function;
    void *data;
} HostParameters;

API CUresult cuGraphAddHostNode(Handle *node, Handle graph, const Handle *after, size_t afters,
                                const HostParameters *parameters) {
    ENTER();
    CHECK(parameters && parameters->function, INVALID_VALUE);
    Work work = {.kind = HOST, .context = here(),
                 .host = {.function = parameters->function, .data = parameters->data}};
    LEAVE(add_node(node, graph, after, afters, &work));
}

API CUresult cuGraphAddEmptyNode(Handle *node, Handle graph, const Handle *after, size_t afters) {
    ENTER();
    LEAVE(add_node(node, graph, after, afters, &(Work){.kind = MARK, .context = here()}));
}

static CUresult event_work(Handle handle, OpKind kind, Work *work) {
    Event *event = find_object(handle, EVENT);
    if (!event) return INVALID_HANDLE;
    *work = (Work){.kind = kind, .context = event->context, .event = event};
    return OK;
}

API CUresult cuGraphAddEventRecordNode(Handle *node, Handle graph, const Handle *after, size_t afters, Handle event) {
    ENTER();
    Work work;
    TRY(event_work(event, RECORD, &work));
    LEAVE(add_node(node, graph, after, afters, &work));
}

API CUresult cuGraphAddEventWaitNode(Handle *node, Handle graph, const Handle *after, size_t afters, Handle event) {
    ENTER();
    Work work;
    TRY(event_work(event, WAIT, &work));
    LEAVE(add_node(node, graph, after, afters, &work));
}

API CUresult cuGraphAddChildGraphNode(Handle *node, Handle graph, const Handle *after, size_t afters, Handle child_handle) {
    ENTER();
    GRAPH_OF(child, child_handle);
    CHECK(child_handle != graph, INVALID_VALUE);
    Graph *copy = clone_graph(child);
    CUresult code = add_node(node, graph, after, afters, &(Work){.kind = CHILD, .context = here(), .child = copy});
    if (code) free_graph(copy);
    LEAVE(code);
}

/* Returns whether there is a path from one node to the other. */
static int leads(Node *from, const Node *to) {
    if (from == to) return 1;
    if (from->mark == from->graph->marks) return 0;
    from->mark = from->graph->marks;
    for (int n = 0; n < from->befores; n++) {
        if (leads(from->before[n], to)) return 1;
    }
    return 0;
}

API CUresult cuGraphAddDependencies(Handle handle, const Handle *from, const Handle *to, size_t number) {
    ENTER();
    GRAPH_OF(graph, handle);
    CHECK(!number || (from && to), INVALID_VALUE);
    for (size_t d = 0; d < number; d++) {
        Node *first = find_object(from[d], NODE), *second = find_object(to[d], NODE);
        CHECK(first && second && first->graph == graph && second->graph == graph, INVALID_VALUE);
        CHECK(!has(first->before, first->befores, second), INVALID_VALUE);
        for (int n = 0; n < graph->count; n++) graph->nodes[n]->mark = 0;
        graph->marks = 1;
        CHECK(!leads(second, first), INVALID_VALUE);
        link_nodes(first, second);
    }
    LEAVE(OK);
}

API CUresult cuGraphRemoveDependencies(Handle handle, const Handle *from, const Handle *to, size_t number) {
    ENTER();
    GRAPH_OF(graph, handle);
    CHECK(!number || (from && to), INVALID_VALUE);
    for (size_t d = 0; d < number; d++) {
        Node *first = find_object(from[d], NODE), *second = find_object(to[d], NODE);
        CHECK(first && second && first->graph == graph && has(first->before, first->befores, second), INVALID_VALUE);
        cut(first->before, &first->befores, second);
        cut(second->after, &second->afters, first);
    }
    LEAVE(OK);
}

API CUresult cuGraphDestroyNode(Handle handle) {
    ENTER();
    NODE_OF(node, handle);
    free_node(node);
    LEAVE(OK);
}

API CUresult cuGraphNodeGetType(Handle handle, int *type) {
    ENTER();
    NODE_OF(node, handle);
    CHECK(type, INVALID_VALUE);
    switch (node->work.kind) {
        case KERNEL: *type = KERNEL_NODE; break;
        case COPY: *type = MEMCPY_NODE; break;
        case FILL: *type = MEMSET_NODE; break;
        case HOST: *type = HOST_NODE; break;
        case CHILD: *type = GRAPH_NODE; break;
        case WAIT: *type = WAIT_NODE; break;
        case RECORD: *type = RECORD_NODE; break;
        default: *type = EMPTY_NODE; break;
    }
    LEAVE(OK);
}

/* Without an array the caller wants only the number. */
static CUresult give(Node *const *nodes, int number, int roots_only, Handle *handles, size_t *room) {
    if (!room) return INVALID_VALUE;
    size_t given = 0;
    for (int n = 0; n < number; n++) {
        if (roots_only && nodes[n]->afters) continue;
        if (handles && given < *room) handles[given] = nodes[n]->object.handle;
        given++;
    }
    for (size_t n = given; handles && n < *room; n++) handles[n] = 0;
    if (!handles || given < *room) *room = given;
    return OK;
}

API CUresult cuGraphGetNodes(Handle handle, Handle *nodes, size_t *number) {
    ENTER();
    GRAPH_OF(graph, handle);
    LEAVE(give(graph->nodes, graph->count, 0, nodes, number));
}

API CUresult cuGraphGetRootNodes(Handle handle, Handle *nodes, size_t *number) {
    ENTER();
    GRAPH_OF(graph, handle);
    LEAVE(give(graph->nodes, graph->count, 1, nodes, number));
}

API CUresult cuGraphGetEdges(Handle handle, Handle *from, Handle *to, size_t *number) {
    ENTER();
    GRAPH_OF(graph, handle);
    CHECK(number && !from == !to, INVALID_VALUE);
    size_t given = 0;
    for (int n = 0; n < graph->count; n++) {
        const Node *node = graph->nodes[n];
        for (int b = 0; b < node->befores; b++, given++) {
            if (!from || given >= *number) continue;
            from[given] = node->object.handle;
            to[given] = node->before[b]->object.handle;
        }
    }
    if (!from || given < *number) *number = given;
    LEAVE(OK);
}

API CUresult cuGraphNodeGetDependencies(Handle handle, Handle *nodes, size_t *number) {
    ENTER();
    NODE_OF(node, handle);
    LEAVE(give(node->after, node->afters, 0, nodes, number));
}

API CUresult cuGraphNodeGetDependentNodes(Handle handle, Handle *nodes, size_t *number) {
    ENTER();
    NODE_OF(node, handle);
    LEAVE(give(node->before, node->befores, 0, nodes, number));
}

/* ---- What can be launched ---- */

/* Operations of a graph; a graph within a graph lies between two marks, whose places a node's mark then has. */
static int count_ops(const Graph *graph) {
    int number = 0;
    for (int n = 0; n < graph->count; n++) {
        const Work *work = &graph->nodes[n]->work;
        number += work->kind == CHILD ? 2 + count_ops(work->child) : 1;
    }
    return number;
}

/* Returns whether one operation is behind another by edges. */
static int follows(const Exec *exec, int from, int to) {
    if (from == to) return 1;
    for (int n = 0; n < exec->nexts[from]; n++) {
        if (follows(exec, exec->next[from][n], to)) return 1;
    }
    return 0;
}

/* Leaves out the edge that a test named. */
static void lose_edge(Exec *exec) {
    for (int from = 0; from < exec->count; from++) {
        if (emu.lost_edge > exec->nexts[from]) {
            emu.lost_edge -= exec->nexts[from];
            continue;
        }
        int *next = exec->next[from], place = emu.lost_edge - 1, to = next[place];
        emu.lost_edge = 0;
        memmove(next + place, next + place + 1, (size_t)(--exec->nexts[from] - place) * sizeof *next);
        exec->waits[to]--;
        counters.lost_edges += !follows(exec, from, to);
        return;
    }
}

static void link_ops(Exec *exec, int from, int to) {
    exec->next[from] = realloc(exec->next[from], (size_t)(exec->nexts[from] + 1) * sizeof **exec->next);
    exec->next[from][exec->nexts[from]++] = to;
    exec->waits[to]++;
}

static int add_op(Exec *exec, const Work *work, Handle source) {
    int place = exec->count++;
    Op *op = &exec->ops[place];
    op->work = *work;
    op->exec = exec;
    op->node = place;
    op->refs = 1;
    exec->sources[place] = source;
    return place;
}

static void flatten(Exec *exec, const Graph *graph, int entry, int exit) {
    for (int n = 0; n < graph->count; n++) {
        Node *node = graph->nodes[n];
        node->mark = add_op(exec, node->work.kind == CHILD ? &(Work){.kind = MARK} : &node->work, node->object.handle);
        if (node->work.kind != CHILD) continue;
        int end = add_op(exec, &(Work){.kind = MARK}, 0);
        flatten(exec, node->work.child, node->mark, end);
        link_ops(exec, node->mark, end);
        exec->ops[node->mark].node = end; /* for the links of this graph, put right below */
    }
    for (int n = 0; n < graph->count; n++) {
        const Node *node = graph->nodes[n];
        int end = exec->ops[node->mark].node;
        for (int b = 0; b < node->befores; b++) link_ops(exec, end, node->before[b]->mark);
        if (entry >= 0 && !node->afters) link_ops(exec, entry, node->mark);
        if (exit >= 0 && !node->befores) link_ops(exec, end, exit);
    }
    for (int n = 0; n < graph->count; n++) exec->ops[graph->nodes[n]->mark].node = graph->nodes[n]->mark;
}

static void note_context(Exec *exec, Context *context) {
    if (!context) return;
    for (int c = 0; c < exec->context_count; c++) {
        if (exec->contexts[c] == context) return;
    }
    exec->contexts = realloc(exec->contexts, (size_t)(exec->context_count + 1) * sizeof *exec->contexts);
    exec->contexts[exec->context_count++] = context;
}

API CUresult cuGraphInstantiateWithFlags(Handle *handle, Handle graph_handle, unsigned long long flags) {
    ENTER();
    GRAPH_OF(graph, graph_handle);
    CHECK(handle && flags < 16, INVALID_VALUE);
    size_t number = (size_t)count_ops(graph) + 1;
    Exec *exec = calloc(1, sizeof *exec);
    exec->ops = calloc(number, sizeof *exec->ops);
    exec->waits = calloc(number, sizeof *exec->waits);
    exec->next = calloc(number, sizeof *exec->next);
    exec->nexts = calloc(number, sizeof *exec->nexts);
    exec->sources = calloc(number, sizeof *exec->sources);
    flatten(exec, graph, -1, -1);
    if (emu.lost_edge) lose_edge(exec);
    for (int n = 0; n < exec->count; n++) note_context(exec, exec->ops[n].work.context);
    add_object(&exec->object, EXEC);
    *handle = exec->object.handle;
    LEAVE(OK);
}

static void really_free(Exec *exec) {
    for (int n = 0; n < exec->count; n++) {
        free(exec->next[n]);
        forget_order(&exec->ops[n]);
    }
    drop(exec->last);
    free(exec->ops);
    free(exec->waits);
    free(exec->next);
    free(exec->nexts);
    free(exec->sources);
    free(exec->contexts);
    free(exec->signals);
    free(exec);
}

void free_exec(Exec *exec) {
    if (!exec->last || exec->last->done) {
        really_free(exec);
        return;
    }
    exec->dying = 1;
    counters.execs_destroyed_in_flight++;
}

#define EXEC_OF(exec, handle) \
    Exec *exec = find_object(handle, EXEC); \
    CHECK(exec, INVALID_HANDLE)

API CUresult cuGraphExecDestroy(Handle handle) {
    ENTER();
    EXEC_OF(exec, handle);
    free_object(&exec->object);
    LEAVE(OK);
}

API CUresult cuGraphUpload(Handle handle, Handle stream_handle) {
    ENTER();
    Stream *stream;
    EXEC_OF(exec, handle);
    (void)exec;
    LEAVE(stream_of(stream_handle, &stream));
}

/* Does nothing but set the marks by which the host sees that all is done. */
static void skip_launch(Exec *exec) {
    if (!exec->signals) {
        exec->signals = calloc((size_t)exec->count + 1, sizeof *exec->signals);
        for (int n = 0; n < exec->count; n++) {
            const Work *work = &exec->ops[n].work;
            if (work->kind == COPY && is_signal(&work->copy)) exec->signals[exec->signal_count++] = &work->copy;
        }
    }
    for (int s = 0; s < exec->signal_count; s++) {
        memcpy((void *)exec->signals[s]->target, (const void *)exec->signals[s]->source, 4);
    }
}

API CUresult cuGraphLaunch(Handle handle, Handle stream_handle) {
    ENTER();
    Stream *stream;
    EXEC_OF(exec, handle);
    TRY(stream_of(stream_handle, &stream));
    CHECK(!stream->capture, (spoil_capture(stream->capture), CAPTURE_UNSUPPORTED));
    for (int c = 0; c < exec->context_count; c++) TRY(usable(exec->contexts[c]));
    if (emu.launches_skipped) {
        counters.graph_launches++;
        skip_launch(exec);
        LEAVE(OK);
    }
    LEAVE(submit(stream, &(Work){.kind = LAUNCH, .exec = exec}, NULL));
}

void follow_launch(Exec *exec, Op *launch) {
    depend(launch, exec->last);
    drop(exec->last);
    exec->last = launch;
    keep(launch);
}

void count_launch(Exec *exec, const Context *launched, int by) {
    for (int c = 0; c < exec->context_count; c++) {
        if (exec->contexts[c] != launched) exec->contexts[c]->pending += by;
    }
    if (by < 0 && exec->dying && exec->last->done) really_free(exec);
}

Op *begin_graph(Op *launch) {
    Exec *exec = launch->work.exec;
    counters.graph_launches++;
    exec->running = launch;
    exec->left = exec->count;
    exec->error = OK;
    if (!exec->count) return launch;
    for (int n = 0; n < exec->count; n++) {
        Op *op = &exec->ops[n];
        op->waits = exec->waits[n];
        op->waited = op->done = op->inherited = 0;
        op->clock_begin = launch->clock_begin;
        op->clock_end = 0;
        if (!op->work.context) op->work.context = launch->work.context;
        op->progress = 0;
        order_node(op, launch);
        decide_fate(op);
    }
    for (int n = 0; n < exec->count; n++) {
        if (!exec->waits[n]) begin(&exec->ops[n]);
    }
    return NULL;
}

Op *end_node(Op *op, int error) {
    Exec *exec = op->exec;
    if (error && !exec->error) exec->error = error;
    order_after(exec->running, op);
    clock_end(op);
    if (exec->running->clock_end < op->clock_end) exec->running->clock_end = op->clock_end;
    for (int n = 0; n < exec->nexts[op->node]; n++) {
        Op *next = &exec->ops[exec->next[op->node][n]];
        order_after(next, op);
        if (!next->inherited) next->inherited = error;
        clock_behind(next, op);
        if (!--next->waits) begin(next);
    }
    if (--exec->left) return NULL;
    exec->running->error = exec->error;
    return exec->running;
}

/* ---- Other parameters for a launch ---- */

/* As the driver has it, launches that were called for before keep what they were called with. */
static CUresult set_work(Handle exec_handle, Handle node, OpKind kind, const Work *work) {
    Exec *exec = find_object(exec_handle, EXEC);
    if (!exec) return INVALID_HANDLE;
    for (int n = 0; n < exec->count; n++) {
        if (exec->sources[n] != node || exec->ops[n].work.kind != kind) continue;
        if (exec->last && !exec->last->done) {
            CUresult code = wait_for(exec->last);
            if (code) return code;
        }
        if (work->context && work->context != exec->ops[n].work.context) return INVALID_VALUE;
        Context *context = exec->ops[n].work.context;
        exec->ops[n].work = *work;
        exec->ops[n].work.context = context;
        return OK;
    }
    return INVALID_VALUE;
}

API CUresult cuGraphExecKernelNodeSetParams_v2(Handle exec, Handle node, const KernelParameters *p) {
    ENTER();
    CHECK(p, INVALID_VALUE);
    Work work;
    TRY(make_launch(p->function, p->shape, p->shared_bytes, p->parameters, p->extra, &work));
    LEAVE(set_work(exec, node, KERNEL, &work));
}

API CUresult cuGraphExecMemcpyNodeSetParams(Handle exec, Handle node, const Box *box, Handle context) {
    ENTER();
    Work work;
    TRY(copy_work(box, context, &work));
    LEAVE(set_work(exec, node, COPY, &work));
}

API CUresult cuGraphExecMemsetNodeSetParams(Handle exec, Handle node, const FillParameters *parameters, Handle context) {
    ENTER();
    Work work;
    TRY(fill_work(parameters, context, &work));
    LEAVE(set_work(exec, node, FILL, &work));
}

API CUresult cuGraphExecHostNodeSetParams(Handle exec, Handle node, const HostParameters *p) {
    ENTER();
    CHECK(p && p->function, INVALID_VALUE);
    LEAVE(set_work(exec, node, HOST, &(Work){.kind = HOST, .host = {.function = p->function, .data = p->data}}));
}

API CUresult cuGraphExecEventRecordNodeSetEvent(Handle exec, Handle node, Handle event) {
    ENTER();
    Work work;
    TRY(event_work(event, RECORD, &work));
    LEAVE(set_work(exec, node, RECORD, &work));
}

API CUresult cuGraphExecEventWaitNodeSetEvent(Handle exec, Handle node, Handle event) {
    ENTER();
    Work work;
    TRY(event_work(event, WAIT, &work));
    LEAVE(set_work(exec, node, WAIT, &work));
}

/* ---- Capture ---- */

static __thread int thread_mode = GLOBAL_MODE;

static void unref(Capture *capture) {
    if (capture && !--capture->refs) free(capture);
}

void spoil_capture(Capture *capture) { capture->spoiled = 1; }

CUresult unsafe_call(void) {
    for (Capture *capture = emu.captures; capture; capture = capture->next) {
        int own = pthread_equal(capture->thread, pthread_self());
        if (thread_mode == RELAXED_MODE || capture->mode == RELAXED_MODE) continue;
        if (!own && (thread_mode == THREAD_MODE || capture->mode != GLOBAL_MODE)) continue;
        spoil_capture(capture);
        return CAPTURE_UNSUPPORTED;
    }
    return OK;
}

API CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
    ENTER();
    CHECK(mode && *mode >= GLOBAL_MODE && *mode <= RELAXED_MODE, INVALID_VALUE);
    int old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    LEAVE(OK);
}

static void set_tail(Stream *stream, Node *const *nodes, int number) {
    stream->tail = realloc(stream->tail, (size_t)(number + 1) * sizeof *stream->tail);
    if (number) memcpy(stream->tail, nodes, (size_t)number * sizeof *nodes);
    stream->tails = number;
}

void leave_capture(Stream *stream) {
    spoil_capture(stream->capture);
    unref(stream->capture);
    stream->capture = NULL;
    stream->tails = 0;
}

CUresult capture_work(Stream *stream, const Work *work) {
    Capture *capture = stream->capture;
    if (capture->spoiled) return CAPTURE_INVALIDATED;
    Node *node = new_node(capture->graph, work);
    if (!node->work.context) node->work.context = stream->context;
    for (int t = 0; t < stream->tails; t++) link_nodes(stream->tail[t], node);
    set_tail(stream, &node, 1);
    return OK;
}

void forget_capture(Event *event) {
    unref(event->capture);
    free(event->nodes);
    event->capture = NULL;
    event->nodes = NULL;
    event->count = 0;
}

CUresult capture_record(Stream *stream, Event *event) {
    if (stream->capture->spoiled) return CAPTURE_INVALIDATED;
    Capture *capture = stream->capture;
    capture->refs++; /* before an earlier record of the same capture is forgotten */
    forget_capture(event);
    event->capture = capture;
    event->count = stream->tails;
    event->nodes = malloc((size_t)(stream->tails + 1) * sizeof *event->nodes);
    if (stream->tails) memcpy(event->nodes, stream->tail, (size_t)stream->tails * sizeof *event->nodes);
    return OK;
}

CUresult capture_wait(Stream *stream, Event *event) {
    Capture *capture = event->capture;
    if (!capture) return spoil_capture(stream->capture), CAPTURE_ISOLATION;
    if (capture->ended) return CAPTURED_EVENT;
    if (capture->spoiled) return CAPTURE_INVALIDATED;
    if (stream->capture && stream->capture != capture) {
        spoil_capture(capture);
        spoil_capture(stream->capture);
        return CAPTURE_MERGE;
    }
    if (stream == stream->context->standard) return spoil_capture(capture), CAPTURE_IMPLICIT;
    if (!stream->capture) {
        stream->capture = capture;
        capture->refs++;
        stream->tails = 0;
    }
    for (int n = 0; n < event->count; n++) {
        if (!has(stream->tail, stream->tails, event->nodes[n])) append(&stream->tail, &stream->tails, event->nodes[n]);
    }
    return OK;
}

API CUresult cuStreamBeginCapture_v2(Handle handle, int mode) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    CHECK(mode >= GLOBAL_MODE && mode <= RELAXED_MODE, INVALID_VALUE);
    CHECK(stream != stream->context->standard, CAPTURE_UNSUPPORTED);
    CHECK(!stream->capture, 401 /* ILLEGAL_STATE */);
    Capture *capture = calloc(1, sizeof *capture);
    *capture = (Capture){.graph = new_graph(), .origin = stream, .mode = mode, .refs = 2, .thread = pthread_self(),
                         .next = emu.captures};
    emu.captures = capture;
    stream->capture = capture;
    stream->tails = 0;
    LEAVE(OK);
}

/* Takes the streams out of it; its graph is then the caller's. */
static void end_capture(Capture *capture) {
    for (Context *context = emu.contexts; context; context = context->next) {
        for (Stream *stream = context->streams; stream; stream = stream->next) {
            if (stream->capture != capture) continue;
            stream->capture = NULL;
            stream->tails = 0;
            capture->refs--;
        }
    }
    for (Capture **place = &emu.captures; *place; place = &(*place)->next) {
        if (*place != capture) continue;
        *place = capture->next;
        break;
    }
    capture->ended = 1;
    unref(capture);
}

void reset_captures(void) {
    while (emu.captures) {
        free_graph(emu.captures->graph);
        end_capture(emu.captures);
    }
}

API CUresult cuStreamEndCapture(Handle handle, Handle *graph_handle) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    Capture *capture = stream->capture;
    CHECK(capture, 401 /* ILLEGAL_STATE */);
    CHECK(graph_handle, INVALID_VALUE);
    *graph_handle = 0;
    CHECK(capture->mode == RELAXED_MODE || pthread_equal(capture->thread, pthread_self()), CAPTURE_WRONG_THREAD);
    CHECK(stream == capture->origin, (spoil_capture(capture), CAPTURE_UNMATCHED));
    Graph *graph = capture->graph;
    CUresult code = capture->spoiled ? CAPTURE_INVALIDATED : OK;
    for (int n = 0; n < graph->count && !code; n++) {
        const Node *node = graph->nodes[n];
        if (!node->befores && !has(stream->tail, stream->tails, node)) code = CAPTURE_UNJOINED;
    }
    end_capture(capture);
    if (code) {
        free_graph(graph);
        LEAVE(code);
    }
    add_object(&graph->object, GRAPH);
    *graph_handle = graph->object.handle;
    LEAVE(OK);
}

API CUresult cuStreamIsCapturing(Handle handle, int *status) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    CHECK(status, INVALID_VALUE);
    *status = !stream->capture ? 0 : stream->capture->spoiled ? 2 : 1;
    LEAVE(OK);
}
