#include "race.h"

enum { MOST_PENDING = 256, MOST_REPORTED_RACES = 8, MOST_CHUNKS = 4096, CHUNK = 1024, PAGE = 1024, CLOCKS_AT_ONCE = 128 };

struct Knowledge {
    int refs; /* changed by several threads */
    int words, clocks;
    uint64_t *ops; /* a bit for each operation that has ended */
    int *clock; /* of each thread, by its slot */
};

/* The origin of an access: a thread of a kernel, by its slot, or an operation as a whole, whose slot is -1. */
typedef struct {
    int op, slot;
    int clock;
    unsigned short line;
    unsigned char strong; /* 0 for a weak access, else 1 + scope */
} Access;

/* An access that is neither the last write nor the last read, but that a later access may race with. */
typedef struct {
    Access access;
    int writes;
} Older;

/* Older accesses side by side, for a flag has one of each thread that polls it; bytes of a word share them. */
typedef struct {
    int refs, count, room;
    Older at[];
} Olders;

/* The accesses that a byte of memory remembers. */
typedef struct {
    Access write, read;
    unsigned char is_written, is_read;
    Olders *older; /* or NULL */
    Knowledge *released[3]; /* by the write that memory holds, by scope */
    Access releaser; /* who wrote that */
} Shadow;

/* The shadows of an allocation, by pages of its bytes; NULL for pages that nothing has touched. */
struct Shadows {
    uint64_t pages;
    Shadow *page[];
};

/* An operation that was given a number. */
typedef struct {
    const char *kernel; /* or NULL */
    int device, first_slot, threads_of_block;
} Actor;

/* A store that others may not see yet. */
typedef struct {
    unsigned char *at;
    uint64_t value;
    unsigned bytes;
    int op, slot, device;
    int clock;
    int is_on_device; /* all threads of the device see it */
    Knowledge *released[3];
} Pending;

static Actor *chunks[MOST_CHUNKS]; /* which never move, as they are read without the lock */
static int actor_count;
static int slots;
static Knowledge *host;
static Pending pending[MOST_PENDING];
static int pending_count;
static uint64_t state;
static int reported_races;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

uint64_t chance(uint64_t of) { return next_random() % of; }

/* ---- Knowledge ---- */

static int greater(int a, int b) { return a > b ? a : b; }

static Knowledge *new_knowledge(int words, int clocks) {
    Knowledge *knowledge = calloc(1, sizeof *knowledge);
    knowledge->refs = 1;
    knowledge->words = words;
    knowledge->clocks = clocks;
    knowledge->ops = calloc((size_t)words + 1, sizeof *knowledge->ops);
    knowledge->clock = calloc((size_t)clocks + 1, sizeof *knowledge->clock);
    return knowledge;
}

static Knowledge *hold(Knowledge *knowledge) {
    if (knowledge) __atomic_add_fetch(&knowledge->refs, 1, __ATOMIC_RELAXED);
    return knowledge;
}

void forget(Knowledge **place) {
    Knowledge *knowledge = *place;
    *place = NULL;
    if (!knowledge || __atomic_sub_fetch(&knowledge->refs, 1, __ATOMIC_ACQ_REL)) return;
    free(knowledge->ops);
    free(knowledge->clock);
    free(knowledge);
}

/* Adds to what nobody else holds; it must be long enough. */
static void add_all(Knowledge *to, const Knowledge *from) {
    for (int w = 0; w < from->words; w++) to->ops[w] |= from->ops[w];
    for (int c = 0; c < from->clocks; c++) to->clock[c] = to->clock[c] < from->clock[c] ? from->clock[c] : to->clock[c];
}

/*
 * Returns whether one of some clocks is ahead of the same one of others. The inner loop has no early exit, so that the
 * compiler makes vectors of it.
 */
static int is_ahead(const int *a, const int *b, int clocks) {
    int ahead = 0;
    for (int begin = 0; begin < clocks && !ahead; begin += CLOCKS_AT_ONCE) {
        int end = clocks - begin < CLOCKS_AT_ONCE ? clocks : begin + CLOCKS_AT_ONCE;
        for (int c = begin; c < end; c++) ahead |= a[c] > b[c];
    }
    return ahead;
}

static int includes(const Knowledge *a, const Knowledge *b) {
    if (b->words > a->words || b->clocks > a->clocks) return 0;
    for (int w = 0; w < b->words; w++) if (b->ops[w] & ~a->ops[w]) return 0;
    return !is_ahead(b->clock, a->clock, b->clocks);
}

