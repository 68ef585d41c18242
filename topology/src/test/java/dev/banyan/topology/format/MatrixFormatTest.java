package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.option.MatrixUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MatrixFormatTest {
    static final String EIGHT_CYCLE = "0 2 2 0 0 0 0 0 / 2 0 0 2 0 0 0 0 / 2 0 0 0 0 0 2 0 / 0 2 0 0 0 0 0 2 /"
            + " 0 0 0 0 0 2 2 0 / 0 0 0 0 2 0 0 2 / 0 0 2 0 2 0 0 0 / 0 0 0 2 0 2 0 0";

    static final String MISREAD = """
        # double links read as PCIe
        0 2 2 1 1 1 1 1
        2 0 1 2 1 1 1 1
        2 1 0 1 1 1 2 1
        1 2 1 0 1 1 1 2
        1 1 1 1 0 2 2 1
        1 1 1 1 2 0 1 2
        1 1 2 1 2 1 0 1
        1 1 1 2 1 2 1 0
        """;

    static final String ACCESS = """
        [10:00:00] src/kvstore/././comm.h:743: only 32 out of 56 GPU pairs are enabled direct access. More.
        [10:00:00] src/kvstore/././comm.h:752: .vvvv...
        [10:00:00] src/kvstore/././comm.h:752: v.vv.v..
        [10:00:00] src/kvstore/././comm.h:752: vv.v..v.
        [10:00:00] src/kvstore/././comm.h:752: vvv....v
        [10:00:00] src/kvstore/././comm.h:752: v....vvv
        [10:00:00] src/kvstore/././comm.h:752: .v..v.vv
        [10:00:00] src/kvstore/././comm.h:752: ..v.vv.v
        [10:00:00] src/kvstore/././comm.h:752: ...vvvv.
        """;

    private static Machine read(String text) {
        return new MachineReader().parse("box.txt", text);
    }

    private static LinkMatrix matrix(String text) {
        return LinkMatrix.of(read(text));
    }

    static int[][] classes(LinkMatrix matrix) {
        int[][] classes = new int[matrix.size()][matrix.size()];
        for (int a = 0; a < matrix.size(); a++) {
            for (int b = 0; b < matrix.size(); b++) {
                classes[a][b] = matrix.classOf(a, b);
            }
        }
        return classes;
    }

    @Test
    void readsTheCycleOfEight() {
        LinkMatrix matrix = matrix(EIGHT_CYCLE);

        assertThat(matrix.size()).isEqualTo(8);
        assertThat(matrix.nvlinkConnected()).isTrue();
        assertThat(classes(matrix)[0]).containsExactly(0, 2, 2, 0, 0, 0, 0, 0);
        assertThat(classes(matrix)[7]).containsExactly(0, 0, 0, 2, 0, 2, 0, 0);
        assertThat(matrix.gbs(0, 1)).isEqualTo(25);
        assertThat(matrix.gbs(0, 3)).isZero();
    }

    @Test
    void believesPeerAccessWhereRanksContradictIt() {
        Machine machine = read(MISREAD + "\n" + ACCESS);
        LinkMatrix matrix = LinkMatrix.of(machine);

        assertThat(classes(matrix)[0]).containsExactly(0, 2, 2, 2, 2, 1, 1, 1);
        assertThat(classes(matrix)[4]).containsExactly(2, 1, 1, 1, 0, 2, 2, 2);
        assertThat(machine.warnings()).singleElement().asString().startsWith("8 pairs have peer access");
    }

    @Test
    void keepsRanksThatAgreeWithPeerAccess() {
        Machine allAccess = read("0 2 1\n2 0 1\n1 1 0\n0 1 1\n1 0 1\n1 1 0\n");
        Machine noNvLink = read("0 1 1\n1 0 1\n1 1 0\n0 1 0\n1 0 0\n0 0 0\n");

        assertThat(allAccess.warnings()).isEmpty();
        assertThat(classes(LinkMatrix.of(allAccess))[0]).containsExactly(0, 2, 1);
        assertThat(noNvLink.warnings()).isEmpty();
        assertThat(classes(LinkMatrix.of(noNvLink))[0]).containsExactly(0, 1, 1);
    }

    @Test
    void readsPeerAccessAlone() {
        assertThat(classes(matrix(ACCESS))[3]).containsExactly(2, 2, 2, 0, 1, 1, 1, 2);
        assertThat(classes(matrix(". v\nv .\n"))[0]).containsExactly(0, 2);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0 3 1\n3 0 1\n1 1 0\n",
                "0,3,1\r\n3,0,1\r\n1,1,0\r\n",
                "0\t3\t0.33\n3\t0\t0.33\n.33\t0.33\t0\n",
                "[[0, 3, 1],\n [3, 0, 1],\n [1, 1, 0]]\n",
                "[[0. 3.\n  1.] [3. 0. 1.]\n [1. 1. 0.]]",
                "# three\n\n0 3 1 # first\n3 0 1\n1 1 0",
                "0 3 1; 3 0 1; 1 1 0",
                "\uFEFF0 3 1\n3 0 1\n1 1 0\n"
            })
    void readsEverySpelling(String text) {
        LinkMatrix matrix = matrix(text);

        assertThat(classes(matrix)).isDeepEqualTo(new int[][] {{0, 3, 1}, {3, 0, 1}, {1, 1, 0}});
        assertThat(matrix.gbs(0, 1)).isEqualTo(50);
        assertThat(matrix.weight(0, 2)).isEqualTo(1.0 / 3);
    }

    @Test
    void readsBandwidths() {
        LinkMatrix matrix = LinkMatrix.of(
                new MachineReader(MatrixUnit.GBS).parse("box", "784 48 9 25\n47 784 20 25\n10 20 784 0\n25 25 0 1\n"));

        assertThat(classes(matrix)).isDeepEqualTo(new int[][] {{0, 3, 1, 2}, {3, 0, 2, 2}, {1, 2, 0, 0}, {2, 2, 0, 0}});
        assertThat(matrix.gbs(0, 1)).isEqualTo(48);
        assertThat(matrix.gbs(1, 0)).isEqualTo(47);
    }

    @Test
    void readsOneDeviceAndStagesUnlinkedOnes() {
        assertThat(read("0").size()).isEqualTo(1);

        LinkMatrix matrix = matrix("0 2 0\n2 0 0\n0 0 0");
        assertThat(classes(matrix)[2]).containsExactly(1, 1, 0);
        assertThat(matrix.gbs(2, 0)).isEqualTo(LinkMatrix.HOST_STAGED_GBS);
        assertThat(matrix.warnings()).singleElement().asString().startsWith("2 of 3 pairs");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        0 1,1 0 1                 | box.txt:2: row 2 has 3 columns but the first row has 2
        0 1 1,1 0 1               | must be square
        0 -1,-1 0                 | box.txt:1:3: entry "-1" is not allowed
        0 nan,nan 0               | box.txt:1:3: entry "nan" is not allowed
        0 1e999,1e999 0           | box.txt:1:3: entry "1e999" is not allowed
        0 2,3 0                   | box.txt:2:1: entry "3" from device 1 to 0 differs
        0 25,25 0                 | --unit gbs
        0 1.4,1.4 0               | is no link class
        0 x,x 0                   | box.txt:1:3: entry "x" is not a number
        0 1,1 0,0 2,2 0           | box.txt:3:3: entry "2" is no peer access
        .v,v.,0 1,1 0             | put the matrix of numbers first
        """)
    void refuses(String rows, String reason) {
        assertThatThrownBy(() -> read(rows.replace(',', '\n')))
                .isInstanceOf(InputException.class)
                .hasMessageContaining(reason);
    }

    @Test
    void refusesBandwidthOneWay() {
        assertThatThrownBy(() -> new MachineReader(MatrixUnit.GBS).parse("box", "0 5\n0 0"))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("box:2:1: 0 GB/s from device 1 to 0 but 5.0 back");
    }

    @Test
    void refusesMoreDevicesThanTheLimit() {
        assertThatThrownBy(() -> read("0 ".repeat(1025)))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("at most 1024");
    }

    @Test
    void readsAsManyDevicesAsTheLimit() {
        String row = "1 ".repeat(1024) + "\n";
        LinkMatrix matrix = matrix(row.repeat(1024));

        assertThat(matrix.classOf(0, 1023)).isEqualTo(1);
    }
}
