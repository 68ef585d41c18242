/* Instructions whose results depend on their operands alone, for the lanes of a warp. */
#include "ptx.h"

#include <math.h>

#define PLACE(T, at) ((T *)(warp->registers + (at)))

/* Without a branch where all lanes take part, so that the compiler makes vectors of them. */
#define FOR_LANES(...) \
    do { \
        uint32_t mask = warp->mask; \
        if (mask == UINT32_MAX) { \
            _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++) { __VA_ARGS__ } \
        } else { \
            for (int l = 0; l < LANES; l++) { \
                if (mask >> l & 1) { __VA_ARGS__ } \
            } \
        } \
    } while (0)

#define UNARY(name, D, S, result) \
    static void name(Warp *warp, const Instruction *in) { \
        D *d = PLACE(D, in->to[0]); \
        const S *first = PLACE(S, in->from[0]); \
        FOR_LANES(S a = first[l]; d[l] = (D)(result);); \
    }

#define BINARY(name, D, S, T, result) \
    static void name(Warp *warp, const Instruction *in) { \
        D *d = PLACE(D, in->to[0]); \
        const S *first = PLACE(S, in->from[0]); \
        const T *second = PLACE(T, in->from[1]); \
        FOR_LANES(S a = first[l]; T b = second[l]; d[l] = (D)(result);); \
    }

#define TERNARY(name, D, S, T, U, result) \
    static void name(Warp *warp, const Instruction *in) { \
        D *d = PLACE(D, in->to[0]); \
        const S *first = PLACE(S, in->from[0]); \
        const T *second = PLACE(T, in->from[1]); \
        const U *third = PLACE(U, in->from[2]); \
        FOR_LANES(S a = first[l]; T b = second[l]; U c = third[l]; d[l] = (D)(result);); \
    }

/* ---- Integers; sums and products wrap around ---- */

typedef unsigned __int128 u128;
typedef __int128 s128;

