/*
 * Runs kernels: the threads of a warp take the same instruction together where they can, warps and blocks take turns, and
 * a kernel that has not ended after a while gives its turn to others, which it may be waiting for.
 */
#include "race.h"

#include <limits.h>

enum {
    RUN_SLICE = 1 << 16, /* instructions of warps until another kernel has its turn */
    WARP_SLICE = 1 << 12, /* until another warp has its turn */
    LOOP_TURNS = 16, /* until lanes elsewhere in the code have their turn */
    POLLS = 16 /* of a warp until another one has its turn, and another kernel */
};

#define PLACE(T, at) ((T *)(warp->registers + (at)))

#define EACH_LANE(l) for (int l = 0; l < LANES; l++) if (warp->mask >> l & 1)

/* ---- Faults ---- */

static void fault(Warp *warp, const Instruction *in, CUresult code, int lane, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Ends the kernel; only the first fault counts. */
static void fault(Warp *warp, const Instruction *in, CUresult code, int lane, const char *format, ...) {
    Run *run = warp->run;
    if (run->error) return;
    run->error = code;
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&emu.lock);
    problem("%s on device %d, line %d, block %d, thread %d: %s", run->kernel->name, run->context->index, in->line,
            warp->block->place, warp->index * LANES + lane, text);
    pthread_mutex_unlock(&emu.lock);
}

/* ---- Memory ---- */

static unsigned char *shared_memory(Warp *warp, const Instruction *in, uint64_t offset, unsigned bytes, int lane) {
    if (offset + bytes > (uint64_t)warp->run->shared_bytes || offset > SHARED_WINDOW_BYTES) {
        fault(warp, in, ILLEGAL_ADDRESS, lane, "%u bytes at %llu leave the %d bytes of shared memory", bytes,
              (unsigned long long)offset, warp->run->shared_bytes);
        return NULL;
    }
    return warp->block->shared + offset;
}

/* The lanes of the group go on where they are now, each for itself. */
static void split_group(Warp *warp) {
    for (int l = 0; l < LANES; l++) {
        if (warp->group >> l & 1) warp->place[l] = warp->next;
    }
    warp->regroup = 1;
}

/* An access to a peer's memory. Returns whether it gets there. */
static int cross(Warp *warp, const Instruction *in, int peer, int lane) {
    Run *run = warp->run;
    int is_load = in->run == load || in->run == load_all, from = is_load ? peer : run->context->index, to = is_load ? run->context->index : peer;
    run->corrupts |= emu.device[from].corrupt[to];
    if (!emu.device[from].stall[to] || run->is_released) return 1;
    run->is_held_up = warp->yields = 1;
    /* Lanes that have not taken the instruction do so when a test lets them go on. */
    split_group(warp);
    for (int l = lane; l < LANES; l++) {
        if (warp->mask >> l & 1) warp->place[l] = (int)(in - run->kernel->code);
    }
    return 0;
}

/*
 * The memory behind an address, or NULL where the access faults, which ends the kernel, or is held up. Shared memory is
 * the block's. The access must be aligned to `align` bytes.
 */
static unsigned char *resolve(Warp *warp, const Instruction *in, uint64_t at, unsigned bytes, unsigned align,
                              int lane) {
    Run *run = warp->run;
    if (at % align) {
        fault(warp, in, MISALIGNED_ADDRESS, lane, "an access of %u bytes at 0x%llx is misaligned", align,
              (unsigned long long)at);
        return NULL;
    }
    if (in->space == SHARED) return shared_memory(warp, in, at, bytes, lane);
    if (in->space == GENERIC && at - SHARED_WINDOW < SHARED_WINDOW_BYTES) {
        return shared_memory(warp, in, at - SHARED_WINDOW, bytes, lane);
    }
    unsigned short *hint = &run->hints[in - run->kernel->code];
    for (int tried = 0, w = *hint; tried < run->window_count; tried++, w = w ? w - 1 : run->window_count - 1) {
        const Window *window = &run->windows[w];
        if (at - window->at < window->bytes && bytes <= window->bytes - (at - window->at)) {
            *hint = (unsigned short)w;
            if (window->device != run->context->index && !cross(warp, in, window->device, lane)) return NULL;
            return (unsigned char *)at;
        }
    }
    Window window;
    const char *why;
    CUresult code = open_window(run->context, at, bytes, &window, &why);
    if (code) {
        fault(warp, in, code, lane, "0x%llx, %u bytes, %s", (unsigned long long)at, bytes, why);
        return NULL;
    }
    run->windows = realloc(run->windows, (size_t)(run->window_count + 1) * sizeof window);
    run->windows[run->window_count] = window;
    *hint = (unsigned short)run->window_count++;
    if (run->window_count == USHRT_MAX) {
        fault(warp, in, LAUNCH_FAILED, lane, "the kernel touches more than %d allocations", USHRT_MAX);
        return NULL;
    }
    if (window.device != run->context->index && !cross(warp, in, window.device, lane)) return NULL;
    return (unsigned char *)at;
}

static uint64_t address(Warp *warp, const Instruction *in, int lane) {
    uint64_t base = in->space == SHARED && in->narrow ? PLACE(uint32_t, in->from[0])[lane]
                                                      : PLACE(uint64_t, in->from[0])[lane];
    return base + (uint64_t)in->offset;
}

