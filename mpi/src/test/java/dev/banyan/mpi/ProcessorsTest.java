package dev.banyan.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProcessorsTest {
    @ParameterizedTest
    @CsvSource({
        "2, true, 2, true",
        "2, true, 3, true",
        "3, true, 2, false",
        "1, false, 4, true",
        "4, false, 4, false",
        "2, false, 2, false"
    })
    void processorsOfItsOwnAreLeftForAProcess(int number, boolean areShared, int processes, boolean areTaken) {
        assertThat(new Processors(number, 0).areTaken(areShared, processes)).isEqualTo(areTaken);
    }

    @Test
    void thisProcessHasSome() {
        Processors mine = Processors.ofThisProcess();
        assertThat(mine.number()).isEqualTo(Runtime.getRuntime().availableProcessors());
        assertThat(mine).isEqualTo(Processors.ofThisProcess());
    }
}
