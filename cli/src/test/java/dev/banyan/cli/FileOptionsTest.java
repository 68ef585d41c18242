package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.simulate.ProfileJson;
import dev.banyan.simulate.Profiles;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every option that reads a file gets files that never end, are damaged, or are too large. */
class FileOptionsTest {
    private static final long SEED = 20_261_125;
    private static final int FEW_ROUNDS = 100;
    private static final int MANY_ROUNDS = 60_000;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final String MATRIX = "0 2 1 0\n2 0 0 1\n1 0 0 2\n0 1 2 0\n";
    private static final String COPIES = """
        Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
           D\\D     0      1
             0 780.00  45.00
             1  45.00 780.00
        """;
    private static final String TRACE = """
        == num_workers:= 2
        num_servers:= 1
        worker_hostname:= box
        Worker_ID:= 0,1, Server_ID:= 2,
        id src dst length num_pp operation op_id dep_type d_time time_sec time_usec id_dep
        0 0 2 25 0 OP:= SendCom_TO_Servers
        1 0 2 2000 3 OP:= Push_Send_Worker 0-4-s0 4 500 9 600 (3-s0.)
        2 2 0 19 3 OP:= Push_Recv_Worker 0-5-s0 1 100 9 700 0-4-s0
        """;
    private static final String TUNING = """
        [tuning]
        machine = p3.8xlarge
        backend = sim
        executor = programs
        device = simulated
        driver =
        links = 0
        all_reduce = ring
        """;
    private static final String PLAN = """
        {"name": "x", "collective": "broadcast", "protocol": "Simple", "inplace": true, "reuse_resources": true,
         "max_message_size": 65536, "gpus": [
          {"id": 0, "input_chunks": 1, "output_chunks": 1, "scratch_chunks": 1,
           "channels": [{"channel_type": "memory", "connected_to": [1]}],
           "remote_buffers": [{"rank": 1, "type": "s", "access_channel_types": ["memory"]}],
           "threadblocks": [{"id": 0, "channels": [{"channel_type": "memory", "channel_ids": [0]}],
            "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
            "ops": [{"name": "rlxwait", "channel_type": "memory", "channel_ids": [0]}, {"name": "nop"},
             {"name": "put", "channel_type": "memory", "src_buff": [{"type": "i", "index": 0, "size": 1}],
              "dst_buff": [{"buffer_id": 0, "index": 0, "size": 1}]}]}]}]}
        """;

    private static final String GRAPH = """
        <graphs version="1">
          <graph id="0" pattern="4" nchannels="1" speedintra="20" typeintra="NVL">
            <channel>
              <gpu dev="0x0"/>
              <gpu dev="0x1"/>
              <gpu dev="0x3"/>
              <gpu dev="0x2"/>
            </channel>
          </graph>
        </graphs>
        """;

    private static final String LOG = """
        h:1:1 [0] NCCL INFO NCCL version 2.21.5+cuda12.4
        h:1:1 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1
        h:1:2 [0] NCCL INFO comm 0x7f rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0
        h:1:2 [0] NCCL INFO Channel 00/02 :    0   1
        h:1:2 [0] NCCL INFO Channel 01/02 :    1   0
        """;
    private static final String DAY_CARDS = """
        {"fact":{"name":"name","of":{"GPU":"0"},"value":"Tesla V100"}}
        """;
    private static final String DAY_PART = """
        {"fact":{"name":"name","of":{"GPU":"0"},"value":"Tesla V100"}}
        {"figure":{"name":"reduction, read and written","of":{"inputs":"2","bytes of each":"1048576"},"unit":"GB/s",\
        "median":700.0,"least":690.0,"greatest":710.0,"samples":5}}
        {"note":"the arrays are in cache"}
        """;

    private static final List<String> PIECES = List.of(
            "9223372036854775807",
            "-1",
            "1e999",
            "NaN",
            "0",
            "null",
            "{}",
            "[]",
            "\"",
            "<",
            ">",
            "&",
            ",",
            "=",
            "\n",
            "\t",
            "\0",
            "[tuning]",
            "<gpu>",
            "\uFEFF",
            "4000000000000");

    /**
     * A command with FILE where the file's name stands, and a file that it takes or nearly takes.
     *
     * @param name of the file; empty if the command leaves it open
     */
    private record Option(String command, String sample, String name) {
        Option(String command, String sample) {
            this(command, sample, "");
        }

        CommandRun run(Path file) {
            return CommandRun.of(command.replace("FILE", file.toString()));
        }
    }

    @TempDir
    private Path folder;

    private Path copies() throws IOException {
        return Files.writeString(folder.resolve("copies.txt"), COPIES);
    }

    private String folderOf(String part) throws IOException {
        Path day = Files.createDirectories(folder.resolve("day"));
        Files.writeString(day.resolve("cards.jsonl"), DAY_CARDS);
        return day.resolve(part).toString();
    }