/* Returns whether the lanes access one range together, each behind the one before. */
static int is_contiguous(Warp *warp, const Instruction *in, unsigned bytes) {
    if (warp->mask != UINT32_MAX || in->space == SHARED) return 0;
    const uint64_t *base = PLACE(uint64_t, in->from[0]);
    uint64_t off = 0;
    for (int l = 1; l < LANES; l++) off |= base[l] - base[l - 1] - bytes;
    return !off;
}

#define ARE_EQUAL(T, place) \
    ({ \
        const T *values = PLACE(T, place); \
        T off = 0; \
        for (int l = 1; l < LANES; l++) off |= values[l] ^ values[0]; \
        !off; \
    })

/* Returns whether all lanes access the same memory. */
static int is_uniform(Warp *warp, const Instruction *in) {
    if (warp->mask != UINT32_MAX) return 0;
    return in->space == SHARED && in->narrow ? ARE_EQUAL(uint32_t, in->from[0]) : ARE_EQUAL(uint64_t, in->from[0]);
}

static uint64_t read_bytes(const unsigned char *from, unsigned bytes, int is_strong) {
    switch (bytes) {
        case 1: return is_strong ? __atomic_load_n(from, __ATOMIC_SEQ_CST) : *from;
        case 2: return is_strong ? __atomic_load_n((const uint16_t *)from, __ATOMIC_SEQ_CST) : *(const uint16_t *)from;
        case 4: return is_strong ? __atomic_load_n((const uint32_t *)from, __ATOMIC_SEQ_CST) : *(const uint32_t *)from;
        default: return is_strong ? __atomic_load_n((const uint64_t *)from, __ATOMIC_SEQ_CST) : *(const uint64_t *)from;
    }
}

static void write_bytes(unsigned char *to, unsigned bytes, uint64_t value, int is_strong) {
    switch (bytes) {
        case 1:
            if (is_strong) __atomic_store_n(to, (uint8_t)value, __ATOMIC_SEQ_CST);
            else *to = (uint8_t)value;
            break;
        case 2:
            if (is_strong) __atomic_store_n((uint16_t *)to, (uint16_t)value, __ATOMIC_SEQ_CST);
            else *(uint16_t *)to = (uint16_t)value;
            break;
        case 4:
            if (is_strong) __atomic_store_n((uint32_t *)to, (uint32_t)value, __ATOMIC_SEQ_CST);
            else *(uint32_t *)to = (uint32_t)value;
            break;
        default:
            if (is_strong) __atomic_store_n((uint64_t *)to, value, __ATOMIC_SEQ_CST);
            else *(uint64_t *)to = value;
    }
}

static uint64_t extended(uint64_t value, unsigned bytes, int is_signed) {
    if (!is_signed || bytes == 8) return value;
    unsigned shift = 64 - 8 * bytes;
    return (uint64_t)((int64_t)(value << shift) >> shift);
}

static uint64_t register_value(Warp *warp, int place, unsigned bytes, int lane) {
    return read_bytes(warp->registers + place + bytes * (unsigned)lane, bytes, 0);
}

static void set_register(Warp *warp, int place, unsigned bytes, int lane, uint64_t value) {
    write_bytes(warp->registers + place + bytes * (unsigned)lane, bytes, value, 0);
}

/* Gives a register one value in all lanes. */
static void fill_register(Warp *warp, int place, unsigned bytes, uint64_t value) {
    for (int l = 0; l < LANES; l++) {
        if (bytes == 8) PLACE(uint64_t, place)[l] = value;
        else if (bytes == 4) PLACE(uint32_t, place)[l] = (uint32_t)value;
        else set_register(warp, place, bytes, l, value);
    }
}

/* A loop that polls gives its turn to others, which it may be waiting for. */
static void note_poll(Warp *warp, const Instruction *in) {
    if (in->order != WEAK && ++warp->polls == POLLS) {
        warp->polls = 0;
        warp->yields = 1;
    }
}

#define MOVE_TOGETHER(T, to, from) \
    for (int v = 0; v < in->vector; v++) { \
        _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++) to = from; \
    }

void load(Warp *warp, const Instruction *in) {
    unsigned bytes = in->bytes, whole = bytes * in->vector;
    note_poll(warp, in);
    if (in->order == WEAK && !warp->run->threads && bytes >= 4 && bytes == in->register_bytes
        && is_contiguous(warp, in, whole)) {
        const unsigned char *from = resolve(warp, in, address(warp, in, 0), whole * LANES, whole, 0);
        if (!from) return;
        if (bytes == 4) { MOVE_TOGETHER(uint32_t, PLACE(uint32_t, in->to[v])[l], ((const uint32_t *)from)[l * in->vector + v]) }
        else { MOVE_TOGETHER(uint64_t, PLACE(uint64_t, in->to[v])[l], ((const uint64_t *)from)[l * in->vector + v]) }
        return;
    }
    if (in->order == WEAK && !warp->run->threads && bytes == in->register_bytes && bytes >= 4 && is_uniform(warp, in)) {
        const unsigned char *from = resolve(warp, in, address(warp, in, 0), whole, whole, 0);
        if (!from) return;
        if (bytes == 4) { MOVE_TOGETHER(uint32_t, PLACE(uint32_t, in->to[v])[l], ((const uint32_t *)from)[v]) }
        else { MOVE_TOGETHER(uint64_t, PLACE(uint64_t, in->to[v])[l], ((const uint64_t *)from)[v]) }
        return;
    }
    EACH_LANE(l) {
        unsigned char *from = resolve(warp, in, address(warp, in, l), whole, whole, l);
        if (!from) return;
        for (int v = 0; v < in->vector; v++) {
            unsigned char *part = from + bytes * (unsigned)v;
            uint64_t value = warp->run->threads ? interleaved_load(warp, in, l, part)
                                                : read_bytes(part, bytes, in->order != WEAK);
            set_register(warp, in->to[v], in->register_bytes, l, extended(value, bytes, in->is_signed));
        }
    }
}