/* Adds to what may be held by others. */
static void learn(Knowledge **place, Knowledge *more) {
    Knowledge *old = *place;
    if (!more || old == more || (old && includes(old, more))) return;
    if (!old || includes(more, old)) {
        hold(more);
        forget(place);
        *place = more;
        return;
    }
    Knowledge *both = new_knowledge(greater(old->words, more->words), greater(old->clocks, more->clocks));
    add_all(both, old);
    add_all(both, more);
    forget(place);
    *place = both;
}

static void learn_op(Knowledge **place, int op) {
    Knowledge *old = *place;
    int words = op / 64 + 1;
    if (old && op / 64 < old->words && old->ops[op / 64] >> op % 64 & 1) return;
    Knowledge *more = new_knowledge(greater(words, old ? old->words : 0), old ? old->clocks : 0);
    if (old) add_all(more, old);
    more->ops[op / 64] |= 1ULL << op % 64;
    forget(place);
    *place = more;
}

/* ---- Operations ---- */

static Actor *actor(int op) { return &chunks[op / CHUNK][op % CHUNK]; }

static int new_actor(const Op *op) {
    if (actor_count == MOST_CHUNKS * CHUNK) {
        problem("more than %d operations since the last command to interleave", actor_count);
        actor_count = 0;
    }
    Actor **chunk = &chunks[actor_count / CHUNK];
    if (!*chunk) *chunk = calloc(CHUNK, sizeof **chunk);
    *actor(actor_count) = (Actor){.device = op->work.context ? op->work.context->index : -1, .first_slot = -1};
    return actor_count++;
}

void order_begin(Op *op) {
    if (!emu.interleave) return;
    op->id = new_actor(op);
    op->session = emu.session;
    forget(&op->known);
    op->known = hold(host);
}

void order_node(Op *node, const Op *launch) {
    if (!emu.interleave) return;
    node->id = new_actor(node);
    node->session = emu.session;
    forget(&node->known);
    if (launch->session == emu.session) node->known = hold(launch->known);
}

void order_after(Op *op, const Op *before) {
    if (!emu.interleave || op->session != emu.session || before->session != emu.session) return;
    learn(&op->known, before->known);
    learn_op(&op->known, before->id);
}

/* Lets the work behind a kernel know what the threads of the kernel have learned from those of others. */
void order_threads(Op *op) {
    const Run *run = op->run;
    if (!run || !run->threads || op->session != emu.session) return;
    const Knowledge *last = NULL;
    for (int t = 0; t < run->thread_count; t++) {
        Knowledge *known = run->threads[t].known;
        if (known && known != last) learn(&op->known, known);
        last = known;
    }
}

void order_host(const Op *ended) {
    if (!emu.interleave || !ended || ended->session != emu.session) return;
    learn(&host, ended->known);
    learn_op(&host, ended->id);
}

void forget_order(Op *op) { forget(&op->known); }

/* ---- Accesses ---- */

static int block_of(const Access *access) {
    const Actor *by = actor(access->op);
    return by->threads_of_block ? (access->slot - by->first_slot) / by->threads_of_block : -1;
}

/* Returns the distance of two threads: of one block, of one device, or neither. */
static Scope distance(const Access *a, const Access *b) {
    if (a->op == b->op && a->slot >= 0 && b->slot >= 0 && block_of(a) == block_of(b)) return OF_BLOCK;
    return actor(a->op)->device == actor(b->op)->device ? OF_DEVICE : OF_SYSTEM;
}

static int happened_before(const Access *before, const Access *now, const Knowledge *known) {
    if (before->op == now->op && before->slot == now->slot) return 1;
    if (!known) return 0;
    if (before->op / 64 < known->words && known->ops[before->op / 64] >> before->op % 64 & 1) return 1;
    return before->slot >= 0 && before->slot < known->clocks && before->clock <= known->clock[before->slot];
}

static int are_strong(const Access *a, const Access *b) {
    Scope apart = distance(a, b);
    return a->strong > (int)apart && b->strong > (int)apart;
}