    private List<Option> options() throws IOException {
        String out = folder.resolve("out").toString();
        return List.of(
                new Option("topo --machine FILE", MATRIX),
                new Option("compare --machine p3.8xlarge --schedule FILE", PLAN),
                new Option("compare --machine p3.8xlarge --schedule FILE", GRAPH),
                new Option("predict --machine p3.8xlarge --workload FILE", "name,elements\nfc,4000\n"),
                new Option("calibrate --machine p3.8xlarge --devices 0,3 --from FILE", COPIES),
                new Option("validate --machine p3.8xlarge --sweeps FILE", "size_bytes,oop_time_us\n8,20\n1048576,90\n"),
                new Option(
                        "calibrate --machine p3.8xlarge --devices 0,3 --base FILE --from " + copies(),
                        ProfileJson.write(Profiles.find("v100-nvlink").orElseThrow())),
                new Option(
                        "page --machine p3.8xlarge --devices 0,1 -o " + out + " --results FILE",
                        "[{\"collective\": \"all_reduce\", \"ranks\": 4, \"bytes\": 8}]"),
                new Option(
                        "diagnose --machine p3.8xlarge --devices 0,1 --sweeps "
                                + Files.writeString(folder.resolve("sweep.csv"), "size_bytes,oop_time_us\n8,20\n")
                                + " --log FILE",
                        LOG),
                new Option(
                        "calibrate --machine p3.8xlarge --from " + folder.resolve("day"),
                        DAY_PART,
                        folderOf("reductions.jsonl")),
                new Option("trace stats FILE", TRACE),
                new Option("trace timeline FILE -o " + out, "FLR\0"),
                new Option("tune --predict --machine p3.8xlarge -b 1K -e 1K --output FILE", TUNING));
    }

    private static void assertTold(CommandRun run, String what) {
        assertThat(run.status()).as(what).isIn(0, 1, 2);
        assertThat(run.err()).as(what).doesNotContain("internal error", "\tat ", "OutOfMemory");
    }

    @Test
    void devicesAndLongFilesAreRefusedByName() throws IOException {
        Path zero = Path.of("/dev/zero");
        assumeTrue(Files.exists(zero), "needs /dev/zero");
        Path lines = Files.writeString(folder.resolve("lines"), "\n".repeat(2_000_000));
        for (Option option : options()) {
            if (!option.command().startsWith("trace timeline")
                    && !option.command().startsWith("tune")
                    && option.name().isEmpty()) {
                CommandRun endless = option.run(zero);
                assertThat(endless.status()).as(option.command()).isIn(1, 2);
                assertThat(endless.err()).as(option.command()).contains("/dev/zero", "is a device; save");
                assertThat(option.run(lines).err()).as(option.command()).contains("lines: it has more than ", " lines");
            }
        }
    }

    @Test
    void aFileThatIsNotThereIsWrongUsage() throws IOException {
        Path missing = folder.resolve("missing");
        for (Option option : options()) {
            if (!option.command().startsWith("tune") && option.name().isEmpty()) {
                CommandRun run = option.run(missing);
                assertThat(run.status()).as(option.command()).isEqualTo(2);
                assertThat(run.err()).as(option.command()).contains(missing.toString());
            }
        }
    }

    @Test
    void sizesThatNothingHoldsAreRefused() throws IOException {
        for (String command : List.of(
                "predict --machine p3.8xlarge -e 9223372036854775807 -f 1000000",
                "tune --predict --machine p3.8xlarge -e 9223372036854775807 --output " + folder.resolve("t.ini"))) {
            assertThat(CommandRun.of(command).err()).contains("-e is 9223372036854775807 bytes; it must be at most");
        }
        Path keys = Files.writeString(folder.resolve("keys"), "9999999999999\n".repeat(3));
        assertThat(CommandRun.of("predict --machine p3.8xlarge --workload " + keys)
                        .err())
                .contains("line 2: the keys up to here have 19999999999998 elements");
    }

    @Test
    void damagedFilesAreReadOrRefused() throws IOException {
        mutate(FEW_ROUNDS, SEED, Long.MAX_VALUE);
    }

    @Test
    @Tag("soak")
    void manyDamagedFilesAreReadOrRefused() throws IOException {
        mutate(MANY_ROUNDS, SEED + 1, LONGEST_NANOS);
    }

    private void mutate(int rounds, long seed, long longestNanos) throws IOException {
        Random random = new Random(seed);
        List<Option> options = options();
        for (int round = 0; round < rounds; round++) {
            Option option = options.get(round % options.size());
            byte[] bytes = option.sample().getBytes(StandardCharsets.UTF_8);
            int mutations = random.nextInt(4);
            for (int i = 0; i < mutations; i++) {
                bytes = mutated(bytes, random);
            }
            Path file = folder.resolve(option.name().isEmpty() ? "mutated" : option.name());
            Files.write(file, bytes);
            String what = "round " + round + " of seed " + seed + ": " + option.command();
            // Time of the processor, which other programs do not lengthen.
            long begin = THREADS.getCurrentThreadCpuTime();
            assertTold(option.run(file), what);
            assertThat(THREADS.getCurrentThreadCpuTime() - begin).as(what).isLessThan(longestNanos);
        }
    }

    private static byte[] mutated(byte[] bytes, Random random) {
        int at = random.nextInt(bytes.length + 1);
        int end = Math.min(bytes.length, at + 1 + random.nextInt(20));
        byte[] piece = PIECES.get(random.nextInt(PIECES.size())).getBytes(StandardCharsets.UTF_8);
        return switch (random.nextInt(5)) {
            case 0 -> joined(bytes, at, new byte[0], end);
            case 1 -> joined(bytes, at, piece, at);
            case 2 -> joined(bytes, at, piece, end);
            case 3 -> joined(bytes, at, new byte[] {(byte) random.nextInt(256)}, Math.min(bytes.length, at + 1));
            default -> Arrays.copyOf(bytes, at);
        };
    }

    /** Returns the bytes before {@code at}, a piece, and the bytes from {@code end} on. */
    private static byte[] joined(byte[] bytes, int at, byte[] piece, int end) {
        byte[] joined = Arrays.copyOf(bytes, at + piece.length + bytes.length - end);
        System.arraycopy(piece, 0, joined, at, piece.length);
        System.arraycopy(bytes, end, joined, at + piece.length, bytes.length - end);
        return joined;
    }
}
