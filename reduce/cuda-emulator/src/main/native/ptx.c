/*
 * Decodes PTX: what Banyan's kernels use, and what kernels of that kind may use. What is not known here is an error, never
 * a guess.
 */
#include "ptx.h"

#include <ctype.h>

enum { NEWEST_PTX = 85, MOST_WORDS = 12, MOST_ARGUMENTS = 8, WORD_BYTES = 32, MOST_THREADS = 1024 }; /* 8.5: drivers for CUDA 12.6 */

typedef enum { PREDICATE_REGISTER, DATA_REGISTER, SHARED_VARIABLE, LABEL } NameKind;

/* Registers of a range such as %r<8> are the names from %r0 to %r7. */
typedef struct {
    char name[NAME_BYTES];
    NameKind kind;
    int count; /* of a range; -1 for one name */
    int bytes, place;
} Name;

typedef struct {
    char name[NAME_BYTES];
    int instruction, line;
} Jump;

typedef struct {
    const char *at;
    int line;
    const Program *program;
    Kernel *kernel;
    Name *names;
    int name_count;
    Jump *jumps;
    int jump_count;
    int failed;
} Parser;

static void fail(Parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(Parser *parser, const char *format, ...) {
    if (parser->failed) return;
    parser->failed = 1;
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    problem("PTX line %d: %s", parser->line, text);
}

/* One more element of an array whose room is a power of two. */
static void *one_more(void *array, int count, size_t bytes) {
    if (count & (count - 1)) return array;
    return realloc(array, (size_t)(count ? 2 * count : 1) * bytes);
}

/* ---- Text ---- */

/* A copy whose comments are blanks. */
static char *without_comments(const char *text) {
    char *clean = strdup(text);
    for (char *c = clean; *c;) {
        if (c[0] == '/' && c[1] == '/') {
            while (*c && *c != '\n') *c++ = ' ';
        } else if (c[0] == '/' && c[1] == '*') {
            char *end = strstr(c + 2, "*/");
            for (end = end ? end + 2 : c + strlen(c); c < end; c++) {
                if (*c != '\n') *c = ' ';
            }
        } else {
            c++;
        }
    }
    return clean;
}

static void skip_blanks(Parser *parser) {
    for (; isspace((unsigned char)*parser->at); parser->at++) parser->line += *parser->at == '\n';
}

static int take(Parser *parser, const char *text) {
    skip_blanks(parser);
    size_t length = strlen(text);
    if (strncmp(parser->at, text, length)) return 0;
    parser->at += length;
    return 1;
}

static int is_of_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.'; }

/* A name, a directive or a number; empty where there is none. */
static void take_name(Parser *parser, char *name) {
    skip_blanks(parser);
    size_t length = 0;
    while (is_of_name(parser->at[length]) || (parser->at[length] == ':' && parser->at[length + 1] == ':') || (length && parser->at[length] == ':' && parser->at[length - 1] == ':')) length++;
    snprintf(name, NAME_BYTES, "%.*s", (int)length, parser->at);
    if (length >= NAME_BYTES) fail(parser, "the name %s... is too long", name);
    parser->at += length;
}

static void expect(Parser *parser, const char *text) {
    if (!take(parser, text)) fail(parser, "\"%s\" is missing before \"%.20s\"", text, parser->at);
}

static long take_number(Parser *parser) {
    skip_blanks(parser);
    char *end;
    long number = strtol(parser->at, &end, 0);
    if (end == parser->at) fail(parser, "a number is missing before \"%.20s\"", parser->at);
    parser->at = end;
    return number;
}

/* ---- Names ---- */

static int type_bytes(const char *type) {
    static const struct { const char *name; int bytes; } types[] = {
        {"b8", 1}, {"u8", 1}, {"s8", 1}, {"b16", 2}, {"u16", 2}, {"s16", 2}, {"f16", 2}, {"bf16", 2}, {"b32", 4}, {"u32", 4},
        {"s32", 4}, {"f32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!strcmp(types[i].name, type)) return types[i].bytes;
    }
    return 0;
}

static int add_place(Kernel *kernel, int bytes) {
    int align = bytes * LANES;
    int place = (kernel->register_bytes + align - 1) / align * align;
    kernel->register_bytes = place + align;
    return place;
}

static const Name *find_name(const Parser *parser, const char *name, int *index) {
    size_t length = strlen(name), digits = length;
    while (digits && isdigit((unsigned char)name[digits - 1])) digits--;
    *index = 0;
    for (int n = 0; n < parser->name_count; n++) {
        const Name *known = &parser->names[n];
        if (known->count < 0) {
            if (!strcmp(known->name, name)) return known;
        } else if (digits < length && strlen(known->name) <= length && !strncmp(known->name, name, strlen(known->name))) {
            char *end;
            long number = strtol(name + strlen(known->name), &end, 10);
            int plain = isdigit((unsigned char)name[strlen(known->name)]);
            if (*end || !plain || number >= known->count) continue;
            *index = (int)number;
            return known;
        }
    }
    return NULL;
}

static void add_name(Parser *parser, const Name *name) {
    int index;
    if (name->count < 0 && find_name(parser, name->name, &index)) {
        fail(parser, "%s is declared twice", name->name);
        return;
    }
    parser->names = one_more(parser->names, parser->name_count, sizeof *parser->names);
    parser->names[parser->name_count++] = *name;
}

/* Behind ".reg". */
static void declare_registers(Parser *parser) {
    char type[NAME_BYTES];
    take_name(parser, type);
    int is_predicate = !strcmp(type, ".pred"), bytes = is_predicate ? 0 : type_bytes(type + (*type == '.'));
    if (!is_predicate && bytes < 2) {
        fail(parser, "registers of %s are not known", type);
        return;
    }
    do {
        Name name = {.kind = is_predicate ? PREDICATE_REGISTER : DATA_REGISTER, .count = -1, .bytes = bytes};
        take_name(parser, name.name);
        if (take(parser, "<")) {
            name.count = (int)take_number(parser);
            expect(parser, ">");
        }
        int number = name.count < 0 ? 1 : name.count;
        if (!*name.name || number < 0 || number > 1 << 16) fail(parser, "the registers %s cannot be declared", name.name);
        name.place = parser->kernel->predicates;
        if (is_predicate) parser->kernel->predicates += number;
        else for (int r = 0; r < number; r++) {
            int place = add_place(parser->kernel, bytes);
            if (!r) name.place = place;
        }
        add_name(parser, &name);
    } while (!parser->failed && take(parser, ","));
    expect(parser, ";");
}

/* Behind ".shared": an array of bytes. */
static void declare_shared(Parser *parser) {
    Name name = {.kind = SHARED_VARIABLE, .count = -1};
    int align = take(parser, ".align") ? (int)take_number(parser) : 1;
    char type[NAME_BYTES];
    take_name(parser, type);
    int bytes = type_bytes(type + (*type == '.'));
    take_name(parser, name.name);
    long number = 1;
    if (take(parser, "[")) {
        number = take(parser, "]") ? 0 : take_number(parser);
        if (number) expect(parser, "]");
    }
    expect(parser, ";");
    if (align < bytes) align = bytes;
    if (!bytes || align < 1 || align & (align - 1) || number < 0 || number > 1 << 17) {
        fail(parser, "the shared array %s cannot be declared", name.name);
        return;
    }
    name.place = (parser->kernel->shared_bytes + align - 1) / align * align;
    parser->kernel->shared_bytes = name.place + bytes * (int)number;
    add_name(parser, &name);
}

/* ---- Operands ---- */

static int preset(Parser *parser, int bytes, int special, uint64_t value) {
    Kernel *kernel = parser->kernel;
    for (int p = 0; p < kernel->preset_count; p++) {
        const Preset *known = &kernel->presets[p];
        if (known->bytes == bytes && known->special == special && known->value == value) return known->place;
    }
    kernel->presets = one_more(kernel->presets, kernel->preset_count, sizeof *kernel->presets);
    int place = add_place(kernel, bytes);
    kernel->presets[kernel->preset_count++] = (Preset){place, bytes, special, value};
    return place;
}

static int special_named(const char *name) {
    static const char *names[] = {
        "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x",
        "%nctaid.y", "%nctaid.z", "%laneid", "%warpid", "%smid", "%nsmid", "%clock", "%clock64", "%globaltimer"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(names[i], name)) return (int)i;
    }
    return -1;
}

/* An integer, 0f and eight digits, or 0d and sixteen. */
static int read_constant(const char *text, int bytes, uint64_t *value) {
    char *end;
    int negative = *text == '-';
    if (!strncmp(text, "0f", 2) || !strncmp(text, "0F", 2)) {
        *value = strtoull(text + 2, &end, 16);
        return !*end && end - text == 10 && bytes == 4;
    }
    if (!strncmp(text, "0d", 2) || !strncmp(text, "0D", 2)) {
        *value = strtoull(text + 2, &end, 16);
        return !*end && end - text == 18 && bytes == 8;
    }
    if (!isdigit((unsigned char)text[negative])) return 0;
    *value = strtoull(text + negative, &end, 0);
    if (negative) *value = 0 - *value;
    if (bytes < 8) *value &= (1ULL << 8 * bytes) - 1;
    return !*end || !strcmp(end, "U");
}

static const Parameter *parameter_named(const Parser *parser, const char *name) {
    for (int p = 0; p < parser->kernel->parameter_count; p++) {
        if (!strcmp(parser->kernel->parameters[p].name, name)) return &parser->kernel->parameters[p];
    }
    return NULL;
}

/* The place of an operand of so many bytes; a register only, where it is written. */
static int place_of(Parser *parser, const char *text, int bytes, int is_written) {
    int index;
    uint64_t value;
    const Name *name = find_name(parser, text, &index);
    if (name && name->kind == DATA_REGISTER && name->bytes == bytes) return name->place + index * bytes * LANES;
    if (name && name->kind == SHARED_VARIABLE && !is_written && bytes >= 4) {
        return preset(parser, bytes, -1, (uint64_t)name->place);
    }
    const Parameter *parameter = name || is_written ? NULL : parameter_named(parser, text);
    if (parameter && bytes == 8) return preset(parser, bytes, -1, (uint64_t)parameter->offset);
    if (!name && !is_written) {
        int special = special_named(text);
        if (special >= 0 && special < CLOCK && bytes == 4) return preset(parser, 4, special, 0);
        if (special < 0 && read_constant(text, bytes, &value)) return preset(parser, bytes, -1, value);
    }
    fail(parser, "%s is no %s of %d bytes", text, is_written ? "register" : "operand", bytes);
    return 0;
}

static int register_bytes(const Parser *parser, const char *text) {
    int index;
    const Name *name = find_name(parser, text, &index);
    return name && name->kind == DATA_REGISTER ? name->bytes : 0;
}

static int predicate(Parser *parser, const char *text) {
    int index;
    const Name *name = find_name(parser, text, &index);
    if (name && name->kind == PREDICATE_REGISTER) return name->place + index;
    fail(parser, "%s is no predicate", text);
    return 0;
}

/* ---- Instructions ---- */

typedef struct {
    char words[MOST_WORDS][WORD_BYTES]; /* of "ld.volatile.global.v2.b64" */
    int count;
    char name[NAME_BYTES];
    char arguments[MOST_ARGUMENTS][NAME_BYTES]; /* {a, b} is one, and so is [a+8] */
    int argument_count;
} Statement;

static void read_words(Parser *parser, Statement *statement) {
    char *save, name[NAME_BYTES];
    snprintf(name, sizeof name, "%s", statement->name);
    for (char *word = strtok_r(name, ".", &save); word; word = strtok_r(NULL, ".", &save)) {
        if (statement->count == MOST_WORDS || strlen(word) >= WORD_BYTES) {
            fail(parser, "the instruction %s is not known", statement->name);
            return;
        }
        strcpy(statement->words[statement->count++], word);
    }
}

static void read_arguments(Parser *parser, Statement *statement) {
    skip_blanks(parser);
    while (*parser->at && *parser->at != ';') {
        if (statement->argument_count == MOST_ARGUMENTS) {
            fail(parser, "%s has too many operands", statement->name);
            return;
        }
        char *to = statement->arguments[statement->argument_count++];
        int length = 0, depth = 0;
        for (; *parser->at && *parser->at != ';' && (depth || *parser->at != ','); parser->at++) {
            char c = *parser->at;
            parser->line += c == '\n';
            depth += (c == '{' || c == '[') - (c == '}' || c == ']');
            if (!isspace((unsigned char)c) && length < NAME_BYTES - 1) to[length++] = c;
        }
        to[length] = 0;
        if (!length || length == NAME_BYTES - 1) fail(parser, "an operand of %s cannot be read", statement->name);
        if (!take(parser, ",")) break;
    }
    expect(parser, ";");
}

static int has_word(const Statement *statement, const char *word) {
    for (int w = 1; w < statement->count; w++) {
        if (!strcmp(statement->words[w], word)) return 1;
    }
    return 0;
}

static const char *last_word(const Statement *statement) { return statement->words[statement->count - 1]; }

static void unknown(Parser *parser, const Statement *statement) {
    fail(parser, "the instruction %s is not known with such operands", statement->name);
}

/* The parts of {a, b}, or the text alone. */
static int split(const char *text, char parts[4][NAME_BYTES]) {
    if (*text != '{') {
        snprintf(parts[0], NAME_BYTES, "%s", text);
        return 1;
    }
    int count = 0;
    for (text++; *text && *text != '}' && count < 4; count++) {
        size_t length = strcspn(text, ",}");
        snprintf(parts[count], NAME_BYTES, "%.*s", (int)length, text);
        text += length + (text[length] == ',');
    }
    return *text == '}' ? count : 0;
}

/* [register], [register+8], [name], [name+8]: the parts, without the brackets. */
static int read_address(const char *text, char *base, int64_t *offset) {
    size_t length = strlen(text);
    if (length < 3 || *text != '[' || text[length - 1] != ']') return 0;
    snprintf(base, NAME_BYTES, "%.*s", (int)length - 2, text + 1);
    *offset = 0;
    char *sign = strpbrk(base, "+-");
    if (!sign) return 1;
    char *end;
    *offset = strtoll(*sign == '+' ? sign + 1 : sign, &end, 0);
    int is_number = !*end && end > sign + 1;
    *sign = 0;
    return is_number && *base;
}

/* Space, order, scope, width and type of an access; 0 if a word is not known. */
static int read_access(const Statement *statement, Instruction *in) {
    static const struct { const char *word; Order order; Scope scope; } orders[] = {
        {"weak", WEAK, OF_SYSTEM}, {"volatile", RELAXED, OF_SYSTEM}, {"relaxed", RELAXED, OF_DEVICE},
        {"acquire", ACQUIRE, OF_DEVICE}, {"release", RELEASE, OF_DEVICE}, {"acq_rel", ACQUIRE_RELEASE, OF_DEVICE}};
    static const struct { const char *word; Scope scope; } scopes[] = {
        {"cta", OF_BLOCK}, {"gpu", OF_DEVICE}, {"sys", OF_SYSTEM}};
    static const struct { const char *word; Space space; } spaces[] = {
        {"global", GLOBAL}, {"shared", SHARED}, {"param", PARAMETER}};
    /* Hints for caches, which change no result. */
    static const char *hints[] = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"};
    int has_scope = 0, needs_scope = 0;
    in->vector = 1;
    in->space = GENERIC;
    for (int w = 1; w < statement->count - 1; w++) {
        const char *word = statement->words[w];
        int known = 0;
        for (size_t i = 0; i < sizeof orders / sizeof *orders && !known; i++) {
            if (strcmp(word, orders[i].word)) continue;
            known = 1;
            in->order = orders[i].order;
            if (!has_scope) in->scope = orders[i].scope;
            needs_scope = in->order != WEAK && strcmp(word, "volatile");
        }
        for (size_t i = 0; i < sizeof scopes / sizeof *scopes && !known; i++) {
            if (strcmp(word, scopes[i].word)) continue;
            known = has_scope = 1;
            in->scope = scopes[i].scope;
        }
        for (size_t i = 0; i < sizeof spaces / sizeof *spaces && !known; i++) {
            if (strcmp(word, spaces[i].word)) continue;
            known = 1;
            in->space = spaces[i].space;
        }
        for (size_t i = 0; i < sizeof hints / sizeof *hints && !known; i++) known = !strcmp(word, hints[i]);
        if (!known && (!strcmp(word, "v2") || !strcmp(word, "v4"))) {
            in->vector = (unsigned char)(word[1] - '0');
            known = 1;
        }
        if (!known) return 0;
    }
    in->bytes = (unsigned char)type_bytes(last_word(statement));
    in->is_signed = *last_word(statement) == 's';
    /* An atomic with a scope alone is relaxed. */
    int is_atomic = *statement->words[0] == 'a' || *statement->words[0] == 'r';
    if (is_atomic && has_scope && in->order == WEAK) in->order = RELAXED;
    return in->bytes && in->bytes * in->vector <= 16 && (needs_scope == has_scope || (is_atomic && !needs_scope));
}

/* The registers of a load or store, as wide as the type or wider. */
static void read_registers(Parser *parser, const Statement *statement, const char *text, Instruction *in, int is_written) {
    char parts[4][NAME_BYTES];
    if (split(text, parts) != in->vector) {
        unknown(parser, statement);
        return;
    }
    in->register_bytes = (unsigned char)(in->bytes < 2 ? 2 : in->bytes);
    for (int p = 0; p < in->vector; p++) {
        int bytes = register_bytes(parser, parts[p]);
        if (!p && bytes > in->register_bytes) in->register_bytes = (unsigned char)bytes;
        int place = place_of(parser, parts[p], in->register_bytes, is_written);
        if (is_written) in->to[p] = place;
        else in->from[p + 1] = place;
    }
}

static void read_base(Parser *parser, const Statement *statement, const char *text, Instruction *in) {
    char base[NAME_BYTES];
    int index;
    if (!read_address(text, base, &in->offset)) {
        unknown(parser, statement);
        return;
    }
    const Name *name = find_name(parser, base, &index);
    if (name && name->kind == SHARED_VARIABLE && in->space == SHARED) {
        in->from[0] = preset(parser, 8, -1, (uint64_t)name->place);
        return;
    }
    /* Addresses of shared memory may have 32 bits. */
    int bytes = in->space == SHARED && register_bytes(parser, base) == 4 ? 4 : 8;
    in->from[0] = place_of(parser, base, bytes, 0);
    in->narrow = bytes == 4;
}

static void read_parameter(Parser *parser, const Statement *statement, Instruction *in) {
    char base[NAME_BYTES];
    int64_t offset;
    in->run = load_parameter;
    if (!read_address(statement->arguments[1], base, &offset)) {
        unknown(parser, statement);
        return;
    }
    if (register_bytes(parser, base) == 8) {
        in->run = load_parameter_at;
        in->from[0] = place_of(parser, base, 8, 0);
        in->offset = offset;
        return;
    }
    const Parameter *parameter = parameter_named(parser, base);
    if (!parameter) {
        fail(parser, "there is no parameter %s", base);
        return;
    }
    in->offset = parameter->offset + offset;
    if (offset < 0 || offset + in->bytes * in->vector > parameter->bytes) {
        fail(parser, "%s leaves the parameter %s", statement->arguments[1], base);
    }
}

static void read_memory(Parser *parser, const Statement *statement, Instruction *in, int is_load) {
    if (!read_access(statement, in) || statement->argument_count != 2
        || (is_load ? in->order >= RELEASE : in->order == ACQUIRE || in->order == ACQUIRE_RELEASE)
        || (in->space == PARAMETER && (!is_load || in->order != WEAK))) {
        unknown(parser, statement);
        return;
    }
    read_registers(parser, statement, statement->arguments[!is_load], in, is_load);
    if (in->space == PARAMETER) {
        read_parameter(parser, statement, in);
        return;
    }
    in->run = is_load ? load : store;
    read_base(parser, statement, statement->arguments[is_load], in);
}

/* atom.add.release.sys.global.u32 d, [a], b, or red without a result. */
static void read_atomic(Parser *parser, const Statement *statement, Instruction *in, int gives) {
    static const struct { const char *word; Atomic atomic; } kinds[] = {
        {"add", ATOMIC_ADD}, {"exch", ATOMIC_EXCHANGE}, {"cas", ATOMIC_COMPARE}, {"min", ATOMIC_MIN}, {"max", ATOMIC_MAX},
        {"and", ATOMIC_AND}, {"or", ATOMIC_OR}, {"inc", ATOMIC_INCREMENT}};
    Statement rest = *statement;
    int found = 0;
    rest.count = 0;
    for (int w = 0; w < statement->count; w++) {
        int is_kind = 0;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            if (!w || strcmp(statement->words[w], kinds[k].word)) continue;
            in->atomic = kinds[k].atomic;
            is_kind = found = 1;
        }
        if (!is_kind) strcpy(rest.words[rest.count++], statement->words[w]);
    }
    int operands = 2 + gives + (in->atomic == ATOMIC_COMPARE);
    if (in->atomic == ATOMIC_INCREMENT && strcmp(last_word(statement), "u32")) found = 0;
    if (!found || !read_access(&rest, in) || in->vector != 1 || in->bytes < 4 || statement->argument_count != operands
        || *last_word(&rest) == 'f' || (!gives && (in->atomic == ATOMIC_EXCHANGE || in->atomic == ATOMIC_COMPARE))) {
        unknown(parser, statement);
        return;
    }
    if (in->order == WEAK) {
        in->order = RELAXED;
        in->scope = OF_DEVICE;
    }
    in->run = update;
    in->gives = (unsigned char)gives;
    if (gives) in->to[0] = place_of(parser, statement->arguments[0], in->bytes, 1);
    read_base(parser, statement, statement->arguments[gives], in);
    for (int a = gives + 1; a < operands; a++) {
        in->from[a - gives] = place_of(parser, statement->arguments[a], in->bytes, 0);
    }
}

