package dev.banyan.nvml;

import dev.banyan.topology.Connection;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** NVML's report on each pair of devices: their PCIe connection and whether they may access each other. */
final class GpuPairs {
    private static final int P2P_READ = 0;
    private static final int P2P_WRITE = 1;
    private static final int P2P_NVLINK = 2;

    private final int size;
    private final Connection.@Nullable Kind[] kinds;
    private final @Nullable PeerStatus[] access;
    private final @Nullable PeerStatus[] nvLink;

    /**
     * Asks NVML about all pairs.
     *
     * @param devices the handles of the devices
     * @param names the names of the devices for messages
     * @param warnings receives a sentence for each kind of query that fails
     * @throws NvmlException if a device is lost
     */
    GpuPairs(NvmlSession session, List<MemorySegment> devices, List<String> names, List<String> warnings) {
        size = devices.size();
        Queries queries = new Queries(session, warnings);
        kinds = new Connection.Kind[size * size];
        access = new PeerStatus[size * size];
        nvLink = new PeerStatus[size * size];
        for (int a = 0; a < size; a++) {
            for (int b = 0; b < size; b++) {
                if (a == b) {
                    continue;
                }
                String pair = names.get(a) + "-" + names.get(b);
                int at = a * size + b;
                MemorySegment first = devices.get(a);
                MemorySegment second = devices.get(b);
                kinds[at] = queries.ask(NvmlCall.COMMON_ANCESTOR, pair, first, second)
                        .map(GpuPairs::kind)
                        .orElse(null);
                PeerStatus read = queries.status(pair, first, second, P2P_READ);
                access[at] = read == PeerStatus.OK ? queries.status(pair, first, second, P2P_WRITE) : read;
                nvLink[at] = queries.status(pair, first, second, P2P_NVLINK);
            }
        }
    }

    /** A query that fails for a pair has no answer for it; each kind of query warns once. */
    private static final class Queries {
        private final NvmlSession session;
        private final List<String> warnings;
        private final Set<NvmlCall> warned = EnumSet.noneOf(NvmlCall.class);

        Queries(NvmlSession session, List<String> warnings) {
            this.session = session;
            this.warnings = warnings;
        }

        Optional<Integer> ask(NvmlCall call, String pair, Object... arguments) {
            try {
                return session.numberIfSupported(call, pair, arguments);
            } catch (NvmlException e) {
                if (e.is(NvmlReturn.ERROR_GPU_IS_LOST)) {
                    throw e;
                }
                if (warned.add(call)) {
                    warnings.add(e.sentence() + "; pairs that it fails for are taken as not known");
                }
                return Optional.empty();
            }
        }

        @Nullable
        PeerStatus status(String pair, MemorySegment a, MemorySegment b, int index) {
            return ask(NvmlCall.P2P_STATUS, pair, a, b, index)
                    .map(PeerStatus::of)
                    .orElse(null);
        }
    }

    /** Returns the kind of a {@code nvmlGpuTopologyLevel_t}, or null if the level is unknown. */
    private static Connection.@Nullable Kind kind(int level) {
        return switch (level) {
            // 0 is INTERNAL: two GPUs of one board, such as K80, behind the switch of the board.
            case 0, 10 -> Connection.Kind.PIX;
            case 20 -> Connection.Kind.PXB;
            case 30 -> Connection.Kind.PHB;
            case 40 -> Connection.Kind.NODE;
            case 50 -> Connection.Kind.SYS;
            default -> null;
        };
    }

    /** Returns the PCIe connection of two devices, or null if it is unknown. */
    Connection.@Nullable Kind kind(int a, int b) {
        return kinds[a * size + b];
    }

    /**
     * Returns whether each of two devices may read and write the other's memory: OK, the first refusal, or null if it
     * is unknown.
     */
    @Nullable
    PeerStatus access(int a, int b) {
        return worse(access[a * size + b], access[b * size + a]);
    }

    /** Returns whether the driver is known to refuse one of two devices access to the other's memory. */
    boolean refuses(int a, int b) {
        PeerStatus status = access(a, b);
        return status != null && status != PeerStatus.OK && status != PeerStatus.UNKNOWN;
    }

    /** Returns whether the driver grants NVLink between two devices, or null if it does not report that. */
    @Nullable
    PeerStatus nvLink(int a, int b) {
        return worse(nvLink[a * size + b], nvLink[b * size + a]);
    }

    private static @Nullable PeerStatus worse(@Nullable PeerStatus one, @Nullable PeerStatus other) {
        return one == null || one == PeerStatus.OK ? other : one;
    }
}
