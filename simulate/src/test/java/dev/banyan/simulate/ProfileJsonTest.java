package dev.banyan.simulate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProfileJsonTest {
    private static final String GOOD =
            ProfileJson.write(Profiles.find("v100-nvlink").orElseThrow());

    private static AbstractThrowableAssert<?, ? extends Throwable> refused(String text) {
        return assertThatThrownBy(() -> ProfileJson.parse("my.json", text)).isInstanceOf(InputException.class);
    }

    @Test
    void whatIsWrittenIsReadBack(@TempDir Path folder) throws IOException {
        for (Profile profile : Profiles.all()) {
            assertThat(ProfileJson.parse("it", ProfileJson.write(profile))).isEqualTo(profile);
        }
        Profile random = Samples.randomProfile(new Random(1));
        Path file = folder.resolve("profile.json");
        Files.writeString(file, ProfileJson.write(random));
        assertThat(ProfileJson.read(file)).isEqualTo(random);
    }

    @Test
    void whatIsMissingIsNamed() {
        refused("{}").hasMessage("my.json:1:1: key \"profile\" of the profile is missing; add it");
        refused("{\"profile\": \"a\"}").hasMessage("my.json:1:1: key \"constants\" of the profile is missing; add it");
        refused(GOOD.replaceFirst("(?s)\"reduceGbs\".*?},", ""))
                .hasMessage("my.json:3:17: key \"reduceGbs\" is missing; add it with {\"value\": number, \"source\":"
                        + " text}");
        refused(GOOD.replaceFirst("\"value\" : 0.97,", ""))
                .hasMessage("my.json:4:27: key \"value\" of \"nvlink.efficiency\" is missing; add it");
        refused(GOOD.replaceFirst("\"source\" : \"[^\"]*\"", "\"source\" : \"\""))
                .hasMessage(
                        "my.json:6:18: \"source\" of \"nvlink.efficiency\" is \"\"; say where the value comes from");
    }

    @Test
    void constantsOfProgramsMayBeMissing() {
        Profile v100 = Profiles.find("v100-nvlink").orElseThrow();
        Profile old = ProfileJson.parse("my.json", GOOD.replaceFirst("(?s)},\\s*\"program.launchUs\".*", "}}}"));
        assertThat(old.get(Constant.REDUCE_GBS)).isEqualTo(v100.get(Constant.REDUCE_GBS));
        assertThat(old.get(Constant.PROGRAM_FLAG_US)).isEqualTo(2.3);
        assertThat(old.fastest().get(Constant.PROGRAM_FLAG_US)).isEqualTo(1.5);
        assertThat(old.slowest().get(Constant.PROGRAM_BLOCK_GBS)).isEqualTo(40);
        assertThat(old.source(Constant.PROGRAM_FLAG_US)).startsWith("not in the profile; taken from v100-nvlink: ");
    }

    @Test
    void rangesHoldTheirValues() {
        refused(GOOD.replaceFirst("\"low\" : 4,", "\"low\" : 7,"))
                .hasMessage("my.json:133:17: \"value\" of \"program.launchUs\" is 6.0; it must be from \"low\" to"
                        + " \"high\", 7.0 to 10.0");
        refused(GOOD.replaceFirst("\"high\" : 10,", "\"high\" : -1,"))
                .hasMessage("my.json:135:16: \"high\" of \"program.launchUs\" is -1; it must be from 0 to 1000000");
    }

    @Test
    void whatIsUnknownIsNamed() {
        refused(GOOD.replace("kernelUs", "kernelMs"))
                .hasMessageStartingWith("my.json:48:5: key \"kernelMs\" of \"constants\" is not known; known are"
                        + " nvlink.efficiency, nvlink.hopUs,");
        refused(GOOD.replaceFirst("\"profile\"", "\"name\" : \"x\", \"profile\""))
                .hasMessage("my.json:2:3: key \"name\" of the profile is not known; known are profile, constants");
        refused(GOOD.replaceFirst("\"source\"", "\"origin\""))
                .hasMessage(
                        "my.json:6:7: key \"origin\" of \"nvlink.efficiency\" is not known; known are value, low, high,"
                                + " source");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "nvlink.efficiency|0|above 0 and at most 1.5",
                "nvlink.efficiency|-1|above 0 and at most 1.5",
                "pcie.efficiency|1.6|above 0 and at most 1.5",
                "pcie.queueing|-0.1|from 0 to 10",
                "socket.hopUs|1e9|from -1000 to 1000",
                "reduceGbs|0|above 0 and at most 1000000",
                "launchUs|-2|from 0 to 1000000",
                "collectiveUs|\"3\"|from 0 to 1000000",
                "copyEngines|1.5|a whole number from 1 to 1000000",
                "copyEngines|0|a whole number from 1 to 1000000",
                "kernelUs|null|from 0 to 1000000",
            })
    void whatIsImpossibleIsNamed(String key, String value, String allowed) {
        String text = GOOD.replaceFirst(
                "(?s)(\"" + key.replace(".", "\\.") + "\" : \\{\\s*\"value\" : )[-0-9.E]+", "$1" + value);
        assertThat(text).isNotEqualTo(GOOD);
        refused(text)
                .hasMessageContaining(": \"value\" of \"" + key + "\" is ")
                .hasMessageEndingWith("; it must be " + allowed);
    }

    @Test
    void whatIsNoProfileIsRefused(@TempDir Path folder) throws IOException {
        refused("").hasMessage("my.json: is empty; name a file with the profile in JSON");
        refused("[]").hasMessage("my.json:1:1: the profile must be an object, not []");
        refused("{\"profile\": ").hasMessage("my.json:1:13: is not valid JSON: it ends too early");
        refused(GOOD + "{}").hasMessageEndingWith("is not valid JSON: '{' does not belong here");
        refused(GOOD.replaceFirst("\"profile\"", "\"profile\" : \"x\", \"profile\""))
                .hasMessage("my.json:2:20: key \"profile\" occurs twice; remove one");
        refused(GOOD.replace("\"v100-nvlink\"", "7")).hasMessage("my.json:2:15: \"profile\" must be a string, not 7");
        Path none = folder.resolve("none.json");
        assertThatThrownBy(() -> ProfileJson.read(none))
                .isInstanceOf(InputException.class)
                .hasMessage(none + ": there is no such file; name the JSON file of a profile");
        Path binary = Files.write(folder.resolve("binary"), new byte[] {(byte) 0xff, (byte) 0xff, 0});
        assertThatThrownBy(() -> ProfileJson.read(binary))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("is not text in UTF-8");
    }

    @Test
    void profilesRefuseImpossibleValues() {
        assertThatThrownBy(() -> Samples.ideal(Constant.LAUNCH_US, Double.NaN))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("launchUs of profile ideal is NaN; it must be from 0 to 1000000");
    }

    @ParameterizedTest
    @CsvSource({
        "p3.16xlarge, v100-nvlink",
        "p3.8xlarge, v100-nvlink",
        "p2.16xlarge, pcie",
        "dgx-1p, p100-nvlink",
        "dgx-2, v100-nvswitch",
        "dgx-a100, a100-nvswitch",
        "dgx-h100, h100-nvswitch",
        "h200, h100-nvswitch",
        "dgx-b200, b200-nvswitch",
        "gb200-tray, gb200-nvl",
        "gb200-nvl4, gb200-nvl",
        "mi300x8, mi300x-xgmi",
        "mi250x8, mi250x-xgmi",
        "pcie-8, pcie",
    })
    void everyPresetHasItsProfile(String preset, String profile) {
        Machine machine = Machine.preset(preset);
        assertThat(Profiles.of(machine).name()).isEqualTo(profile);
    }

    @Test
    void anUnknownCapabilityIsTakenAsV100s() {
        Machine machine = Samples.machine(2, 0, Samples.nvlink(0, 1, 25));
        assertThat(Profiles.of(machine).name()).isEqualTo("v100-nvlink");
    }
}
