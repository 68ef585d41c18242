package dev.banyan.nvml;

import dev.banyan.topology.Connection;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What NVML tells of each pair of devices: how near they are over PCIe, and whether they may reach each other. */
final class GpuPairs {
    private static final int P2P_READ = 0;
    private static final int P2P_WRITE = 1;
    private static final int P2P_NVLINK = 2;

    private final int size;
    private final Connection.@Nullable Kind[] kinds;
    private final @Nullable PeerStatus[] access;
    private final @Nullable PeerStatus[] nvLink;

    /**
     * Asks for all pairs.
     *
     * @param devices handles
     * @param names of the devices, for messages
     * @param warnings takes a sentence for each kind of question that fails
     * @throws NvmlException if a device is lost
     */
    GpuPairs(NvmlSession session, List<MemorySegment> devices, List<String> names, List<String> warnings) {
        size = devices.size();
        Questions questions = new Questions(session, warnings);
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
                OptionalInt level = questions.ask(NvmlCall.COMMON_ANCESTOR, pair, first, second);
                kinds[at] = level.isPresent() ? kind(level.getAsInt()) : null;
                PeerStatus read = questions.status(pair, first, second, P2P_READ);
                access[at] = read == PeerStatus.OK ? questions.status(pair, first, second, P2P_WRITE) : read;
                nvLink[at] = questions.status(pair, first, second, P2P_NVLINK);
            }
        }
    }

    /** Asks; what fails for one pair is not known of it, and is told for the first such pair. */
    private static final class Questions {
        private final NvmlSession session;
        private final List<String> warnings;
        private final Set<NvmlCall> told = EnumSet.noneOf(NvmlCall.class);

        Questions(NvmlSession session, List<String> warnings) {
            this.session = session;
            this.warnings = warnings;
        }

        OptionalInt ask(NvmlCall call, String pair, Object... arguments) {
            try {
                return session.numberIfSupported(call, pair, arguments);
            } catch (NvmlException e) {
                if (e.is(NvmlReturn.ERROR_GPU_IS_LOST)) {
                    throw e;
                }
                if (told.add(call)) {
                    warnings.add(e.sentence() + "; pairs that it fails for are taken as not known");
                }
                return OptionalInt.empty();
            }
        }

        @Nullable
        PeerStatus status(String pair, MemorySegment a, MemorySegment b, int index) {
            OptionalInt code = ask(NvmlCall.P2P_STATUS, pair, a, b, index);
            return code.isPresent() ? PeerStatus.of(code.getAsInt()) : null;
        }
    }

    /** {@code nvmlGpuTopologyLevel_t}; null for one that is not known. */
    private static Connection.@Nullable Kind kind(int level) {
        return switch (level) {
            // INTERNAL: two GPUs of one board, such as K80, with the board's switch between them.
            case 0, 10 -> Connection.Kind.PIX;
            case 20 -> Connection.Kind.PXB;
            case 30 -> Connection.Kind.PHB;
            case 40 -> Connection.Kind.NODE;
            case 50 -> Connection.Kind.SYS;
            default -> null;
        };
    }

    /** How near two devices are over PCIe, or null where that is not known. */
    Connection.@Nullable Kind kind(int a, int b) {
        return kinds[a * size + b];
    }

    /** Whether each may read and write the other's memory: the first refusal, or null where it is not known. */
    @Nullable
    PeerStatus access(int a, int b) {
        return worse(access[a * size + b], access[b * size + a]);
    }

    /** Whether the driver is known to refuse one of two devices the other's memory. */
    boolean refuses(int a, int b) {
        PeerStatus status = access(a, b);
        return status != null && status != PeerStatus.OK && status != PeerStatus.UNKNOWN;
    }

    /** Whether the driver sees NVLink between two devices, or null where it does not tell. */
    @Nullable
    PeerStatus nvLink(int a, int b) {
        return worse(nvLink[a * size + b], nvLink[b * size + a]);
    }

    private static @Nullable PeerStatus worse(@Nullable PeerStatus one, @Nullable PeerStatus other) {
        return one == null || one == PeerStatus.OK ? other : one;
    }
}
