/*
 * Carries work out. Every operation counts those that it waits for; when there is none left it begins, and some thread of
 * the pool takes it. Streams, events and graphs are such dependencies and nothing more.
 */
#include "emulator.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_OUT_US = 1000, TURNS_OF_POLLS = 500, POLL_PAUSE_US = 50, QUIET_TURNS = 16 };

static pthread_cond_t work_there = PTHREAD_COND_INITIALIZER, host_work_there = PTHREAD_COND_INITIALIZER,
                      something_done = PTHREAD_COND_INITIALIZER;

typedef struct {
    Op *first, *last;
} List;

static void push(List *list, Op *op) {
    op->queue = NULL;
    if (list->last) list->last->queue = op;
    else list->first = op;
    list->last = op;
}

static Op *pop(List *list) {
    Op *op = list->first;
    if (op) list->first = op->queue;
    if (!list->first) list->last = NULL;
    return op;
}

static Op **ready; /* from ready_first to ready_end */
static size_t ready_first, ready_end, ready_room;
static List host_ready, hung, stranded, late, spare;
static int ready_number; /* read without the lock by the thread that looks out */
static int workers, looking_out, idle_workers, host_workers, idle_host_workers, running, waiters, waiting_calls, closing;
/* While a seed interleaves what runs, one thread at a time goes on with it, without the lock. */
static int conducting;
/* Turns of kernels one after the other that only polled: they wait for the host, for another process, or for ever. */
static int turns_of_polls;

/*
 * The number of things done that kernels could wait for, and of kernels that have begun; the number of these that have only
 * polled since the last such thing, and the number of those that want room for a block.
 */
static uint64_t changes, deadlock_noted;
static int begun_kernels, quiet_kernels, crowded_kernels;

static void note_change(void) {
    changes++;
    quiet_kernels = crowded_kernels = 0;
}

static void join_coupled(Context *context, unsigned char *joined);

/* A call whose work has ended holds no launch up for long, whenever its thread notices that. */
static int has_held_launch(void) {
    for (Context *context = emu.contexts; context; context = context->next) {
        unsigned char joined[MOST_DEVICES] = {0};
        if (context->held_launches) join_coupled(context, joined);
        for (const Context *other = emu.contexts; other; other = other->next) {
            if (joined[other->index] && other->pending > 0) return 1;
        }
    }
    return 0;
}

/*
 * Counts a deadlock: all kernels only poll, nothing else is under way, and either one of them wants room for a block, which
 * none of the others gives back, or a launch is held up by calls that wait for them. A lane of a kernel may have something to
 * do before it polls, hence several turns.
 */
static void look_for_deadlock(Op *op) {
    if (op->quiet_since != changes) op->quiet_turns = 0;
    op->quiet_since = changes;
    if (++op->quiet_turns == QUIET_TURNS) {
        quiet_kernels++;
        crowded_kernels += op->is_crowded;
    }
    int is_all = quiet_kernels == begun_kernels && (int)(ready_end - ready_first) + running == begun_kernels;
    if (!is_all || host_ready.first || hung.first || late.first || deadlock_noted == changes) return;
    if (!crowded_kernels && !has_held_launch()) return;
    deadlock_noted = changes;
    counters.deadlocks++;
}

/* ---- Operations ---- */

static const Work MARKING = {.kind = MARK};

/* Leaves out the bytes that no kind but a launch uses, and of a launch those behind its kernel's parameters. */
static void copy_work(Work *to, const Work *from) {
    _Static_assert(sizeof(Copy) >= sizeof(Fill) && sizeof(Copy) >= sizeof(Host), "the largest one but a launch");
    memcpy(to, from,
           from->kind == KERNEL ? offsetof(Work, launch.parameters) + from->launch.parameter_bytes
                                : offsetof(Work, copy) + sizeof from->copy);
}

Op *new_op(const Work *work) {
    Op *op = pop(&spare);
    Op **next = op ? op->next : NULL;
    int room = op ? op->room : 0;
    if (!op) op = malloc(sizeof *op);
    memset((unsigned char *)op + offsetof(Op, waits), 0, sizeof *op - offsetof(Op, waits));
    op->next = next;
    op->room = room;
    copy_work(&op->work, work);
    op->refs = 1;
    return op;
}