/* multimem.ld_reduce.weak.global.add.acc::f32.v4.f16x2 d, [a], or multimem.st.weak.global.v4.f32 [a], b. */
static void read_multimem(Parser *parser, const Statement *statement, Instruction *in) {
    int is_load = statement->count > 3 && !strcmp(statement->words[1], "ld_reduce"), is_wide = 0, is_add = 0, found = 0;
    const char *type = last_word(statement);
    Statement rest = *statement;
    rest.count = 1;
    for (int w = 2; w < statement->count - 1; w++) {
        const char *word = statement->words[w];
        if (is_load && !strcmp(word, "add")) found = is_add = 1;
        else if (is_load && (!strcmp(word, "min") || !strcmp(word, "max"))) {
            in->atomic = *word == 'm' && word[1] == 'i' ? ATOMIC_MIN : ATOMIC_MAX;
            found = 1;
        } else if (is_load && !strcmp(word, "acc::f32")) is_wide = 1;
        else strcpy(rest.words[rest.count++], word);
    }
    if (is_add) in->atomic = ATOMIC_ADD;
    int is_pair = !strcmp(type, "f16x2") || !strcmp(type, "bf16x2");
    in->elements = !strcmp(type, "f16x2") ? HALVES : !strcmp(type, "bf16x2") ? BRAINS : *type == 'f' ? FLOATS : INTEGERS;
    strcpy(rest.words[rest.count++], is_pair ? "b32" : type);
    if (parser->program->target < 90 || parser->program->version < (is_wide ? 82 : 81)) {
        fail(parser, "%s needs sm_90 and PTX 8.1, or 8.2 with acc::f32", statement->name);
        return;
    }
    if (statement->argument_count != 2 || !read_access(&rest, in) || in->order != WEAK || in->space != GLOBAL || in->bytes < 4
        || found != is_load || (!is_load && strcmp(statement->words[1], "st")) || is_wide != (is_load && is_pair)
        || (in->elements != INTEGERS && in->bytes == 8) || (in->elements == INTEGERS && in->vector > 1)
        || (in->elements != INTEGERS && is_load && !is_add) || (is_load && *type == 'b' && !is_pair)) {
        unknown(parser, statement);
        return;
    }
    in->is_signed = *type == 's';
    read_registers(parser, statement, statement->arguments[!is_load], in, is_load);
    in->run = is_load ? load_all : store_all;
    read_base(parser, statement, statement->arguments[is_load], in);
}

