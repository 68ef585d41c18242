package dev.banyan.trees;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.trees.internal.render.ForestQuality;
import java.util.List;
import org.junit.jupiter.api.Test;

class ForestQualityTest {
    @Test
    void countsTreesPerBandwidthOnTheBusiestLink() {
        Forest forest = Forest.equalShares(
                List.of(Tree.ofParents(-1, 0, 1, 2), Tree.ofParents(1, 2, 3, -1), Tree.ofParents(-1, 0, 0, 2)));
        // Links 0-1, 1-2 and 2-3 are used 3, 2 and 3 times, 0-2 once, at 25, 50, 50 and 25 GB/s.
        ForestQuality quality = ForestQuality.of(forest, Machines.p3Subset(0, 1, 2, 3));
        assertThat(quality).isEqualTo(new ForestQuality(3 / 25.0, 8 + 8 + 7, 7, 23 / 3.0, 3, 3));
    }

    @Test
    void oneDeviceHasNoLinks() {
        assertThat(ForestQuality.of(Forest.equalShares(List.of(Tree.ofParents(-1))), Machines.complete(1)))
                .isEqualTo(new ForestQuality(0, 0, 0, 0, 0, 0));
    }

    @Test
    void refusesAnotherSize() {
        assertThatThrownBy(() -> ForestQuality.of(Forest.equalShares(List.of(Tree.ofParents(-1))), Machines.p3()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("spans 1");
    }
}