void keep(Op *op) { op->refs++; }

void drop(Op *op) {
    if (!op || --op->refs) return;
    if (op->work.kind == COPY) free(op->work.copy.snapshot);
    forget_order(op);
    push(&spare, op);
}

static int is_late(const Op *op) { return op->work.kind == COPY && op->work.copy.late; }

void depend(Op *op, Op *on) {
    if (!on) return;
    if (on->done) {
        if (!op->inherited) op->inherited = on->error;
        order_after(op, on);
        clock_behind(op, on);
        return;
    }
    if (is_late(on)) begin_late_copies();
    if (on->nexts == on->room) {
        on->room = on->room ? 2 * on->room : 4;
        on->next = realloc(on->next, (size_t)on->room * sizeof *on->next);
    }
    on->next[on->nexts++] = op;
    op->waits++;
}

/* ---- The clock ---- */

static void later(double *time, double than) {
    if (*time < than) *time = than;
}

void clock_behind(Op *op, const Op *on) {
    int across = op->work.context && on->work.context && op->work.context->index != on->work.context->index;
    later(&op->clock_begin, on->clock_end + (across ? emu.cost.edge : 0));
}

void clock_end(Op *op) {
    const Copy *copy = op->work.kind == COPY ? &op->work.copy : NULL;
    double cost = (op->exec ? emu.cost.node : 0)
                + (copy ? emu.cost.copy + emu.cost.per_byte * (double)(copy->bytes * copy->rows) : 0);
    later(&op->clock_end, op->clock_begin + cost);
    later(&emu.clock, op->clock_end);
}

/* A thread has seen that it is done. */
static void clock_seen(const Op *op) { later(&emu.host_clock, op->clock_end); }

/* ---- From its beginning to its end ---- */

static void *work_on(void *unused);
static void *call_host_functions(void *unused);

static void start_thread(void *(*body)(void *)) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, body, NULL)) abort();
    pthread_attr_destroy(&attributes);
}

static void make_ready(Op *op) {
    if (ready_end == ready_room) {
        if (ready_first) {
            memmove(ready, ready + ready_first, (ready_end - ready_first) * sizeof *ready);
            ready_end -= ready_first;
            ready_first = 0;
        }
        if (2 * ready_end >= ready_room) {
            ready_room = ready_room ? 2 * ready_room : 256;
            ready = realloc(ready, ready_room * sizeof *ready);
        }
    }
    ready[ready_end++] = op;
    __atomic_store_n(&ready_number, (int)(ready_end - ready_first), __ATOMIC_RELEASE);
    /* The conducting thread takes the next operation, too. */
    if (emu.paused || conducting || ready_number <= looking_out) return;
    if (idle_workers) pthread_cond_signal(&work_there);
    else if (workers < emu.workers) {
        workers++;
        start_thread(work_on);
    }
}

void begin_late_copies(void) {
    Op *op;
    while ((op = pop(&late))) make_ready(op);
}

static void make_host_ready(Op *op) {
    push(&host_ready, op);
    if (idle_host_workers) pthread_cond_signal(&host_work_there);
    else {
        host_workers++;
        start_thread(call_host_functions);
    }
}

static List unsettled; /* begun or ended, and not yet dealt with */
static int settling;

static void end_op(Op *op, int error) {
    note_change();
    op->error = error;
    op->done = 1;
    op->ended = now_us();
    clock_end(op);
    Context *context = op->work.context;
    context->pending--;
    if (op->work.kind == LAUNCH) count_launch(op->work.exec, context, -1);
    for (int n = 0; n < op->nexts; n++) {
        order_after(op->next[n], op);
        if (!op->next[n]->inherited) op->next[n]->inherited = error;
        clock_behind(op->next[n], op);
        if (!--op->next[n]->waits) push(&unsettled, op->next[n]);
    }
    op->nexts = 0;
    if (waiters) pthread_cond_broadcast(&something_done);
    drop(op);
}

