package dev.banyan.msccl;

import dev.banyan.InputException;
import dev.banyan.msccl.Algo.Gpu;
import dev.banyan.msccl.Algo.Instruction;
import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleException;
import dev.banyan.schedule.ScheduleVerifier;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads an MSCCL algorithm as a schedule, in the form that msccl-tools, {@link MscclWriter} and others write it,
 * and proves it: that sends and receives match, that nothing hangs with the buffers that the protocol has, that
 * no two steps race, and that the result is right. Fused steps (rcs, rrs, rrcs) are taken apart. Where ranks get
 * the same sum but for an exchange of two operands, as by recursive doubling, one of them is exchanged.
 *
 * <p>The schedule has elements of one byte, each of which stands for an MSCCL chunk. A file that runs both in
 * place and out of place is proven both ways and given out of place. The root of a broadcast or a reduce,
 * which the file does not say, is the rank for which the proof holds.
 *
 * <p>Cost: O(m b + c log c) time for m steps over c MSCCL chunks in all and b threadblocks.
 */
public final class MscclReader {
    private static final int MOST_BYTES = 32 << 20;
    /** The greatest number of step counts that the race check keeps. */
    private static final long MOST_CLOCK_ENTRIES = 1L << 25;

    private static final long MOST_UNITS = 1L << 20;

    private final String source;
    private final Algo algo;

    private MscclReader(String source, Algo algo) {
        this.source = source;
        this.algo = algo;
    }

    /**
     * Reads a file.
     *
     * @param source what to call it in messages, e.g. the file's name
     * @param in its contents, UTF-8; read to the end, not closed
     * @throws InputException if it cannot be understood, or is wrong
     * @throws IOException if reading fails
     */
    public static Schedule read(String source, InputStream in) throws IOException {
        Algo algo = AlgoParser.parse(source, text(source, in.readNBytes(MOST_BYTES + 1)));
        return new MscclReader(source, algo).schedule();
    }

    private static String text(String source, byte[] bytes) {
        if (bytes.length > MOST_BYTES) {
            throw new InputException(
                    source, 0, 0, "is larger than " + (MOST_BYTES >> 20) + " MiB; no runtime takes such an algorithm");
        }
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
            return text.startsWith("\ufeff") ? text.substring(1) : text;
        } catch (CharacterCodingException e) {
            throw new InputException(source, 0, 0, "is not UTF-8 text; write it again as that");
        }
    }

    private Schedule schedule() {
        Program program = new Program(source, algo);
        long units = algo.gpus().stream()
                .flatMap(gpu -> gpu.threadblocks().stream())
                .flatMap(block -> block.instructions().stream())
                .mapToLong(Instruction::count)
                .sum();
        long entries = (long) program.blocks() * (program.size() + program.blocks());
        if (units > MOST_UNITS || entries > MOST_CLOCK_ENTRIES) {
            throw whole("has " + program.size() + " steps over " + units + " chunks in " + program.blocks()
                    + " threadblocks, too many to prove; use fewer chunks");
        }
        int[] order = ExecutionOrder.of(program);
        Schedule inPlace = algo.inPlace() ? proven(program, order, true) : null;
        Schedule outOfPlace = algo.outOfPlace() ? proven(program, order, false) : null;
        Schedule schedule = outOfPlace == null ? inPlace : outOfPlace;
        if (schedule == null) {
            throw new IllegalStateException("an algorithm for no kind of buffers");
        }
        return schedule;
    }

    private Schedule proven(Program program, int[] order, boolean inPlace) {
        Cells cells = new Cells(algo.collective(), algo.blockChunks(), inPlace);
        RaceCheck.check(program, cells, order);
        int[] scratch = algo.gpus().stream().mapToInt(Gpu::scratchChunks).toArray();
        List<ScheduleException> problems = new ArrayList<>();
        for (boolean sorted : new boolean[] {false, true}) {
            ScheduleBuilder builder = new ScheduleBuilder(program, cells, order, scratch, sorted);
            List<Chunk> chunks = builder.build();
            boolean hasRoot = algo.collective().hasRoot();
            for (int root = hasRoot ? 0 : -1; root < (hasRoot ? algo.ranks() : 0); root++) {
                Schedule schedule = new Schedule(
                        algo.name(),
                        algo.collective(),
                        algo.ranks(),
                        root,
                        algo.blockChunks(),
                        1,
                        inPlace,
                        builder.scratchChunks(),
                        chunks);
                try {
                    ScheduleVerifier.verify(schedule);
                    return schedule;
                } catch (ScheduleException e) {
                    problems.add(e);
                }
            }
        }
        throw whole("is not a right " + algo.collective().label()
                + (algo.collective().hasRoot() ? " with any root" : "")
                + (inPlace ? " in place" : " out of place") + " (a byte below is an MSCCL chunk): "
                + problems.getFirst().violations().getFirst());
    }

    private InputException whole(String problem) {
        return new InputException(source, 0, 0, problem);
    }
}
