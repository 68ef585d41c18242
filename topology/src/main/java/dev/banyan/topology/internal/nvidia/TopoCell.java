package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.Connection;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A cell of the {@code topo -m} matrix.
 *
 * @param kind class of the pair
 * @param lanes NVLinks of the pair, 0 unless the kind is NVLink
 */
record TopoCell(Connection.Kind kind, int lanes) {
    private static final Pattern NVLINK = Pattern.compile("NV([1-9]\\d{0,2})");
    private static final Pattern PEER_STATUS = Pattern.compile("OK|CNS|GNS|TNS|NS|DR|U");

    /** The cell of a word, or null where it is none. */
    static @Nullable TopoCell of(String word) {
        Matcher nvlink = NVLINK.matcher(word);
        if (nvlink.matches()) {
            return new TopoCell(Connection.Kind.NVLINK, Integer.parseInt(nvlink.group(1)));
        }
        Connection.Kind kind = switch (word) {
            case "X" -> Connection.Kind.SELF;
            // PSB: an on-board switch, in a few drivers.
            case "PIX", "PSB" -> Connection.Kind.PIX;
            case "PXB" -> Connection.Kind.PXB;
            case "PHB" -> Connection.Kind.PHB;
            case "NODE" -> Connection.Kind.NODE;
            // SOC: what old drivers say for SYS.
            case "SYS", "SOC" -> Connection.Kind.SYS;
            default -> null;
        };
        return kind == null ? null : new TopoCell(kind, 0);
    }

    /** Returns whether a word is a cell of {@code topo -p2p}, which says whether peer access works. */
    static boolean isPeerStatus(String word) {
        return PEER_STATUS.matcher(word).matches();
    }
}
