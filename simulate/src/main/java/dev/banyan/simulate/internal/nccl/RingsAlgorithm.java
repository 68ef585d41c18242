package dev.banyan.simulate.internal.nccl;

import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.TreeAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.ring.RingSet;
import java.util.ArrayList;
import java.util.List;
import org.apache.commons.numbers.fraction.BigFraction;

/** A set of rings at once, each with its share, half of it each way around. */
record RingsAlgorithm(RingSet rings) implements TreeAlgorithm {
    @Override
    public String name() {
        return "rings";
    }

    @Override
    public int ranks() {
        return rings.network().ranks();
    }

    @Override
    public List<PackedTree> trees(Collective collective, int root) {
        List<PackedTree> trees = new ArrayList<>();
        for (RingSet.Ring ring : rings.rings()) {
            for (List<Integer> order : List.of(ring.order(), ring.order().reversed())) {
                RingAlgorithm one = new RingAlgorithm(
                        order.stream().mapToInt(Integer::intValue).toArray());
                BigFraction share = ring.share().divide(2);
                one.trees(collective, root)
                        .forEach(tree ->
                                trees.add(new PackedTree(tree.share().multiply(share), tree.up(), tree.down())));
            }
        }
        return trees;
    }
}
