/* The kernels of KERNELS.md in C, with the bits of the host backend. */
#include "emulator.h"

#include <math.h>

enum { BLOCK = 512 };

typedef enum { F32, F64, F16, BF16, I8, U8, I32, I64, I128, BYTES } Type;
typedef enum { SUM, PROD, MIN, MAX } Operation;
enum { REDUCE, WIDEN, MEAN, PLAIN_COPY };

static const char *types[] = {"f32", "f64", "f16", "bf16", "i8", "u8", "i32", "i64", "i128"};
static const unsigned char type_bytes[] = {4, 8, 2, 2, 1, 1, 4, 8, 16, 1};
static const char *operations[] = {"sum", "prod", "min", "max"};

typedef __int128 i128;
typedef unsigned __int128 u128;

/* ---- Elements ---- */

static float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float widen_f16(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
    if (magnitude >= 0x7c00) return as_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude < 0x400) return as_float(sign | bits_of((float)magnitude * 0x1p-24f));
    return as_float(sign | ((magnitude << 13) + 0x38000000));
}

static float f16_values[1 << 16];

__attribute__((constructor)) static void list_f16_values(void) {
    for (int half = 0; half < 1 << 16; half++) f16_values[half] = widen_f16((uint16_t)half);
}

static float from_f16(uint16_t half) { return f16_values[half]; }

/* To nearest, ties to even. */
static uint16_t to_f16(float value) {
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x47800000) return (uint16_t)(sign | 0x7c00);
    /* Below 2^-14 a half has the unit 2^-24, which is that of floats at 0.5. */
    if (magnitude < 0x38800000) return (uint16_t)(sign | (bits_of(as_float(magnitude) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
}

static float from_bf16(uint16_t brain) { return as_float((uint32_t)brain << 16); }

static uint16_t to_bf16(float value) {
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* A NaN wins, and -0 is less than +0. */
#define FLOAT_ORDER(T, suffix) \
    static inline T least_##suffix(T a, T b) { \
        if (a != a) return a; \
        if (a == 0 && b == 0) return signbit(a) ? a : b; \
        return a <= b ? a : b; \
    } \
    static inline T most_##suffix(T a, T b) { \
        if (a != a) return a; \
        if (a == 0 && b == 0) return signbit(a) ? b : a; \
        return a >= b ? a : b; \
    }

FLOAT_ORDER(float, float)
FLOAT_ORDER(double, double)

/* ---- Reductions ---- */

typedef struct {
    CUdeviceptr target, source[MOST_SOURCES];
    int sources;
    uint64_t count;
    unsigned divisor;
} Reduction;

/* Elements of type T, combined as A; all of a block are loaded before any is stored, so that the target may be a source. */
#define REDUCE_TYPE(name, T, A, LOAD, STORE, ADD, MULTIPLY, LEAST, MOST, DIVIDE) \
    static void combine_##name(A *sum, const A *next, int n, Operation operation) { \
        switch (operation) { \
            case SUM: for (int i = 0; i < n; i++) { A a = sum[i], b = next[i]; sum[i] = ADD; } break; \
            case PROD: for (int i = 0; i < n; i++) { A a = sum[i], b = next[i]; sum[i] = MULTIPLY; } break; \
            case MIN: for (int i = 0; i < n; i++) { A a = sum[i], b = next[i]; sum[i] = LEAST; } break; \
            case MAX: for (int i = 0; i < n; i++) { A a = sum[i], b = next[i]; sum[i] = MOST; } break; \
        } \
    } \
    static void load_##name(A *values, CUdeviceptr at, int n) { \
        T raw[BLOCK]; \
        memcpy(raw, (const void *)at, (size_t)n * sizeof(T)); \
        for (int i = 0; i < n; i++) { T x = raw[i]; values[i] = LOAD; } \
    } \
    static void reduce_##name(const Reduction *r, Operation operation) { \
        A sum[BLOCK], next[BLOCK]; \
        T raw[BLOCK]; \
        for (uint64_t first = 0; first < r->count; first += BLOCK) { \
            int n = (int)(r->count - first < BLOCK ? r->count - first : BLOCK); \
            load_##name(sum, r->source[0] + first * sizeof(T), n); \
            for (int s = 1; s < r->sources; s++) { \
                load_##name(next, r->source[s] + first * sizeof(T), n); \
                combine_##name(sum, next, n, operation); \
            } \
            if (r->divisor != 1) for (int i = 0; i < n; i++) { A a = sum[i]; sum[i] = DIVIDE; } \
            for (int i = 0; i < n; i++) { A x = sum[i]; raw[i] = STORE; } \
            memcpy((void *)(r->target + first * sizeof(T)), raw, (size_t)n * sizeof(T)); \
        } \
    }