/* Lets hanging operations of a device go on, because an error ends them. */
static void end_hung_of(int index) {
    List all = hung;
    hung = (List){NULL, NULL};
    Op *op;
    while ((op = pop(&all))) {
        if (op->work.context->index == index) {
            op->fate = HEALTHY;
            push(&unsettled, op);
        } else {
            push(&hung, op);
        }
    }
}

/* An operation of the context failed, which breaks its device for the whole process. */
static void break_context(Context *context, int error) {
    if (!context->sticky) context->sticky = error;
    if (error == CONTEXT_IS_DESTROYED || context->device->broken) return;
    context->device->broken = error;
    end_hung_of(context->index);
    if (waiters) pthread_cond_broadcast(&something_done);
}

/* After work that was carried out, or that failed. What only waited for failed work breaks nothing. */
static void end(Op *op, int error) {
    if (op->run) end_run(op, conducting);
    begun_kernels -= op->is_begun;
    op->is_begun = 0;
    Context *context = op->work.context;
    if (error && !op->inherited) break_context(context, error);
    if (!op->exec) {
        end_op(op, error);
        return;
    }
    Op *launch = end_node(op, error);
    if (launch) end_op(launch, launch->error);
}

static void settle_one(Op *op) {
    Work *work = &op->work;
    int error = closing ? CONTEXT_IS_DESTROYED : usable(work->context);
    if (!error && op->fate == LOSE && !op->inherited) {
        lose_device(op->fate_device, op->fate_code);
        op->fate = HEALTHY;
        error = usable(work->context);
    }
    if (!error && op->inherited) {
        if (!emu.failed_work_errors) {
            push(&stranded, op);
            return;
        }
        error = op->inherited;
    }
    if (work->kind == HOST && work->host.callback && !closing) {
        op->fate_code = error;
        make_host_ready(op);
    } else if (error) {
        end(op, error);
    } else if (op->fate == HANG) {
        push(&hung, op);
    } else if (work->kind == MARK) {
        end(op, OK);
    } else if (work->kind == RECORD) {
        record_now(op);
        end(op, OK);
    } else if (work->kind == WAIT) {
        if (!op->waited) {
            op->waited = 1;
            depend(op, work->event->op);
        }
        if (!op->waits) end(op, OK);
    } else if (work->kind == HOST && !work->host.own) {
        make_host_ready(op);
    } else if (is_late(op) && !op->nexts) {
        push(&late, op);
    } else {
        make_ready(op);
    }
}

static void settle(void) {
    if (settling) return;
    settling++;
    Op *op;
    while ((op = pop(&unsettled))) settle_one(op);
    settling--;
}

void begin(Op *op) {
    push(&unsettled, op);
    settle();
}

static void finish(Op *op, int error) {
    settling++; /* what this ends must not begin others in the middle of it */
    end(op, error);
    settling--;
    settle();
}

/* Puts the chosen one of what is ready first. */
static Op *take_at(size_t chosen) {
    Op *op = ready[chosen];
    ready[chosen] = ready[ready_first];
    ready[ready_first] = op;
    __atomic_store_n(&ready_number, (int)(ready_end - ready_first - 1), __ATOMIC_RELEASE);
    return ready[ready_first++];
}

/* While a seed interleaves what runs: one operation goes on for some steps, then another one is chosen. */
static Op *take_interleaved(void) {
    static const Op *last;
    static uint64_t turns;
    static unsigned session;
    if (session != emu.session) turns = 0;
    session = emu.session;
    for (size_t r = ready_first; turns && r < ready_end; r++) {
        if (ready[r] != last) continue;
        turns--;
        return take_at(r);
    }
    turns = chance(1ULL << chance(7));
    last = ready[ready_first + chance(ready_end - ready_first)];
    for (size_t r = ready_first;; r++) {
        if (ready[r] == last) return take_at(r);
    }
}

static Op *take(void) {
    if (emu.interleave) return take_interleaved();
    if (emu.shuffle) {
        return take_at(ready_first + random_number() % (ready_end - ready_first));
    }
    return take_at(ready_first);
}