static void describe(const Access *access, char *text, size_t room) {
    const Actor *by = actor(access->op);
    if (access->slot < 0) snprintf(text, room, "a copy or fill by device %d (operation %d)", by->device, access->op);
    else snprintf(text, room, "%s on device %d, line %d, block %d, thread %d (operation %d)", by->kernel, by->device,
                  access->line, block_of(access), (access->slot - by->first_slot) % by->threads_of_block, access->op);
}

static void report_race(const Access *before, const Access *now, const void *at, int before_writes, int now_writes) {
    char first[200], second[200];
    pthread_mutex_lock(&emu.lock);
    counters.races++;
    if (reported_races++ < MOST_REPORTED_RACES) {
        describe(before, first, sizeof first);
        describe(now, second, sizeof second);
        problem("a race at %p: %s %s, and %s %s", at, first, before_writes ? "writes" : "reads", second,
                now_writes ? "writes" : "reads");
    }
    pthread_mutex_unlock(&emu.lock);
}

/*
 * Returns whether whatever races with an access that happened before also races with a later one, so that the earlier
 * one may be forgotten.
 */
static int is_covered(const Access *before, int before_writes, const Access *now, int now_writes) {
    return (now_writes || !before_writes) && now->strong <= before->strong;
}

static void free_older(Shadow *shadow) {
    if (shadow->older && !--shadow->older->refs) free(shadow->older);
    shadow->older = NULL;
}

/* Lets a byte alone have its older accesses, with room for one more. */
static void own_older(Shadow *shadow) {
    Olders *old = shadow->older;
    int count = old ? old->count : 0;
    if (old && old->refs == 1 && count < old->room) return;
    int room = greater(4, 2 * count);
    Olders *own = malloc(sizeof *own + (size_t)room * sizeof *own->at);
    own->refs = 1;
    own->count = count;
    own->room = room;
    if (count) memcpy(own->at, old->at, (size_t)count * sizeof *own->at);
    free_older(shadow);
    shadow->older = own;
}

static void keep_older(Shadow *shadow, const Access *access, int writes) {
    own_older(shadow);
    shadow->older->at[shadow->older->count++] = (Older){*access, writes};
}

/* Returns whether there is a race. */
static int note_access(Shadow *shadow, const Access *now, int writes, const Knowledge *known, const void *at) {
    const Access *with = NULL;
    Access raced;
    int with_writes = 1;
    int write_was_before = shadow->is_written && happened_before(&shadow->write, now, known);
    int read_was_before = shadow->is_read && happened_before(&shadow->read, now, known);
    if (shadow->is_written && !write_was_before && !are_strong(&shadow->write, now)) with = &shadow->write;
    if (!with && writes && shadow->is_read && !read_was_before && !are_strong(&shadow->read, now)) {
        with = &shadow->read;
        with_writes = 0;
    }
    if (shadow->older) own_older(shadow);
    Older *all = shadow->older ? shadow->older->at : NULL;
    int count = shadow->older ? shadow->older->count : 0;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const Older *older = &all[i];
        int was_before = happened_before(&older->access, now, known);
        if (was_before && is_covered(&older->access, older->writes, now, writes)) continue;
        if (!with && (writes || older->writes) && !was_before && !are_strong(&older->access, now)) {
            raced = older->access;
            with = &raced;
            with_writes = older->writes;
        }
        if (kept < i) all[kept] = *older;
        kept++;
    }
    if (all) shadow->older->count = kept;
    if (with) report_race(with, now, at, with_writes, writes);
    if (writes && read_was_before && is_covered(&shadow->read, 0, now, 1)) shadow->is_read = 0;
    Access *last = writes ? &shadow->write : &shadow->read;
    unsigned char *is_there = writes ? &shadow->is_written : &shadow->is_read;
    int was_before = writes ? write_was_before : read_was_before;
    if (*is_there && !with && !(was_before && is_covered(last, writes, now, writes))) keep_older(shadow, last, writes);
    *last = *now;
    *is_there = 1;
    return with != NULL;
}

static int is_same(const Access *a, const Access *b) {
    return a->op == b->op && a->slot == b->slot && a->clock == b->clock && a->line == b->line && a->strong == b->strong;
}

static int have_same_older(const Olders *a, const Olders *b) {
    if (a == b) return 1;
    int count = a ? a->count : 0;
    return count == (b ? b->count : 0) && (!count || !memcmp(a->at, b->at, (size_t)count * sizeof *a->at));
}