/* Returns whether the instruction stores the flag that a command makes the emulator lose. */
static int is_lost_flag(const Instruction *in) {
    if (!__atomic_load_n(&emu.lost_flag, __ATOMIC_RELAXED)) return 0;
    if (in->order == WEAK || in->scope != OF_SYSTEM || in->bytes != 8 || in->vector != 1) return 0;
    if (__atomic_sub_fetch(&emu.lost_flag, 1, __ATOMIC_RELAXED)) return 0;
    __atomic_add_fetch(&counters.faults, 1, __ATOMIC_RELAXED);
    return 1;
}

void store(Warp *warp, const Instruction *in) {
    warp->run->wrote = 1;
    unsigned bytes = in->bytes, whole = bytes * in->vector;
    if (in->order == WEAK && !warp->run->threads && bytes >= 4 && bytes == in->register_bytes
        && is_contiguous(warp, in, whole)) {
        unsigned char *to = resolve(warp, in, address(warp, in, 0), whole * LANES, whole, 0);
        if (!to) return;
        if (bytes == 4) { MOVE_TOGETHER(uint32_t, ((uint32_t *)to)[l * in->vector + v], PLACE(uint32_t, in->from[v + 1])[l]) }
        else { MOVE_TOGETHER(uint64_t, ((uint64_t *)to)[l * in->vector + v], PLACE(uint64_t, in->from[v + 1])[l]) }
        if (warp->run->corrupts) *to ^= 0x10;
        warp->run->corrupts = 0;
        return;
    }
    EACH_LANE(l) {
        unsigned char *to = resolve(warp, in, address(warp, in, l), whole, whole, l);
        if (!to) return;
        for (int v = 0; v < in->vector; v++) {
            uint64_t value = register_value(warp, in->from[v + 1], in->register_bytes, l);
            if (warp->run->corrupts) value ^= 0x10;
            warp->run->corrupts = 0;
            unsigned char *part = to + bytes * (unsigned)v;
            if (is_lost_flag(in)) continue;
            if (warp->run->threads) interleaved_store(warp, in, l, part, value);
            else write_bytes(part, bytes, value, in->order != WEAK);
        }
    }
}

uint64_t updated(const Instruction *in, uint64_t old, uint64_t a, uint64_t b) {
    int64_t before = (int64_t)extended(old, in->bytes, in->is_signed), given = (int64_t)extended(a, in->bytes, in->is_signed);
    int is_less = in->is_signed ? given < before : a < old;
    switch (in->atomic) {
        case ATOMIC_ADD: return old + a;
        case ATOMIC_EXCHANGE: return a;
        case ATOMIC_COMPARE: return old == a ? b : old;
        case ATOMIC_MIN: return is_less ? a : old;
        case ATOMIC_MAX: return is_less ? old : a;
        case ATOMIC_AND: return old & a;
        case ATOMIC_INCREMENT: return old >= a ? 0 : old + 1;
        default: return old | a;
    }
}

