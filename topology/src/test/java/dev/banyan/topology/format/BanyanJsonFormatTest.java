package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class BanyanJsonFormatTest {
    private static final String SMALLEST = "{\"banyan\": 1, \"name\": \"m\", \"devices\": [], \"links\": []}";

    private static Machine read(String text) {
        return new MachineReader().parse("m.json", text);
    }

    static List<Machine> presets() {
        return Presets.all();
    }

    @ParameterizedTest
    @MethodSource("presets")
    void keepsPresets(Machine preset) {
        String text = MachineWriter.write(preset, "json");
        assertThat(read(text)).isEqualTo(preset);
        assertThat(MachineWriter.write(read(text), "json")).isEqualTo(text);
    }

    @Test
    void keepsAnyMachine() {
        Random random = new Random(7);
        for (int i = 0; i < 3000; i++) {
            Machine machine = RandomMachines.next(random);
            String text = MachineWriter.write(machine, "json");
            Machine back = read(text);
            assertThat(back).as(text).isEqualTo(machine);
            for (int d = 0; d < machine.size(); d++) {
                assertThat(new ArrayList<>(back.devices().get(d).attributes().keySet()))
                        .isEqualTo(new ArrayList<>(
                                machine.devices().get(d).attributes().keySet()));
            }
        }
    }

    @Test
    void writesALinePerThing() {
        Machine pair = Machine.preset("p3.8xlarge").subset(0, 3);
        List<String> lines = MachineWriter.write(pair, "json").lines().toList();
        assertThat(lines).startsWith("{", "  \"banyan\": 1,", "  \"name\": \"p3.8xlarge\",", "  \"devices\": [");
        assertThat(lines)
                .contains("    { \"name\": \"GPU0\", \"busId\": null, \"numa\": 0, "
                        + "\"attributes\": { \"model\": \"Tesla V100-SXM2-16GB\", \"sm\": \"70\" } },");
        assertThat(lines)
                .contains("    { \"a\": 0, \"b\": 1, \"kind\": \"nvlink\", \"lanes\": 2, "
                        + "\"gbsAToB\": 50.0, \"gbsBToA\": 50.0, \"latencyUs\": 1.8 }");
        assertThat(lines).endsWith("  \"warnings\": [],", "  \"assumed\": []", "}");
    }

    @Test
    void completesWhatMayBeMissing() {
        Machine machine = read("""
            {"banyan": 1, "links": [{"latencyUs": 1, "gbsBToA": 2, "gbsAToB": 3e0, "lanes": 1, "kind": "PCIE",
             "b": 1, "a": 0}], "hubs": [{"kind": "cpu-socket", "name": "c"}], "nics": [{"name": "n"}],
             "devices": [{"name": "g"}], "name": "short"}
            """);
        assertThat(machine.devices().getFirst().numa()).isEqualTo(-1);
        assertThat(machine.devices().getFirst().busId()).isNull();
        assertThat(machine.nics().getFirst().hub()).isEqualTo(-1);
        assertThat(machine.links()).containsExactly(new Link(0, 1, Link.Kind.PCIE, 1, 3, 2, 1));
        assertThat(read(SMALLEST).size()).isZero();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{}                                              | 1:1  | \"banyan\" is missing",
                "{\"banyan\": 2}                                 | 1:12 | version 2",
                "{\"banyan\": \"1\"}                             | 1:12 | must be an integer",
                "{\"banyan\": 1.5}                               | 1:12 | must be an integer",
                "{\"banyan\": 99999999999999999999}              | 1:12 | 32 bits",
                "{\"banyan\": 1}                                 | 1:1  | \"name\" of the machine is missing",
                "{\"banyan\": 1, \"name\": \"m\", \"links\": []} | 1:1  | \"devices\" of the machine is missing",
                "{\"banyan\": 1, \"name\": null}                 | 1:23 | must be a string, not null",
                "{\"banyan\": 1, \"color\": \"red\"}             | 1:15 | key \"color\" of the machine is not known",
                "{\"banyan\": 1, \"banyan\": 1}                  | 1:15 | \"banyan\" occurs twice",
                "{\"banyan\": 1, \"name\": \"\", \"devices\": {}}  | 1:38 | must be an array, not {}",
                "{\"banyan\": 1, \"name\": \"\", \"devices\": [7]} | 1:39 | an entry of \"devices\" must be an object,"
                        + " not 7",
                "{\"banyan\": 1, \"name\": \"\", \"devices\": [{\"numa\": 0}]} | 1:39 | \"name\" of an entry of"
                        + " \"devices\" is missing",
                "{\"banyan\": 1, \"name\": \"\", \"devices\": [{\"name\": \"g\", \"numa\": -2}]} | 1:61 | \"numa\" is"
                        + " -2",
                "{\"banyan\": 1, \"name\": \"\", \"devices\": [{\"name\": \"g\", \"attributes\": {\"a\":1}}]} | 1:72 |"
                        + " must be a string, not 1",
                "{\"banyan\": 1, \"name\": \"\", \"devices\": [], \"hubs\": [{\"name\": \"h\", \"kind\": \"hub\"}]} |"
                        + " 1:73 | known are pcie-switch",
                "{\"banyan\": 1,                                 | 1     | not valid JSON",
                "{\"banyan\": 01}                                | 1:13  | not valid JSON",
                "{\"banyan\": 1} x                               | 1     | not valid JSON",
            })
    void refusesWithThePlace(String text, String place, String reason) {
        assertThatThrownBy(() -> read(text))
                .isInstanceOf(InputException.class)
                .hasMessageStartingWith("m.json:" + place + ":")
                .hasMessageContaining(reason);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"a\": 0        | \"a\": 3        | 5:9 | \"a\" is 3; node indices are 0..2",
                "\"b\": 1        | \"b\": 0        | 5:3 | to itself",
                "\"b\": 1        | \"b\": -1       | 5:17 | node indices are 0..2",
                "\"lanes\": 2    | \"lanes\": 0    | 5:3 | at least 1",
                "\"lanes\": 2    | \"lane\": 2     | 5:38 | \"lane\" of an entry of \"links\" is not known; known are"
                        + " a, b, kind",
                "\"lanes\": 2,   | ''              | 5:3 | \"lanes\" of an entry of \"links\" is missing",
                "\"gbsAToB\": 50 | \"gbsAToB\": -1 | 5:3 | bandwidth",
                "\"gbsAToB\": 50 | \"gbsAToB\": 1e999 | 5:3 | bandwidth Infinity",
                "\"gbsAToB\": 50 | \"gbsAToB\": NaN | 5 | not valid JSON",
                "\"hub\": 2      | \"hub\": 9      | 6:33 | node indices are -1..2",
                "\"hub\": 2      | \"hub\": -2     | 6:33 | node indices are -1..2",
            })
    void refusesBadLinksAndIndices(String what, String by, String place, String reason) {
        String text = """
            {"banyan": 1, "name": "m",
             "devices": [{"name": "a"}, {"name": "b"}],
             "hubs": [{"name": "c", "kind": "cpu-socket"}],
             "links": [
              {"a": 0, "b": 1, "kind": "nvlink", "lanes": 2, "gbsAToB": 50, "gbsBToA": 50, "latencyUs": 1}],
              "nics": [{"name": "n", "hub": 2}]}
            """;
        assertThat(read(text).links()).hasSize(1);
        assertThat(text).contains(what);
        assertThatThrownBy(() -> read(text.replace(what, by)))
                .isInstanceOf(InputException.class)
                .hasMessageStartingWith("m.json:" + place)
                .hasMessageContaining(reason);
    }

    @Test
    void boundsDepthNumbersAndCounts() {
        refused("{\"banyan\": 1, \"devices\": " + "[".repeat(1_000_000), "has more than 16 levels");
        refused("{\"a\":".repeat(1_000_000), "has more than 16 levels");
        refused("{\"banyan\": " + "9".repeat(1_000_000) + "}", "has more than 64 characters in a value");
        refused(
                "{\"banyan\": 1, \"name\": \"" + "x".repeat(1_000_000) + "\"}",
                "has more than 100000 characters in a value");
        refused(
                "{\"banyan\": 1, \"name\": \"\", \"devices\": [" + "{\"name\": \"g\"},".repeat(1024)
                        + "{\"name\": \"g\"}]}",
                "1024 is the most");
    }

    private static void refused(String text, String reason) {
        assertThatThrownBy(() -> read(text)).isInstanceOf(InputException.class).hasMessageContaining(reason);
    }

    @Test
    void namesTheFormatsThatCanBeWritten() {
        assertThat(MachineWriter.formats()).contains("json", "nccl-xml");
        assertThatThrownBy(() -> MachineWriter.write(read(SMALLEST), "yaml"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("json, nccl-xml");
    }
}
