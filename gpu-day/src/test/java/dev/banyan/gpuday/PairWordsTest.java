package dev.banyan.gpuday;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each defect of a copy is found. */
class PairWordsTest {
    private static final PairWords WORDS = new PairWords(1, 2);

    private final int[] words = new int[1 << 10];

    @BeforeEach
    void write() {
        WORDS.write(words);
        assertThat(WORDS.areIn(words)).isTrue();
    }

    @Test
    void allWordsOfPairsDiffer() {
        int[] others = new int[words.length];
        new PairWords(2, 1).write(others);
        assertThat(others).doesNotContain(words).doesNotContain(0);
        assertThat(words).doesNotHaveDuplicates().doesNotContain(0);
    }

    @Test
    void swappedWordsAreFound() {
        int first = words[7];
        words[7] = words[8];
        words[8] = first;
        assertThat(WORDS.areIn(words)).isFalse();
    }

    @Test
    void aWordThatArrivesTwiceIsFound() {
        words[words.length - 1] = words[0];
        assertThat(WORDS.areIn(words)).isFalse();
    }

    @Test
    void shiftedWordsAreFound() {
        System.arraycopy(words, 0, words, 4, words.length - 4);
        assertThat(WORDS.areIn(words)).isFalse();
    }

    @Test
    void aWordThatDoesNotArriveIsFound() {
        words[words.length - 1] = 0;
        assertThat(WORDS.areIn(words)).isFalse();
    }

    @Test
    void wordsOfTheOtherDirectionAreFound() {
        new PairWords(2, 1).write(words);
        assertThat(WORDS.areIn(words)).isFalse();
    }

    @Test
    void aBitThatFlipsIsFound() {
        words[words.length / 2] ^= 0x10;
        assertThat(WORDS.areIn(words)).isFalse();
    }
}
