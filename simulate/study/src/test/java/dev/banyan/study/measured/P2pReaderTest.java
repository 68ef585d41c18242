package dev.banyan.study.measured;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.InputException;
import dev.banyan.study.measured.P2pReport.Measure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class P2pReaderTest {
    static final String PAIR = """
        [P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
        Device: 0, some GPU, pciBusID: 3d, pciDeviceID: 0, pciDomainID:0
        Device=0 CAN Access Peer Device=1

        P2P Connectivity Matrix
             D\\D     0     1
             0\t     1     1
             1\t     1     1
        Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
           D\\D     0      1
             0 780.00   9.60
             1   9.60 790.00
        Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
           D\\D     0      1
             0 780.00  48.00
             1  48.00 790.00
        Unidirectional P2P=Enabled Bandwidth (P2P Reads) Matrix (GB/s)
           D\\D     0      1
             0 780.00  40.00
             1  40.00 790.00
        Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)
           D\\D     0      1
             0 780.00  14.40
             1  14.40 790.00
        Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
           D\\D     0      1
             0 780.00  95.00
             1  95.00 790.00
        P2P=Disabled Latency Matrix (us)
           GPU     0      1
             0   1.80  17.40
             1  17.40   1.80

           CPU     0      1
             0   2.50   8.00
             1   8.00   2.50
        P2P=Enabled Latency (P2P Writes) Matrix (us)
           GPU     0      1
             0   1.80   2.00
             1   2.00   1.80
        """;

    private static double figure(P2pReport report, Measure measure) {
        return report.matrix(measure).orElseThrow().get(0, 1);
    }

    @Test
    void readsMarkdownAndBlankLines() {
        String blocks = """
            ### Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)

            ```
               D\\D     0      1

                 0 780.00  26.40

                 1  26.40 790.00
            ```
            **P2P=Enabled Latency Matrix (\u03bcs)**

            | GPU | 0 | 1 |
            | --- | ---: | ---: |
            | 0 | 1.70 | 1.50 |
            | 1 | 1.50 | 1.60 |
            """;
        P2pReport report = P2pReader.parse("p2p.md", blocks);
        assertThat(report.matrices()).containsOnlyKeys(Measure.ONE_WAY_PEER, Measure.LATENCY_PEER);
        assertThat(figure(report, Measure.ONE_WAY_PEER)).isEqualTo(26.4);
        assertThat(figure(report, Measure.LATENCY_PEER)).isEqualTo(1.5);
    }

    @Test
    void everyMatrixIsRead() {
        P2pReport report = P2pReader.parse("p2p.txt", PAIR);
        assertThat(report.devices()).isEqualTo(2);
        assertThat(report.matrices()).hasSize(Measure.values().length);
        assertThat(figure(report, Measure.ONE_WAY_STAGED)).isEqualTo(9.6);
        assertThat(figure(report, Measure.ONE_WAY_PEER)).as("writes, not reads").isEqualTo(48);
        assertThat(figure(report, Measure.BOTH_WAYS_STAGED)).isEqualTo(14.4);
        assertThat(figure(report, Measure.BOTH_WAYS_PEER)).isEqualTo(95);
        assertThat(figure(report, Measure.LATENCY_STAGED))
                .as("the GPU's, not the CPU's")
                .isEqualTo(17.4);
        assertThat(figure(report, Measure.LATENCY_PEER)).isEqualTo(2);
        assertThat(report.mayAccess(0, 1)).isTrue();
    }

    @Test
    void aRowAloneIsRead() {
        P2pReport report = P2pReader.parse("row", """
            Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
               D\\D     0      1      2
                 0 784.87  48.49  14.25

            """);
        assertThat(report.devices()).isEqualTo(3);
        assertThat(report.matrix(Measure.BOTH_WAYS_PEER).orElseThrow().rows()).isEqualTo(1);
        assertThat(report.mayAccess(2, 1)).isTrue();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        nothing                                     | p2p.txt: holds no matrix of p2pBandwidthLatencyTest;
        T                                           | p2p.txt:1: no heading 'D\\D 0 1 ...' follows
        T~words                                     | p2p.txt:2: no heading 'D\\D 0 1 ...' follows
        T~D\\D 0 2~0 1 2                            | p2p.txt:2:7: '2' in place of device 1;
        T~D\\D 0 1                                  | p2p.txt:2: no row of device 0 follows
        T~D\\D 0 1~1 2 3                            | p2p.txt:3:1: row of device 1 in place of device 0;
        T~D\\D 0 1~0 2                              | p2p.txt:3: row of device 0 has 1 figures for 2 devices;
        T~D\\D 0 1~0 2 nan                          | p2p.txt:3:5: 'nan' is no figure of devices 0 and 1;
        T~D\\D 0 1~0 2 -1                           | p2p.txt:3:5: '-1' is no figure of devices 0 and 1;
        T~D\\D 0 1~0 2 3~~T~D\\D 0 1 2~0 1 1 1      | p2p.txt:5: this matrix is of 3 devices, those above of 2;
        """)
    void nonsenseIsRefusedWithItsPlace(String text, String message) {
        String whole = text.replace('~', '\n')
                .replace("\\\\", "\\")
                .replace("T", "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)");
        assertThatThrownBy(() -> P2pReader.parse("p2p.txt", whole))
                .isInstanceOf(InputException.class)
                .hasMessageStartingWith(message);
    }

    @Test
    void mutationsAreReadOrRefused() {
        Random random = new Random(8);
        for (int i = 0; i < 2000; i++) {
            StringBuilder text = new StringBuilder(PAIR);
            for (int j = 0; j < 3; j++) {
                text.setCharAt(random.nextInt(text.length()), (char) (32 + random.nextInt(95)));
            }
            try {
                assertThat(P2pReader.parse("p2p.txt", text.toString()).devices())
                        .isGreaterThanOrEqualTo(2);
            } catch (InputException e) {
                assertThat(e).hasMessageStartingWith("p2p.txt");
            }
        }
    }

    @Test
    void everyPublishedReportIsRead() throws IOException {
        Path folder = Path.of(System.getProperty("banyan.shared", ""), "corpus", "p2p");
        assumeTrue(Files.isDirectory(folder), () -> folder + " is not there");
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files.filter(file -> file.toString().endsWith(".txt")))
                    .hasSizeGreaterThan(10)
                    .allSatisfy(
                            file -> assertThat(P2pReader.read(file).matrices()).isNotEmpty());
        }
    }
}
