package dev.banyan.topology.internal.matrix;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.option.MatrixUnit;

/** Writes a link matrix as the plain n x n matrix that {@code MachineReader} reads. */
public final class MatrixWriter {
    private MatrixWriter() {}

    /**
     * The text: a line per device, entries separated by one space.
     *
     * @param unit classes as they were before the rule of {@link LinkMatrix}, or GB/s from row to column (0
     *     for pairs without weight)
     */
    public static String write(LinkMatrix matrix, MatrixUnit unit) {
        StringBuilder text = new StringBuilder();
        for (int a = 0; a < matrix.size(); a++) {
            for (int b = 0; b < matrix.size(); b++) {
                text.append(b == 0 ? "" : " ");
                switch (unit) {
                    case CLASSES -> text.append(matrix.classOf(a, b));
                    case GBS -> appendNumber(text, matrix.gbs(a, b));
                }
            }
            text.append('\n');
        }
        return text.toString();
    }

    private static void appendNumber(StringBuilder text, double value) {
        if (value == Math.rint(value) && value < 1e9) {
            text.append((long) value);
        } else {
            text.append(value);
        }
    }
}
