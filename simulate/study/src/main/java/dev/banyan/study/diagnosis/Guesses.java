package dev.banyan.study.diagnosis;

import dev.banyan.simulate.internal.nccl.Protocol;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.measured.NcclLog;
import dev.banyan.study.measured.SweepComparison;
import dev.banyan.study.text.ByteSize;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Settings that could help where nothing explains why a sweep is slow. None contradicts the log of NCCL. */
final class Guesses {
    /** From this size on links alone decide how long a call takes. */
    private static final long LARGEST_OF_PROTOCOLS = 8 << 20;

    private static final int CHANNELS = 16;
    private static final String GUESS = "a guess: ";

    private final ComparedSweep measured;
    private final Optional<NcclLog> log;
    private final boolean isFast;
    private final List<Advice> advice = new ArrayList<>();

    private Guesses(ComparedSweep measured) {
        this.measured = measured;
        log = measured.log();
        isFast = measured.setting().machine().links().stream()
                .anyMatch(link -> link.kind().isNvLinkClass());
    }

    /**
     * Returns what is worth trying.
     *
     * @param slow rows that take longer than expected
     * @param isSlow whether the largest call does
     */
    static List<Advice> of(ComparedSweep measured, List<SweepComparison.Row> slow, boolean isSlow) {
        Guesses guesses = new Guesses(measured);
        guesses.protocols(slow);
        if (isSlow && measured.setting().transport() == Transport.PEER) {
            guesses.links();
        }
        return List.copyOf(guesses.advice);
    }

    /** Sizes at which NCCL changes from one protocol to another are tried with both. */
    private void protocols(List<SweepComparison.Row> slow) {
        List<SweepComparison.Row> between =
                slow.stream().filter(row -> row.bytes() <= LARGEST_OF_PROTOCOLS).toList();
        if (between.isEmpty()) {
            return;
        }
        String sizes = between.size() == 1
                ? "at " + size(between.getFirst())
                : "from " + size(between.getFirst()) + " to " + size(between.getLast());
        String chosen = log.map(
                        printed -> printed.choices().get(between.getFirst().bytes()))
                .map(choice -> " (the log says " + choice + ")")
                .orElse("");
        advice.add(new Advice(
                measured.setting().transport() == Transport.PEER && isFast
                        ? "NCCL_PROTO=LL128, then NCCL_PROTO=Simple"
                        : "NCCL_PROTO=LL, then NCCL_PROTO=Simple",
                GUESS + sizes + " NCCL's tables may choose the slower protocol" + chosen
                        + "; keep what helps there and set it for no other sizes"));
    }

    private static String size(SweepComparison.Row row) {
        return new ByteSize(row.bytes()).label();
    }

    private void links() {
        Advice.export(measured.setting().machine())
                .ifPresent(export -> advice.add(new Advice(export.change(), GUESS + export.reason())));
        boolean expectsReduction = measured.compared().rows().stream()
                .anyMatch(row -> row.predicted().protocol() == Protocol.NVLS);
        if (expectsReduction && log.flatMap(NcclLog::nvls).isEmpty()) {
            advice.add(new Advice(
                    "the same run with NCCL_DEBUG=INFO, and --log",
                    GUESS + "the NVSwitches of this machine can reduce, and the sweep is slower than that; the log says"
                            + " whether NVLS multicast support is available"));
        }
        if (!isFast) {
            return;
        }
        if (log.isEmpty() || log.get().hops().isEmpty()) {
            advice.add(new Advice(
                    "NCCL_TOPO_FILE=topo.xml, as banyan topo --write nccl-xml writes it",
                    GUESS + "in virtual machines and containers NCCL may not see the NVLinks that the description has;"
                            + " NCCL_DEBUG=INFO lists its rings, which --log reads"));
        }
        int channels = log.map(NcclLog::channels).orElse(0);
        if (channels < CHANNELS) {
            advice.add(new Advice(
                    "NCCL_MIN_NCHANNELS=" + CHANNELS,
                    GUESS + (channels > 0 ? "the log has " + channels + " channels, and " : "")
                            + "few channels do not fill all NVLinks; more of them cost multiprocessors"));
        }
    }
}
