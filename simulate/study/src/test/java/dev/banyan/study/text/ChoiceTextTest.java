package dev.banyan.study.text;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.plan.AlgorithmConfig;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChoiceTextTest {
    @ParameterizedTest
    @CsvSource({
        "star@524352, star@512K, star@524352",
        "packing/8@1000, packing/8@1000, packing/8@1000",
        "multi-tree/exact@64K, multi-tree/exact@64K, multi-tree@64K (exact)",
        "ring/1, ring/1, ring/1",
        "auto, auto, auto"
    })
    void lengthsAreRoundedAndGeneratorsNamed(String choice, String text, String name) {
        assertThat(ChoiceText.of(AlgorithmConfig.parse(choice))).isEqualTo(text);
        assertThat(ChoiceText.name(AlgorithmConfig.parse(choice))).isEqualTo(name);
    }
}