/* Waking a thread costs its waker more than a launch may cost, so that one thread looks out for work for a while. */
static void look_out(void) {
    looking_out = 1;
    pthread_mutex_unlock(&emu.lock);
    double since = now_us();
    while (!__atomic_load_n(&ready_number, __ATOMIC_ACQUIRE) && now_us() - since < LOOK_OUT_US) sched_yield();
    pthread_mutex_lock(&emu.lock);
    looking_out = 0;
}

/* Without the lock. */
static CUresult carry_out(Op *op) {
    switch (op->work.kind) {
        case COPY: return carry_out_copy(op);
        case FILL: return carry_out_fill(op);
        case KERNEL: return carry_out_kernel(op);
        case HOST: op->work.host.own(op->work.host.data); return OK;
        default: return UNKNOWN;
    }
}

static void *work_on(void *unused) {
    (void)unused;
    pthread_mutex_lock(&emu.lock);
    for (;;) {
        if (!emu.paused && !looking_out && ready_first == ready_end) look_out();
        while (emu.paused || closing || ready_first == ready_end || conducting) {
            idle_workers++;
            pthread_cond_wait(&work_there, &emu.lock);
            idle_workers--;
        }
        Op *op = take();
        int error = usable(op->work.context);
        if (error || op->fate == FAIL) {
            finish(op, error ? error : op->fate_code);
        } else if (op->work.kind == LAUNCH) {
            settling++;
            Op *done = begin_graph(op);
            if (done) end_op(done, OK);
            settling--;
            settle();
        } else {
            running++;
            conducting = emu.interleave;
            op->began = now_us();
            if (op->work.kind == KERNEL && !op->is_begun) {
                op->is_begun = 1;
                begun_kernels++;
            }
            pthread_mutex_unlock(&emu.lock);
            error = carry_out(op);
            int polls = error == UNFINISHED && op->work.kind == KERNEL && op->only_polls && !emu.interleave;
            if (polls && __atomic_load_n(&turns_of_polls, __ATOMIC_RELAXED) >= TURNS_OF_POLLS) usleep(POLL_PAUSE_US);
            else if (error == UNFINISHED && shares_memory()) sched_yield();
            pthread_mutex_lock(&emu.lock);
            turns_of_polls = polls ? turns_of_polls + (turns_of_polls < TURNS_OF_POLLS) : 0;
            running--;
            if (waiters && (error != UNFINISHED || closing)) pthread_cond_broadcast(&something_done);
            counters.steps += emu.interleave;
            if (!polls) note_change();
            if (error == HELD_UP && !closing) {
                op->fate = HANG;
                push(&hung, op);
            } else if (error == UNFINISHED && !closing) {
                make_ready(op);
                if (polls) look_for_deadlock(op);
            } else {
                finish(op, error < 0 ? CONTEXT_IS_DESTROYED : error);
            }
            conducting = 0;
            free_ended_runs(); /* what end_run left while this thread conducted */
        }
    }
    return NULL;
}

/* Host functions may block, so that each finds a thread. */
static void *call_host_functions(void *unused) {
    (void)unused;
    pthread_mutex_lock(&emu.lock);
    for (;;) {
        while (!host_ready.first) {
            idle_host_workers++;
            pthread_cond_wait(&host_work_there, &emu.lock);
            idle_host_workers--;
        }
        Op *op = pop(&host_ready);
        counters.hosts++;
        running++;
        Host host = op->work.host;
        int status = op->fate_code;
        pthread_mutex_unlock(&emu.lock);
        if (host.callback) host.callback(host.stream, status, host.data);
        else host.function(host.data);
        pthread_mutex_lock(&emu.lock);
        running--;
        finish(op, host.callback ? status : OK);
    }
    return NULL;
}

/* ---- Waiting ---- */

static __thread int call_waited; /* the call of this thread */

static void wait_for_anything(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    waiters++;
    pthread_cond_timedwait(&something_done, &emu.lock, &until);
    waiters--;
}