/* Returns whether two bytes remember the same accesses. */
static int are_alike(const Shadow *a, const Shadow *b) {
    return a->is_written == b->is_written && a->is_read == b->is_read
        && (!a->is_written || is_same(&a->write, &b->write)) && (!a->is_read || is_same(&a->read, &b->read))
        && have_same_older(a->older, b->older);
}

static void copy_accesses(Shadow *to, const Shadow *from) {
    to->write = from->write;
    to->read = from->read;
    to->is_written = from->is_written;
    to->is_read = from->is_read;
    to->older = from->older;
    if (to->older) to->older->refs++;
}

/*
 * Notes an access to at most 8 bytes. Most often all of them were accessed together before: those that are like the
 * first one get what that one remembers then, so that nothing is copied. Of others the first race counts.
 */
static void note_all(Shadow *shadow, unsigned bytes, const Access *now, int writes, const Knowledge *known,
                     const unsigned char *at) {
    unsigned alike = 0;
    for (unsigned b = 1; b < bytes; b++) {
        if (!are_alike(&shadow[0], &shadow[b])) continue;
        alike |= 1u << b;
        free_older(&shadow[b]);
    }
    int races = note_access(&shadow[0], now, writes, known, at);
    for (unsigned b = 1; b < bytes; b++) {
        if (alike >> b & 1) copy_accesses(&shadow[b], &shadow[0]);
        else if (!races) races = note_access(&shadow[b], now, writes, known, at + b);
    }
}

void free_shadows(Shadows *shadows) {
    for (uint64_t p = 0; shadows && p < shadows->pages; p++) {
        Shadow *page = shadows->page[p];
        for (int b = 0; page && b < PAGE; b++) {
            free_older(&page[b]);
            for (int s = 0; s < 3; s++) forget(&page[b].released[s]);
        }
        free(page);
    }
    free(shadows);
}

/* The shadow of a byte; those behind it follow, up to the end of its page. */
static Shadow *shadow_of(Shadows **place, uint64_t offset, uint64_t bytes) {
    if (!*place) {
        uint64_t pages = bytes / PAGE + 1;
        *place = calloc(1, sizeof **place + pages * sizeof *(*place)->page);
        (*place)->pages = pages;
    }
    Shadow **page = &(*place)->page[offset / PAGE];
    if (!*page) *page = calloc(PAGE, sizeof **page);
    return *page + offset % PAGE;
}

/* NULL where the driver does not know the memory; *left is how many follow in the page. */
static Shadow *shadows_at(const void *at, uint64_t *left) {
    uint64_t bytes, offset;
    pthread_mutex_lock(&emu.lock);
    Shadows **place = shadow_place((CUdeviceptr)at, &offset, &bytes);
    Shadow *shadow = place ? shadow_of(place, offset, bytes) : NULL;
    pthread_mutex_unlock(&emu.lock);
    *left = place ? PAGE - offset % PAGE : 0;
    return shadow;
}

/* ---- Stores that are on their way ---- */

static void release_pending(Pending *store) {
    for (int s = 0; s < 3; s++) forget(&store->released[s]);
}

static void reach_memory(Pending *store) {
    /* The host may read the word at once, and is taken to have done so before its next call, which needs the lock. */
    pthread_mutex_lock(&emu.lock);
    memcpy(store->at, &store->value, store->bytes);
    if (store->released[OF_SYSTEM] && is_of_host((CUdeviceptr)store->at)) learn(&host, store->released[OF_SYSTEM]);
    pthread_mutex_unlock(&emu.lock);
    uint64_t left;
    Shadow *shadow = shadows_at(store->at, &left);
    for (int s = 0; s < 3 && shadow; s++) {
        forget(&shadow->released[s]);
        shadow->released[s] = hold(store->released[s]);
    }
    if (shadow) shadow->releaser = (Access){.op = store->op, .slot = store->slot};
    release_pending(store);
}

static int overlap(const Pending *a, const unsigned char *at, unsigned bytes) {
    return a->at < at + bytes && at < a->at + a->bytes;
}

/* Writes a store, and those before it that it overlaps, to memory. Returns the index of the one before it now. */
static int apply(int index) {
    for (int p = 0; p < index;) {
        if (overlap(&pending[p], pending[index].at, pending[index].bytes)) {
            reach_memory(&pending[p]);
            memmove(pending + p, pending + p + 1, (size_t)(--pending_count - p) * sizeof *pending);
            index--;
        } else {
            p++;
        }
    }
    reach_memory(&pending[index]);
    memmove(pending + index, pending + index + 1, (size_t)(--pending_count - index) * sizeof *pending);
    return index - 1;
}

