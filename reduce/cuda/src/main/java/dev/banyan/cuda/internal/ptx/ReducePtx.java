package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes a kernel that combines elements. Where all addresses are equally far from a multiple of 16 bytes, a
 * thread takes 16 bytes of every source at a time, and the elements before and behind these one by one; else
 * it takes all one by one.
 */
final class ReducePtx {
    private final PtxText text = new PtxText();
    private final Kernel.Reduce kernel;
    private final int bytes;
    private final ElementCode code;
    private final String target;
    private final List<String> sources = new ArrayList<>();
    private final String count;
    private final String thread;
    private final String threads;

    ReducePtx(Kernel.Reduce kernel) {
        this.kernel = kernel;
        bytes = kernel.element().bytes();
        target = text.address("target");
        for (int s = 0; s < kernel.inputs(); s++) {
            sources.add(text.address("source" + s));
        }
        count = text.emit(LONG, "ld.param.u64", "[count]");
        code = ElementCode.of(text, kernel.op(), kernel.element(), text.emit(WORD, "ld.param.u32", "[divisor]"));
        thread = text.thread();
        threads = text.threads();
    }

    String text() {
        if (bytes == 16) {
            elements(count, null, null);
        } else {
            String head = head();
            String vectors = vectors(head);
            elements(rest(vectors), head, vectors);
        }
        List<String> parameters = new ArrayList<>();
        parameters.add(".param .u64 target");
        for (int s = 0; s < kernel.inputs(); s++) {
            parameters.add(".param .u64 source" + s);
        }
        parameters.add(".param .u64 count");
        parameters.add(".param .u32 divisor");
        return text.module(kernel.name(), Kernel.LIMITS, parameters);
    }

    /** Number of elements before the first whole vector: all, if there is none. */
    private String head() {
        String differ = text.emit(LONG, "mov.b64", 0);
        for (String source : sources) {
            String pair = text.emit(LONG, "xor.b64", source, target);
            differ = text.emit(LONG, "or.b64", differ, pair);
        }
        String low = text.emit(LONG, "and.b64", differ, 15);
        String unlike = text.emit(PREDICATE, "setp.ne.u64", low, 0);
        String negative = text.emit(LONG, "neg.s64", target);
        String before = text.emit(LONG, "and.b64", negative, 15);
        String elements = text.emit(LONG, "shr.u64", before, Integer.numberOfTrailingZeros(bytes));
        String most = text.emit(LONG, "min.u64", elements, count);
        return text.emit(LONG, "selp.b64", count, most, unlike);
    }

    /** The loop over vectors. Gives the number of elements in them. */
    private String vectors(String head) {
        int lanes = 16 / bytes;
        String left = text.emit(LONG, "sub.u64", count, head);
        String vectors = text.emit(LONG, "shr.u64", left, Integer.numberOfTrailingZeros(lanes));
        String vectorTarget = text.at(target, head, bytes);
        List<String> vectorSources =
                sources.stream().map(source -> text.at(source, head, bytes)).toList();
        String index = text.emit(LONG, "mov.b64", thread);
        String loop = text.label("vector");
        String end = text.label("vectors_end");
        text.place(loop);
        text.branchIfReached(index, vectors, end);
        List<String> at =
                vectorSources.stream().map(source -> text.at(source, index, 16)).toList();
        combineVectors(text.at(vectorTarget, index, 16), at);
        text.emit("add.u64 " + index + ", " + index + ", " + threads);
        text.emit("bra " + loop);
        text.place(end);
        return text.emit(LONG, "mul.lo.u64", vectors, lanes);
    }

    /** All sources are loaded before the first two are combined. */
    private void combineVectors(String to, List<String> from) {
        List<List<String>> loaded = new ArrayList<>();
        for (String source : from) {
            List<String> words = code.words();
            code.load("", words, source, 0);
            loaded.add(words);
        }
        List<String> result = code.unpack(loaded.getFirst());
        loaded.subList(1, loaded.size()).forEach(words -> code.combine(result, words));
        code.store("", to, 0, code.pack(result));
    }

    private void combineElements(String to, List<String> from) {
        List<List<String>> loaded = from.stream().map(code::loadElement).toList();
        List<String> result = loaded.getFirst();
        loaded.subList(1, loaded.size()).forEach(element -> code.combineElement(result, element));
        code.storeElement(to, code.packElement(result));
    }

    private String rest(String inVectors) {
        return text.emit(LONG, "sub.u64", count, inVectors);
    }

    /** The loop over single elements; those from {@code head} on lie behind the vectors. */
    private void elements(String rest, @Nullable String head, @Nullable String inVectors) {
        String index = text.emit(LONG, "mov.b64", thread);
        String loop = text.label("element");
        String end = text.label("elements_end");
        text.place(loop);
        text.branchIfReached(index, rest, end);
        String element = index;
        if (head != null && inVectors != null) {
            String behind = text.emit(PREDICATE, "setp.ge.u64", index, head);
            String shifted = text.emit(LONG, "add.u64", index, inVectors);
            element = text.emit(LONG, "selp.b64", shifted, index, behind);
        }
        String place = element;
        List<String> at =
                sources.stream().map(source -> text.at(source, place, bytes)).toList();
        combineElements(text.at(target, place, bytes), at);
        text.emit("add.u64 " + index + ", " + index + ", " + threads);
        text.emit("bra " + loop);
        text.place(end);
    }
}