static void read_move(Parser *parser, const Statement *statement, Instruction *in) {
    char parts[4][NAME_BYTES];
    const char *to = statement->arguments[0], *from = statement->arguments[1];
    if (statement->count != 2 || statement->argument_count != 2) {
        unknown(parser, statement);
        return;
    }
    if (!strcmp(last_word(statement), "pred")) {
        in->run = copy_predicate;
        in->to[0] = predicate(parser, to);
        in->from[0] = predicate(parser, from);
        return;
    }
    int bytes = type_bytes(last_word(statement)), special = special_named(from);
    if (bytes < 2) {
        unknown(parser, statement);
    } else if (*to == '{' || *from == '{') {
        int is_pack = *from == '{', count = split(is_pack ? from : to, parts);
        in->vector = (unsigned char)count;
        in->register_bytes = (unsigned char)bytes;
        in->bytes = (unsigned char)(count ? bytes / count : 0);
        if (count < 2 || in->bytes < 2 || (is_pack && *to == '{')) {
            unknown(parser, statement);
            return;
        }
        in->run = is_pack ? pack : unpack;
        if (is_pack) in->to[0] = place_of(parser, to, bytes, 1);
        else in->from[0] = place_of(parser, from, bytes, 0);
        for (int p = 0; p < count; p++) {
            int place = place_of(parser, parts[p], in->bytes, !is_pack);
            if (is_pack) in->from[p] = place;
            else in->to[p] = place;
        }
    } else if (special >= CLOCK) {
        in->run = read_clock;
        in->bytes = (unsigned char)bytes;
        if (bytes != (special == CLOCK ? 4 : 8)) unknown(parser, statement);
        in->offset = special;
        in->to[0] = place_of(parser, to, bytes, 1);
    } else {
        in->run = bytes == 2 ? copy_2 : bytes == 4 ? copy_4 : copy_8;
        in->to[0] = place_of(parser, to, bytes, 1);
        in->from[0] = place_of(parser, from, bytes, 0);
    }
}

