package dev.banyan.reduce;

import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.internal.sum.SumPass;
import dev.banyan.reduce.internal.sum.SumPasses;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongFunction;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Sums that touch no buffer together, whose passes and collectives run side by side. */
final class SumGroup {
    /** As many as one launch of a pass takes on a GPU. */
    private static final int MOST = 96;

    private static final long ALIGNMENT = 64;

    private final SumPasses passes;
    private final SumMemory memory;
    private final List<Member> members = new ArrayList<>();
    /** The end of each range of addresses that a member touches, by its begin. */
    private final TreeMap<Long, Long> touched = new TreeMap<>();

    /** A sum with its buffers and its completion. */
    private record Member(PassedSum sum, MemorySegment[] inputs, MemorySegment[] outputs, Completion completion) {}

    private @Nullable CallerStreams streams;

    SumGroup(SumPasses passes, SumMemory memory) {
        this.passes = passes;
        this.memory = memory;
    }

    /** Returns whether a sum with these buffers may run beside those that were added. */
    boolean fits(MemorySegment[] inputs, MemorySegment[] outputs) {
        return members.size() < MOST && buffers(inputs, outputs).noneMatch(this::isTouched);
    }

    /** Adds a sum that {@linkplain #fits fits}. */
    void add(
            PassedSum sum,
            MemorySegment[] inputs,
            MemorySegment[] outputs,
            @Nullable CallerStreams newStreams,
            Completion completion) {
        members.add(new Member(sum, inputs, outputs, completion));
        streams = newStreams == null ? streams : newStreams;
        buffers(inputs, outputs)
                .forEach(buffer -> touched.merge(buffer.address(), buffer.address() + buffer.byteSize(), Math::max));
    }

    private static Stream<MemorySegment> buffers(MemorySegment[] inputs, MemorySegment[] outputs) {
        return Stream.of(inputs, outputs).flatMap(Stream::of).filter(buffer -> buffer.byteSize() > 0);
    }

    private boolean isTouched(MemorySegment buffer) {
        Map.Entry<Long, Long> below = touched.lowerEntry(buffer.address() + buffer.byteSize());
        return below != null && below.getValue() > buffer.address();
    }

    /** Starts the sums, which learn of the end of all, also where there is no memory for them. */
    void start() {
        if (members.isEmpty()) {
            return;
        }
        AllEnded all = new AllEnded(
                failure -> members.forEach(member -> member.completion().ended(failure)));
        List<MemorySegment[]> codes = pieces(PassedSum::codeBytes, memory::codes);
        List<MemorySegment[]> integers = pieces(PassedSum::integerBytes, memory::integers);
        pass(SumPass.Stage.CODES, codes, integers, all);
        for (int m = 0; m < members.size(); m++) {
            MemorySegment[] own = codes.get(m);
            PassedSum sum = members.get(m).sum();
            all.begin(ended -> sum.greatest().start(own, own, streams, ended));
        }
        pass(SumPass.Stage.INTEGERS, codes, integers, all);
        for (int m = 0; m < members.size(); m++) {
            MemorySegment[] own = integers.get(m);
            PassedSum sum = members.get(m).sum();
            all.begin(ended -> sum.total().start(own, own, streams, ended));
            sum.rest().ifPresent(rest -> all.begin(ended -> rest.start(sum.rest(own), sum.rest(own), streams, ended)));
        }
        pass(SumPass.Stage.RESULTS, codes, integers, all);
        for (Member member : members) {
            member.sum()
                    .gathered()
                    .ifPresent(gathered ->
                            all.begin(ended -> gathered.start(member.outputs(), member.outputs(), streams, ended)));
        }
        all.ended(null);
    }

    private void pass(SumPass.Stage stage, List<MemorySegment[]> codes, List<MemorySegment[]> integers, AllEnded all) {
        List<SumPass> together = new ArrayList<>();
        for (int m = 0; m < members.size(); m++) {
            Member member = members.get(m);
            together.addAll(
                    member.sum().passes(stage, member.inputs(), member.outputs(), codes.get(m), integers.get(m)));
        }
        all.begin(ended -> passes.start(together, streams, ended));
    }

    /** Returns a piece of each rank's memory for each member. */
    private List<MemorySegment[]> pieces(ToLongFunction<PassedSum> bytes, LongFunction<MemorySegment[]> allocated) {
        long[] ends = new long[members.size() + 1];
        for (int m = 0; m < members.size(); m++) {
            ends[m + 1] =
                    ends[m] + Math.ceilDiv(bytes.applyAsLong(members.get(m).sum()), ALIGNMENT) * ALIGNMENT;
        }
        MemorySegment[] all = allocated.apply(ends[members.size()]);
        return IntStream.range(0, members.size())
                .mapToObj(m -> Stream.of(all)
                        .map(segment ->
                                segment.byteSize() == 0 ? segment : segment.asSlice(ends[m], ends[m + 1] - ends[m]))
                        .toArray(MemorySegment[]::new))
                .toList();
    }
}