/* Stores to the same place stay in order, so that an older one is on the device if a newer one is. */
static void show_to_device(int index) {
    for (int p = 0; p <= index; p++) {
        if (p == index || (pending[p].device == pending[index].device
                           && overlap(&pending[p], pending[index].at, pending[index].bytes))) {
            pending[p].is_on_device = 1;
        }
    }
}

void drain_some(void) {
    if (!pending_count || chance(8)) return;
    int index = (int)chance((uint64_t)pending_count);
    if (!pending[index].is_on_device) show_to_device(index);
    else apply(index);
}

/* All stores that the thread knows of become visible within the scope. */
static void flush(const Access *now, const Knowledge *known, Scope scope) {
    for (int p = 0; p < pending_count; p++) {
        if (scope != OF_SYSTEM && pending[p].is_on_device) continue;
        Access store = {.op = pending[p].op, .slot = pending[p].slot, .clock = pending[p].clock};
        if (!happened_before(&store, now, known)) continue;
        if (scope == OF_SYSTEM) p = apply(p);
        else show_to_device(p);
    }
}

/* A kernel has ended when its stores have arrived, which they do in any order. Returns whether one was left. */
int drain_run(const Run *run) {
    int left = 0;
    for (int p = 0; p < pending_count; p++) left += pending[p].op == run->op;
    if (!left) return 0;
    if (chance(4)) return 1;
    int chosen = (int)chance((uint64_t)left);
    for (int p = 0;; p++) {
        if (pending[p].op != run->op || chosen--) continue;
        apply(p);
        return 1;
    }
}

/* Flushes the stores of an operation, also of a kernel that ends early. */
static void flush_op(int op) {
    for (int p = 0; p < pending_count; p++) {
        if (pending[p].op == op) p = apply(p);
    }
}

static void flush_range(const unsigned char *at, unsigned bytes) {
    for (int p = 0; p < pending_count; p++) {
        if (overlap(&pending[p], at, bytes)) p = apply(p);
    }
}

/* ---- Threads ---- */

void begin_threads(Run *run) {
    Actor *self = actor(run->op);
    const unsigned *block = run->launch->block;
    self->kernel = run->kernel->name;
    self->threads_of_block = (int)(block[0] * block[1] * block[2]);
    self->first_slot = run->first_slot = slots;
    run->thread_count = (int)run->blocks * self->threads_of_block;
    slots += run->thread_count;
    run->threads = calloc((size_t)run->thread_count, sizeof *run->threads);
}

void end_threads(Run *run) {
    flush_op(run->op);
    for (int t = 0; t < run->thread_count; t++) {
        Thread *thread = &run->threads[t];
        forget(&thread->known);
        for (int s = 0; s < 3; s++) {
            forget(&thread->fenced[s]);
            forget(&thread->pending[s]);
        }
    }
    free(run->threads);
}

static int index_of(const Warp *warp, int lane) {
    return warp->block->place * warp->block->threads + warp->index * LANES + lane;
}

static Thread *thread_of(const Warp *warp, int lane) {
    Thread *thread = &warp->run->threads[index_of(warp, lane)];
    if (!thread->clock) {
        thread->clock = 1;
        thread->known = hold(warp->run->known);
    }
    return thread;
}

static Access access_of(const Warp *warp, int lane, const Thread *thread, const Instruction *in) {
    return (Access){.op = warp->run->op, .slot = warp->run->first_slot + index_of(warp, lane), .clock = thread->clock,
                    .line = (unsigned short)(in ? in->line : 0),
                    .strong = (unsigned char)(in && in->order != WEAK ? 1 + in->scope : 0)};
}

/*
 * Returns the knowledge of the thread, its own accesses up to now included. The caller forgets it, and lets the
 * thread's clock go on.
 */
static Knowledge *released(const Warp *warp, int lane, Thread *thread) {
    int slot = warp->run->first_slot + index_of(warp, lane);
    const Knowledge *known = thread->known;
    Knowledge *all = new_knowledge(known ? known->words : 0, greater(slot + 1, known ? known->clocks : 0));
    if (known) add_all(all, known);
    all->clock[slot] = thread->clock;
    return all;
}