/* cvt.rn.f16.f32. Of types of 8 bits, whose registers are wider, none. */
static void read_conversion(Parser *parser, const Statement *statement, Instruction *in) {
    int rounds = statement->count == 4;
    if ((statement->count != 3 && !rounds) || statement->argument_count != 2) {
        unknown(parser, statement);
        return;
    }
    const char *to = statement->words[1 + rounds], *from = statement->words[2 + rounds];
    in->run = conversion(rounds ? statement->words[1] : "", to, from);
    if (!in->run) {
        unknown(parser, statement);
        return;
    }
    int least = !strcmp(from, "bf16") ? 90 : !strcmp(to, "bf16") ? 80 : 0;
    if (parser->program->target < least) fail(parser, "%s needs .target sm_%d", statement->name, least);
    in->to[0] = place_of(parser, statement->arguments[0], type_bytes(to), 1);
    in->from[0] = place_of(parser, statement->arguments[1], type_bytes(from), 0);
}

static void read_fence(Parser *parser, const Statement *statement, Instruction *in) {
    if (!strcmp(statement->name, "fence.proxy.alias") && !statement->argument_count) {
        in->run = fence_proxy;
        return;
    }
    const char *scope = last_word(statement);
    int is_fence = !strcmp(statement->words[0], "fence");
    if (statement->argument_count || statement->count != (is_fence ? 3 : 2)
        || (is_fence && strcmp(statement->words[1], "acq_rel") && strcmp(statement->words[1], "sc"))) {
        unknown(parser, statement);
        return;
    }
    in->run = fence;
    in->order = ACQUIRE_RELEASE;
    if (!strcmp(scope, "cta")) in->scope = OF_BLOCK;
    else if (!strcmp(scope, is_fence ? "gpu" : "gl")) in->scope = OF_DEVICE;
    else if (!strcmp(scope, "sys")) in->scope = OF_SYSTEM;
    else unknown(parser, statement);
}

