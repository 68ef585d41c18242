package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.banyan.cli.bench.BenchCommand;
import dev.banyan.topology.Presets;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

@Isolated("It changes what all tests of the JVM see.")
class CommandLineTest {
    @ParameterizedTest
    @ValueSource(
            strings = {"--help", "topo --help", "trees --help", "compare --help", "bound --help", "bench --help", "-h"})
    void helpSaysHowToUseIt(String arguments) {
        CommandRun run = CommandRun.of(arguments);
        assertThat(run.status()).isZero();
        assertThat(run.out()).startsWith("Usage: banyan").contains("Exit status:");
        assertThat(run.err()).isEmpty();
        if (!arguments.startsWith("-")) {
            assertThat(run.out()).contains("Examples:", "--machine").contains(Presets.names());
        }
        assertThat(run.out().lines().takeWhile(line -> !line.equals("Examples:")))
                .allMatch(line -> line.length() <= 80);
    }

    @ParameterizedTest
    @CsvSource({"help, --help", "help bench, bench --help", "help trace stats, trace stats --help"})
    void helpIsACommandToo(String command, String option) {
        CommandRun run = CommandRun.of(command);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).isEqualTo(CommandRun.of(option).out());
    }

    /** The list of commands has the first lines of their descriptions only. */
    @Test
    void helpOfEveryCommandIsWholeAndWithoutWarnings() {
        PrintStream before = System.err;
        ByteArrayOutputStream warnings = new ByteArrayOutputStream();
        System.setErr(new PrintStream(warnings, true, StandardCharsets.UTF_8));
        try {
            PrintWriter writer = new PrintWriter(new StringWriter());
            helpIsWhole(BanyanCommand.commandLine(writer, writer), "");
        } finally {
            System.setErr(before);
        }
        assertThat(warnings.toString(StandardCharsets.UTF_8)).isEmpty();
    }

    private static void helpIsWhole(CommandLine command, String name) {
        String[] description = command.getCommandSpec().usageMessage().description();
        assertThat(description).as("description of %s", name).isNotEmpty();
        assertThat(description[0])
                .as("description of %s in the list of commands", name)
                .endsWith(".");
        String help = CommandRun.of((name + " --help").strip()).out();
        assertThat(help).startsWith("Usage: banyan");
        assertThat(help.replaceAll("\\s+", ""))
                .contains(String.join("", description).replace(" ", ""));
        command.getSubcommands().forEach((word, next) -> helpIsWhole(next, name.isEmpty() ? word : name + " " + word));
    }

    @Test
    void typesHaveTheNamesThatOthersGiveThem() {
        CommandRun run = CommandRun.of("predict -m p3.8xlarge -d float16 -b 1K -e 1K -a ring");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains("    half ");
    }

    @Test
    void commandsAreInGroups() {
        assertThat(CommandRun.of("--help").out())
                .containsPattern("\nMachines:\n  topo [^\n]*(\n [^\n]*)*\n  probe ")
                .containsPattern("\nPredictions and NCCL:\n  predict ")
                .containsPattern("\nMeasurements:\n  bench ")
                .containsPattern("\nTraces:\n  trace ")
                .containsPattern("\nStudies:\n  study ");
    }

    /** Text is as wide as the terminal, and examples are never broken. */
    @Test
    void helpFitsTheTerminal() {
        CommandLine narrow = new CommandLine(new BenchCommand());
        HelpText.set(narrow, "60", Map.of());
        List<String> lines = narrow.getUsageMessage().lines().toList();
        assertThat(lines.stream().takeWhile(line -> !line.startsWith("Columns are")))
                .hasSizeGreaterThan(20)
                .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(60));
        assertThat(lines)
                .contains("  mpirun -np 2 banyan bench --workload resnet-50 --compute-ms 200 --kvstore depcha"
                        + " --local-devices 2");
    }

    @Test
    void versionIsTold() {
        assertThat(CommandRun.of("--version").out())
                .startsWith("banyan ")
                .contains("Java 25", " in " + System.getProperty("java.home"));
        assertThat(CommandRun.of("topo --version").out()).startsWith("banyan ");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        ''                                            | which command? topo, probe, trees, bound, compare, page, predict, calibrate, validate, diagnose, export, bench, tune, selftest, gpu-day, trace, study, settings or help
        tpoo                                          | no command is called 'tpoo' (did you mean topo?); commands: topo, probe
        help tpoo                                     | no command is called 'tpoo' (did you mean topo?)
        help topo extra                               | no command is called 'extra'
        topo --nonsense                               | --nonsense
        topo --machin dgx-2                           | 'unknown option ''--machin''; did you mean --machine'
        topo extra                                    | '''extra'' belongs to no option'
        topo topo.txt                                 | a machine is named by --machine topo.txt
        probe extra                                   | '''extra'' belongs to no option'
        probe --output machine.txt                    | ends neither in .json nor in .xml
        probe --machine dgx-2                         | --machine
        topo --write json --format json               | exclude each other
        topo --write yaml                             | known: json, nccl-xml, topo, matrix, matrix-gbs
        topo --format yaml                            | yaml
        topo --machine p3.16xlrage                    | did you mean p3.16xlarge
        topo --machine A100                           | (did you mean dgx-a100?);
        topo --machine no/such/file                   | no file is called 'no/such/file', nor a preset; check the name
        page --results no/such/file.txt               | no file is called 'no/such/file.txt'
        calibrate --from no/such/file.txt             | no file is called 'no/such/file.txt'
        validate --sweeps no/such/file.txt            | no/such/file.txt
        study                                         | which of them? figures or scaling
        topo --machine topo.txt                       | no file is called 'topo.txt', nor a preset; check the name
        topo --unit miles --machine dgx-2             | miles
        topo --unit gbs --machine dgx-2 | --unit, --gpu, --pcie-gen, --pcie-lanes, --nvlink-gbs, --socket-gbs
        topo --machine pom.xml --pcie-gen 0           | --pcie-gen is 0; give what the machine has, or leave it out
        topo --machine pom.xml --gpu V1000            | GPU model "V1000" is not known
        topo --machine pom.xml --gpu GeForce-RTX-30900 | is not known
        topo --machine pom.xml --socket-gbs 0         | --socket-gbs is 0; give what the machine has
        topo --machine=                               | --machine is empty; name a preset or a file
        page --machine pom.xml --output pom.xml       | --output would write over pom.xml, which --machine names
        topo --machine dgx-1v --devices 8             | no device 8
        topo --machine dgx-1v --devices 0,1,0         | device 0 is named twice
        topo --machine dgx-1v --devices 0-2,1         | device 1 is named twice
        topo --machine dgx-1v --devices 0,            | is not a list of devices
        topo --machine dgx-1v --devices zero          | is not a list of devices
        topo --machine dgx-1v --devices 99999999999   | is not a list of devices
        trees --machine dgx-1v --devices 3            | at least 2 devices
        trees --machine dgx-1v --root 8               | --root is 8; the ranks are 0..7
        trees --machine dgx-1v --devices 0-3 --root 4 | --root is 4; the ranks are 0..3
        trees --machine dgx-1v --root -1              | --root is -1
        trees --machine dgx-1v --penalty 0            | --penalty is 0.0
        trees --machine dgx-1v --penalty NaN          | --penalty is NaN
        trees --machine dgx-1v --penalty x            | '''x'' is not a number'
        trees --machine dgx-1v --trees kernigan       | did you mean kernighan-lin
        trees --machine dgx-1v --trees best           | known: kernighan-lin, exact, exhaustive, shallow
        trees --machine dgx-1v -a best                | known: single-tree, multi-tree, packing, ring, star
        trees --machine dgx-1v -a one-shot            | '''banyan compare'' rates it'
        trees --machine dgx-1v -a ring --trees exact  | --trees goes with -a single-tree or multi-tree
        trees --machine dgx-1v -a multi-tree --root 1 | --root goes with --algorithm single-tree or packing
        trees --collective all_reduce                 | --collective goes with --algorithm packing
        trees --max-trees 3 --trees exact             | go with --algorithm packing
        export -m dgx-2                               | --for
        export --for nccl -m dgx-1v --nccl new        | is no version of NCCL; write e.g. 2.27.5
        export --for rccl -m dgx-1v --nccl 2.27.5     | go with --for nccl
        export --for nccl -m mi300x8                  | write --for rccl
        export --for rccl -m g5.48xlarge              | write --for nccl
        export --for nccl -m dgx-1v -a ring           | go with --for mscclpp
        export --for rccl -m dgx-1v --trees exact     | --trees goes with --for mscclpp; NCCL and RCCL take rings
        export --for mscclpp -m dgx-1v                | needs either --folder for a set of plans, or --algorithm
        export --for mscclpp -m dgx-1v -a ring --root 1 | --root goes with --collective broadcast
        export --for mscclpp -m dgx-1v -a ring --collective reduce | MSCCL++ takes plans for all_reduce
        export --for nccl -m dgx-1v --nccl-socket-gbs 0 | it must be above 0
        trees --relays 3 --devices 0-2                | go with --algorithm packing
        trees -a packing --collective all_to_all      | known: all_reduce
        trees -a packing --max-trees 0                | --max-trees is 0; it must be at least 1
        trees -a packing --max-trees many             | '''many'' is not a whole number up to 2147483647'
        trees -a packing --penalty 0.5                | --penalty goes with
        trees -a packing --root 1                     | --root of a packing needs --collective broadcast or reduce
        trees -a packing --root 1 --collective all_gather | needs --collective broadcast or reduce
        trees -a packing --root 8 --collective reduce -m dgx-1v | --root is 8; the ranks are 0..7
        trees -a packing --relays 3 -m dgx-1v         | --relays: device 3 takes part itself
        trees -a packing --relays 9 --devices 0-2 -m dgx-1v | --relays: no device 9 in p3.16xlarge; its devices are 0..7
        trees -a packing --relays 3,3 --devices 0-2   | device 3 is named twice
        trees -a packing --relays all --devices 0-2   | is not a list of devices; write indices such as 4,2,3,1 or 0-3, or others
        trees -a packing --relays others -m dgx-1v    | --relays others: every device takes part
        trees -a packing --format markdown            | --format markdown is for tables
        trees --format pdf                            | pdf
        trees --all-subsets -a packing                | leave --algorithm out
        trees --all-subsets --root 1                  | leave --root, --penalty, --trees,
        trees --all-subsets --format svg              | --format svg is for one set of trees
        trees --all-subsets --format svg              | --format svg is for one set of trees
        trees --all-subsets=1 -m dgx-1v               | --all-subsets=1: sets have 2..8 devices here
        trees --all-subsets=9 -m dgx-1v               | --all-subsets=9: sets have 2..8 devices here
        trees --all-subsets=2 -m dgx-1v --devices 0,5,6 --relays 0 | --relays: device 0 takes part itself
        trees --all-subsets=2 -m dgx-1v --devices 0,5 | NVLink joins no set of 2 of these devices of p3.16xlarge
        compare --format svg                          | svg
        compare --schedule no/such/file.xml           | --schedule: no file is called 'no/such/file.xml'
        compare --schedule pom.xml                    | --schedule: pom.xml has no schedule; name a plan
        compare --devices 3 -m dgx-1v                 | at least 2 devices
        compare --relays 1 --devices 0-2 -m dgx-1v    | --relays: device 1 takes part itself
        compare --relays others -m dgx-1v             | --relays others: every device takes part
        bench --backend rocm                          | no backend is called 'rocm'
        bench -b 1M -e 1K                             | -b is 1M and -e is 1K; sizes must be positive and ascending
        bench -b 0                                    | sizes must be positive and ascending
        bench -b 1X                                   | '''1X'' is not a size'
        bench -b -8                                   | '''-8'' is not a size'
        bench -f 1                                    | -f is 1
        bench -f 2 -i 8                               | exclude each other
        bench --rings 0                               | --rings is 0; it must be at least 1
        bench --rings 2 -a packing                    | --rings goes with -a ring
        bench --rings 0 --processes 2                 | --rings is 0; it must be at least 1
        tune --rings 0 --machine no/such/file         | --rings is 0; it must be at least 1
        predict --rings 2 -b 1M -e 1M                 | --rings goes with -a ring
        predict --trees exact -a packing              | --trees goes with -a single-tree or multi-tree
        compare --rings 0 -m dgx-1v                   | --rings is 0; it must be at least 1
        bench --workload lenet-5 --compute-ms 1 --trees exact | leave --algorithm, --trees and --rings out
        bench -n 0                                    | -n is 0
        bench -n many                                 | many
        bench -d complex                              | known: int8, uint8
        bench -o xor                                  | known: sum, prod
        bench --collective all_to_all                 | known: all_reduce
        bench --algorithm all,none                    | no algorithm is called 'none'
        predict -a ring/2 --rings 1                   | --rings goes with -a ring
        bench -a multi-tree/exact --trees shallow     | --trees goes with -a single-tree or multi-tree
        bench -a all/2                                | gives parameters to all; name one algorithm
        bench -a packing/x                            | is no number of trees or rings
        bench -a star/2                               | star takes no number of trees
        bench -a multi-tree/kernigan                  | no generator of trees is called 'kernigan'
        predict -a packing@1                          | chunks of 1 bytes are too short; give at least 64
        predict -a packing@8k                         | is no number of bytes such as 512, 64K or 1M
        bench --collective reduce -r 8                | -r is 8; the ranks are 0..7
        bench -r 0                                    | has no root
        bench --workload resnet-51                    | did you mean resnet-50
        bench --workload resnet-50 -b 8               | --workload brings its own sizes
        bench --workload resnet-50 -d half            | leave --collective
        bench --machine dgx-1v --devices 3            | at least 2 devices
        bench -i 1 -e 1G                              | sizes
        bench -g 0                                    | -g is 0; it must be from 1 to 1024
        bench -g 2000000000                           | -g is 2000000000; it must be from 1 to 1024
        bench -g 2 --workload lenet-5 --compute-ms 1 --kvstore funnel | -g has no meaning for --kvstore funnel
        bench -g 1 -m dgx-1v                          | at least 2 devices, but -g 1 names 1
        bench -g 9 -m dgx-1v                          | -g 9: no device 8
        bench -g 4 --devices 0-3                      | -g and --devices exclude each other
        bench --processes 2 -g 1 --devices 0,1        | -g and --devices exclude each other
        compare -m dgx-1v -g 9                        | -g 9: no device 8
        diagnose --sweeps sweep.txt -g 8              | --devices, -g and --unit need --machine
        bench -g 2 --processes 2                      | each of the processes has one device
        bench -t 4 -g 2                               | bench has no -t of nccl-tests: one thread calls for all devices
        bench -t4                                     | bench has no -t of nccl-tests
        bench --nthreads=4                            | bench has no --nthreads of nccl-tests
        bench -R 1                                    | bench has no -R of nccl-tests: the memory that bench allocates
        bench --cudagraph 8                           | bench has no --cudagraph of nccl-tests: BANYAN_CUDA_EXECUTOR
        bench -d all --plot all.svg                   | --plot shows one type and operation
        bench --workload resnet-50 -o all             | leave --collective
        bench --bytes -8 -k 3                         | unknown options '--bytes', '-k'
        """)
    void wrongUsageIsOneSentence(String arguments, String sentence) {
        CommandRun run = CommandRun.of(arguments);
        assertThat(run.status()).as(run.err()).isEqualTo(2);
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).startsWith("banyan: ").contains(sentence).doesNotContain("Exception", "\tat ");
        assertThat(run.err().lines().count()).isLessThanOrEqualTo(3);
    }

    @Test
    void treesKnowsNoAlgorithmWithoutTrees() {
        assertThat(CommandRun.of("trees --machine dgx-1v -a best").err()).doesNotContain("one-shot");
    }

    @Test
    void descriptionThatCannotBeUnderstoodIsAFailure(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("notes.txt"), "buy milk\nand bread\n");
        CommandRun run = CommandRun.of("topo --machine " + file);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).startsWith("banyan: " + file).hasLineCount(1);
        CommandRun debugged = CommandRun.of("topo --debug --machine " + file);
        assertThat(debugged.status()).isEqualTo(1);
        assertThat(debugged.err()).contains("\tat ");
    }

    @Test
    void machineWithoutDevicesSaysSo(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("bare.xml"), """
            <system version="1">
              <cpu numaid="0" affinity="ffffffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85"/>
            </system>
            """);
        CommandRun topo = CommandRun.of("topo --machine " + file);
        assertThat(topo.status()).as(topo.err()).isZero();
        assertThat(topo.out()).contains("no devices");
        assertThat(CommandRun.of("topo --format json --machine " + file)
                        .json()
                        .get("devices")
                        .asInt())
                .isZero();
        for (String command : List.of("trees", "bench")) {
            CommandRun run = CommandRun.of(command + " --machine " + file);
            assertThat(run.status()).isEqualTo(1);
            assertThat(run.err()).contains("has no devices").hasLineCount(1);
        }
    }

    @Test
    void theLegendNamesMissingPathsWhereThereAreAny(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("apart.txt"), "0 0\n0 0\n");
        assertThat(CommandRun.of("topo --machine " + file).out())
                .contains("between NUMA nodes; -: no path is described\n");
        assertThat(CommandRun.of("topo --machine pcie-4").out()).contains("between NUMA nodes\n");
    }

    @Test
    void topoTellsTheLinksOfThePreset() throws Exception {
        JsonNode topo = CommandRun.of("topo --machine p3.16xlarge --devices 4,2,3,1 --format json")
                .json();
        assertThat(names(topo))
                .containsExactly(
                        "command",
                        "version",
                        "machine",
                        "backend",
                        "executor",
                        "profile",
                        "buffers",
                        "settings",
                        "devices",
                        "nvlinkConnected",
                        "rows",
                        "warnings",
                        "noPeerAccess");
        assertThat(topo.get("noPeerAccess").toString()).isEqualTo("[[0,1],[0,2],[0,3]]");
        assertThat(topo.at("/rows/1/connections").toString()).isEqualTo("[\"SYS\",\"X\",\"NV2\",\"NV2\"]");
        assertThat(CommandRun.of("topo -m mi250x8").out()).contains("  GPU2   xGMI1  xGMI1      X  xGMI4 ");
        assertThat(CommandRun.of("topo -m pcie-8").out()).startsWith("# pcie-8: 8 devices, without NVLink\n");
        assertThat(CommandRun.of("topo -m p3.8xlarge").out())
                .contains("\n# GPUs that share a PCIe switch: GPU0 and GPU1; GPU2 and GPU3\n");
        assertThat(CommandRun.of("topo -m pcie-8").out()).as("PIX shows them").doesNotContain("share a PCIe switch");
        assertThat(CommandRun.of("topo -m rtx4090x8").out())
                .contains("# no peer access between any two devices: copies between them go through the host");
        assertThat(CommandRun.of("topo -m rtx4090x8 --format json").json().get("noPeerAccess"))
                .hasSize(8 * 7 / 2);
        assertThat(topo.get("devices").asInt()).isEqualTo(4);
        assertThat(topo.at("/rows/0/name").asText()).isEqualTo("GPU4");
        assertThat(topo.findValues("weights").toString())
                .isEqualTo("[[0.0,0.25,0.25,0.25], [0.25,0.0,3.0,3.0], [0.25,3.0,0.0,2.0], [0.25,3.0,2.0,0.0]]");
        assertThat(topo.at("/rows/1/gbs/2").asDouble()).isEqualTo(50);
        assertThat(topo.get("nvlinkConnected").asBoolean()).isFalse();
    }

    @Test
    void topoNamesModelsAndTheSocketOfSeveralNumaNodes(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("topo.txt"), """
            GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)
            GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-2)
            \tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
            GPU0\t X \tNV4\t0-15\t0
            GPU1\tNV4\t X \t16-31\t1
            """);
        assertThat(CommandRun.of("topo -m " + file).out().lines())
                .contains("# 2x NVIDIA A100-SXM4-40GB")
                .noneMatch(line -> line.contains("one socket"));
        assertThat(CommandRun.of("topo -m "
                                + Files.writeString(file, Files.readString(file).replace("NV4", "NODE")))
                        .out()
                        .lines())
                .contains("# 2 NUMA nodes without SYS between them: they count as one socket");
    }

    @Test
    void topoShowsNetworkInterfacesAsTheDescriptionDoes(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("topo.txt"), """
            \tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity
            GPU0\t X \tNV4\tPIX\t0-15\t0
            GPU1\tNV4\t X \tSYS\t16-31\t1
            NIC0\tPIX\tSYS\t X
            """);
        assertThat(CommandRun.of("topo -m " + file)
                        .out()
                        .lines()
                        .skip(4)
                        .limit(4)
                        .map(String::strip))
                .containsExactly(
                        "#       GPU0  GPU1  NIC0",
                        "GPU0     X   NV4   PIX",
                        "GPU1   NV4     X   SYS",
                        "NIC0   PIX   SYS     X");
        assertThat(CommandRun.of("topo --format json -m " + file)
                        .json()
                        .at("/nics/0/name")
                        .asText())
                .isEqualTo("NIC0");
    }

    @ParameterizedTest
    @ValueSource(strings = {"json", "nccl-xml", "topo", "matrix"})
    void topoWritesFormsThatItReads(String form, @TempDir Path folder) throws Exception {
        String devices = "topo --machine p3.16xlarge --devices 4,5,6,7";
        CommandRun run = CommandRun.of(devices + " --write " + form);
        assertThat(run.status()).as(run.err()).isZero();
        Path file = Files.writeString(folder.resolve("machine"), run.out());
        JsonNode again = CommandRun.of("topo --format json --machine " + file).json();
        assertThat(again.findValues("gbs"))
                .isEqualTo(CommandRun.of(devices + " --format json").json().findValues("gbs"));
    }

    @Test
    void reportIsNoMachineButTheRefusalSaysWhatIs(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(
                folder.resolve("report.json"),
                CommandRun.of("topo --machine dgx-2 --format json").out());
        assertThat(CommandRun.of("trees --machine " + file).err())
                .contains("banyan topo --write json")
                .hasLineCount(1);
    }

    @Test
    void oneDeviceIsNotSaidToBeConnected() {
        assertThat(CommandRun.of("topo --machine dgx-2 --devices 3").out())
                .startsWith("# dgx-2: 1 device" + System.lineSeparator());
    }

    @ParameterizedTest
    @ValueSource(strings = {"topo", "trees"})
    void namesOutOfFilesCannotSteerTheTerminal(String command, @TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("box.json"), """
            {"banyan": 1, "name": "box\\u001b[31m\\nred", "warnings": ["odd\\u009b2J"], "links": [],
             "devices": [{"name": "G\\u001b]0;title\\u0007"}, {"name": "H\\n\\u202eI"}]}
            """);
        CommandRun run = CommandRun.of(command + " --machine " + file);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out() + run.err()).contains("box?[31m?red", "odd?2J").doesNotContainPattern("[^\\P{Cc}\\n]");
        Path notes = Files.writeString(folder.resolve("notes.txt"), "\033[31mhello");
        assertThat(CommandRun.of(command + " --machine " + notes).err()).contains("\"?[31mhello\"");
    }

    @ParameterizedTest
    @ValueSource(strings = {"UTF-8", "UTF-16"})
    void topoReadsStandardInput(String charset) throws Exception {
        InputStream before = System.in;
        System.setIn(new ByteArrayInputStream("0 25 50\n25 0 25\n50 25 0\n".getBytes(Charset.forName(charset))));
        try {
            JsonNode topo =
                    CommandRun.of("topo --machine - --unit gbs --format json").json();
            assertThat(topo.findValues("gbs").toString())
                    .isEqualTo("[[0.0,25.0,50.0], [25.0,0.0,25.0], [50.0,25.0,0.0]]");
        } finally {
            System.setIn(before);
        }
    }

    /** The build names a driver that is not there. */
    @ParameterizedTest
    @ValueSource(strings = {"topo", "trees", "bench -b 8 -e 8 -n 1 -w 0"})
    void withoutAMachineThePresetIsTakenAndSaid(String command) {
        CommandRun run = CommandRun.of(command);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()
                        .lines()
                        .limit(2)
                        .filter(line -> !line.startsWith("# measured"))
                        .findFirst()
                        .orElseThrow())
                .startsWith("# no GPU can be used here (BANYAN_NVML_LIBRARY=")
                .endsWith(" or unset it): taking the preset p3.16xlarge (another one by --machine)");
    }

    @Test
    void probeWithoutADriverIsAFailureOfOneSentence(@TempDir Path folder) {
        Path file = folder.resolve("machine.json");
        CommandRun run = CommandRun.of("probe --output " + file);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.out()).isEmpty();
        assertThat(run.err())
                .startsWith("banyan: BANYAN_NVML_LIBRARY=")
                .contains(" is no file; ")
                .hasLineCount(1);
        assertThat(file).doesNotExist();
    }

    @Test
    void helpOfTheProbeSaysHowToUseIt() {
        CommandRun run = CommandRun.of("probe --help");
        assertThat(run.status()).isZero();
        assertThat(run.out()).startsWith("Usage: banyan probe").contains("Examples:", "--output", "Exit status:");
        assertThat(run.out().lines().takeWhile(line -> !line.equals("Examples:")))
                .allMatch(line -> line.length() <= 80);
    }

    @ParameterizedTest
    @ValueSource(strings = {"kernighan-lin", "exhaustive", "exact", "shallow"})
    void treesSpanTheDevices(String generator) throws Exception {
        JsonNode report = CommandRun.of("trees --machine p3.16xlarge --format json --trees " + generator)
                .json();
        assertThat(names(report)).contains("devices", "algorithm", "generationMs", "rows");
        assertThat(report.get("algorithm").asText()).isEqualTo("multi-tree (" + generator + ")");
        assertThat(report.get("rows")).hasSize(8);
        for (int root = 0; root < 8; root++) {
            JsonNode tree = report.get("rows").get(root);
            assertThat(names(tree)).startsWith("root", "share", "levels", "edges", "weight");
            assertThat(tree.get("root").asInt()).isEqualTo(root);
            assertThat(tree.get("share").asDouble()).isEqualTo(0.125);
            assertThat(tree.get("levels").get(0).toString()).isEqualTo("[" + root + "]");
            assertThat(tree.get("edges")).hasSize(7);
            assertThat(tree.get("weight").asDouble()).isBetween(13.0, 20.0);
        }
    }

    @Test
    void treesAreDrawnAndRated() {
        CommandRun run = CommandRun.of("trees --machine p3.16xlarge --devices 0-3 --root 3 --penalty 1 --trees exact");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .contains("# root 3", "[3] [3 ", "`-- ", "# total weight: ")
                .startsWith("# p3.16xlarge: 4 devices, single-tree (exact), 1 tree in ");
    }

    @Test
    void setsOfTooManyDevicesAreRefused(@TempDir Path folder) throws Exception {
        CommandRun run = CommandRun.of("trees --all-subsets --machine " + seventeen(folder));
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains("17 devices have 130918 subsets, more than 65536", "--devices");
    }

    @Test
    @Tag("soak")
    void compareHasMoreDevicesThanSetsAreTriedOf(@TempDir Path folder) throws Exception {
        String command = "compare --machine " + seventeen(folder);
        JsonNode rows = CommandRun.of(command + " --format json").json().get("rows");
        assertThat(rows.get(2).get("name").asText()).isEqualTo("multi-tree (exact)");
        assertThat(rows.get(2).get("refusal").asText()).isEqualTo("at most 16 devices");
        assertThat(names(rows.get(2))).containsExactly("name", "refusal");
        assertThat(CommandRun.of(command).out()).contains("exact", "- at most 16 devices");
    }

    private static Path seventeen(Path folder) throws IOException {
        String row = "1 ".repeat(17).strip();
        StringBuilder matrix = new StringBuilder();
        for (int a = 0; a < 17; a++) {
            StringBuilder cells = new StringBuilder(row);
            cells.setCharAt(2 * a, '0');
            matrix.append(cells).append('\n');
        }
        return Files.writeString(folder.resolve("seventeen.txt"), matrix);
    }

    private static List<String> names(JsonNode object) {
        List<String> names = new ArrayList<>();
        object.fieldNames().forEachRemaining(names::add);
        return names;
    }
}
