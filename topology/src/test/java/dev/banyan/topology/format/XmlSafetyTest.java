package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A topology file from a stranger must not read local files, reach out, or grow without bounds. */
class XmlSafetyTest {
    private static void refused(String text, String reason) {
        assertThatThrownBy(() -> new MachineReader().parse("evil.xml", text))
                .isInstanceOf(InputException.class)
                .hasMessageContaining(reason);
    }

    @Test
    void readsNoLocalFile(@TempDir Path folder) throws IOException {
        Path secret = Files.writeString(folder.resolve("secret"), "top secret");
        String text = "<!DOCTYPE system [<!ENTITY x SYSTEM \"" + secret.toUri() + "\">]>\n"
                + "<system version=\"1\"><cpu affinity=\"&x;\">&x;</cpu></system>";
        assertThatThrownBy(() -> new MachineReader().parse("evil.xml", text))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("evil.xml:1:1: ")
                .hasMessageContaining("DTD")
                .satisfies(e -> assertThat(e.toString()).doesNotContain("top secret"));
    }

    @Test
    void expandsNoEntities() {
        StringBuilder laughs = new StringBuilder("<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [<!ENTITY a0 \"ha\">\n");
        for (int i = 1; i < 40; i++) {
            laughs.append("<!ENTITY a")
                    .append(i)
                    .append(" \"")
                    .append(("&a" + (i - 1) + ";").repeat(10))
                    .append("\">\n");
        }
        refused(laughs + "]>\n<system version=\"1\">&a39;</system>", "DTD");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "<!DOCTYPE system SYSTEM \"http://192.0.2.1/x.dtd\"><system version=\"1\"/>",
                "<!DOCTYPE system PUBLIC \"-//x\" \"file:///dev/zero\"><system version=\"1\"/>",
                "<!-- <system> --><!DOCTYPE system><system version=\"1\"/>",
                "<?pi <!-- ?><!DOCTYPE system [<!ENTITY % p SYSTEM \"file:///dev/zero\"> %p;]><system version=\"1\"/>",
                "  \n<!DOCTYPE",
            })
    void refusesEveryDocumentType(String text) {
        refused(text, "DTD");
    }

    @Test
    void refusesDocumentTypesOfAnyLengthAtOnce() {
        refused("<!DOCTYPE x [" + "<!ENTITY a \"b\">".repeat(500_000), "DTD");
    }

    @Test
    void boundsDepthAndSize() {
        refused("<system version=\"1\"><cpu>" + "<pci>".repeat(100_000), "deep");
        refused("<system version=\"1\">" + "<cpu/>".repeat(200_000) + "</system>", "too many");
        refused("<system version=\"1\"><cpu a=\"" + "x".repeat(4_000_000), "cut off");
        refused("<" + "s".repeat(4_000_000), "well-formed");
    }

    @Test
    void boundsAttributes() {
        StringBuilder many = new StringBuilder("<system version=\"1\"><cpu");
        for (int i = 0; i < 50_000; i++) {
            many.append(" a").append(i).append("=\"1\"");
        }
        refused(many + "/></system>", "well-formed");
    }

    @Test
    void boundsDevices() {
        StringBuilder text = new StringBuilder("<system version=\"1\"><cpu>");
        for (int i = 0; i < 1025; i++) {
            text.append("<pci><gpu dev=\"").append(i).append("\"/></pci>\n");
        }
        refused(text + "</cpu></system>", "1024");
    }

    @Test
    void boundsCpus() {
        // All would be linked to each other.
        refused("<system version=\"1\">" + "<cpu/>".repeat(90_000) + "</system>", "more than 256 CPUs");
    }

    @Test
    void readsManyFunctionsAndLinks() {
        String functions = "<pci busid=\"f\" class=\"0x010802\"/>".repeat(40_000);
        String links = "<nvlink target=\"gone\" count=\"1\" tclass=\"0x030200\"/>".repeat(40_000);
        Machine machine = new MachineReader()
                .parse(
                        "odd.xml",
                        "<system version=\"1\"><cpu>" + functions
                                + "<pci busid=\"0000:01:00.0\" class=\"0x030200\"><gpu dev=\"0\">" + links
                                + "</gpu></pci></cpu></system>");
        assertThat(machine.hubs().getFirst().attributes()).containsKeys("leaf.0.busid", "leaf.39999.busid");
        assertThat(machine.devices().getFirst().attributes())
                .containsKeys("dangling.0.element", "dangling.39999.element");
    }
}
