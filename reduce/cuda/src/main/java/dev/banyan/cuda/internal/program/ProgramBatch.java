package dev.banyan.cuda.internal.program;

import dev.banyan.reduce.backend.Executable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Calls that one launch carries out. Its blocks go from one call to the next each by itself, so that no call may touch
 * what another one does: such calls need a launch of their own. Used by one thread at a time.
 */
final class ProgramBatch {
    /** As many calls have room in the memory of a launch. */
    static final int MOST = 256;

    /** A call. */
    static final class Member {
        private final ProgramExecutable executable;
        private final LaunchPlan plan;
        private final long[] inputs;
        private final long[] outputs;
        private final LaunchPlan.Addresses addresses;
        private final List<Member> alone = List.of(this);
        /** The end of each range of addresses that it touches, by its begin. */
        private final Map<Long, Long> touched = new HashMap<>();

        /**
         * @param plan that carries it out
         * @param inputs address of each rank's input
         * @param outputs address of each rank's output
         * @param addresses that the kernel takes
         */
        Member(
                ProgramExecutable executable,
                LaunchPlan plan,
                long[] inputs,
                long[] outputs,
                LaunchPlan.Addresses addresses) {
            this.executable = executable;
            this.plan = plan;
            this.inputs = inputs;
            this.outputs = outputs;
            this.addresses = addresses;
            plan.uses().forEach((use, bytes) -> {
                long begin = use.address(inputs, outputs);
                touched.merge(begin, begin + bytes, Math::max);
            });
        }

        ProgramExecutable executable() {
            return executable;
        }

        /** Returns a list of nothing but this call. */
        List<Member> alone() {
            return alone;
        }

        LaunchPlan plan() {
            return plan;
        }

        long[] inputs() {
            return inputs;
        }

        long[] outputs() {
            return outputs;
        }

        LaunchPlan.Addresses addresses() {
            return addresses;
        }
    }

    private final List<Member> members = new ArrayList<>();
    /** The end of each range of addresses that a member touches, by its begin. */
    private final TreeMap<Long, Long> touched = new TreeMap<>();

    /** Adds a call, or returns false if it needs another launch. */
    boolean add(Member member) {
        if (!members.isEmpty() && !fits(member)) {
            return false;
        }
        members.add(member);
        member.touched.forEach((begin, end) -> touched.merge(begin, end, Math::max));
        return true;
    }

    private boolean fits(Member member) {
        LaunchPlan plan = member.plan();
        LaunchPlan first = members.getFirst().plan();
        return members.size() < MOST
                && plan.kernel().equals(first.kernel())
                && !plan.usesScratch()
                && !first.usesScratch()
                && member.touched.entrySet().stream().noneMatch(range -> isTouched(range.getKey(), range.getValue()));
    }

    private boolean isTouched(long begin, long end) {
        Map.Entry<Long, Long> below = touched.lowerEntry(end);
        return below != null && below.getValue() > begin;
    }

    /** Returns the blocks of a launch on a device: as many as the call has that needs most. */
    static int blocks(List<Member> members, int d) {
        int blocks = 0;
        for (int m = 0; m < members.size(); m++) {
            blocks = Math.max(blocks, members.get(m).plan().parts().get(d).blocks());
        }
        return blocks;
    }

    /** Returns whether a call of an executable is among them. */
    boolean holds(Executable executable) {
        return members.stream().anyMatch(member -> member.executable().equals(executable));
    }

    boolean isEmpty() {
        return members.isEmpty();
    }

    /** Returns the calls and forgets them. */
    List<Member> take() {
        List<Member> taken = List.copyOf(members);
        members.clear();
        touched.clear();
        return taken;
    }
}
