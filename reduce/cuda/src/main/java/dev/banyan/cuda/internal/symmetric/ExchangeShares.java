package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.internal.program.DirectExchange;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Writes the shares of an exchange between buffers that are open to all devices. Used by one thread. */
final class ExchangeShares {
    private final ExchangeWork work;
    private final int ranks;
    private final boolean decidesLater;
    private final Set<Space> multicast = EnumSet.noneOf(Space.class);
    private final List<List<ExchangeTable.Share>> ofRanks = new ArrayList<>();

    /** @param decidesLater whether the kernel finds out if the switch takes part, and gets shares for both cases */
    ExchangeShares(ExchangeWork work, boolean decidesLater) {
        this.work = work;
        this.decidesLater = decidesLater;
        ranks = work.schedule().ranks();
        for (int rank = 0; rank < ranks; rank++) {
            ofRanks.add(new ArrayList<>());
        }
        work.exchange().shares().forEach(share -> add(share, ofRanks.get(share.rank())));
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
        List<Location> sources = work.sources(share);
        List<Location> targets = work.targets(share);
        int kind = work.multicasts(share);
        long whole = share.bytes() / ExchangeTable.WORD_BYTES * ExchangeTable.WORD_BYTES;
        if (kind == 0 || whole == 0 || !isAligned(sources.getFirst()) || !isAligned(targets.getFirst())) {
            shares.add(share(sources, targets, 0, 0, share.bytes()));
            return;
        }
        boolean combined = (kind & ExchangeTable.Share.COMBINED) != 0;
        boolean toAll = (kind & ExchangeTable.Share.TO_ALL) != 0;
        int alike = decidesLater ? ExchangeTable.Share.ALIKE : 0;
        shares.add(new ExchangeTable.Share(
                List.of(combined ? multicast(sources.getFirst()) : place(sources.getFirst(), 0)),
                List.of(toAll ? multicast(targets.getFirst()) : place(targets.getFirst(), 0)),
                work.divisor(),
                ExchangeTable.Share.DIRECT + alike + kind,
                whole / work.elementBytes()));
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
                work.divisor(),
                ExchangeTable.Share.DIRECT + kind,
                bytes / work.elementBytes());
    }

    private static ExchangeTable.Place place(Location location, long offset) {
        return new ExchangeTable.Place(number(location.space(), location.rank()), location.offset() + offset);
    }

    /** Returns the number of a buffer among the parameters of the kernel. */
    static int number(Space space, int index) {
        return space == Space.INPUT ? index : Kernel.Program.MOST_RANKS + index;
    }

    /** The multicast address of a space is behind the addresses of its ranks. */
    private ExchangeTable.Place multicast(Location location) {
        multicast.add(location.space());
        return new ExchangeTable.Place(number(location.space(), ranks), location.offset());
    }
}
