package dev.banyan.page.chart;

import dev.banyan.trees.network.Network;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Places the nodes of a network: ranks clockwise on a circle and relays behind them, so that no link between two of
 * them passes a third one; each hub where its neighbours are on average (W. T. Tutte, "How to draw a graph", Proc.
 * London Math. Soc. 13, 1963, doi:10.1112/plms/s3-13.1.743), then hubs that lie too close to each other apart.
 */
final class NetworkLayout {
    private static final int ROUNDS = 200;

    private final Network network;
    private final double radius;
    private final Point centre;
    private final Point[] at;
    /** The number of ranks and relays. */
    private final int onCircle;

    /** @param apart least distance between two hubs, if the circle has room for it */
    NetworkLayout(Network network, Point centre, double radius, double apart) {
        this.network = network;
        this.centre = centre;
        this.radius = radius;
        at = new Point[network.nodes()];
        int[] hubs = IntStream.range(network.ranks(), at.length)
                .filter(node -> network.node(node).kind() != Network.Kind.RELAY)
                .toArray();
        onCircle = at.length - hubs.length;
        int place = 0;
        for (int node = 0; node < at.length; node++) {
            boolean isHub = Arrays.binarySearch(hubs, node) >= 0;
            at[node] = isHub ? centre : onCircle(place++);
        }
        for (int round = 0; round < ROUNDS; round++) {
            for (int hub : hubs) {
                at[hub] = amongNeighbours(hub);
            }
        }
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < hubs.length; i++) {
                for (int j = i + 1; j < hubs.length; j++) {
                    separate(hubs[i], hubs[j], apart);
                }
            }
        }
    }

    /** The first rank in the upper left, so that no rank is at the very top of an even number. */
    private Point onCircle(int place) {
        double angle = 2 * Math.PI * (place + 0.5) / onCircle - Math.PI / 2;
        return centre.plus(radius * Math.cos(angle), radius * Math.sin(angle));
    }

    private Point amongNeighbours(int node) {
        double x = 0;
        double y = 0;
        int count = network.firstOut(node + 1) - network.firstOut(node);
        for (int arc = network.firstOut(node); arc < network.firstOut(node + 1); arc++) {
            x += at[network.to(arc)].x() / count;
            y += at[network.to(arc)].y() / count;
        }
        return count == 0 ? centre : new Point(x, y);
    }

    private void separate(int a, int b, double apart) {
        double distance = at[a].distance(at[b]);
        if (distance >= apart) {
            return;
        }
        double angle = distance > apart / 1000
                ? Math.atan2(at[b].y() - at[a].y(), at[b].x() - at[a].x())
                : 2 * Math.PI * b / at.length;
        double shift = (apart - distance) / 2;
        at[a] = inside(at[a].plus(-shift * Math.cos(angle), -shift * Math.sin(angle)), apart);
        at[b] = inside(at[b].plus(shift * Math.cos(angle), shift * Math.sin(angle)), apart);
    }

    private Point inside(Point point, double apart) {
        double most = Math.max(0, radius - apart / 2);
        double distance = point.distance(centre);
        return distance <= most
                ? point
                : new Point(
                        centre.x() + (point.x() - centre.x()) * most / distance,
                        centre.y() + (point.y() - centre.y()) * most / distance);
    }

    Point at(int node) {
        return at[node];
    }
}