#define INTEGERS(BITS, U, S, W, V) \
    BINARY(add_##BITS, U, U, U, (W)a + b) \
    BINARY(sub_##BITS, U, U, U, (W)a - b) \
    BINARY(mul_##BITS, U, U, U, (W)a * b) \
    TERNARY(mad_##BITS, U, U, U, U, (W)a * b + c) \
    BINARY(div_u##BITS, U, U, U, b ? a / b : (U)-1) \
    BINARY(rem_u##BITS, U, U, U, b ? a % b : a) \
    BINARY(div_s##BITS, S, S, S, !b ? -1 : b == -1 ? (S)(0 - (W)a) : a / b) \
    BINARY(rem_s##BITS, S, S, S, !b ? a : b == -1 ? 0 : a % b) \
    BINARY(min_u##BITS, U, U, U, a < b ? a : b) \
    BINARY(max_u##BITS, U, U, U, a > b ? a : b) \
    BINARY(min_s##BITS, S, S, S, a < b ? a : b) \
    BINARY(max_s##BITS, S, S, S, a > b ? a : b) \
    UNARY(neg_##BITS, U, U, 0 - (W)a) \
    UNARY(abs_##BITS, U, S, a < 0 ? 0 - (W)a : (W)a) \
    BINARY(and_##BITS, U, U, U, a & b) \
    BINARY(or_##BITS, U, U, U, a | b) \
    BINARY(xor_##BITS, U, U, U, a ^ b) \
    UNARY(not_##BITS, U, U, ~a) \
    BINARY(shl_##BITS, U, U, uint32_t, b < BITS ? (W)a << b : 0) \
    BINARY(shr_u##BITS, U, U, uint32_t, b < BITS ? a >> b : 0) \
    BINARY(shr_s##BITS, S, S, uint32_t, a >> (b < BITS ? b : BITS - 1)) \
    BINARY(high_u##BITS, U, U, U, (U)((V)a * b >> BITS)) \
    BINARY(high_s##BITS, S, S, S, (S)((s128)a * b >> BITS))

INTEGERS(16, uint16_t, int16_t, uint32_t, u128)
INTEGERS(32, uint32_t, int32_t, uint32_t, u128)
INTEGERS(64, uint64_t, int64_t, uint64_t, u128)

BINARY(wide_u16, uint32_t, uint16_t, uint16_t, (uint32_t)a * b)
BINARY(wide_s16, int32_t, int16_t, int16_t, a * b)
BINARY(wide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)a * b)
BINARY(wide_s32, int64_t, int32_t, int32_t, (int64_t)a * b)
TERNARY(mad_wide_u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a * b + c)
TERNARY(mad_wide_s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a * b) + c)

UNARY(popc_32, uint32_t, uint32_t, __builtin_popcount(a))
UNARY(popc_64, uint32_t, uint64_t, __builtin_popcountll(a))
UNARY(clz_32, uint32_t, uint32_t, a ? __builtin_clz(a) : 32)
UNARY(clz_64, uint32_t, uint64_t, a ? __builtin_clzll(a) : 64)

/* A field of bits that leaves the register ends there; a signed one is then filled with the register's sign. */
static inline uint64_t field(uint64_t a, unsigned at, unsigned length, unsigned bits, int is_signed) {
    at &= 0xff;
    length &= 0xff;
    unsigned sign_at = at + length > bits || !length ? bits - 1 : at + length - 1;
    uint64_t sign = is_signed && length && sign_at < bits ? a >> sign_at & 1 : 0;
    uint64_t mask = length < 64 ? (1ULL << length) - 1 : UINT64_MAX;
    uint64_t value = at < bits ? a >> at : 0;
    unsigned given = at >= bits ? 0 : bits - at < length ? bits - at : length;
    uint64_t given_mask = given < 64 ? (1ULL << given) - 1 : UINT64_MAX;
    value &= mask & given_mask;
    if (sign) value |= ~(given_mask & mask);
    return value;
}

TERNARY(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, field(a, b, c, 32, 0))
TERNARY(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, field(a, b, c, 32, 1))
TERNARY(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, field(a, b, c, 64, 0))
TERNARY(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, field(a, b, c, 64, 1))

#define INSERT(BITS, U) \
    static void bfi_##BITS(Warp *warp, const Instruction *in) { \
        U *d = PLACE(U, in->to[0]); \
        const U *first = PLACE(U, in->from[0]), *second = PLACE(U, in->from[1]); \
        const uint32_t *third = PLACE(uint32_t, in->from[2]), *fourth = PLACE(uint32_t, in->from[3]); \
        FOR_LANES( \
            unsigned at = third[l] & 0xff; unsigned length = fourth[l] & 0xff; \
            U ones = (U)(length < BITS ? ((U)1 << length) - 1 : (U)-1); \
            U mask = (U)(at < BITS ? ones << at : 0); \
            d[l] = (U)((second[l] & ~mask) | ((at < BITS ? first[l] << at : 0) & mask));); \
    }

INSERT(32, uint32_t)
INSERT(64, uint64_t)

/* With the carry of a sum, and the borrow of a difference. */
#define CARRY(BITS, U) \
    static void add_carry_##BITS(Warp *warp, const Instruction *in, int with, int sets, int subtracts) { \
        U *d = PLACE(U, in->to[0]); \
        const U *first = PLACE(U, in->from[0]), *second = PLACE(U, in->from[1]); \
        uint32_t carries = 0; \
        for (int l = 0; l < LANES; l++) { \
            if (!(warp->mask >> l & 1)) continue; \
            u128 carry = with ? warp->carry >> l & 1 : 0; \
            u128 result = subtracts ? (u128)first[l] - second[l] - carry : (u128)first[l] + second[l] + carry; \
            carries |= (uint32_t)(result >> BITS & 1) << l; \
            d[l] = (U)result; \
        } \
        if (sets) warp->carry = (warp->carry & ~warp->mask) | carries; \
    } \
    static void add_cc_##BITS(Warp *warp, const Instruction *in) { add_carry_##BITS(warp, in, 0, 1, 0); } \
    static void addc_##BITS(Warp *warp, const Instruction *in) { add_carry_##BITS(warp, in, 1, 0, 0); } \
    static void addc_cc_##BITS(Warp *warp, const Instruction *in) { add_carry_##BITS(warp, in, 1, 1, 0); } \
    static void sub_cc_##BITS(Warp *warp, const Instruction *in) { add_carry_##BITS(warp, in, 0, 1, 1); } \
    static void subc_##BITS(Warp *warp, const Instruction *in) { add_carry_##BITS(warp, in, 1, 0, 1); } \
    static void subc_cc_##BITS(Warp *warp, const Instruction *in) { add_carry_##BITS(warp, in, 1, 1, 1); }

CARRY(32, uint32_t)
CARRY(64, uint64_t)

/* ---- Floats, rounded to nearest, ties to even, with subnormals ---- */

/* The other number where one is a NaN; -0 is less than +0. */
#define EXTREMES(F, suffix) \
    static inline F lesser_##suffix(F a, F b) { \
        if (a != a) return b; \
        if (b != b) return a; \
        if (a == b) return signbit(a) ? a : b; \
        return a < b ? a : b; \
    } \
    static inline F greater_##suffix(F a, F b) { \
        if (a != a) return b; \
        if (b != b) return a; \
        if (a == b) return signbit(a) ? b : a; \
        return a > b ? a : b; \
    }

EXTREMES(float, f32)
EXTREMES(double, f64)

#define FLOATS(suffix, F, FMA, FABS, SQRT) \
    BINARY(add_##suffix, F, F, F, a + b) \
    BINARY(sub_##suffix, F, F, F, a - b) \
    BINARY(mul_##suffix, F, F, F, a * b) \
    BINARY(div_##suffix, F, F, F, a / b) \
    TERNARY(fma_##suffix, F, F, F, F, FMA(a, b, c)) \
    UNARY(neg_##suffix, F, F, -a) \
    UNARY(abs_##suffix, F, F, FABS(a)) \
    UNARY(sqrt_##suffix, F, F, SQRT(a)) \
    BINARY(min_##suffix, F, F, F, lesser_##suffix(a, b)) \
    BINARY(max_##suffix, F, F, F, greater_##suffix(a, b))

FLOATS(f32, float, fmaf, fabsf, sqrtf)
FLOATS(f64, double, fma, fabs, sqrt)

/* ---- Predicates ---- */

static inline void set_predicate(Warp *warp, int predicate, uint32_t bits) {
    uint32_t *d = &warp->predicates[predicate];
    *d = (*d & ~warp->mask) | (bits & warp->mask);
}

#define COMPARE(name, T, holds) \
    static void name(Warp *warp, const Instruction *in) { \
        const T *first = PLACE(T, in->from[0]), *second = PLACE(T, in->from[1]); \
        uint32_t bits = 0; \
        for (int l = 0; l < LANES; l++) { \
            T a = first[l], b = second[l]; \
            bits |= (uint32_t)(holds) << l; \
        } \
        set_predicate(warp, in->to[0], bits); \
    }

#define EQUALITIES(suffix, T) \
    COMPARE(eq_##suffix, T, a == b) \
    COMPARE(ne_##suffix, T, a != b)

#define ORDERS(suffix, T) \
    COMPARE(lt_##suffix, T, a < b) \
    COMPARE(le_##suffix, T, a <= b) \
    COMPARE(gt_##suffix, T, a > b) \
    COMPARE(ge_##suffix, T, a >= b)

/* The last two letters of PTX: u holds where one is a NaN; "ne" does not. */
#define UNORDERED(suffix, T) \
    COMPARE(equ_##suffix, T, !(a < b || a > b)) \
    COMPARE(neu_##suffix, T, !(a == b)) \
    COMPARE(ltu_##suffix, T, !(a >= b)) \
    COMPARE(leu_##suffix, T, !(a > b)) \
    COMPARE(gtu_##suffix, T, !(a <= b)) \
    COMPARE(geu_##suffix, T, !(a < b)) \
    COMPARE(num_##suffix, T, a == a && b == b) \
    COMPARE(nan_##suffix, T, a != a || b != b) \
    COMPARE(ne_##suffix, T, a < b || a > b)

EQUALITIES(16, uint16_t)
EQUALITIES(32, uint32_t)
EQUALITIES(64, uint64_t)
COMPARE(eq_f32, float, a == b)
COMPARE(eq_f64, double, a == b)
ORDERS(u16, uint16_t)
ORDERS(u32, uint32_t)
ORDERS(u64, uint64_t)
ORDERS(s16, int16_t)
ORDERS(s32, int32_t)
ORDERS(s64, int64_t)
ORDERS(f32, float)
ORDERS(f64, double)
UNORDERED(f32, float)
UNORDERED(f64, double)

#define LOGIC(name, result) \
    static void name(Warp *warp, const Instruction *in) { \
        uint32_t a = warp->predicates[in->from[0]], b = warp->predicates[in->from[1]]; \
        (void)b; \
        set_predicate(warp, in->to[0], result); \
    }

LOGIC(and_predicate, a & b)
LOGIC(or_predicate, a | b)
LOGIC(xor_predicate, a ^ b)
LOGIC(not_predicate, ~a)

void copy_predicate(Warp *warp, const Instruction *in) { set_predicate(warp, in->to[0], warp->predicates[in->from[0]]); }

#define SELECT(name, T) \
    static void name(Warp *warp, const Instruction *in) { \
        T *d = PLACE(T, in->to[0]); \
        const T *first = PLACE(T, in->from[0]), *second = PLACE(T, in->from[1]); \
        uint32_t chosen = warp->predicates[in->from[2]]; \
        FOR_LANES(d[l] = chosen >> l & 1 ? first[l] : second[l];); \
    }

SELECT(select_16, uint16_t)
SELECT(select_32, uint32_t)
SELECT(select_64, uint64_t)

/* ---- Moves ---- */

#define COPY_REGISTERS(name, T) \
    void name(Warp *warp, const Instruction *in) { \
        T *d = PLACE(T, in->to[0]); \
        const T *first = PLACE(T, in->from[0]); \
        FOR_LANES(d[l] = first[l];); \
    }

COPY_REGISTERS(copy_2, uint16_t)
COPY_REGISTERS(copy_4, uint32_t)
COPY_REGISTERS(copy_8, uint64_t)

/* The first of several is the lowest part. */
void pack(Warp *warp, const Instruction *in) {
    for (int l = 0; l < LANES; l++) {
        if (!(warp->mask >> l & 1)) continue;
        for (int part = 0; part < in->vector; part++) {
            memcpy(warp->registers + in->to[0] + in->register_bytes * l + in->bytes * part,
                   warp->registers + in->from[part] + in->bytes * l, in->bytes);
        }
    }
}

/* With constant sizes the compiler copies without calls. */
static inline __attribute__((always_inline)) void unpack_parts(Warp *warp, const Instruction *in, unsigned register_bytes,
                                                               unsigned bytes, int parts) {
    for (int l = 0; l < LANES; l++) {
        if (!(warp->mask >> l & 1)) continue;
        unsigned char whole[8];
        memcpy(whole, warp->registers + in->from[0] + register_bytes * l, register_bytes);
        for (int part = 0; part < parts; part++) {
            memcpy(warp->registers + in->to[part] + bytes * l, whole + bytes * part, bytes);
        }
    }
}

void unpack(Warp *warp, const Instruction *in) {
    if (in->register_bytes == 8 && in->bytes == 4) unpack_parts(warp, in, 8, 4, 2);
    else if (in->register_bytes == 4 && in->bytes == 2) unpack_parts(warp, in, 4, 2, 2);
    else unpack_parts(warp, in, in->register_bytes, in->bytes, in->vector);
}

/* ---- Conversions ---- */

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

/* To nearest, ties to even. */
static uint16_t to_f16(float value) {
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x47800000) return (uint16_t)(sign | 0x7c00);
    /* Below 2^-14 a half has the unit 2^-24, which is that of floats at 0.5. */
    if (magnitude < 0x38800000) return (uint16_t)(sign | (bits_of(as_float(magnitude) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
}

static uint16_t to_bf16(float value) {
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float wide_half(uint16_t value, Elements elements) {
    return elements == HALVES ? f16_values[value] : as_float((uint32_t)value << 16);
}

uint16_t rounded_half(float value, Elements elements) { return elements == HALVES ? to_f16(value) : to_bf16(value); }

UNARY(f32_of_f16, float, uint16_t, f16_values[a])
UNARY(f16_of_f32, uint16_t, float, to_f16(a))
UNARY(f32_of_bf16, float, uint16_t, as_float((uint32_t)a << 16))
UNARY(bf16_of_f32, uint16_t, float, to_bf16(a))
UNARY(f32_of_f64, float, double, a)
UNARY(f64_of_f32, double, float, a)

/* The type's sign or zeros fill a register that is wider than the type. */
#define INTEGER_TO(name, S) \
    UNARY(u16_of_##name, uint16_t, S, a) \
    UNARY(u32_of_##name, uint32_t, S, a) \
    UNARY(u64_of_##name, uint64_t, S, a) \
    UNARY(f32_of_##name, float, S, a) \
    UNARY(f64_of_##name, double, S, a)

INTEGER_TO(u16, uint16_t)
INTEGER_TO(s16, int16_t)
INTEGER_TO(u32, uint32_t)
INTEGER_TO(s32, int32_t)
INTEGER_TO(u64, uint64_t)
INTEGER_TO(s64, int64_t)

/* Toward zero; what does not fit becomes the nearest that does. A NaN is 0 from f32 to 32 bits, else the highest bit. */
#define TO_INTEGER(name, D, F, least, beyond, greatest) \
    UNARY(name, D, F, a != a ? (D)(sizeof(F) + sizeof(D) == 8 ? 0 : (uint64_t)1 << (8 * sizeof(D) - 1)) : a < (F)(least) ? (D)(least) : a >= (F)(beyond) ? (D)(greatest) : (D)a)

TO_INTEGER(s32_of_f32, int32_t, float, INT32_MIN, 0x1p31, INT32_MAX)
TO_INTEGER(u32_of_f32, uint32_t, float, 0, 0x1p32, UINT32_MAX)
TO_INTEGER(s64_of_f32, int64_t, float, INT64_MIN, 0x1p63, INT64_MAX)
TO_INTEGER(u64_of_f32, uint64_t, float, 0, 0x1p64, UINT64_MAX)
TO_INTEGER(s32_of_f64, int32_t, double, INT32_MIN, 0x1p31, INT32_MAX)
TO_INTEGER(u32_of_f64, uint32_t, double, 0, 0x1p32, UINT32_MAX)
TO_INTEGER(s64_of_f64, int64_t, double, INT64_MIN, 0x1p63, INT64_MAX)
TO_INTEGER(u64_of_f64, uint64_t, double, 0, 0x1p64, UINT64_MAX)
UNARY(near_s64_of_f64, int64_t, double, isnan(a) ? INT64_MIN : a < -0x1p63 ? INT64_MIN : a >= 0x1p63 ? INT64_MAX : (int64_t)rint(a))

void (*conversion(const char *rounding, const char *to, const char *from))(Warp *, const Instruction *) {
    static const struct {
        const char *rounding, *to, *from;
        void (*run)(Warp *, const Instruction *);
    } known[] = {
        {"", "f32", "f16", f32_of_f16}, {"rn", "f16", "f32", f16_of_f32}, {"", "f32", "bf16", f32_of_bf16},
        {"rn", "bf16", "f32", bf16_of_f32}, {"rn", "f32", "f64", f32_of_f64}, {"", "f64", "f32", f64_of_f32},
#define FROM(name) \
        {"", "u16", #name, u16_of_##name}, {"", "s16", #name, u16_of_##name}, {"", "u32", #name, u32_of_##name}, \
        {"", "s32", #name, u32_of_##name}, {"", "u64", #name, u64_of_##name}, {"", "s64", #name, u64_of_##name}, \
        {"rn", "f32", #name, f32_of_##name}, {"rn", "f64", #name, f64_of_##name}
        FROM(u16), FROM(s16), FROM(u32), FROM(s32), FROM(u64), FROM(s64),
        {"", "f64", "u32", f64_of_u32}, {"", "f64", "s32", f64_of_s32}, /* exact */
        {"rzi", "s32", "f32", s32_of_f32}, {"rzi", "u32", "f32", u32_of_f32}, {"rzi", "s64", "f32", s64_of_f32},
        {"rzi", "u64", "f32", u64_of_f32}, {"rzi", "s32", "f64", s32_of_f64}, {"rzi", "u32", "f64", u32_of_f64},
        {"rzi", "s64", "f64", s64_of_f64}, {"rzi", "u64", "f64", u64_of_f64}, {"rni", "s64", "f64", near_s64_of_f64},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(known[i].rounding, rounding) && !strcmp(known[i].to, to) && !strcmp(known[i].from, from)) {
            return known[i].run;
        }
    }
    return NULL;
}

/* ---- By name ---- */

#define SIGNLESS(word, function, bits, operands) \
    {word ".u" #bits, function##_##bits, operands}, {word ".s" #bits, function##_##bits, operands}

#define BITWISE(word, function) \
    {word ".b16", function##_16, "2:22"}, {word ".b32", function##_32, "4:44"}, {word ".b64", function##_64, "8:88"}

#define SIGNED(word, function) \
    {word ".u16", function##_u16, "2:22"}, {word ".u32", function##_u32, "4:44"}, {word ".u64", function##_u64, "8:88"}, \
    {word ".s16", function##_s16, "2:22"}, {word ".s32", function##_s32, "4:44"}, {word ".s64", function##_s64, "8:88"}

#define WRAPPING(word, function) \
    SIGNLESS(word, function, 16, "2:22"), SIGNLESS(word, function, 32, "4:44"), SIGNLESS(word, function, 64, "8:88")

#define CARRIES(word, function) SIGNLESS(word, function, 32, "4:44"), SIGNLESS(word, function, 64, "8:88")

#define FLOATING(word, function) \
    {word ".f32", function##_f32, "4:44"}, {word ".f64", function##_f64, "8:88"}, \
    {word ".rn.f32", function##_f32, "4:44"}, {word ".rn.f64", function##_f64, "8:88"}

#define ONE_FLOAT(word, function) {word ".f32", function##_f32, "4:4"}, {word ".f64", function##_f64, "8:8"}

#define EQUAL(word, function) \
    {"setp." word ".b16", function##_16, "p:22"}, {"setp." word ".u16", function##_16, "p:22"}, \
    {"setp." word ".s16", function##_16, "p:22"}, {"setp." word ".b32", function##_32, "p:44"}, \
    {"setp." word ".u32", function##_32, "p:44"}, {"setp." word ".s32", function##_32, "p:44"}, \
    {"setp." word ".b64", function##_64, "p:88"}, {"setp." word ".u64", function##_64, "p:88"}, \
    {"setp." word ".s64", function##_64, "p:88"}

#define ORDERED(word, function) \
    {"setp." word ".s16", function##_s16, "p:22"}, {"setp." word ".s32", function##_s32, "p:44"}, \
    {"setp." word ".s64", function##_s64, "p:88"}, {"setp." word ".f32", function##_f32, "p:44"}, \
    {"setp." word ".f64", function##_f64, "p:88"}, UNSIGNED_ORDERED(word, function)

#define UNSIGNED_ORDERED(word, function) \
    {"setp." word ".u16", function##_u16, "p:22"}, {"setp." word ".u32", function##_u32, "p:44"}, \
    {"setp." word ".u64", function##_u64, "p:88"}

#define FLOAT_ORDERED(word, function) \
    {"setp." word ".f32", function##_f32, "p:44"}, {"setp." word ".f64", function##_f64, "p:88"}

const Operation *operation_named(const char *name) {
    static const Operation operations[] = {
        WRAPPING("add", add), WRAPPING("sub", sub), WRAPPING("mul.lo", mul), SIGNED("mul.hi", high),
        SIGNLESS("mad.lo", mad, 16, "2:222"), SIGNLESS("mad.lo", mad, 32, "4:444"), SIGNLESS("mad.lo", mad, 64, "8:888"),
        {"mul.wide.u16", wide_u16, "4:22"}, {"mul.wide.s16", wide_s16, "4:22"}, {"mul.wide.u32", wide_u32, "8:44"},
        {"mul.wide.s32", wide_s32, "8:44"}, {"mad.wide.u32", mad_wide_u32, "8:448"},
        {"mad.wide.s32", mad_wide_s32, "8:448"}, SIGNED("div", div), SIGNED("rem", rem), SIGNED("min", min),
        SIGNED("max", max), {"neg.s16", neg_16, "2:2"}, {"neg.s32", neg_32, "4:4"}, {"neg.s64", neg_64, "8:8"},
        {"abs.s16", abs_16, "2:2"}, {"abs.s32", abs_32, "4:4"}, {"abs.s64", abs_64, "8:8"}, BITWISE("and", and),
        BITWISE("or", or), BITWISE("xor", xor), {"not.b16", not_16, "2:2"}, {"not.b32", not_32, "4:4"},
        {"not.b64", not_64, "8:8"}, {"shl.b16", shl_16, "2:24"}, {"shl.b32", shl_32, "4:44"}, {"shl.b64", shl_64, "8:84"},
        {"shr.b16", shr_u16, "2:24"}, {"shr.b32", shr_u32, "4:44"}, {"shr.b64", shr_u64, "8:84"},
        {"shr.u16", shr_u16, "2:24"}, {"shr.u32", shr_u32, "4:44"}, {"shr.u64", shr_u64, "8:84"},
        {"shr.s16", shr_s16, "2:24"}, {"shr.s32", shr_s32, "4:44"}, {"shr.s64", shr_s64, "8:84"},
        {"popc.b32", popc_32, "4:4"}, {"popc.b64", popc_64, "4:8"}, {"clz.b32", clz_32, "4:4"}, {"clz.b64", clz_64, "4:8"},
        {"bfe.u32", bfe_u32, "4:444"}, {"bfe.s32", bfe_s32, "4:444"}, {"bfe.u64", bfe_u64, "8:844"},
        {"bfe.s64", bfe_s64, "8:844"}, {"bfi.b32", bfi_32, "4:4444"}, {"bfi.b64", bfi_64, "8:8844"},
        CARRIES("add.cc", add_cc), CARRIES("addc", addc), CARRIES("addc.cc", addc_cc), CARRIES("sub.cc", sub_cc),
        CARRIES("subc", subc), CARRIES("subc.cc", subc_cc),
        FLOATING("add", add), FLOATING("sub", sub), FLOATING("mul", mul), {"div.rn.f32", div_f32, "4:44"},
        {"div.rn.f64", div_f64, "8:88"}, {"fma.rn.f32", fma_f32, "4:444"}, {"fma.rn.f64", fma_f64, "8:888"},
        ONE_FLOAT("neg", neg), ONE_FLOAT("abs", abs), ONE_FLOAT("sqrt.rn", sqrt), {"min.f32", min_f32, "4:44"},
        {"min.f64", min_f64, "8:88"}, {"max.f32", max_f32, "4:44"}, {"max.f64", max_f64, "8:88"},
        EQUAL("eq", eq), EQUAL("ne", ne), FLOAT_ORDERED("eq", eq), FLOAT_ORDERED("ne", ne), ORDERED("lt", lt),
        ORDERED("le", le), ORDERED("gt", gt), ORDERED("ge", ge), UNSIGNED_ORDERED("lo", lt), UNSIGNED_ORDERED("ls", le),
        UNSIGNED_ORDERED("hi", gt), UNSIGNED_ORDERED("hs", ge), FLOAT_ORDERED("equ", equ), FLOAT_ORDERED("neu", neu),
        FLOAT_ORDERED("ltu", ltu), FLOAT_ORDERED("leu", leu), FLOAT_ORDERED("gtu", gtu), FLOAT_ORDERED("geu", geu),
        FLOAT_ORDERED("num", num), FLOAT_ORDERED("nan", nan), {"and.pred", and_predicate, "p:pp"},
        {"or.pred", or_predicate, "p:pp"}, {"xor.pred", xor_predicate, "p:pp"}, {"not.pred", not_predicate, "p:p"},
        {"selp.b16", select_16, "2:22p"}, {"selp.u16", select_16, "2:22p"}, {"selp.s16", select_16, "2:22p"},
        {"selp.b32", select_32, "4:44p"}, {"selp.u32", select_32, "4:44p"}, {"selp.s32", select_32, "4:44p"},
        {"selp.f32", select_32, "4:44p"}, {"selp.b64", select_64, "8:88p"}, {"selp.u64", select_64, "8:88p"},
        {"selp.s64", select_64, "8:88p"}, {"selp.f64", select_64, "8:88p"},
    };
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (!strcmp(operations[i].name, name)) return &operations[i];
    }
    return NULL;
}