/* bar.red.or.pred d, a, b, c, or without the number b of threads. */
static void read_barrier_reduction(Parser *parser, const Statement *statement, Instruction *in) {
    const char *kind = statement->words[2];
    int counts = statement->argument_count == 4;
    if (statement->count != 4 || strcmp(statement->words[3], "pred") || (strcmp(kind, "or") && strcmp(kind, "and"))
        || (!counts && statement->argument_count != 3)) {
        unknown(parser, statement);
        return;
    }
    in->run = barrier_reduce;
    in->reduction = strcmp(kind, "or") ? REDUCE_AND : REDUCE_OR;
    in->vector = (unsigned char)(1 + counts);
    in->to[0] = predicate(parser, statement->arguments[0]);
    for (int a = 0; a < 1 + counts; a++) in->from[a] = place_of(parser, statement->arguments[1 + a], 4, 0);
    in->from[2] = predicate(parser, statement->arguments[2 + counts]);
}

/* bar.sync a, bar.sync a, b, bar.arrive a, b, bar.warp.sync mask. */
static void read_barrier(Parser *parser, const Statement *statement, Instruction *in) {
    if (statement->count > 1 && !strcmp(statement->words[1], "red")) {
        read_barrier_reduction(parser, statement, in);
        return;
    }
    int last = statement->count - 1;
    int is_warp = statement->count == 3 && !strcmp(statement->words[1], "warp");
    if (strcmp(statement->words[last], "sync") && (is_warp || strcmp(statement->words[last], "arrive"))) last = -1;
    if (statement->count - is_warp != 2 || last < 0 || !statement->argument_count || statement->argument_count > 2) {
        unknown(parser, statement);
        return;
    }
    in->run = is_warp ? warp_barrier : !strcmp(statement->words[last], "arrive") ? barrier_arrive : barrier;
    in->vector = (unsigned char)statement->argument_count;
    if ((in->run == barrier_arrive && in->vector != 2) || (is_warp && in->vector != 1)) unknown(parser, statement);
    for (int a = 0; a < statement->argument_count; a++) in->from[a] = place_of(parser, statement->arguments[a], 4, 0);
}

