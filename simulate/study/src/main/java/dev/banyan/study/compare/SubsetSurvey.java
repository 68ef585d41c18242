package dev.banyan.study.compare;

import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.topology.internal.text.LinkNames;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Tries every connected set of the chosen devices: those of at least three, or those of one size. */
public final class SubsetSurvey {
    /** Greatest number of sets that are tried. */
    public static final int MOST_SETS = 1 << 16;

    private static final int LEAST_SIZE = 3;

    private final ChosenMachine chosen;
    private final int least;
    private final int most;

    /**
     * @param size the only size, at least 2, or null
     * @throws IllegalArgumentException if there are no such sets or too many: the message says what to do
     */
    public SubsetSurvey(ChosenMachine chosen, @Nullable Integer size) {
        this.chosen = chosen;
        int n = chosen.group().size();
        least = size == null ? Math.min(n, LEAST_SIZE) : size;
        most = size == null ? n : size;
        if (least < 2 || most > n) {
            throw new IllegalArgumentException("--all-subsets=" + size + ": sets have 2.." + n + " devices here");
        }
        BigInteger count = DeviceSets.count(n, least, most);
        if (count.compareTo(BigInteger.valueOf(MOST_SETS)) > 0) {
            throw new IllegalArgumentException(n + " devices have " + count + " subsets, more than " + MOST_SETS
                    + "; name up to 16 devices by --devices, or one small size, e.g. --all-subsets=3");
        }
    }

    /** Returns the number of sets. */
    public int sets() {
        return DeviceSets.count(chosen.group().size(), least, most).intValueExact();
    }

    /**
     * Tries all ways on each set.
     *
     * @param relays what may forward for a set, or null where that was not asked for
     * @param onSet called after each set
     * @throws IllegalArgumentException if no set is connected
     */
    public Subsets run(@Nullable Function<ChosenMachine, int[]> relays, Runnable onSet) {
        List<SubsetRow> rows = new ArrayList<>();
        for (int[] devices : DeviceSets.of(chosen.devices(), least, most)) {
            ChosenMachine set = chosen.with(devices);
            int[] forwarding = relays == null ? null : relays.apply(set);
            if (DeviceSets.connected(set, forwarding == null ? new int[0] : forwarding)) {
                rows.add(SubsetRow.of(set, forwarding));
            }
            onSet.run();
        }
        if (rows.isEmpty()) {
            throw new IllegalArgumentException(LinkNames.direct(chosen.machine())
                    + " joins no set of " + least + (most > least ? " to " + most : "") + " of these devices of "
                    + chosen.machine().name() + "; name others by --devices"
                    + (least > 2 ? ", or take smaller sets by --all-subsets=2" : ""));
        }
        return Subsets.of(chosen, sets(), rows);
    }
}