void interleaved_fence(Warp *warp, int lane, Scope scope) {
    Thread *thread = thread_of(warp, lane);
    for (int s = 0; s <= (int)scope; s++) {
        learn(&thread->known, thread->pending[s]);
        forget(&thread->pending[s]);
    }
    Access now = access_of(warp, lane, thread, NULL);
    Knowledge *all = released(warp, lane, thread);
    thread->clock++;
    flush(&now, thread->known, scope);
    for (int s = 0; s <= (int)scope; s++) {
        forget(&thread->fenced[s]);
        thread->fenced[s] = hold(all);
    }
    forget(&all);
}

static int is_shared(const Warp *warp, const unsigned char *at) {
    return at >= warp->block->shared && at < warp->block->shared + warp->run->shared_bytes;
}

static Shadow *shadows_for(Warp *warp, const unsigned char *at) {
    uint64_t left;
    if (!is_shared(warp, at)) return shadows_at(at, &left);
    return shadow_of(&warp->block->shadows, (uint64_t)(at - warp->block->shared), (uint64_t)warp->run->shared_bytes);
}

/* Gives the thread of a strong read the knowledge that a write has released. */
static void acquire(Thread *thread, const Instruction *in, Knowledge *const *released_by, Scope apart) {
    if (in->order == WEAK || apart > in->scope || !released_by[apart]) return;
    if (in->order == ACQUIRE || in->order == ACQUIRE_RELEASE) learn(&thread->known, released_by[apart]);
    else learn(&thread->pending[apart], released_by[apart]);
}

static int sees(const Pending *store, const Access *now) {
    if (store->op == now->op && store->slot == now->slot) return 1;
    return store->is_on_device && store->device == actor(now->op)->device;
}

uint64_t interleaved_load(Warp *warp, const Instruction *in, int lane, unsigned char *at) {
    Thread *thread = thread_of(warp, lane);
    Access now = access_of(warp, lane, thread, in);
    Shadow *shadow = shadows_for(warp, at);
    uint64_t value = 0;
    memcpy(&value, at, in->bytes);
    Knowledge *const *released_by = shadow ? shadow->released : NULL;
    const Access *writer = shadow ? &shadow->releaser : NULL;
    Access store = {.op = 0};
    for (int p = 0; p < pending_count; p++) {
        if (!overlap(&pending[p], at, in->bytes) || !sees(&pending[p], &now)) continue;
        for (unsigned b = 0; b < pending[p].bytes; b++) {
            int64_t to = pending[p].at + b - at;
            if (to >= 0 && to < in->bytes) memcpy((char *)&value + to, (char *)&pending[p].value + b, 1);
        }
        store = (Access){.op = pending[p].op, .slot = pending[p].slot};
        writer = &store;
        released_by = pending[p].released;
    }
    if (writer && released_by) acquire(thread, in, released_by, distance(writer, &now));
    if (shadow) note_all(shadow, in->bytes, &now, 0, thread->known, at);
    return value;
}

static void note_store(Warp *warp, int lane, Thread *thread, const Instruction *in, unsigned char *at) {
    Access now = access_of(warp, lane, thread, in);
    Shadow *shadow = shadows_for(warp, at);
    if (shadow) note_all(shadow, in->bytes, &now, 1, thread->known, at);
}

/* Keeps the knowledge that a store of the thread releases, by scope, for those that read it. */
static void release_by(Warp *warp, const Instruction *in, int lane, Thread *thread, Knowledge **by) {
    Knowledge *all = NULL;
    if (in->order == RELEASE || in->order == ACQUIRE_RELEASE) {
        Access now = access_of(warp, lane, thread, in);
        all = released(warp, lane, thread);
        flush(&now, thread->known, in->scope);
    }
    for (int s = 0; s < 3; s++) {
        by[s] = in->order == WEAK || s > (int)in->scope ? NULL : hold(all ? all : thread->fenced[s]);
    }
    forget(&all);
}