static void read_branch(Parser *parser, const Statement *statement, Instruction *in) {
    if (statement->argument_count != 1 || statement->count > 2 || (statement->count == 2 && !has_word(statement, "uni"))) {
        unknown(parser, statement);
        return;
    }
    in->run = branch;
    parser->jumps = one_more(parser->jumps, parser->jump_count, sizeof *parser->jumps);
    Jump *jump = &parser->jumps[parser->jump_count++];
    snprintf(jump->name, sizeof jump->name, "%s", statement->arguments[0]);
    jump->instruction = parser->kernel->count;
    jump->line = parser->line;
}

static void read_shared_address(Parser *parser, const Statement *statement, Instruction *in) {
    int to = statement->count == 4 && !strcmp(statement->words[1], "to");
    const char *space = statement->words[1 + to];
    if (statement->count != 3 + to || statement->argument_count != 2 || strcmp(last_word(statement), "u64")
        || (strcmp(space, "global") && strcmp(space, "shared"))) {
        unknown(parser, statement);
        return;
    }
    in->run = !strcmp(space, "global") ? copy_8 : to ? to_shared : from_shared;
    in->to[0] = place_of(parser, statement->arguments[0], 8, 1);
    in->from[0] = place_of(parser, statement->arguments[1], 8, 0);
}

