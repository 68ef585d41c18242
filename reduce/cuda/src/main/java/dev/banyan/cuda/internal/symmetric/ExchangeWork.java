package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.symmetric.ExchangeTable.Share;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.program.DirectExchange;
import java.util.Comparator;
import java.util.List;

/**
 * An exchange, and the part that a switch has in it.
 *
 * @param divisor of results
 * @param multicasts whether the switch copies to all ranks
 * @param combines whether it also combines what is loaded from all
 */
record ExchangeWork(DirectExchange exchange, int divisor, int elementBytes, boolean multicasts, boolean combines) {
    /** Returns the same without the switch. */
    ExchangeWork byRanks() {
        return new ExchangeWork(exchange, divisor, elementBytes, false, false);
    }

    Schedule schedule() {
        return exchange.schedule();
    }

    /** Returns whether the switch has a part in some share. */
    boolean usesSwitch() {
        return exchange.shares().stream().anyMatch(share -> multicasts(share) != 0);
    }

    /** Returns which addresses of a share can be multicast ones, as bits of {@link Share#kind}. */
    int multicasts(DirectExchange.Share share) {
        boolean combined = combines && exchange.loadsFromAll(share);
        boolean toAll = exchange.storesToAll(share);
        if (!multicasts
                || !(combined || (toAll && share.sources().size() == 1))
                || (!toAll && share.targets().size() > 1)) {
            return 0;
        }
        return (combined ? Share.COMBINED : 0) + (toAll ? Share.TO_ALL : 0);
    }

    /** Returns the places of sources in buffers. */
    List<Location> sources(DirectExchange.Share share) {
        return share.sources().stream().map(schedule()::inBuffers).toList();
    }

    /** Returns the places of targets in buffers, those of the ranks behind this one first: not all store to one. */
    List<Location> targets(DirectExchange.Share share) {
        int ranks = schedule().ranks();
        return share.targets().stream()
                .map(schedule()::inBuffers)
                .sorted(Comparator.comparingInt(target -> Math.floorMod(target.rank() - share.rank() - 1, ranks)))
                .toList();
    }

    /** Returns the bytes of the longest share. */
    long longest() {
        return exchange.shares().stream()
                .mapToLong(DirectExchange.Share::bytes)
                .max()
                .orElse(0);
    }
}
