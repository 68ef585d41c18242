package dev.banyan.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemoryLayout.PathElement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LayoutTest {
    @Test
    void structuresHaveTheSizesOfTheHeader() {
        assertThat(PciAddress.PCI_INFO.byteSize()).isEqualTo(68);
        assertThat(PciAddress.PCI_INFO.byteOffset(PathElement.groupElement("domain")))
                .isEqualTo(16);
        assertThat(PciAddress.PCI_INFO.byteOffset(PathElement.groupElement("busId")))
                .isEqualTo(36);
        assertThat(DeviceQueries.MEMORY.byteSize()).isEqualTo(24);
    }

    @ParameterizedTest
    @CsvSource({"0, 26, 0, 0000:1a:00.0", "65536, 255, 31, 10000:ff:1f.0", "-1, 0, 1, ffffffff:00:01.0"})
    void busIdsAreSpelledAsLinuxDoes(int domain, int bus, int device, String expected) {
        assertThat(new PciAddress(domain, bus, device).busId()).isEqualTo(expected);
    }
}
