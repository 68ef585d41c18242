package dev.banyan.study.measured.sweep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.InputException;
import dev.banyan.study.measured.PublishedSweeps;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NcclSweepReaderTest {
    private static final String CONSOLE = """
        # nThread 1 nGpus 8 minBytes 8 maxBytes 16 step: 2(factor)
        #                                                       out-of-place                       in-place
        #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
                   0             0     float     sum      -1     0.33    0.00    0.00      0     0.36    0.00    0.00      0
                   8             2     float     sum      -1    48.46    0.00    0.00      0    48.17    0.00    0.00      0
                1024           256     float     sum      -1    50.25    0.04    0.07    N/A    49.15    0.04    0.07    N/A
        # Out of bounds values : 0 OK
        """;

    private static List<MeasuredSweep.Row> rows(String text) {
        return NcclSweepReader.parse("my.txt", text).getFirst().rows();
    }

    @Test
    void whatTheProgramPrintsIsRead() {
        assertThat(rows(CONSOLE)).containsExactly(new MeasuredSweep.Row(8, 48.46), new MeasuredSweep.Row(1024, 50.25));
    }

    /** Older ones have no root, and call the last column error. */
    @Test
    void olderColumnsAndBlankOnesAreRead() {
        assertThat(rows("""
            #       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
                   4096          1024   float            11.02    0.37    0.37  0e+00    10.09    0.41    0.41  0e+00
            """)).containsExactly(new MeasuredSweep.Row(4096, 11.02));
    }

    @Test
    void tablesWithCommasAreRead() {
        assertThat(rows("""
            size_bytes,count,type,redop,oop_time_us,oop_algbw_GBs,oop_busbw_GBs,ip_time_us,ip_algbw_GBs,ip_busbw_GBs
            64,16,float,sum,20.86,0.00,0.00,,,
            128,32,float,sum,15,0.00,0.00,,,
            """)).containsExactly(new MeasuredSweep.Row(64, 20.86), new MeasuredSweep.Row(128, 15));
    }

    /** The heading of rccl-tests with MPI lacks the number of machines. */
    @Test
    void filesOfRcclTestsAreRead() {
        String csv = """
            numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,#wrong
            0,"AllReduce",1,4,4,2,1048576,"float","sum",0,27.420000,38.240000,66.930000,0
            0,"AllReduce",1,4,4,2,1048576,"float","sum",1,27.130000,38.650000,67.640000,0
            1,"AllReduce",1,4,4,2,1048576,"float","sum",0,99.000000,10.590000,18.540000,0
            """;
        String json = """
            [
            {"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":4, "ranksPerNode":4, "gpusPerRank":2, \
            "size":1048576, "type":"float", "redop":"sum", "inPlace":0, "time":27.42, "algBw":38.24, \
            "busBw":66.93, "wrong":"0"},
            {"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":4, "ranksPerNode":4, "gpusPerRank":2, \
            "size":1048576, "type":"float", "redop":"sum", "inPlace":1, "time":27.13, "algBw":38.65, \
            "busBw":67.64, "wrong":"0"}
            ]
            """;
        String bare = json.replace("[\n", "").replace("]\n", "").replace("},", "}");
        for (String text : List.of(csv, json, bare)) {
            MeasuredSweep sweep = NcclSweepReader.parse("rccl", text).getFirst();
            assertThat(sweep.rows()).containsExactly(new MeasuredSweep.Row(1048576, 27.42));
            assertThat(sweep.run().program()).contains("all_reduce");
            assertThat(sweep.run().rankCount()).isEqualTo(8);
            assertThat(sweep.run().devicesPerProcess()).isEqualTo(2);
            assertThat(sweep.run().hosts()).hasSize(1);
        }
        assertThatThrownBy(() -> NcclSweepReader.parse("rccl", csv.replace(",66.930000", "")))
                .hasMessage("rccl:2: '1048576' is no type; give whole rows");
        assertThatThrownBy(() -> NcclSweepReader.parse("rccl", csv.replace("1,4,4,2,1048576", "1,9999,4,99,1048576")))
                .hasMessageContaining("are more than 100000 ranks");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        nothing at all                            | my.txt: holds no sweep;
        size_bytes,time                           | my.txt:1: the heading has no column oop_time_us;
        size_bytes,oop_time_us                    | my.txt:1: no row follows this heading;
        size_bytes,oop_time_us~8,9,10             | my.txt:2: 3 cells under a heading of 2; give whole rows
        size_bytes,oop_time_us~8,fast             | my.txt:2:3: 'fast' is no time in us;
        size_bytes,oop_time_us~8,NaN              | my.txt:2:3: 'NaN' is no time in us;
        size_bytes,oop_time_us~8,-3               | my.txt:2:3: '-3' is no time in us;
        size_bytes,oop_time_us~8,0                | my.txt:2:3: a time of 0 us;
        size_bytes,oop_time_us~-8,1               | my.txt:2:1: '-8' is no size in bytes;
        size_bytes,oop_time_us~0,1                | my.txt:1: no row follows this heading;
        # size count type time algbw busbw~8 2    | my.txt:2: 2 figures under a heading of 6;
        """)
    void nonsenseIsRefusedWithItsPlace(String text, String message) {
        assertThatThrownBy(() -> rows(text.replace('~', '\n')))
                .isInstanceOf(InputException.class)
                .hasMessageStartingWith(message);
    }

    @Test
    void mutationsAreReadOrRefused() {
        Random random = new Random(7);
        for (int i = 0; i < 2000; i++) {
            StringBuilder text = new StringBuilder(CONSOLE);
            for (int j = 0; j < 3; j++) {
                text.setCharAt(random.nextInt(text.length()), (char) (32 + random.nextInt(95)));
            }
            try {
                assertThat(rows(text.toString())).allMatch(row -> row.bytes() > 0 && row.us() > 0);
            } catch (InputException e) {
                assertThat(e).hasMessageStartingWith("my.txt");
            }
        }
    }

    @Test
    void everyPublishedSweepIsRead() throws IOException {
        Path folder = Path.of(System.getProperty("banyan.shared", ""), "figures", "nccl_tests");
        assumeTrue(Files.isDirectory(folder), () -> folder + " is not there");
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).allSatisfy(file -> {
                assertThat(NcclSweepReader.read(file).getFirst().rows()).isNotEmpty();
                String name = String.valueOf(file.getFileName());
                assertThat(PublishedSweeps.find(name).isPresent()
                                || PublishedSweeps.leftOut(name).isPresent())
                        .as(name)
                        .isTrue();
            });
        }
    }
}