int wait_a_while(const char *what, double since) {
    if (closing) return 0;
    if (emu.patience && now_us() - since > 1e6 * emu.patience) {
        problem("%s waited %d seconds in vain", what, emu.patience);
        return 0;
    }
    if (!call_waited) waiting_calls++;
    call_waited = 1;
    wait_for_anything();
    return 1;
}

void waited(void) {
    if (!call_waited) return;
    call_waited = 0;
    waiting_calls--;
    if (closing) pthread_cond_broadcast(&something_done);
}

CUresult wait_for(Op *op) {
    CUresult result = OK;
    double since = now_us();
    if (is_late(op)) begin_late_copies();
    keep(op);
    while (!op->done && !result) {
        result = usable(op->work.context);
        if (!result && !wait_a_while("a thread", since)) result = LAUNCH_TIMEOUT;
    }
    if (op->done) {
        result = op->error;
        order_host(op);
        clock_seen(op);
    }
    drop(op);
    return result;
}

CUresult wait_for_context(Context *context) {
    double since = now_us();
    begin_late_copies();
    while (context->pending > 0 && !usable(context)) {
        if (!wait_a_while("a thread", since)) return LAUNCH_TIMEOUT;
    }
    order_host(context->standard->last);
    for (const Stream *stream = context->streams; stream; stream = stream->next) order_host(stream->last);
    return usable(context);
}

static void join_coupled(Context *context, unsigned char *joined) {
    if (joined[context->index]) return;
    joined[context->index] = 1;
    for (Context *other = emu.contexts; other; other = other->next) {
        int is_joined = 0;
        for (int p = 0; p < context->peer_count; p++) is_joined |= context->peers[p] == other;
        for (int p = 0; p < other->peer_count; p++) is_joined |= other->peers[p] == context;
        if (is_joined && !other->destroyed) join_coupled(other, joined);
    }
}

CUresult wait_for_coupled(Context *context) {
    if (!emu.coupled) return OK;
    unsigned char joined[MOST_DEVICES] = {0};
    join_coupled(context, joined);
    for (Context *other = emu.contexts; other; other = other->next) other->held += joined[other->index];
    CUresult result = OK;
    double since = now_us();
    begin_late_copies();
    for (Context *other = emu.contexts; other && !result; other = other->next) {
        while (joined[other->index] && emu.coupled && other->pending > 0 && !usable(other) && !result) {
            if (!wait_a_while("a thread", since)) result = LAUNCH_TIMEOUT;
        }
    }
    for (Context *other = emu.contexts; other; other = other->next) other->held -= joined[other->index];
    if (waiters) pthread_cond_broadcast(&something_done);
    return result;
}

/* ---- What tests do to work ---- */

void resume_work(void) {
    emu.paused = 0;
    for (size_t r = ready_first; r < ready_end && workers < emu.workers; r++) {
        workers++;
        start_thread(work_on);
    }
    pthread_cond_broadcast(&work_there);
}

int64_t count_hung(void) {
    int64_t number = 0;
    for (const Op *op = hung.first; op; op = op->queue) number++;
    return number;
}

/* Ends what hangs with the code; with 0 it goes on. */
void run_hung(int code) {
    List all = hung;
    hung = (List){NULL, NULL};
    Op *op;
    while ((op = pop(&all))) {
        op->fate = HEALTHY;
        if (code) finish(op, code);
        else begin(op);
    }
}

void lose_device(int index, int code) {
    if (index < 0 || index >= emu.devices) return;
    emu.device[index].lost = code;
    end_hung_of(index);
    if (waiters) pthread_cond_broadcast(&something_done);
    settle();
}

/* Ends all work. */
void quiesce(void) {
    closing = 1;
    while (conducting) wait_for_anything();
    begin_late_copies();
    while (ready_first != ready_end) {
        Op *op = take();
        op->work.kind == LAUNCH ? end_op(op, CONTEXT_IS_DESTROYED) : finish(op, CONTEXT_IS_DESTROYED);
        settle();
    }
    run_hung(CONTEXT_IS_DESTROYED);
    Op *op;
    while ((op = pop(&stranded))) finish(op, CONTEXT_IS_DESTROYED);
    if (waiters) pthread_cond_broadcast(&something_done);
    while (running || host_ready.first || waiting_calls) wait_for_anything();
    free_ended_runs();
    closing = 0;
}

