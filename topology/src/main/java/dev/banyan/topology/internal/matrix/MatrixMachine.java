package dev.banyan.topology.internal.matrix;

import dev.banyan.InputException;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.speed.AssumedLinks;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** Builds the machine that the rows of a plain matrix describe; see {@link MatrixFormat}. Used once. */
final class MatrixMachine {
    private static final double MAX_PCIE_GBS = 16;
    private static final double MIN_NVLINKS_GBS = 1.5 * AssumedLinks.NVLINK_LANE_GBS;
    private static final Pattern NUMBER = Pattern.compile("[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d{1,5})?");
    private static final Pattern NOT_FINITE = Pattern.compile("(?i)[+-]?(nan|inf|infinity)");

    private final String source;
    private final List<List<Entry>> rows;
    private final SpeedChoice speeds;
    /** Number of columns. */
    private final int n;

    private final List<Hub> hubs = new ArrayList<>();
    private final List<Link> links = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();

    /** One entry: a number, or a mark of peer access. */
    record Entry(String text, int line, int column) {}

    /** @param rows none of them empty */
    MatrixMachine(String source, List<List<Entry>> rows, StatedSpeeds stated) {
        this.source = source;
        this.rows = rows;
        speeds = new SpeedChoice(stated, Optional.empty());
        n = rows.isEmpty() ? 0 : rows.getFirst().size();
    }

    /** Returns whether a text is an entry of a matrix of numbers, though perhaps one that is not allowed. */
    static boolean isNumber(String text) {
        return NUMBER.matcher(text).matches() || NOT_FINITE.matcher(text).matches();
    }

    Machine build(MatrixUnit unit) {
        checkShape();
        boolean twoBlocks = rows.size() == 2 * n;
        if ("v.".contains(entry(0, 0).text())) {
            if (twoBlocks) {
                throw refuse(n, "a second block follows one of peer access; put the matrix of numbers first");
            }
            linkClasses(PeerAccess.classes(access(0)));
        } else if (unit == MatrixUnit.CLASSES) {
            int[][] classes = classes(values());
            linkClasses(twoBlocks ? PeerAccess.reconcile(classes, access(n), warnings) : classes);
        } else {
            double[][] gbs = values();
            if (twoBlocks) {
                throw refuse(n, "peer access belongs to link classes; leave it out where the matrix is in GB/s");
            }
            linkBandwidths(gbs);
        }
        List<Device> devices = IntStream.range(0, n)
                .mapToObj(device -> Device.named("GPU" + device))
                .toList();
        return new Machine(
                MachineFormat.machineName(source), devices, hubs, links, List.of(), warnings, speeds.assumed());
    }

    private void checkShape() {
        if (rows.isEmpty()) {
            throw new InputException(source, 0, 0, "holds no matrix; write n rows of n numbers");
        }
        for (int r = 0; r < rows.size(); r++) {
            int columns = rows.get(r).size();
            if (columns != n) {
                throw refuse(
                        r,
                        "row " + (r % n + 1) + " has " + columns + " columns but the first row has " + n
                                + "; all rows need the same number, and a file holds one machine");
            }
        }
        if (rows.size() != n && rows.size() != 2 * n) {
            throw refuse(
                    rows.size() - 1,
                    "the matrix has " + rows.size() + " rows of " + n
                            + " columns; it must be square (a second square block is peer access)");
        }
    }

    private Entry entry(int row, int column) {
        return rows.get(row).get(column);
    }