/* Instructions of the table in operations.c. */
static void read_operation(Parser *parser, const Statement *statement, Instruction *in) {
    const Operation *operation = operation_named(statement->name);
    size_t operands = operation ? strlen(operation->operands) - 1 : 0;
    if (!operation || (size_t)statement->argument_count != operands) {
        unknown(parser, statement);
        return;
    }
    in->run = operation->run;
    const char *kinds = operation->operands;
    in->to[0] = *kinds == 'p' ? predicate(parser, statement->arguments[0])
                              : place_of(parser, statement->arguments[0], *kinds - '0', 1);
    for (size_t o = 1; o < operands; o++) {
        char kind = kinds[o + 1];
        const char *text = statement->arguments[o];
        in->from[o - 1] = kind == 'p' ? predicate(parser, text) : place_of(parser, text, kind - '0', 0);
    }
}

static void read_instruction(Parser *parser, Statement *statement, Instruction *in) {
    const char *word = statement->words[0];
    if (!strcmp(word, "ld") || !strcmp(word, "st")) read_memory(parser, statement, in, *word == 'l');
    else if (!strcmp(word, "multimem")) read_multimem(parser, statement, in);
    else if (!strcmp(word, "atom") || !strcmp(word, "red")) read_atomic(parser, statement, in, *word == 'a');
    else if (!strcmp(word, "mov")) read_move(parser, statement, in);
    else if (!strcmp(word, "cvt")) read_conversion(parser, statement, in);
    else if (!strcmp(word, "cvta")) read_shared_address(parser, statement, in);
    else if (!strcmp(word, "bra")) read_branch(parser, statement, in);
    else if (!strcmp(word, "bar") || !strcmp(word, "barrier")) read_barrier(parser, statement, in);
    else if (!strcmp(word, "fence") || !strcmp(word, "membar")) read_fence(parser, statement, in);
    else if (!strcmp(statement->name, "nanosleep.u32") && statement->argument_count == 1) {
        in->run = nap;
        in->from[0] = place_of(parser, statement->arguments[0], 4, 0);
    } else if ((!strcmp(statement->name, "ret") || !strcmp(statement->name, "exit")) && !statement->argument_count) {
        in->run = end_thread;
    } else if (!strcmp(statement->name, "trap") && !statement->argument_count) {
        in->run = trap;
    } else {
        read_operation(parser, statement, in);
    }
}

static void add_instruction(Parser *parser) {
    Statement statement = {.count = 0};
    Instruction in = {.guard = -1};
    if (take(parser, "@")) {
        in.negated = take(parser, "!");
        char name[NAME_BYTES];
        take_name(parser, name);
        in.guard = predicate(parser, name);
    }
    take_name(parser, statement.name);
    in.line = parser->line;
    read_words(parser, &statement);
    if (!statement.count) fail(parser, "\"%.20s\" is no instruction", parser->at);
    if (!parser->failed) read_arguments(parser, &statement);
    if (!parser->failed) read_instruction(parser, &statement, &in);
    Kernel *kernel = parser->kernel;
    kernel->code = one_more(kernel->code, kernel->count, sizeof *kernel->code);
    kernel->code[kernel->count++] = in;
}

/* ---- Kernels ---- */

/* A label, such as "$loop0:". */
static int take_label(Parser *parser) {
    const char *at = parser->at;
    while (is_of_name(*at)) at++;
    if (at[0] == ':' && at[1] == ':') return 0; /* acc::f32 */
    const char *colon = at;
    while (*colon == ' ' || *colon == '\t') colon++;
    if (at == parser->at || *colon != ':' || *parser->at == '.') return 0;
    Name name = {.kind = LABEL, .count = -1, .place = parser->kernel->count};
    take_name(parser, name.name);
    expect(parser, ":");
    add_name(parser, &name);
    return 1;
}

/* Behind ".pragma": it says how to compile. */
static void skip_pragma(Parser *parser) {
    while (*parser->at && *parser->at != ';') parser->at++;
    if (*parser->at) parser->at++;
}

static void read_body(Parser *parser) {
    int depth = 1;
    while (depth && !parser->failed) {
        skip_blanks(parser);
        if (!*parser->at) fail(parser, "a brace is not closed");
        else if (take(parser, "{")) depth++;
        else if (take(parser, "}")) depth--;
        else if (take(parser, ".reg")) declare_registers(parser);
        else if (take(parser, ".shared")) declare_shared(parser);
        else if (take(parser, ".pragma")) skip_pragma(parser);
        else if (!take_label(parser)) add_instruction(parser);
    }
    for (int j = 0; j < parser->jump_count && !parser->failed; j++) {
        int index;
        const Name *label = find_name(parser, parser->jumps[j].name, &index);
        parser->line = parser->jumps[j].line;
        if (!label || label->kind != LABEL) fail(parser, "there is no label %s", parser->jumps[j].name);
        else parser->kernel->code[parser->jumps[j].instruction].target = label->place;
    }
    /* The end of the text ends a thread. */
    Kernel *kernel = parser->kernel;
    kernel->code = one_more(kernel->code, kernel->count, sizeof *kernel->code);
    kernel->code[kernel->count++] = (Instruction){.run = end_thread, .guard = -1, .line = parser->line};
}