/* ---- Streams ---- */

CUresult stream_of(Handle handle, Stream **stream) {
    Context *context;
    if (handle <= 2) { /* the default streams */
        CUresult code = current(&context);
        if (code) return code;
        *stream = context->standard;
        return OK;
    }
    *stream = find_object(handle, STREAM);
    return *stream ? usable((*stream)->context) : INVALID_HANDLE;
}

static int is_blocking(const Stream *stream) { return !(stream->flags & 1); }

/* The default stream depends on the blocking streams of its context, none of which may be captured then. */
static CUresult check_implicit(const Stream *stream) {
    const Context *context = stream->context;
    for (const Stream *other = context->streams; stream == context->standard && other; other = other->next) {
        if (is_blocking(other) && other->capture) return CAPTURE_IMPLICIT;
    }
    return OK;
}

CUresult submit(Stream *stream, const Work *work, Op **result) {
    Context *context = stream->context;
    if (stream->capture) {
        if (result) *result = NULL;
        return capture_work(stream, work);
    }
    int code = usable(context);
    double since = now_us();
    int is_held = context->held > 0;
    context->held_launches += is_held;
    while (!code && context->held && emu.coupled) code = wait_a_while("a launch", since) ? usable(context) : LAUNCH_TIMEOUT;
    context->held_launches -= is_held;
    if (code) return code;
    code = check_implicit(stream);
    if (code) return code;
    Op *op = new_op(work);
    op->work.context = context;
    op->waits = 1;
    order_begin(op);
    if (work->kind != MARK && work->kind != HOST) emu.host_clock += emu.cost.launch;
    op->clock_begin = emu.host_clock;
    depend(op, stream->last);
    if (stream == context->standard) {
        for (Stream *other = context->streams; other; other = other->next) {
            if (is_blocking(other)) depend(op, other->last);
        }
    } else if (is_blocking(stream)) {
        depend(op, context->standard->last);
    }
    drop(stream->last);
    stream->last = op;
    keep(op);
    if (result) {
        *result = op;
        keep(op);
    }
    context->pending++;
    if (work->kind == LAUNCH) {
        follow_launch(work->exec, op);
        count_launch(work->exec, context, 1);
    }
    decide_fate(op);
    if (!--op->waits) begin(op);
    return OK;
}

static CUresult create_stream(Handle *handle, unsigned flags, int priority) {
    Context *context;
    CUresult code = current(&context);
    if (code) return code;
    if (!handle || flags > 1) return INVALID_VALUE;
    static uint64_t ids = 16;
    Stream *stream = calloc(1, sizeof *stream);
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority < -5 ? -5 : priority > 0 ? 0 : priority;
    stream->id = ids++;
    stream->next = context->streams;
    context->streams = stream;
    add_object(&stream->object, STREAM);
    *handle = stream->object.handle;
    return OK;
}

API CUresult cuStreamCreate(Handle *stream, unsigned flags) {
    ENTER();
    LEAVE(create_stream(stream, flags, 0));
}

API CUresult cuStreamCreateWithPriority(Handle *stream, unsigned flags, int priority) {
    ENTER();
    LEAVE(create_stream(stream, flags, priority));
}

API CUresult cuStreamDestroy_v2(Handle handle) {
    ENTER();
    Stream *stream = handle > 2 ? find_object(handle, STREAM) : NULL;
    CHECK(stream, INVALID_HANDLE);
    free_object(&stream->object);
    LEAVE(OK);
}

API CUresult cuStreamQuery(Handle handle) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    CHECK(!stream->capture, (spoil_capture(stream->capture), CAPTURE_UNSUPPORTED));
    TRY(unsafe_call());
    TRY(check_implicit(stream));
    if (stream->last && is_late(stream->last)) begin_late_copies();
    CHECK(!stream->last || stream->last->done, NOT_READY);
    if (!stream->last) LEAVE(OK);
    order_host(stream->last);
    clock_seen(stream->last);
    LEAVE(stream->last->error);
}

