package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.internal.program.DirectExchange;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Writes the shares of an exchange for the tables of its ranks. Used by one thread. */
final class ExchangeShares {
    private final DirectExchange exchange;
    private final Schedule schedule;
    private final int ranks;
    private final int divisor;
    private final int elementBytes;
    private final boolean multicasts;
    private final boolean combines;
    private final boolean decidesLater;
    private final Set<Space> multicast = EnumSet.noneOf(Space.class);
    private final List<List<ExchangeTable.Share>> ofRanks = new ArrayList<>();

    /**
     * @param divisor of results
     * @param multicasts whether the switch stores to all ranks where a share does so
     * @param combines whether it also combines what it loads from all
     * @param decidesLater whether the kernel finds out if it does, and gets shares for both cases
     */
    ExchangeShares(
            DirectExchange exchange,
            int divisor,
            int elementBytes,
            boolean multicasts,
            boolean combines,
            boolean decidesLater) {
        this.exchange = exchange;
        schedule = exchange.schedule();
        ranks = schedule.ranks();
        this.divisor = divisor;
        this.elementBytes = elementBytes;
        this.multicasts = multicasts;
        this.combines = combines;
        this.decidesLater = decidesLater;
        for (int rank = 0; rank < ranks; rank++) {
            ofRanks.add(new ArrayList<>());
        }
        exchange.shares().forEach(share -> add(share, ofRanks.get(share.rank())));
    }

    /** Returns the shares of an exchange in which no switch takes part. */
    static ExchangeShares byRanks(DirectExchange exchange, int divisor, int elementBytes) {
        return new ExchangeShares(exchange, divisor, elementBytes, false, false, false);
    }

    /** Returns the shares of a rank. */
    List<ExchangeTable.Share> of(int rank) {
        return List.copyOf(ofRanks.get(rank));
    }

    /** Returns the spaces with multicast addresses among all shares. */
    Set<Space> multicast() {
        return multicast;
    }

    private void add(DirectExchange.Share share, List<ExchangeTable.Share> shares) {
        List<Location> sources =
                share.sources().stream().map(schedule::inBuffers).toList();
        // Each rank stores to the ranks behind it first, so that not all store to one.
        List<Location> targets = share.targets().stream()
                .map(schedule::inBuffers)
                .sorted(Comparator.comparingInt(target -> Math.floorMod(target.rank() - share.rank() - 1, ranks)))
                .toList();
        long whole = multicasts ? share.bytes() / ExchangeTable.WORD_BYTES * ExchangeTable.WORD_BYTES : 0;
        boolean combined = combines && exchange.loadsFromAll(share);
        boolean toAll = exchange.storesToAll(share);
        if (whole == 0
                || !isAligned(sources.getFirst())
                || !isAligned(targets.getFirst())
                || !(combined || (toAll && sources.size() == 1))
                || (!toAll && targets.size() > 1)) {
            shares.add(share(sources, targets, 0, 0, share.bytes()));
            return;
        }
        int alike = decidesLater ? ExchangeTable.Share.ALIKE : 0;
        shares.add(new ExchangeTable.Share(
                List.of(combined ? multicast(sources.getFirst()) : place(sources.getFirst(), 0)),
                List.of(toAll ? multicast(targets.getFirst()) : place(targets.getFirst(), 0)),
                divisor,
                alike + (combined ? ExchangeTable.Share.COMBINED : 0) + (toAll ? ExchangeTable.Share.TO_ALL : 0),
                whole / elementBytes));
        if (whole < share.bytes()) {
            shares.add(share(sources, targets, alike, whole, share.bytes() - whole));
        }
        if (decidesLater) {
            shares.add(share(sources, targets, ExchangeTable.Share.ELSEWHERE, 0, share.bytes()));
        }
    }

    private static boolean isAligned(Location place) {
        return place.offset() % ExchangeTable.WORD_BYTES == 0;
    }

    private ExchangeTable.Share share(
            List<Location> sources, List<Location> targets, int kind, long offset, long bytes) {
        return new ExchangeTable.Share(
                sources.stream().map(source -> place(source, offset)).toList(),
                targets.stream().map(target -> place(target, offset)).toList(),
                divisor,
                kind,
                bytes / elementBytes);
    }

    private static ExchangeTable.Place place(Location location, long offset) {
        return new ExchangeTable.Place(number(location.space(), location.rank()), location.offset() + offset);
    }

    private static int number(Space space, int index) {
        return space == Space.INPUT ? index : Kernel.Program.MOST_RANKS + index;
    }

    /** The multicast address of a space is behind the addresses of its ranks. */
    private ExchangeTable.Place multicast(Location location) {
        multicast.add(location.space());
        return new ExchangeTable.Place(number(location.space(), ranks), location.offset());
    }
}
