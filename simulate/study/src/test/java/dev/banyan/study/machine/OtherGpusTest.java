package dev.banyan.study.machine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.LinkNames;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OtherGpusTest {
    @ParameterizedTest
    @CsvSource({
        LinkNames.VENDOR + ", AMD, true",
        "gcn, 942, true",
        "sm, 61, true",
        "sm, 70, false",
        "sm, 100, false",
        "model, NVIDIA A40, false"
    })
    void gpusAreNamedByTheirMakerOrAge(String attribute, String value, boolean isNamed) {
        Device device = new Device("GPU0", null, 0, Map.of(attribute, value));
        Device other = new Device("GPU1", null, 0, Map.of(attribute, value));
        Machine machine = new Machine(
                "cards",
                List.of(device, other),
                List.of(Hub.of("socket0", Hub.Kind.CPU_SOCKET)),
                List.of(Link.duplex(0, 2, Link.Kind.PCIE, 16, 12, 0), Link.duplex(1, 2, Link.Kind.PCIE, 16, 12, 0)),
                List.of(),
                List.of());
        assertThat(OtherGpus.remark(machine).isPresent()).isEqualTo(isNamed);
    }
}