API CUresult cuStreamSynchronize(Handle handle) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    CHECK(!stream->capture, (spoil_capture(stream->capture), CAPTURE_UNSUPPORTED));
    Context *context = stream->context;
    if (stream == context->standard) {
        TRY(check_implicit(stream));
        /* The default stream waits for the others of its context. */
        Op *op;
        TRY(submit(stream, &MARKING, &op));
        CUresult code = wait_for(op);
        drop(op);
        TRY(code);
    } else if (stream->last) {
        TRY(wait_for(stream->last));
    }
    LEAVE(usable(context));
}

API CUresult cuStreamGetPriority(Handle handle, int *priority) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    CHECK(priority, INVALID_VALUE);
    *priority = stream->priority;
    LEAVE(OK);
}

API CUresult cuStreamGetFlags(Handle handle, unsigned *flags) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    CHECK(flags, INVALID_VALUE);
    *flags = stream->flags;
    LEAVE(OK);
}

API CUresult cuStreamGetId(Handle handle, unsigned long long *id) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    CHECK(id, INVALID_VALUE);
    *id = stream->id;
    LEAVE(OK);
}

API CUresult cuStreamGetCtx(Handle handle, Handle *context) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    CHECK(context, INVALID_VALUE);
    *context = stream->context->object.handle;
    LEAVE(OK);
}

API CUresult cuStreamAddCallback(Handle handle, StreamCallback callback, void *data, unsigned flags) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    CHECK(callback && !flags, INVALID_VALUE);
    CHECK(!stream->capture, (spoil_capture(stream->capture), CAPTURE_UNSUPPORTED));
    Host host = {.callback = callback, .stream = handle, .data = data};
    LEAVE(submit(stream, &(Work){.kind = HOST, .host = host}, NULL));
}

API CUresult cuLaunchHostFunc(Handle handle, HostFunction function, void *data) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    CHECK(function, INVALID_VALUE);
    LEAVE(submit(stream, &(Work){.kind = HOST, .host = {.function = function, .data = data}}, NULL));
}

/* ---- Events ---- */

#define EVENT_OF(event, handle) \
    Event *event = find_object(handle, EVENT); \
    CHECK(event, INVALID_HANDLE)

enum { EVENT_BLOCKING_SYNC = 1, EVENT_NO_TIMING = 2, EVENT_INTERPROCESS = 4, EVENT_EXTERNAL = 1 };

static void set_event(Event *event, Op *op) {
    forget_capture(event);
    drop(event->op);
    event->op = op;
}

/* By a node of a graph. */
void record_now(Op *by) {
    Event *event = by->work.event;
    Op *op = new_op(&(Work){.kind = MARK, .context = event->context});
    order_node(op, by);
    order_after(op, by);
    op->done = 1;
    op->ended = now_us();
    clock_end(by);
    op->clock_end = by->clock_end;
    set_event(event, op);
}

API CUresult cuEventCreate(Handle *handle, unsigned flags) {
    ENTER();
    Context *context;
    TRY(current(&context));
    CHECK(handle && flags < 8 && (!(flags & EVENT_INTERPROCESS) || flags & EVENT_NO_TIMING), INVALID_VALUE);
    CHECK(!(flags & EVENT_INTERPROCESS), NOT_SUPPORTED);
    Event *event = calloc(1, sizeof *event);
    event->context = context;
    event->flags = flags;
    add_object(&event->object, EVENT);
    *handle = event->object.handle;
    LEAVE(OK);
}

API CUresult cuEventDestroy_v2(Handle handle) {
    ENTER();
    EVENT_OF(event, handle);
    free_object(&event->object);
    LEAVE(OK);
}

static CUresult record(Handle handle, Handle stream_handle, unsigned flags) {
    Event *event = find_object(handle, EVENT);
    if (!event) return INVALID_HANDLE;
    Stream *stream;
    CUresult code = stream_of(stream_handle, &stream);
    if (code) return code;
    if (event->context != stream->context) return INVALID_HANDLE;
    if (flags > EVENT_EXTERNAL) return INVALID_VALUE;
    if (stream->capture) {
        return flags ? capture_work(stream, &(Work){.kind = RECORD, .event = event}) : capture_record(stream, event);
    }
    if (flags) return INVALID_VALUE;
    Op *op;
    code = submit(stream, &MARKING, &op);
    if (!code) set_event(event, op);
    return code;
}