    private double[][] values() {
        double[][] values = new double[n][n];
        boolean diagonal = false;
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                double value = number(entry(a, b));
                diagonal |= a == b && value != 0;
                values[a][b] = a == b ? 0 : value;
            }
        }
        if (diagonal) {
            warnings.add("entries on the diagonal of the matrix are ignored: a device has no link to itself");
        }
        return values;
    }

    private double number(Entry entry) {
        String text = entry.text();
        if (text.length() == 1 && text.charAt(0) >= '0' && text.charAt(0) <= '9') {
            return text.charAt(0) - '0';
        }
        if (!isNumber(text)) {
            throw refuse(entry, " is not a number");
        }
        double value = NUMBER.matcher(text).matches() ? Double.parseDouble(text) : Double.NaN;
        if (!(value >= 0) || Double.isInfinite(value)) {
            throw refuse(entry, " is not allowed; entries are finite and not negative");
        }
        return value;
    }

    private int[][] classes(double[][] values) {
        int[][] classes = new int[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                double value = values[a][b];
                if (value > 0 && value <= 1) {
                    classes[a][b] = LinkMatrix.PCIE;
                } else if (value == 0 || value == LinkMatrix.NVLINK || value == LinkMatrix.NVLINKS) {
                    classes[a][b] = (int) value;
                } else {
                    throw refuse(
                            entry(a, b),
                            " is no link class (0 none, 1 PCIe, 2 one NVLink, 3 two or more); if the entries are GB/s,"
                                    + " say so (--unit gbs)");
                }
            }
        }
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                if (classes[a][b] != classes[b][a]) {
                    throw refuse(
                            entry(a, b),
                            " from device " + a + " to " + b + " differs from the way back, " + quote(entry(b, a))
                                    + "; link classes are symmetric");
                }
            }
        }
        return classes;
    }

    /** The block of peer access that begins at a row. */
    private boolean[][] access(int firstRow) {
        boolean[][] access = new boolean[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                Entry entry = entry(firstRow + a, b);
                access[a][b] = switch (entry.text()) {
                    case "v", "1" -> true;
                    case ".", "0" -> false;
                    default ->
                        throw refuse(
                                entry,
                                " is no peer access; write v or 1 where the row's device may access the column's,"
                                        + " else . or 0");
                };
            }
        }
        return access;
    }

    /** PCIe that reaches every pair goes through one hub, as it is shared; else it links just the pairs named. */
    private void linkClasses(int[][] classes) {
        boolean pcie = false;
        boolean complete = true;
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                pcie |= classes[a][b] == LinkMatrix.PCIE;
                complete &= classes[a][b] > LinkMatrix.NONE;
            }
        }
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                if (classes[a][b] >= LinkMatrix.NVLINK) {
                    int lanes = classes[a][b] - LinkMatrix.PCIE;
                    double laneGbs = speeds.linkGbs(AssumedLinks.NVLINK_LANE_GBS, "NVLink");
                    links.add(AssumedLinks.nvLink(a, b, lanes, laneGbs));
                } else if (classes[a][b] == LinkMatrix.PCIE && !complete) {
                    links.add(AssumedLinks.pcie(a, b, speeds.pcieLanes(), speeds.pcieLaneGbs()));
                }
            }
        }
        if (pcie && complete) {
            hubs.add(Hub.of("host", Hub.Kind.CPU_SOCKET));
            for (int device = 0; device < n; device++) {
                links.add(AssumedLinks.pcie(device, n, speeds.pcieLanes(), speeds.pcieLaneGbs()));
            }
        }
    }

    private void linkBandwidths(double[][] gbs) {
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                double slower = Math.min(gbs[a][b], gbs[b][a]);
                double faster = Math.max(gbs[a][b], gbs[b][a]);
                if (slower > 0) {
                    links.add(link(a, b, gbs[a][b], gbs[b][a]));
                } else if (faster > 0) {
                    int row = gbs[a][b] == 0 ? a : b;
                    int column = a + b - row;
                    Entry entry = entry(row, column);
                    throw new InputException(
                            source,
                            entry.line(),
                            entry.column(),
                            "0 GB/s from device " + row + " to " + column + " but " + faster
                                    + " back; a link works both ways");
                }
            }
        }
    }

    private static Link link(int a, int b, double gbsAToB, double gbsBToA) {
        double slower = Math.min(gbsAToB, gbsBToA);
        if (slower <= MAX_PCIE_GBS) {
            return new Link(a, b, Link.Kind.OTHER, 1, gbsAToB, gbsBToA, LinkSpeeds.PCIE_US);
        }
        long lanes = slower < MIN_NVLINKS_GBS ? 1 : Math.max(2, Math.round(slower / AssumedLinks.NVLINK_LANE_GBS));
        return new Link(a, b, Link.Kind.NVLINK, (int) lanes, gbsAToB, gbsBToA, LinkSpeeds.NVLINK_US);
    }

    private static String quote(Entry entry) {
        String text = entry.text();
        return "entry \"" + (text.length() > 20 ? text.substring(0, 20) + "..." : text) + "\"";
    }

    private InputException refuse(Entry entry, String problem) {
        return new InputException(source, entry.line(), entry.column(), quote(entry) + problem);
    }

    private InputException refuse(int row, String problem) {
        return new InputException(source, entry(row, 0).line(), 0, problem);
    }
}
