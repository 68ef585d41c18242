package dev.banyan.reduce.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class CloseAllTest {
    private final CloseAll all = new CloseAll();
    private final List<String> closed = new ArrayList<>();

    @Test
    void closesAllPartsAndThrowsNothingIfNoneFails() {
        assertThat(all.close(() -> closed.add("first"))).isTrue();
        assertThat(all.close(() -> closed.add("second"))).isTrue();

        assertThat(closed).containsExactly("first", "second");
        assertThatCode(all::throwFailure).doesNotThrowAnyException();
    }

    @Test
    void failingPartDoesNotKeepOthersFromBeingClosed() {
        assertThat(all.close(() -> fail("first"))).isFalse();
        assertThat(all.close(() -> closed.add("second")))
                .as("the result covers the parts before")
                .isFalse();
        assertThat(all.close(() -> fail("third"))).isFalse();

        assertThat(closed).containsExactly("second");
        assertThatThrownBy(all::throwFailure)
                .hasMessage("first")
                .satisfies(failure -> assertThat(failure.getSuppressed())
                        .singleElement()
                        .extracting(Throwable::getMessage)
                        .isEqualTo("third"));
    }

    private static void fail(String part) {
        throw new IllegalStateException(part);
    }
}