static int replaced(unsigned char *at, unsigned bytes, uint64_t old, uint64_t value) {
    uint32_t old_word = (uint32_t)old;
    return bytes == 4 ? __atomic_compare_exchange_n((uint32_t *)at, &old_word, (uint32_t)value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
                      : __atomic_compare_exchange_n((uint64_t *)at, &old, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void update(Warp *warp, const Instruction *in) {
    warp->run->wrote = 1;
    note_poll(warp, in);
    EACH_LANE(l) {
        unsigned char *at = resolve(warp, in, address(warp, in, l), in->bytes, in->bytes, l);
        if (!at) return;
        uint64_t a = register_value(warp, in->from[1], in->bytes, l), old;
        uint64_t b = in->atomic == ATOMIC_COMPARE ? register_value(warp, in->from[2], in->bytes, l) : 0;
        if (warp->run->threads) {
            old = interleaved_update(warp, in, l, at, a, b);
        } else {
            do old = read_bytes(at, in->bytes, 1);
            while (!replaced(at, in->bytes, old, updated(in, old, a, b)));
        }
        if (in->gives) set_register(warp, in->to[0], in->bytes, l, old);
    }
}

/* The places behind a multicast address of a lane, each of which the access may touch; 0 where it faults or is held up. */
static int all_places(Warp *warp, const Instruction *in, int lane, unsigned char **parts) {
    unsigned whole = in->bytes * in->vector;
    CUdeviceptr places[MOST_DEVICES], at = address(warp, in, lane);
    const char *why;
    if (!(warp->aliased >> lane & 1)) {
        fault(warp, in, LAUNCH_FAILED, lane, "a multicast address without fence.proxy.alias before it");
        return 0;
    }
    warp->unaliased |= 1u << lane;
    if (at % whole) {
        fault(warp, in, MISALIGNED_ADDRESS, lane, "an access of %u bytes at 0x%llx is misaligned", whole, (unsigned long long)at);
        return 0;
    }
    int number = multicast_places(warp->run->context, at, whole, places, &why);
    if (!number) fault(warp, in, ILLEGAL_ADDRESS, lane, "0x%llx, %u bytes, %s", (unsigned long long)at, whole, why);
    for (int d = 0; d < number; d++) {
        parts[d] = resolve(warp, in, places[d], whole, whole, lane);
        if (!parts[d]) return 0;
    }
    return number;
}

/* The sums of one element, or of a pair of short ones, with as many bits as the switch keeps. */
static uint64_t combined(const Instruction *in, const uint64_t *values, int number) {
    if (in->elements == INTEGERS) {
        uint64_t result = values[0];
        for (int d = 1; d < number; d++) result = updated(in, result, values[d], 0);
        return result;
    }
    if (in->elements == FLOATS) {
        float sum = 0, next;
        for (int d = 0; d < number; d++) {
            memcpy(&next, &values[d], sizeof next);
            sum = d ? sum + next : next;
        }
        uint32_t bits;
        memcpy(&bits, &sum, sizeof bits);
        return bits;
    }
    float low = wide_half((uint16_t)values[0], in->elements), high = wide_half((uint16_t)(values[0] >> 16), in->elements);
    for (int d = 1; d < number; d++) {
        low += wide_half((uint16_t)values[d], in->elements);
        high += wide_half((uint16_t)(values[d] >> 16), in->elements);
    }
    return rounded_half(low, in->elements) | (uint64_t)rounded_half(high, in->elements) << 16;
}

void load_all(Warp *warp, const Instruction *in) {
    EACH_LANE(l) {
        unsigned char *parts[MOST_DEVICES];
        int number = all_places(warp, in, l, parts);
        if (!number) return;
        for (int v = 0; v < in->vector; v++) {
            uint64_t values[MOST_DEVICES] = {0};
            for (int d = 0; d < number; d++) {
                unsigned char *part = parts[d] + in->bytes * v;
                values[d] = warp->run->threads ? interleaved_load(warp, in, l, part) : read_bytes(part, in->bytes, 0);
            }
            set_register(warp, in->to[v], in->register_bytes, l, extended(combined(in, values, number), in->bytes, in->is_signed));
        }
    }
}

void store_all(Warp *warp, const Instruction *in) {
    warp->run->wrote = 1;
    EACH_LANE(l) {
        unsigned char *parts[MOST_DEVICES];
        int number = all_places(warp, in, l, parts);
        if (!number) return;
        for (int v = 0; v < in->vector; v++) {
            uint64_t value = register_value(warp, in->from[v + 1], in->register_bytes, l);
            if (warp->run->corrupts) value ^= 0x10;
            warp->run->corrupts = 0;
            for (int d = 0; d < number; d++) {
                unsigned char *part = parts[d] + in->bytes * v;
                if (warp->run->threads) interleaved_store(warp, in, l, part, value);
                else write_bytes(part, in->bytes, value, 0);
            }
        }
    }
}

/* Accesses by several addresses of one byte are seen as such all the same; a thread must only have its fences. */
void fence_proxy(Warp *warp, const Instruction *in) {
    (void)in;
    warp->aliased |= warp->mask;
    warp->unaliased &= ~warp->mask;
}

void load_parameter(Warp *warp, const Instruction *in) {
    for (int v = 0; v < in->vector; v++) {
        uint64_t value = 0;
        memcpy(&value, warp->run->launch->parameters + in->offset + in->bytes * v, in->bytes);
        value = extended(value, in->bytes, in->is_signed);
        if (warp->mask == UINT32_MAX) {
            fill_register(warp, in->to[v], in->register_bytes, value);
            continue;
        }
        EACH_LANE(l) set_register(warp, in->to[v], in->register_bytes, l, value);
    }
}

void load_parameter_at(Warp *warp, const Instruction *in) {
    uint64_t end = (uint64_t)warp->run->kernel->parameter_bytes, bytes = (uint64_t)in->bytes * in->vector;
    EACH_LANE(l) {
        uint64_t from = PLACE(uint64_t, in->from[0])[l] + (uint64_t)in->offset;
        if (from > end || bytes > end - from || from % bytes) {
            fault(warp, in, from % bytes ? MISALIGNED_ADDRESS : ILLEGAL_ADDRESS, l, "%d bytes at %llu of %llu of parameters",
                  (int)bytes, (unsigned long long)from, (unsigned long long)end);
            return;
        }
        for (int v = 0; v < in->vector; v++) {
            uint64_t value = 0;
            memcpy(&value, warp->run->launch->parameters + from + in->bytes * v, in->bytes);
            set_register(warp, in->to[v], in->register_bytes, l, extended(value, in->bytes, in->is_signed));
        }
    }
}

void to_shared(Warp *warp, const Instruction *in) {
    EACH_LANE(l) PLACE(uint64_t, in->to[0])[l] = PLACE(uint64_t, in->from[0])[l] - SHARED_WINDOW;
}

void from_shared(Warp *warp, const Instruction *in) {
    EACH_LANE(l) PLACE(uint64_t, in->to[0])[l] = PLACE(uint64_t, in->from[0])[l] + SHARED_WINDOW;
}

void fence(Warp *warp, const Instruction *in) {
    if (warp->run->threads) {
        EACH_LANE(l) interleaved_fence(warp, l, in->scope);
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* all scopes are the host's memory otherwise */
}

/* ---- Control ---- */

void branch(Warp *warp, const Instruction *in) {
    if (warp->mask == warp->group) {
        warp->next = in->target;
        return;
    }
    split_group(warp);
    EACH_LANE(l) warp->place[l] = in->target;
}

/* Gives a lane the result of bar.red. */
static void give_result(Warp *warp, const Instruction *in, const Barrier *barrier, int lane) {
    int holds = in->reduction == REDUCE_AND ? barrier->holding == barrier->arrived : barrier->holding > 0;
    warp->predicates[in->to[0]] = (warp->predicates[in->to[0]] & ~(1u << lane)) | (uint32_t)holds << lane;
}

/* Lets those go on for whom all have arrived. */
static void open_barrier(Block *block, int number) {
    Barrier *barrier = &block->barriers[number];
    if (!barrier->arrived || barrier->arrived < (barrier->expected ? barrier->expected : block->alive)) return;
    for (int w = 0; w < block->warp_count; w++) {
        Warp *warp = &block->warps[w];
        int place = -1;
        for (int l = 0; l < LANES; l++) {
            if (!(warp->waiting >> l & 1) || warp->barrier[l] != number) continue;
            if (place >= 0 && place != warp->place[l]) {
                /* bar.sync is aligned: all threads of a warp take the same one. */
                fault(warp, &block->run->kernel->code[place - 1], LAUNCH_FAILED, l,
                      "threads of a warp wait at barrier %d by different instructions", number);
            }
            place = warp->place[l];
            warp->waiting &= ~(1u << l);
            if (barrier->reduces) give_result(warp, &block->run->kernel->code[place - 1], barrier, l);
            if (block->run->threads) leave_barrier(&barrier->gathered, warp, l);
        }
    }
    forget_gathered(&barrier->gathered);
    *barrier = (Barrier){.arrived = 0};
}

void end_thread(Warp *warp, const Instruction *in) {
    uint32_t unaliased = warp->mask & warp->unaliased;
    if (unaliased) fault(warp, in, LAUNCH_FAILED, __builtin_ctz(unaliased), "a multicast address without fence.proxy.alias behind it");
    split_group(warp);
    warp->alive &= ~warp->mask;
    warp->block->alive -= __builtin_popcount(warp->mask);
    for (int b = 0; b < BARRIERS; b++) open_barrier(warp->block, b);
}

void trap(Warp *warp, const Instruction *in) { fault(warp, in, LAUNCH_FAILED, __builtin_ctz(warp->mask), "a trap"); }

/* Lets the lanes of a full warp arrive at one barrier, if they do, as one by one below. Returns whether they have. */
static int arrive_together(Warp *warp, const Instruction *in, int waits) {
    if (warp->run->threads || warp->mask != UINT32_MAX || !ARE_EQUAL(uint32_t, in->from[0])) return 0;
    if (in->vector > 1 && !ARE_EQUAL(uint32_t, in->from[1])) return 0;
    uint32_t number = *PLACE(uint32_t, in->from[0]), expected = in->vector > 1 ? *PLACE(uint32_t, in->from[1]) : 0;
    if (number >= BARRIERS || expected % LANES || expected > (uint32_t)warp->block->warp_count * LANES) return 0;
    Barrier *barrier = &warp->block->barriers[number];
    if (barrier->arrived % LANES) return 0;
    if (barrier->arrived && (barrier->expected != (int)expected || barrier->reduces != in->reduction)) return 0;
    barrier->reduces = in->reduction;
    barrier->holding += in->reduction ? __builtin_popcount(warp->predicates[in->from[2]]) : 0;
    barrier->arrived += LANES;
    barrier->expected = (int)expected;
    if (waits) {
        warp->waiting = UINT32_MAX;
        memset(warp->barrier, (int)number, sizeof warp->barrier);
    }
    open_barrier(warp->block, (int)number);
    return 1;
}

/* Each lane arrives with its own barrier and count. */
static void arrive(Warp *warp, const Instruction *in, int waits) {
    split_group(warp);
    if (arrive_together(warp, in, waits)) return;
    EACH_LANE(l) {
        uint32_t number = PLACE(uint32_t, in->from[0])[l];
        uint32_t expected = in->vector > 1 ? PLACE(uint32_t, in->from[1])[l] : 0;
        if (number >= BARRIERS || expected % LANES || expected > (uint32_t)warp->block->warp_count * LANES) {
            fault(warp, in, LAUNCH_FAILED, l, "a barrier %u of %u threads", number, expected);
            return;
        }
        Barrier *barrier = &warp->block->barriers[number];
        if (barrier->arrived && barrier->expected != (int)expected) {
            fault(warp, in, LAUNCH_FAILED, l, "barrier %u is for %d threads and for %u", number, barrier->expected, expected);
            return;
        }
        if (barrier->arrived && barrier->reduces != in->reduction) {
            fault(warp, in, LAUNCH_FAILED, l, "bar.red and another instruction meet at barrier %u", number);
            return;
        }
        barrier->reduces = in->reduction;
        barrier->holding += in->reduction && warp->predicates[in->from[2]] >> l & 1;
        barrier->arrived++;
        if (warp->run->threads) gather(&barrier->gathered, warp, l);
        barrier->expected = (int)expected;
        if (waits) {
            warp->waiting |= 1u << l;
            warp->barrier[l] = (unsigned char)number;
        }
        open_barrier(warp->block, (int)number);
    }
}

void barrier(Warp *warp, const Instruction *in) { arrive(warp, in, 1); }

void barrier_arrive(Warp *warp, const Instruction *in) { arrive(warp, in, 0); }

void barrier_reduce(Warp *warp, const Instruction *in) { arrive(warp, in, 1); }

/* Lanes wait until all that the mask names are here; those that have ended are not waited for. */
void warp_barrier(Warp *warp, const Instruction *in) {
    if (warp->mask == UINT32_MAX && !warp->run->threads) {
        uint32_t named = UINT32_MAX;
        for (int l = 0; l < LANES; l++) named &= PLACE(uint32_t, in->from[0])[l];
        if (named == UINT32_MAX) return;
    }
    split_group(warp);
    int here = (int)(in - warp->run->kernel->code);
    EACH_LANE(l) {
        uint32_t named = PLACE(uint32_t, in->from[0])[l];
        if (!(named >> l & 1)) {
            fault(warp, in, LAUNCH_FAILED, l, "the mask 0x%x of bar.warp.sync leaves out the thread", named);
            return;
        }
        warp->waiting |= 1u << l;
        warp->barrier[l] = BARRIERS;
        warp->place[l] = here + 1;
        uint32_t missing = 0;
        for (int other = 0; other < LANES; other++) {
            int is_here = warp->waiting >> other & 1 && warp->barrier[other] == BARRIERS && warp->place[other] == here + 1;
            missing |= (uint32_t)!is_here << other;
        }
        if (missing & named & warp->alive) continue;
        uint32_t all = named & warp->alive;
        warp->waiting &= ~all;
        if (!warp->run->threads) continue;
        Gathered gathered = {.all = NULL};
        for (int other = 0; other < LANES; other++) if (all >> other & 1) gather(&gathered, warp, other);
        for (int other = 0; other < LANES; other++) if (all >> other & 1) leave_barrier(&gathered, warp, other);
        forget_gathered(&gathered);
    }
}

void nap(Warp *warp, const Instruction *in) {
    (void)in;
    warp->yields = 1;
}

void read_clock(Warp *warp, const Instruction *in) {
    double us = emu.timer_ahead + (warp->run->threads ? 0.02 * (double)counters.steps : now_us());
    uint64_t ticks = (uint64_t)(in->offset == GLOBAL_TIMER ? 1e3 * us : 1530 * us); /* ns, or cycles of a V100 */
    EACH_LANE(l) set_register(warp, in->to[0], in->bytes, l, ticks);
}

/* ---- Warps ---- */

/* Lanes at the same instruction, the earliest one unless others are to have their turn; 0 if none can go on. */
static int choose_group(Warp *warp, int *stop) {
    uint32_t ready = warp->alive & ~warp->waiting;
    int least = INT_MAX, chosen = INT_MAX;
    *stop = INT_MAX;
    for (int l = 0; l < LANES; l++) {
        if (!(ready >> l & 1)) continue;
        if (warp->place[l] < least) least = warp->place[l];
        /* The first place behind that of the group which has looped. */
        if (warp->turns >= LOOP_TURNS && warp->place[l] > warp->next && warp->place[l] < chosen) chosen = warp->place[l];
    }
    if (chosen == INT_MAX) chosen = least;
    warp->turns = 0;
    warp->group = 0;
    warp->next = chosen;
    for (int l = 0; l < LANES; l++) {
        if (!(ready >> l & 1)) continue;
        if (warp->place[l] == chosen) warp->group |= 1u << l;
        else if (warp->place[l] > chosen && warp->place[l] < *stop) *stop = warp->place[l];
    }
    return warp->group != 0;
}

/* Lanes of the group whose guard holds. */
static uint32_t guarded(const Warp *warp, const Instruction *in) {
    if (in->guard < 0) return warp->group;
    uint32_t holds = warp->predicates[in->guard];
    return warp->group & (in->negated ? ~holds : holds);
}

/* Goes on with a warp for so many instructions, and returns how many it took. */
static int run_warp(Warp *warp, int budget) {
    const Instruction *code = warp->run->kernel->code;
    int left = budget, stop;
    warp->yields = 0;
    while (left > 0 && !warp->run->error && !warp->yields && choose_group(warp, &stop)) {
        int is_alone = warp->group == (warp->alive & ~warp->waiting);
        warp->regroup = 0;
        do {
            const Instruction *in = &code[warp->next++];
            left--;
            warp->mask = guarded(warp, in);
            if (!warp->mask) continue;
            in->run(warp, in);
            if (warp->next <= in - code && !is_alone && ++warp->turns >= LOOP_TURNS) break;
        } while (left > 0 && !warp->regroup && !warp->run->error && !warp->yields && warp->next < stop);
        if (!warp->regroup) split_group(warp);
    }
    return budget - left;
}

/* ---- Steps, while a seed interleaves what runs ---- */

static int is_of_memory(const Instruction *in) {
    return in->run == load || in->run == store || in->run == update || in->run == fence;
}

/* Lanes that a seed chooses go on up to the next access to memory, and some of them take that. */
static void step_warp(Warp *warp) {
    const Instruction *code = warp->run->kernel->code;
    uint32_t ready = warp->alive & ~warp->waiting;
    int lane = (int)chance(LANES);
    while (!(ready >> lane & 1)) lane = (lane + 1) % LANES;
    warp->next = warp->place[lane];
    warp->group = 0;
    for (int l = 0; l < LANES; l++) {
        if (ready >> l & 1 && warp->place[l] == warp->next) warp->group |= 1u << l;
    }
    warp->regroup = 0;
    for (int left = WARP_SLICE; left > 0 && !warp->regroup && !warp->run->error; left--) {
        int here = warp->next++;
        const Instruction *in = &code[here];
        warp->mask = guarded(warp, in);
        if (!warp->mask) continue;
        uint32_t all = warp->mask, some = all & (uint32_t)chance(1ULL << 32);
        if (!is_of_memory(in)) {
            in->run(warp, in);
            continue;
        }
        if (chance(2) && some) warp->mask = some;
        uint32_t later = all & ~warp->mask;
        in->run(warp, in);
        split_group(warp);
        for (int l = 0; l < LANES; l++) {
            if (later >> l & 1) warp->place[l] = here;
        }
    }
    if (!warp->regroup) split_group(warp);
}

/* ---- Blocks ---- */

static uint64_t special(const Warp *warp, int which, int lane) {
    const unsigned *size = warp->run->launch->block;
    unsigned thread = (unsigned)(warp->index * LANES + lane);
    switch (which) {
        case TID_X: return thread % size[0];
        case TID_Y: return thread / size[0] % size[1];
        case TID_Z: return thread / (size[0] * size[1]);
        case LANE_ID: return (unsigned)lane;
        case WARP_ID: return (unsigned)warp->index;
        case SM_ID: return (unsigned)warp->block->multiprocessor;
        case SM_NUMBER: return (unsigned)warp->run->context->device->multiprocessors;
        default: break;
    }
    if (which <= NTID_Z) return size[which - NTID_X];
    return which <= CTAID_Z ? warp->block->at[which - CTAID_X] : warp->run->launch->grid[which - NCTAID_X];
}

/* Before the first turn of a warp. Registers hold what they happen to hold, as on a GPU. */
static void begin_warp(Warp *warp) {
    if (warp->begun) return;
    warp->begun = 1;
    const Kernel *kernel = warp->run->kernel;
    if (!warp->registers) {
        size_t bytes = ((size_t)kernel->register_bytes + 63) / 64 * 64;
        warp->registers = aligned_alloc(64, bytes ? bytes : 64);
        memset(warp->registers, 0xA7, bytes);
        warp->predicates = malloc((size_t)(kernel->predicates + 1) * sizeof *warp->predicates);
        memset(warp->predicates, 0xA7, (size_t)kernel->predicates * sizeof *warp->predicates);
    }
    for (int p = 0; p < kernel->preset_count; p++) {
        const Preset *preset = &kernel->presets[p];
        if (preset->special < 0) {
            fill_register(warp, preset->place, (unsigned)preset->bytes, preset->value);
            continue;
        }
        for (int l = 0; l < LANES; l++) {
            set_register(warp, preset->place, (unsigned)preset->bytes, l, special(warp, preset->special, l));
        }
    }
}

static void leave_line(const Run *run) {
    if (run->context->device->first_in_line == run) run->context->device->first_in_line = NULL;
}

/*
 * Puts all blocks on multiprocessors for which there is room, as a GPU does: no kernel that comes later has a place
 * before all blocks have one. They have their first turns one by one.
 */
static void place_blocks(Run *run) {
    Device *device = run->context->device;
    pthread_mutex_lock(&emu.lock);
    if (!device->first_in_line) device->first_in_line = run;
    while (device->first_in_line == run && run->started + run->placed_count < run->blocks) {
        int multiprocessor = take_room(device, &run->room);
        if (multiprocessor < 0) break;
        run->placed = realloc(run->placed, (size_t)(run->placed_count + 1) * sizeof *run->placed);
        run->placed[run->placed_count++] = multiprocessor;
    }
    run->is_crowded = run->started + run->placed_count < run->blocks;
    if (!run->is_crowded) leave_line(run);
    pthread_mutex_unlock(&emu.lock);
}

/* Begins the next block if it is on a multiprocessor. */
static int begin_block(Run *run) {
    if (run->started + run->placed_count < run->blocks) place_blocks(run);
    if (!run->placed_count) return 0;
    int multiprocessor = run->placed[--run->placed_count];
    Block *block = run->spare;
    if (block) run->spare = block->next;
    else {
        block = calloc(1, sizeof *block);
        block->shared = calloc(1, (size_t)run->shared_bytes + 16);
    }
    const unsigned *grid = run->launch->grid, *size = run->launch->block;
    int64_t place = run->started++;
    run->wrote = 1;
    memset(block->barriers, 0, sizeof block->barriers);
    memset(block->shared, 0xFF, (size_t)run->shared_bytes);
    block->run = run;
    block->place = (int)place;
    block->multiprocessor = multiprocessor;
    block->at[0] = (unsigned)(place % grid[0]);
    block->at[1] = (unsigned)(place / grid[0] % grid[1]);
    block->at[2] = (unsigned)(place / ((int64_t)grid[0] * grid[1]));
    block->shadows = NULL;
    block->threads = block->alive = (int)(size[0] * size[1] * size[2]);
    block->warp_count = (block->threads + LANES - 1) / LANES;
    for (int w = 0; w < block->warp_count; w++) {
        Warp *warp = &block->warps[w];
        int lanes = block->threads - w * LANES;
        warp->block = block;
        warp->run = run;
        warp->index = w;
        warp->alive = lanes >= LANES ? UINT32_MAX : (1u << lanes) - 1;
        warp->waiting = 0;
        warp->begun = 0;
        warp->aliased = warp->unaliased = 0;
        memset(warp->place, 0, sizeof warp->place);
    }
    block->next = run->active;
    run->active = block;
    return 1;
}

static void end_block(Run *run, Block *block) {
    pthread_mutex_lock(&emu.lock);
    give_room(run->context->device, block->multiprocessor, &run->room);
    pthread_mutex_unlock(&emu.lock);
    free_shadows(block->shadows);
    block->shadows = NULL;
    for (int b = 0; b < BARRIERS; b++) forget_gathered(&block->barriers[b].gathered);
    block->next = run->spare;
    run->spare = block;
}

/* Gives every warp of a block its turn. Returns the number of instructions. */
static int run_block(Block *block) {
    int took = 0;
    for (int w = 0; w < block->warp_count && !block->run->error; w++) {
        Warp *warp = &block->warps[w];
        if (!(warp->alive & ~warp->waiting)) continue;
        begin_warp(warp);
        took += run_warp(warp, WARP_SLICE);
        block->run->yields |= warp->yields;
    }
    return took;
}

/* ---- Kernels ---- */

static Run *new_run(const Op *op) {
    const Launch *launch = &op->work.launch;
    Run *run = calloc(1, sizeof *run);
    run->launch = launch;
    run->kernel = launch->kernel;
    run->context = op->work.context;
    run->blocks = (int64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    run->shared_bytes = launch->kernel->shared_bytes + (int)launch->shared_bytes;
    run->hints = calloc((size_t)launch->kernel->count, sizeof *run->hints);
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    run->room = room_of(launch->kernel, run->context->device, threads, launch->shared_bytes);
    if (emu.interleave) {
        run->op = op->id;
        run->known = op->known;
        begin_threads(run);
    }
    return run;
}

static void free_blocks(Block *block) {
    while (block) {
        Block *next = block->next;
        for (int w = 0; w < WARPS_OF_BLOCK; w++) {
            free(block->warps[w].registers);
            free(block->warps[w].predicates);
        }
        free(block->shared);
        free(block);
        block = next;
    }
}

static void free_run(Run *run) {
    if (run->threads) end_threads(run);
    while (run->active) {
        Block *block = run->active;
        run->active = block->next;
        end_block(run, block);
    }
    free_blocks(run->spare);
    pthread_mutex_lock(&emu.lock);
    leave_line(run);
    while (run->placed_count) give_room(run->context->device, run->placed[--run->placed_count], &run->room);
    pthread_mutex_unlock(&emu.lock);
    free(run->placed);
    for (int w = 0; w < run->window_count; w++) close_window(&run->windows[w]);
    free(run->windows);
    free(run->hints);
    free(run);
}

static Run *ended;

void end_run(Op *op, int is_conducted) {
    Run *run = op->run;
    op->run = NULL;
    run->next = ended;
    ended = run;
    if (!is_conducted) free_ended_runs();
}

void free_ended_runs(void) {
    while (ended) {
        Run *run = ended;
        ended = run->next;
        free_run(run);
    }
}

/* No thread can go on. */
static int note_stuck(Run *run) {
    if (run->started < run->blocks || !run->active || run->is_stuck) return 0;
    run->is_stuck = 1;
    pthread_mutex_lock(&emu.lock);
    problem("%s on device %d waits at a barrier for ever", run->kernel->name, run->context->index);
    pthread_mutex_unlock(&emu.lock);
    return 0;
}

/* Gives the blocks their turns. Blocks that wait for others let further ones begin. */
static int run_kernel(Run *run) {
    for (int left = RUN_SLICE; left > 0 && !run->error;) {
        int began = begin_block(run), took = 0;
        run->yields = 0;
        if (!run->active) return run->started == run->blocks;
        for (Block **place = &run->active; *place && !run->error;) {
            Block *block = *place;
            took += run_block(block);
            if (block->alive) {
                place = &block->next;
            } else {
                *place = block->next;
                end_block(run, block);
            }
        }
        left -= took;
        if (!run->active && run->started == run->blocks) return 1;
        if (!took && !began) return note_stuck(run);
        if (run->yields) return 0;
    }
    return run->error != OK;
}

/* One step of a warp that a seed chooses, or the beginning of a block. */
static int step_kernel(Run *run) {
    int blocks = 0, ready = 0;
    if (!run->active && run->started == run->blocks) return !drain_run(run);
    for (const Block *block = run->active; block; block = block->next) blocks++;
    if (!blocks || !chance(4)) begin_block(run);
    drain_some();
    for (Block *block = run->active; block; block = block->next) {
        for (int w = 0; w < block->warp_count; w++) ready += (block->warps[w].alive & ~block->warps[w].waiting) != 0;
    }
    if (!ready) return note_stuck(run);
    int chosen = (int)chance((uint64_t)ready);
    for (Block **place = &run->active; *place; place = &(*place)->next) {
        Block *block = *place;
        for (int w = 0; w < block->warp_count; w++) {
            Warp *warp = &block->warps[w];
            if (!(warp->alive & ~warp->waiting) || chosen--) continue;
            begin_warp(warp);
            step_warp(warp);
            if (!block->alive) {
                *place = block->next;
                end_block(run, block);
            }
            return run->error != OK;
        }
    }
    return 0;
}

CUresult carry_out_kernel(Op *op) {
    if (!op->run) {
        op->run = new_run(op);
        /* It counts from its begin on, since it may report its end to the host before it has ended. */
        pthread_mutex_lock(&emu.lock);
        counters.kernels++;
        ((Kernel *)op->work.launch.kernel)->runs++;
        pthread_mutex_unlock(&emu.lock);
    }
    op->run->wrote = 0;
    int has_ended = op->run->threads ? step_kernel(op->run) : run_kernel(op->run);
    if (op->run->is_held_up) {
        op->run->is_held_up = 0;
        op->run->is_released = 1;
        return HELD_UP;
    }
    op->only_polls = !op->run->wrote;
    op->is_crowded = op->run->is_crowded;
    if (!has_ended) return UNFINISHED;
    CUresult result = op->run->error;
    order_threads(op);
    free_run(op->run);
    op->run = NULL;
    return result;
}