void interleaved_store(Warp *warp, const Instruction *in, int lane, unsigned char *at, uint64_t value) {
    Thread *thread = thread_of(warp, lane);
    Pending store = {.at = at, .value = value, .bytes = in->bytes, .op = warp->run->op, .device = warp->run->context->index};
    release_by(warp, in, lane, thread, store.released);
    note_store(warp, lane, thread, in, at);
    store.clock = thread->clock;
    if (in->order >= RELEASE) thread->clock++; /* the store itself is part of what it releases */
    if (is_shared(warp, at)) {
        /* Threads of a block see each other's stores at once here; what is not ordered is a race all the same. */
        memcpy(at, &value, in->bytes);
        Shadow *shadow = shadows_for(warp, at);
        for (int s = 0; s < 3; s++) {
            forget(&shadow->released[s]);
            shadow->released[s] = store.released[s];
        }
        shadow->releaser = (Access){.op = store.op, .slot = warp->run->first_slot + index_of(warp, lane)};
        return;
    }
    store.slot = warp->run->first_slot + index_of(warp, lane);
    if (pending_count == MOST_PENDING) apply((int)chance(MOST_PENDING / 2));
    pending[pending_count++] = store;
}

uint64_t interleaved_update(Warp *warp, const Instruction *in, int lane, unsigned char *at, uint64_t a, uint64_t b) {
    Thread *thread = thread_of(warp, lane);
    flush_range(at, in->bytes);
    Shadow *shadow = shadows_for(warp, at);
    Access now = access_of(warp, lane, thread, in);
    uint64_t old = 0;
    memcpy(&old, at, in->bytes);
    if (shadow) acquire(thread, in, shadow->released, distance(&shadow->releaser, &now));
    Knowledge *by[3];
    release_by(warp, in, lane, thread, by);
    note_store(warp, lane, thread, in, at);
    if (in->order >= RELEASE) thread->clock++;
    uint64_t value = updated(in, old, a, b);
    memcpy(at, &value, in->bytes);
    for (int s = 0; s < 3; s++) {
        /* Those who read this update also learn what the write before it released to their scope. */
        if (shadow && s < (int)distance(&shadow->releaser, &now)) forget(&shadow->released[s]);
        if (shadow) learn(&shadow->released[s], by[s]);
        forget(&by[s]);
    }
    if (shadow) shadow->releaser = (Access){.op = now.op, .slot = now.slot};
    return old;
}

/* ---- Barriers ---- */

/* Makes room in what a barrier gathers, which nobody else holds. */
static Knowledge *widened(Knowledge **place, int words, int clocks) {
    Knowledge *old = *place;
    if (old && old->words >= words && old->clocks >= clocks) return old;
    Knowledge *wide = new_knowledge(greater(words, old ? old->words : 0), greater(clocks, old ? old->clocks : 0));
    if (old) add_all(wide, old);
    forget(place);
    *place = wide;
    return wide;
}

void gather(Gathered *gathered, Warp *warp, int lane) {
    Thread *thread = thread_of(warp, lane);
    Access now = access_of(warp, lane, thread, NULL);
    Knowledge *known = thread->known;
    int behind_warp = now.slot - lane + LANES;
    Knowledge *all = widened(&gathered->all, known ? known->words : 0, greater(known ? known->clocks : 0, behind_warp));
    /* Threads that have left a barrier together know the same. */
    if (known && known != gathered->last) {
        add_all(all, known);
        forget(&gathered->last);
        gathered->last = hold(known);
    }
    all->clock[now.slot] = thread->clock;
    thread->clock++;
    flush(&now, known, OF_BLOCK);
}

void leave_barrier(const Gathered *gathered, Warp *warp, int lane) {
    /* The thread has waited since it was gathered, so that this includes what it knows. */
    Thread *thread = thread_of(warp, lane);
    hold(gathered->all);
    forget(&thread->known);
    thread->known = gathered->all;
}

void forget_gathered(Gathered *gathered) {
    forget(&gathered->all);
    forget(&gathered->last);
}

/* ---- Copies and fills ---- */

void note_range(const Op *op, CUdeviceptr at, uint64_t bytes, int writes) {
    Access now = {.op = op->id, .slot = -1, .clock = 1};
    uint64_t left = 0;
    Shadow *shadow = NULL;
    for (uint64_t b = 0; b < bytes; b++, left--) {
        if (!left) shadow = shadows_at((const void *)(at + b), &left);
        if (!shadow) return;
        note_access(shadow, &now, writes, op->known, (const void *)(at + b));
        for (int s = 0; s < 3 && writes; s++) forget(&shadow->released[s]);
        shadow++;
    }
}

/* ---- Sessions ---- */

void begin_interleaving(uint64_t seed) {
    forget(&host);
    emu.session++;
    actor_count = slots = reported_races = 0;
    forget_shadows();
    state = seed * 0x9E3779B97F4A7C15ULL + 1;
}
