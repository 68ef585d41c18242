package dev.banyan.topology;

import java.util.Objects;

/**
 * The connection between two ends of a machine, in the words of {@code nvidia-smi topo -m}.
 *
 * @param kind nearest class
 * @param lanes NVLink or xGMI links between the two, direct and through switches; 0 for other kinds
 * @param gbs one-way bandwidth in GB/s of the pair alone; 0 for {@link Kind#NONE} and {@link Kind#SELF}
 */
public record Connection(Kind kind, int lanes, double gbs) {
    /** Classes, nearest first. */
    public enum Kind {
        /** The end itself. */
        SELF,
        /** NVLink or xGMI, direct or through NVSwitches. */
        NVLINK,
        /** PCIe through at most one switch. */
        PIX,
        /** PCIe through several switches, none of them a host bridge. */
        PXB,
        /** PCIe through one host bridge. */
        PHB,
        /** PCIe through several host bridges of one socket. */
        NODE,
        /** Between sockets. */
        SYS,
        /** No path. */
        NONE
    }

    public Connection {
        Objects.requireNonNull(kind, "kind");
        if (lanes < 0 || (lanes > 0) != (kind == Kind.NVLINK)) {
            throw new IllegalArgumentException(lanes + " lanes do not fit a " + kind + " connection");
        }
    }

    /** Returns whether data passes a CPU. */
    public boolean passesCpu() {
        return kind == Kind.PHB || kind == Kind.NODE || kind == Kind.SYS;
    }

    /** The class of the pair in a {@link LinkMatrix}. */
    int linkClass() {
        return switch (kind) {
            case SELF, NONE -> LinkMatrix.NONE;
            case NVLINK -> lanes == 1 ? LinkMatrix.NVLINK : LinkMatrix.NVLINKS;
            case PIX, PXB, PHB, NODE, SYS -> LinkMatrix.PCIE;
        };
    }

    /** The cell of {@code topo -m}: {@code X}, {@code NV2}, {@code PIX} and so on; {@code -} where there is no path. */
    public String label() {
        return switch (kind) {
            case SELF -> "X";
            case NVLINK -> "NV" + lanes;
            case NONE -> "-";
            default -> kind.name();
        };
    }
}
