package dev.banyan.page.study;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeviceGroupsTest {
    @ParameterizedTest
    @CsvSource({"2, 1, 2", "3, 4, 3", "4, 11, 4", "8, 247, 8", "9, 502, 9", "10, 638, 5", "16, 697, 3"})
    void setsAreDistinctAndCounted(int devices, int sets, int largest) {
        DeviceGroups groups = new DeviceGroups(devices);
        List<String> names = groups.sets().stream().map(Arrays::toString).toList();
        assertThat(names).hasSize(sets).doesNotHaveDuplicates();
        assertThat(groups.largest()).isEqualTo(largest);
    }

    @Test
    void theWholeComesFirst() {
        assertThat(new DeviceGroups(3).sets())
                .containsExactly(new int[] {0, 1, 2}, new int[] {0, 1}, new int[] {0, 2}, new int[] {1, 2});
    }
}
