package dev.banyan.page.drawing;

import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Places the nodes of a machine and the lines between them. Devices are on an ellipse, clockwise from the top, those
 * below one hub next to each other. NVSwitches are in its middle. PCIe switches, host bridges and CPU sockets are
 * outside where the devices have links of their own, the sockets outermost, and inside where they have none.
 *
 * <p>Outside, the line from a hub to what it joins goes along the ellipse, so that no line crosses the devices. The
 * same machine gives the same drawing.
 */
public final class MachineDrawing {
    /** Width of the drawing in pixels. */
    public static final int WIDTH = 760;
    /** Height of the drawing in pixels. */
    public static final int HEIGHT = 600;

    private static final double MARGIN_X = 62;
    private static final double MARGIN_Y = 36;
    /** Distance of two tiers, as a fraction of the devices' radius; greater beside the devices, as names are wide. */
    private static final double TIER_X = 0.26;

    private static final double TIER_Y = 0.17;
    /** Angle between two points of a curved line. */
    private static final double ARC = Math.toRadians(4);
    /** Angle over which a curved line leaves or reaches its node. */
    private static final double BEND = Math.toRadians(30);
    /** Least distance in pixels between the centres of two hubs, if they are as close in the other direction, too. */
    private static final double APART_X = 92;

    private static final double APART_Y = 44;
    /** The same between a hub and a device. */
    private static final double DEVICE_X = 66;

    private static final double DEVICE_Y = 40;
    private static final int ROUNDS = 300;

    private final Machine machine;
    private final Tiers tiers;
    private final boolean outside;
    private final double radiusX;
    private final double radiusY;
    private final double[] angle;
    /** In tiers outside of the devices; inside, as a fraction of their radius less 1. */
    private final double[] beyond;

    private final Point[] at;
    private final boolean[] drawn;

    /** @param withHost whether there is one more node, the host's memory */
    public MachineDrawing(Machine machine, boolean withHost) {
        this.machine = machine;
        tiers = new Tiers(machine);
        outside = machine.links().stream()
                .anyMatch(link -> link.kind().isNvLinkClass() || (isDevice(link.a()) && isDevice(link.b())));
        int outermost = outside ? tiers.count() : 0;
        radiusX = (WIDTH / 2.0 - MARGIN_X) / (1 + TIER_X * outermost);
        radiusY = (HEIGHT / 2.0 - MARGIN_Y) / (1 + TIER_Y * outermost);
        int nodes = machine.nodeCount() + (withHost ? 1 : 0);
        angle = new double[nodes];
        beyond = new double[nodes];
        at = new Point[nodes];
        drawn = new boolean[nodes];
        prune();
        placeDevices();
        placeHubs();
        for (int node = 0; node < nodes; node++) {
            at[node] = onEllipse(angle[node], beyond[node]);
        }
        separate();
    }

    private boolean isDevice(int node) {
        return node < machine.size();
    }

    private void placeDevices() {
        List<Integer> order = tiers.deviceOrder();
        for (int place = 0; place < order.size(); place++) {
            angle[order.get(place)] = 2 * Math.PI * (place + 0.5) / order.size() - Math.PI / 2;
        }
        if (order.size() == 2) {
            // From left to right.
            angle[order.getFirst()] = Math.PI;
            angle[order.getLast()] = 0;
        }
    }

    /** From the lowest tier to the top, each where its lower neighbours are on average. */
    private void placeHubs() {
        for (int node = machine.size(); node < at.length; node++) {
            // Nodes of no tier are in the middle.
            beyond[node] = -1;
        }
        for (int tier = tiers.count() - 1; tier >= 0; tier--) {
            for (int hub = machine.size(); hub < machine.nodeCount(); hub++) {
                if (tiers.of(hub) == tier) {
                    place(hub, tier);
                }
            }
        }
    }

    private void place(int hub, int tier) {
        double x = 0;
        double y = 0;
        int lower = 0;
        for (Link link : machine.links()) {
            if (link.a() == hub || link.b() == hub) {
                int other = link.other(hub);
                if (drawn[other] && (isDevice(other) || tiers.of(other) > tier)) {
                    x += Math.cos(angle[other]);
                    y += Math.sin(angle[other]);
                    lower++;
                }
            }
        }
        double spread = Math.hypot(x, y);
        boolean onOneSide = spread > 0.05 * lower;
        // A hub that joins devices all around is below them.
        angle[hub] = onOneSide ? Math.atan2(y, x) : Math.PI / 2;
        if (outside) {
            beyond[hub] = tiers.count() - tier;
        } else {
            beyond[hub] = (onOneSide ? 0.72 * (tier + 0.55) / (tiers.count() - 0.3) : 0) - 1;
        }
    }

    private Point onEllipse(double angle, double beyond) {
        double wide = beyond > 0 ? 1 + TIER_X * beyond : 1 + beyond;
        double high = beyond > 0 ? 1 + TIER_Y * beyond : 1 + beyond;
        return new Point(
                WIDTH / 2.0 + wide * radiusX * Math.cos(angle), HEIGHT / 2.0 + high * radiusY * Math.sin(angle));
    }

    /** Moves hubs that would hide each other or a device. */
    private void separate() {
        for (int round = 0; round < ROUNDS; round++) {
            boolean moved = false;
            for (int hub = machine.size(); hub < at.length; hub++) {
                for (int other = 0; other < hub; other++) {
                    moved |= drawn[hub] && drawn[other] && separate(hub, other);
                }
            }
            if (!moved) {
                return;
            }
        }
    }

