package dev.banyan.study.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ByteSizeTest {
    @ParameterizedTest
    @CsvSource({
        "8, 8, 8 B",
        "0, 0, 0 B",
        "1K, 1024, 1 KiB",
        "1k, 1024, 1 KiB",
        "128M, 134217728, 128 MiB",
        "1.5G, 1610612736, 1.5 GiB",
        "64KiB, 65536, 64 KiB",
        "2 MB, 2097152, 2 MiB",
        "1T, 1099511627776, 1 TiB",
        "40000000, 40000000, 38.1 MiB"
    })
    void sizesAreReadAndLabelled(String text, long bytes, String label) {
        assertThat(ByteSize.parse(text)).isEqualTo(new ByteSize(bytes));
        assertThat(new ByteSize(bytes).label()).isEqualTo(label);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "1", "1500", "1K", "1536", "1M", "3G", "1024T"})
    void sizesAreWrittenAsUsersDo(String text) {
        assertThat(ByteSize.parse(text).written()).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "K", "-1", "1X", "1KK", "0x10", "1e3", "0.1", "9999999T", "NaN"})
    void nonsenseIsRefused(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ByteSize.parse(text))
                .withMessageContaining("'" + text + "'");
    }
}