#define REDUCE_FLOATS(name, T, A, LOAD, STORE) \
    REDUCE_TYPE(name, T, A, LOAD, STORE, a + b, a * b, least_##A(a, b), most_##A(a, b), a / (A)r->divisor)

/* Sums and products wrap around. */
#define REDUCE_INTEGERS(name, T, U) \
    REDUCE_TYPE(name, T, T, x, x, (T)((U)a + (U)b), (T)((U)a * (U)b), (a < b ? a : b), (a > b ? a : b), \
                (T)(a / (T)r->divisor))

REDUCE_FLOATS(f32, float, float, x, x)
REDUCE_FLOATS(f64, double, double, x, x)
REDUCE_FLOATS(f16, uint16_t, float, from_f16(x), to_f16(x))
REDUCE_FLOATS(bf16, uint16_t, float, from_bf16(x), to_bf16(x))
REDUCE_INTEGERS(i8, int8_t, uint32_t)
REDUCE_INTEGERS(u8, uint8_t, uint32_t)
REDUCE_INTEGERS(i32, int32_t, uint32_t)
REDUCE_INTEGERS(i64, int64_t, uint64_t)
REDUCE_INTEGERS(i128, i128, u128)

static void reduce(const Reduction *r, Type type, Operation operation) {
    static void (*const by_type[])(const Reduction *, Operation) = {
        reduce_f32, reduce_f64, reduce_f16, reduce_bf16, reduce_i8, reduce_u8, reduce_i32, reduce_i64, reduce_i128};
    by_type[type](r, operation);
}

/* ---- Wide sums ---- */

static i128 element(Type type, CUdeviceptr at, uint64_t index) {
    const unsigned char *place = (const unsigned char *)at + index * type_bytes[type];
    switch (type) {
        case I8: return *(const int8_t *)place;
        case U8: return *place;
        case I32: { int32_t value; memcpy(&value, place, sizeof value); return value; }
        case I64: { int64_t value; memcpy(&value, place, sizeof value); return value; }
        default: { i128 value; memcpy(&value, place, sizeof value); return value; }
    }
}

static Type wide(Type type) { return type == I64 ? I128 : I64; }

/* Little-endian: the low bytes of a wide number are the narrow one. */
static void convert(Type to, Type from, CUdeviceptr target, CUdeviceptr source, uint64_t count, unsigned divisor) {
    for (uint64_t i = 0; i < count; i++) {
        i128 value = element(from, source, i) / (i128)divisor;
        memcpy((unsigned char *)target + i * type_bytes[to], &value, type_bytes[to]);
    }
}

/* ---- By name ---- */

static int index_of(const char *word, const char *const *words, int number) {
    for (int i = 0; i < number; i++) {
        if (!strcmp(word, words[i])) return i;
    }
    return -1;
}

static int is_integer(int type) { return type >= I8 && type <= I64; }

static void parameters(KernelCode *code, int pointers, int last) {
    code->sources = pointers - 1;
    code->parameters = 0;
    for (int p = 0; p <= pointers; p++) code->sizes[code->parameters++] = 8; /* and the count */
    if (last) code->sizes[code->parameters++] = (unsigned char)last;
}

int kernel_named(const char *name, KernelCode *code) {
    char first[16], second[16];
    int k, end = 0;
    memset(code, 0, sizeof *code);
    snprintf(code->name, sizeof code->name, "%s", name);
    if (!strcmp(name, "banyan_copy")) {
        code->kind = PLAIN_COPY;
        code->type = BYTES;
        parameters(code, 2, 0);
        return 1;
    }
    if (sscanf(name, "banyan_reduce_%15[a-z]_%15[a-z0-9]_%d%n", first, second, &k, &end) == 3 && !name[end]) {
        code->kind = REDUCE;
        code->op = index_of(first, operations, 4);
        code->type = index_of(second, types, 9);
        parameters(code, k + 1, 4);
        return code->op >= 0 && code->type >= 0 && k >= 2 && k <= MOST_SOURCES && (code->type != I128 || code->op == SUM);
    }
    if (sscanf(name, "banyan_%15[a-z]_%15[a-z0-9]%n", first, second, &end) == 2 && !name[end]) {
        code->kind = !strcmp(first, "widen") ? WIDEN : !strcmp(first, "mean") ? MEAN : -1;
        code->type = index_of(second, types, 9);
        parameters(code, 2, code->kind == MEAN ? 4 : 0);
        return code->kind >= 0 && is_integer(code->type);
    }
    return 0;
}

static uint64_t number_at(const unsigned char *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

CUresult carry_out_kernel(Op *op) {
    const KernelCode *code = &op->work.launch.code;
    const unsigned char *values = op->work.launch.parameters;
    Reduction r = {.sources = code->sources, .divisor = 1};
    r.target = number_at(values);
    for (int s = 0; s < r.sources; s++) r.source[s] = number_at(values + 8 * (s + 1));
    r.count = number_at(values + 8 * (r.sources + 1));
    if (code->sizes[code->parameters - 1] == 4) memcpy(&r.divisor, values + 8 * (r.sources + 2), 4);
    Type from = (Type)code->type, to = from;
    if (code->kind == WIDEN) to = wide(from);
    if (code->kind == MEAN) from = wide(to);
    if (!r.divisor || (code->kind == REDUCE && from > BF16 && r.divisor != 1)) {
        pthread_mutex_lock(&emu.lock);
        problem("%s: divided by %u", code->name, r.divisor);
        pthread_mutex_unlock(&emu.lock);
        return LAUNCH_FAILED;
    }
    Range ranges[MOST_SOURCES + 1];
    ranges[0] = (Range){r.target, r.count * type_bytes[to], type_bytes[to]};
    for (int s = 0; s < r.sources; s++) {
        ranges[s + 1] = (Range){r.source[s], r.count * type_bytes[from], type_bytes[from]};
    }
    CUresult result = pin(op->work.context, ranges, r.sources + 1, code->name);
    if (result) return result;
    switch (code->kind) {
        case REDUCE: reduce(&r, from, (Operation)code->op); break;
        case PLAIN_COPY: memmove((void *)r.target, (const void *)r.source[0], r.count); break;
        default: convert(to, from, r.target, r.source[0], r.count, r.divisor); break;
    }
    unpin(ranges, r.sources + 1);
    pthread_mutex_lock(&emu.lock);
    counters.kernels++;
    pthread_mutex_unlock(&emu.lock);
    return OK;
}