    /** Moves a hub, and the other node if that is a hub too. */
    private boolean separate(int hub, int other) {
        double dx = at[hub].x() - at[other].x();
        double dy = at[hub].y() - at[other].y();
        double overlapX = (isDevice(other) ? DEVICE_X : APART_X) - Math.abs(dx);
        double overlapY = (isDevice(other) ? DEVICE_Y : APART_Y) - Math.abs(dy);
        if (overlapX <= 0.1 || overlapY <= 0.1) {
            return false;
        }
        double shiftX = overlapY <= overlapX ? 0 : Math.copySign(overlapX, dx);
        double shiftY = overlapY <= overlapX ? Math.copySign(overlapY, dy) : 0;
        double part = isDevice(other) ? 1 : 0.5;
        at[hub] = inside(at[hub].x() + part * shiftX, at[hub].y() + part * shiftY);
        if (!isDevice(other)) {
            at[other] = inside(at[other].x() - part * shiftX, at[other].y() - part * shiftY);
        }
        return true;
    }

    private static Point inside(double x, double y) {
        return new Point(Math.clamp(x, MARGIN_X, WIDTH - MARGIN_X), Math.clamp(y, MARGIN_Y, HEIGHT - MARGIN_Y));
    }

    /** Returns whether a node is drawn: all but hubs that lead nowhere, such as those of network cards alone. */
    public boolean isDrawn(int node) {
        return drawn[node];
    }

    /** Takes away hubs that lead nowhere until there are none of these. */
    private void prune() {
        Arrays.fill(drawn, true);
        boolean pruned = true;
        while (pruned) {
            pruned = false;
            for (int hub = machine.size(); hub < machine.nodeCount(); hub++) {
                if (drawn[hub] && leadsNowhere(hub)) {
                    drawn[hub] = false;
                    pruned = true;
                }
            }
        }
    }

    private boolean isSocket(int node) {
        return machine.node(node) instanceof Hub hub && hub.kind() == Hub.Kind.CPU_SOCKET;
    }

    /** A hub with one neighbour leads nowhere, unless it is the socket of others than sockets. */
    private boolean leadsNowhere(int hub) {
        List<Integer> neighbours = neighbours(hub);
        return neighbours.isEmpty() || (neighbours.size() == 1 && (!isSocket(hub) || isSocket(neighbours.getFirst())));
    }

    private List<Integer> neighbours(int hub) {
        return machine.links().stream()
                .filter(link -> link.a() == hub || link.b() == hub)
                .map(link -> link.other(hub))
                .filter(other -> drawn[other])
                .distinct()
                .toList();
    }

    /** Place of a node; the host's memory, if it is there, comes after those of the machine. */
    public Point at(int node) {
        return at[node];
    }

    /** Points of the line between two nodes. */
    public List<Point> line(int a, int b) {
        if (!outside || !isOutside(a) || !isOutside(b) || (isDevice(a) && isDevice(b))) {
            return List.of(at[a], at[b]);
        }
        return beyond[a] <= beyond[b] ? elbow(a, b) : elbow(b, a).reversed();
    }

    private boolean isOutside(int node) {
        return isDevice(node) || (node < machine.nodeCount() && tiers.of(node) >= 0);
    }

    /** From the inner node along the ellipse to the outer node, without corners, which look like nodes. */
    private List<Point> elbow(int inner, int outer) {
        double shorter = Math.IEEEremainder(angle[outer] - angle[inner], 2 * Math.PI);
        // Opposite nodes are joined below the others.
        double turn = Math.abs(shorter) > Math.PI - 1e-6 ? Math.copySign(Math.PI, Math.cos(angle[inner])) : shorter;
        double along = along(inner, outer, turn);
        int arcs = Math.max(1, (int) Math.ceil(Math.abs(turn) / ARC));
        List<Point> points = new ArrayList<>();
        points.add(at[inner]);
        if (Math.abs(turn) > 1e-6) {
            double bend = Math.min(BEND, Math.abs(turn) / 2);
            IntStream.range(1, arcs)
                    .mapToObj(arc -> {
                        double part = (double) arc / arcs;
                        double tier = along
                                + (beyond[inner] - along) * nearness(Math.abs(turn) * part, bend)
                                + (beyond[outer] - along) * nearness(Math.abs(turn) * (1 - part), bend);
                        return inDrawing(onEllipse(angle[inner] + turn * part, tier));
                    })
                    .forEach(points::add);
        }
        points.add(at[outer]);
        return points;
    }

    /** Returns the tier along which a line goes. A line past hubs stays apart from the lines that end there. */
    private double along(int inner, int outer, double turn) {
        if (beyond[inner] != beyond[outer]) {
            return (beyond[inner] + beyond[outer]) / 2;
        }
        double passed = passedHubs(inner, outer, turn);
        return beyond[inner] + 0.42 + 0.3 * passed / (passed + 1);
    }

    /** Counts the hubs of one tier between two of it. */
    private long passedHubs(int from, int to, double turn) {
        return IntStream.range(machine.size(), machine.nodeCount())
                .filter(hub -> drawn[hub] && hub != from && hub != to && tiers.of(hub) == tiers.of(from))
                .mapToDouble(hub -> Math.signum(turn) * (angle[hub] - angle[from]))
                .map(turned -> turned - 2 * Math.PI * Math.floor(turned / (2 * Math.PI)))
                .filter(turned -> turned > 1e-6 && turned < Math.abs(turn) - 1e-6)
                .count();
    }

    /** Falls from 1 to 0 within an angle, at last without a slope. */
    private static double nearness(double turned, double bend) {
        double left = Math.max(0, 1 - turned / bend);
        return left * left;
    }

    private static Point inDrawing(Point point) {
        return new Point(Math.clamp(point.x(), 6, WIDTH - 6), Math.clamp(point.y(), 6, HEIGHT - 6));
    }
}