/* ".param .u64 name" or ".param .align 8 .b8 name[16]", up to the bracket. */
static void read_parameters(Parser *parser) {
    Kernel *kernel = parser->kernel;
    if (take(parser, ")")) return;
    do {
        Parameter parameter = {.bytes = 0};
        char type[NAME_BYTES];
        expect(parser, ".param");
        int align = take(parser, ".align") ? (int)take_number(parser) : 0;
        take_name(parser, type);
        int bytes = type_bytes(type + (*type == '.'));
        take_name(parser, parameter.name);
        long number = 1;
        if (take(parser, "[")) {
            number = take_number(parser);
            expect(parser, "]");
        }
        if (align < bytes) align = bytes;
        if (!bytes || number < 1 || number > PARAMETER_BYTES) {
            fail(parser, "the parameter %s cannot be read", parameter.name);
            return;
        }
        parameter.bytes = bytes * (int)number;
        parameter.offset = (kernel->parameter_bytes + align - 1) / align * align;
        kernel->parameter_bytes = parameter.offset + parameter.bytes;
        kernel->parameters = one_more(kernel->parameters, kernel->parameter_count, sizeof *kernel->parameters);
        kernel->parameters[kernel->parameter_count++] = parameter;
    } while (!parser->failed && take(parser, ","));
    expect(parser, ")");
    if (kernel->parameter_bytes > PARAMETER_BYTES) {
        fail(parser, "%s has %d bytes of parameters; the emulator takes %d", kernel->name, kernel->parameter_bytes,
             PARAMETER_BYTES);
    }
}

/* Threads of a block, along up to three axes. */
static unsigned read_threads(Parser *parser) {
    unsigned threads = 1;
    do threads *= (unsigned)take_number(parser);
    while (!parser->failed && take(parser, ","));
    return threads;
}

/* Behind ".entry". */
static void read_kernel(Parser *parser, Program *program) {
    program->kernels = one_more(program->kernels, program->count, sizeof *program->kernels);
    Kernel *kernel = &program->kernels[program->count++];
    *kernel = (Kernel){.most_threads = MOST_THREADS};
    parser->kernel = kernel;
    parser->name_count = parser->jump_count = 0;
    take_name(parser, kernel->name);
    if (take(parser, "(")) read_parameters(parser);
    while (!parser->failed && !take(parser, "{")) {
        if (take(parser, ".maxntid") || take(parser, ".reqntid")) kernel->most_threads = read_threads(parser);
        else if (take(parser, ".minnctapersm") || take(parser, ".maxnreg")) take_number(parser);
        else fail(parser, "\"%.20s\" is not known before the body of %s", parser->at, kernel->name);
    }
    if (!parser->failed) read_body(parser);
    parser->kernel = NULL;
}

static void read_module(Parser *parser, Program *program) {
    while (!parser->failed) {
        skip_blanks(parser);
        char target[NAME_BYTES];
        if (!*parser->at) break;
        if (take(parser, ".version")) {
            char number[NAME_BYTES];
            int major = 0, minor = 0;
            take_name(parser, number);
            if (sscanf(number, "%d.%d", &major, &minor) != 2) fail(parser, ".version %s is no version", number);
            program->version = 10 * major + minor;
        } else if (take(parser, ".target")) {
            take_name(parser, target);
            if (sscanf(target, "sm_%d", &program->target) != 1) fail(parser, ".target %s is no GPU", target);
        } else if (take(parser, ".address_size")) {
            if (take_number(parser) != 64) fail(parser, "addresses have 64 bits");
        } else if (take(parser, ".visible")) {
            expect(parser, ".entry");
            if (!parser->failed) read_kernel(parser, program);
        } else if (take(parser, ".entry")) {
            read_kernel(parser, program);
        } else {
            fail(parser, "\"%.20s\" is not known here", parser->at);
        }
    }
    if (!program->version || !program->target) fail(parser, ".version or .target is missing");
}

static void free_program(Program *program) {
    for (int k = 0; k < program->count; k++) {
        free(program->kernels[k].code);
        free(program->kernels[k].parameters);
        free(program->kernels[k].presets);
    }
    free(program->kernels);
    free(program->text);
    free(program);
}

static Program *programs; /* kernels may run when their module is gone, so that all are kept */

int64_t count_kernels(const char *prefix) {
    int64_t runs = 0;
    for (const Program *program = programs; program; program = program->next) {
        for (int k = 0; k < program->count; k++) {
            if (!strncmp(program->kernels[k].name, prefix, strlen(prefix))) runs += program->kernels[k].runs;
        }
    }
    return runs;
}

void forget_kernels(void) {
    for (Program *program = programs; program; program = program->next) {
        for (int k = 0; k < program->count; k++) program->kernels[k].runs = 0;
    }
}

CUresult read_program(const char *text, const Program **result) {
    for (const Program *known = programs; known; known = known->next) {
        if (strcmp(known->text, text)) continue;
        *result = known;
        return OK;
    }
    Program *program = calloc(1, sizeof *program);
    program->text = without_comments(text);
    Parser parser = {.at = program->text, .line = 1, .program = program};
    read_module(&parser, program);
    free(parser.names);
    free(parser.jumps);
    if (parser.failed) {
        free_program(program);
        return INVALID_PTX;
    }
    if (program->version > NEWEST_PTX) {
        free_program(program);
        return UNSUPPORTED_PTX_VERSION;
    }
    free(program->text);
    program->text = strdup(text);
    program->next = programs;
    programs = program;
    *result = program;
    return OK;
}