API CUresult cuEventRecord(Handle event, Handle stream) {
    ENTER();
    LEAVE(record(event, stream, 0));
}

API CUresult cuEventRecordWithFlags(Handle event, Handle stream, unsigned flags) {
    ENTER();
    LEAVE(record(event, stream, flags));
}

API CUresult cuEventQuery(Handle handle) {
    ENTER();
    EVENT_OF(event, handle);
    CHECK(!event->capture, CAPTURED_EVENT);
    TRY(unsafe_call());
    TRY(usable(event->context));
    CHECK(!event->op || event->op->done, NOT_READY);
    if (!event->op) LEAVE(OK);
    order_host(event->op);
    clock_seen(event->op);
    LEAVE(event->op->error);
}

API CUresult cuEventSynchronize(Handle handle) {
    ENTER();
    EVENT_OF(event, handle);
    CHECK(!event->capture, CAPTURED_EVENT);
    Context *context = event->context;
    if (event->op) TRY(wait_for(event->op));
    LEAVE(usable(context));
}

API CUresult cuEventElapsedTime(float *milliseconds, Handle start_handle, Handle end_handle) {
    ENTER();
    EVENT_OF(start, start_handle);
    EVENT_OF(end, end_handle);
    CHECK(milliseconds, INVALID_VALUE);
    TRY(usable(start->context));
    CHECK(start->context == end->context && start->op && end->op, INVALID_HANDLE);
    CHECK(!((start->flags | end->flags) & EVENT_NO_TIMING), INVALID_HANDLE);
    CHECK(start->op->done && end->op->done, NOT_READY);
    *milliseconds = (float)((end->op->ended - start->op->ended) / 1e3);
    LEAVE(OK);
}

API CUresult cuStreamWaitEvent(Handle handle, Handle event_handle, unsigned flags) {
    ENTER();
    Stream *stream;
    TRY(stream_of(handle, &stream));
    EVENT_OF(event, event_handle);
    CHECK(flags <= EVENT_EXTERNAL, INVALID_VALUE);
    if (flags) {
        CHECK(stream->capture, INVALID_VALUE);
        LEAVE(capture_work(stream, &(Work){.kind = WAIT, .event = event}));
    }
    if (event->capture || stream->capture) LEAVE(capture_wait(stream, event));
    TRY(usable(event->context));
    if (!event->op || emu.waits_lost) LEAVE(OK);
    Op *op = new_op(&(Work){.kind = MARK, .context = stream->context});
    op->waits = 1;
    order_begin(op);
    depend(op, stream->last);
    depend(op, event->op);
    if (is_blocking(stream)) depend(op, stream->context->standard->last);
    drop(stream->last);
    stream->last = op;
    keep(op);
    stream->context->pending++;
    if (!--op->waits) begin(op);
    LEAVE(OK);
}

/* ---- Ends ---- */

static void free_stream(Stream *stream) {
    if (stream->capture) leave_capture(stream);
    for (Stream **place = &stream->context->streams; *place; place = &(*place)->next) {
        if (*place != stream) continue;
        *place = stream->next;
        break;
    }
    drop(stream->last);
    free(stream->tail);
    free(stream);
}

void free_object(Object *object) {
    remove_object(object);
    switch (object->kind) {
        case STREAM: free_stream((Stream *)object); break;
        case EVENT: set_event((Event *)object, NULL); free(object); break;
        case MODULE: free_module(object); break;
        case GRAPH: free_graph((Graph *)object); break;
        case EXEC: free_exec((Exec *)object); break;
        case POOL: free_pool(object); break;
        case BACKING: free_backing(object); break;
        case MULTICAST: free_multicast(object); break;
        case CONTEXT: case FUNCTION: case NODE: break; /* they end with others */
    }
}
