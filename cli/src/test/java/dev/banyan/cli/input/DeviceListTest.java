package dev.banyan.cli.input;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeviceListTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        4,2,3,1  | [4, 2, 3, 1]
        0-3      | [0, 1, 2, 3]
        7-5,0    | [7, 6, 5, 0]
        2        | [2]
        ' 1 , 0' | [1, 0]
        3-3      | [3]
        """)
    void listsAndRangesKeepTheirOrder(String text, String expected) {
        assertThat(Arrays.toString(DeviceList.parse(text).indices())).isEqualTo(expected);
    }
}
