package dev.banyan.topology;

import java.util.Objects;

/**
 * A direct, full-duplex connection of two nodes.
 *
 * @param a node index of one end
 * @param b node index of the other end
 * @param kind technology
 * @param lanes lane count: the NVLinks or xGMI links bundled in it, or the width of a PCIe link (at
 *     least 1)
 * @param gbsAToB bandwidth from a to b in GB/s (1e9 bytes/s), all lanes together
 * @param gbsBToA bandwidth from b to a in GB/s
 * @param latencyUs latency of one hop over it in us
 */
public record Link(int a, int b, Kind kind, int lanes, double gbsAToB, double gbsBToA, double latencyUs) {
    /** Technology of a link. */
    public enum Kind {
        /** NVIDIA NVLink, between devices or to an NVSwitch. */
        NVLINK,
        /** AMD xGMI (Infinity Fabric) between devices. */
        XGMI,
        /** PCIe. */
        PCIE,
        /** Between CPU sockets: QPI, UPI, xGMI, X-Bus; or beside PCIe from a device to its CPU: NVLink-C2C. */
        SOCKET,
        /**
         * Between two devices, of a technology that is not known but with a bandwidth of its own, as in a matrix of
         * GB/s. It is no NVLink in a link matrix, but no plan or bound leaves it out.
         */
        OTHER;

        /** Returns whether it is a device-to-device technology that counts as NVLink in a link matrix. */
        public boolean isNvLinkClass() {
            return this == NVLINK || this == XGMI;
        }
    }

    public Link {
        Objects.requireNonNull(kind, "kind");
        if (a == b) {
            throw new IllegalArgumentException("link from node " + a + " to itself; drop it");
        }
        if (a < 0 || b < 0) {
            throw new IllegalArgumentException("link " + a + "-" + b + " has a negative end; node indices start at 0");
        }
        if (lanes < 1) {
            throw new IllegalArgumentException(
                    "link " + a + "-" + b + " has " + lanes + " lanes; at least 1 is needed");
        }
        check(gbsAToB, "bandwidth", a, b);
        check(gbsBToA, "bandwidth", a, b);
        check(latencyUs, "latency", a, b);
    }

    private static void check(double value, String what, int a, int b) {
        if (!(value >= 0) || Double.isInfinite(value)) {
            throw new IllegalArgumentException(
                    "link " + a + "-" + b + " has " + what + " " + value + "; a finite number of at least 0 is needed");
        }
    }

    /** A link of equal bandwidth both ways. */
    public static Link duplex(int a, int b, Kind kind, int lanes, double gbs, double latencyUs) {
        return new Link(a, b, kind, lanes, gbs, gbs, latencyUs);
    }

    /** The end that is not {@code node}. */
    public int other(int node) {
        if (node != a && node != b) {
            throw new IllegalArgumentException("node " + node + " is no end of link " + a + "-" + b);
        }
        return node == a ? b : a;
    }

    /** Bandwidth in GB/s when data leaves {@code node} over this link. */
    public double gbsFrom(int node) {
        return other(node) == b ? gbsAToB : gbsBToA;
    }
}
