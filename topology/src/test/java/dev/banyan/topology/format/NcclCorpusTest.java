package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;

/** Every NCCL and RCCL file of the corpus of real ones, where it is there. */
class NcclCorpusTest {
    private static final String EXPECTED = "/dev/banyan/topology/format/nccl-corpus.csv";

    private final MachineReader reader = new MachineReader();

    /**
     * @param lanes lanes of device 0 to each device and, behind a plus sign, to NVSwitches
     * @param warning a word of the only warning; empty if there is none
     */
    @ParameterizedTest
    @CsvFileSource(resources = EXPECTED, numLinesToSkip = 1, delimiter = '|')
    void readsXml(String file, int devices, int sockets, int switches, int cards, String lanes, String warning) {
        Machine machine = reader.read(TextCorpusTest.corpus("xml").resolve(file));
        assertThat(machine.size()).isEqualTo(devices);
        assertThat(count(machine, Hub.Kind.CPU_SOCKET)).isEqualTo(sockets);
        assertThat(count(machine, Hub.Kind.PCIE_SWITCH)).isEqualTo(switches);
        assertThat(machine.nics()).hasSize(cards);
        assertThat(lanesOfFirst(machine)).isEqualTo(lanes == null ? "" : lanes);
        if (warning == null) {
            assertThat(machine.warnings()).isEmpty();
        } else {
            assertThat(machine.warnings())
                    .anySatisfy(sentence -> assertThat(sentence).contains(warning));
        }
        for (String format : new String[] {"json", "nccl-xml"}) {
            Machine back = reader.parse("again", MachineWriter.write(machine, format));
            assertThat(NcclXmlWriterTest.withoutWarnings(back))
                    .as("after a trip through %s", format)
                    .isEqualTo(NcclXmlWriterTest.withoutWarnings(machine));
        }
    }

    private static long count(Machine machine, Hub.Kind kind) {
        return machine.hubs().stream().filter(hub -> hub.kind() == kind).count();
    }

    private static String lanesOfFirst(Machine machine) {
        if (machine.size() == 0) {
            return "";
        }
        int[] lanes = new int[machine.nodeCount()];
        for (Link link : machine.links()) {
            if (link.kind().isNvLinkClass() && (link.a() == 0 || link.b() == 0)) {
                lanes[link.other(0)] += link.lanes();
            }
        }
        String direct = Arrays.stream(lanes, 0, machine.size())
                .mapToObj(String::valueOf)
                .collect(Collectors.joining(" "));
        int toSwitches = Arrays.stream(lanes, machine.size(), lanes.length).sum();
        return toSwitches == 0 ? direct : direct + " +" + toSwitches;
    }

    @Test
    void knowsEveryFile() throws Exception {
        Set<String> there = new TreeSet<>();
        Path folder = TextCorpusTest.corpus("xml");
        try (Stream<Path> files = Files.walk(folder)) {
            files.filter(Files::isRegularFile)
                    .forEach(file -> there.add(folder.relativize(file).toString()));
        }
        Set<String> expected = new TreeSet<>();
        try (Stream<String> lines = new String(
                        getClass().getResourceAsStream(EXPECTED).readAllBytes(),
                        java.nio.charset.StandardCharsets.UTF_8)
                .lines()) {
            lines.skip(1)
                    .forEach(line ->
                            expected.add(line.substring(0, line.indexOf('|')).strip()));
        }
        assertThat(expected).containsAll(there);
    }

    @ParameterizedTest
    @CsvSource({
        "dgx1v_issue671_fragment.xml.txt, 16, <gpu> of line 13",
        "dgx2_issue507_fragment.xml.txt, 21, <gpu> of line 16"
    })
    void refusesFragments(String file, int line, String element) {
        Path path = TextCorpusTest.corpus("xml_partial").resolve(file);
        assertThatThrownBy(() -> reader.read(path))
                .isInstanceOfSatisfying(
                        InputException.class, e -> assertThat(e.line()).isEqualTo(line))
                .hasMessageContaining("is cut off")
                .hasMessageContaining(element);
    }

    @Test
    void agreesWithTopoTextOfTheSameMachine() {
        Machine xml = reader.read(TextCorpusTest.corpus("xml").resolve("perlmutter_4xA100.xml"));
        Machine text = reader.read(TextCorpusTest.corpus("topo_m").resolve("perlmutter_4xA100.txt"));
        assertSameMatrix(LinkMatrix.of(xml), LinkMatrix.of(text));
    }

    @Test
    void hgxH200HasTheShapeOfDgxH100() {
        Machine hgx = reader.read(TextCorpusTest.corpus("xml").resolve("hgx_h200_8x_vastai.xml"));
        assertSameMatrix(LinkMatrix.of(hgx), LinkMatrix.of(Machine.preset("dgx-h100")));
    }

    @Test
    void rcclSixteenPortNodeIsMi250x8() {
        Machine rccl = reader.read(TextCorpusTest.corpus("xml").resolve("rccl/topo_16p1h.xml"));
        assertSameMatrix(LinkMatrix.of(rccl), LinkMatrix.of(Machine.preset("mi250x8")));
    }

    private static void assertSameMatrix(LinkMatrix a, LinkMatrix b) {
        assertThat(a.size()).isEqualTo(b.size());
        for (int i = 0; i < a.size(); i++) {
            for (int j = 0; j < a.size(); j++) {
                assertThat(a.classOf(i, j)).as("class of %d,%d", i, j).isEqualTo(b.classOf(i, j));
                assertThat(a.gbs(i, j)).as("GB/s of %d,%d", i, j).isEqualTo(b.gbs(i, j));
            }
        }
    }
}
