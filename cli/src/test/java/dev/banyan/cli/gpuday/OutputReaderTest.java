package dev.banyan.cli.gpuday;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.gpuday.Figure;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the readers make of outputs that no emulated part prints. */
class OutputReaderTest {
    private static final String LOG = "gradients of [gpu(0), gpu(1)] are summed up by Banyan\n";

    private final PartOutput output = new PartOutput();

    @Test
    void firstAndLastLossAreFigures() {
        OutputReader.TRAINER.read("step,loss\n1,2.5\n2,1e-1\n3,0.25E-1\n", LOG, output);
        assertThat(output.wrong).isNull();
        assertThat(output.figures)
                .extracting(Figure::name)
                .containsExactly("loss of the first step", "loss of the last step");
        assertThat(output.figures).extracting(Figure::median).containsExactly(2.5, 0.025);
    }

    @ParameterizedTest
    @ValueSource(strings = {"NaN", "Infinity", "-Infinity", "1e999"})
    void aTrainingThatDivergesIsWrong(String loss) {
        OutputReader.TRAINER.read("step,loss\n1,2.5\n2,1.5\n5," + loss + "\n", LOG, output);
        assertThat(output.wrong).isEqualTo("the training diverged: the loss of step 5 is " + loss);
        assertThat(output.figures).isEmpty();
    }

    @Test
    void aLossThatIsNotFiniteIsWrongThoughLaterOnesAre() {
        OutputReader.TRAINER.read("step,loss\n1,2.5\n2,NaN\n3,1.5\n", LOG, output);
        assertThat(output.wrong).isEqualTo("the training diverged: the loss of step 2 is NaN");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-", "1.2.3", "e", "nan(ind)", ""})
    void aLossThatIsNoNumberIsWrong(String loss) {
        OutputReader.TRAINER.read("step,loss\n1," + loss + "\n", LOG, output);
        assertThat(output.wrong).isEqualTo("the loss of step 1 is not a number: '" + loss + "'");
        assertThat(output.figures).isEmpty();
    }

    @Test
    void aTrainerNeedsLossesAndBanyan() {
        OutputReader.TRAINER.read("step,loss\n", LOG, output);
        assertThat(output.wrong).isEqualTo("the trainer printed no losses");
        OutputReader.TRAINER.read("step,loss\n1,2.5\n", "", output);
        assertThat(output.wrong).isEqualTo("the log does not say that Banyan sums up the gradients");
    }
}
