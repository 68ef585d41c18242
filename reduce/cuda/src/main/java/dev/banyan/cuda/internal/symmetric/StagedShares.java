package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.symmetric.ExchangeTable.Place;
import dev.banyan.cuda.internal.symmetric.ExchangeTable.Share;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.internal.program.DirectExchange;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Writes the shares of an exchange whose data goes through the {@link Stage}: each rank copies slices of its inputs
 * there, the ranks exchange between their stages, and each copies slices of results to its outputs. A slice of each
 * range of the inputs and of the outputs has a place in the stage.
 */
final class StagedShares {
    /** A slice is a multiple of so many bytes: a line of a cache. */
    private static final int UNIT = 128;

    /** Bytes at one offset of the inputs or the outputs of ranks. */
    private record Range(Space space, long offset) {}

    private final ExchangeWork work;
    private final Stage stage;
    private final long slice;
    private final Map<Range, Integer> inputs;
    private final Map<Range, Integer> outputs;

    private StagedShares(ExchangeWork work, Stage stage, int blocks) {
        this.work = stage.multicast() == 0 ? work.byRanks() : work;
        this.stage = stage;
        List<DirectExchange.Share> shares = work.exchange().shares();
        inputs = numbered(shares.stream().flatMap(share -> work.sources(share).stream()));
        outputs = numbered(shares.stream().flatMap(share -> work.targets(share).stream()));
        int most = stage.bytesOfABlock() / (inputs.size() + outputs.size()) / UNIT * UNIT;
        long even = Math.ceilDiv(Math.ceilDiv(work.longest(), (long) blocks), (long) UNIT) * UNIT;
        slice = Math.min(most, even);
    }

    /**
     * Returns the shares, or none if the stage of a block is shorter than the slices of all ranges.
     *
     * @param blocks of each rank
     */
    static Optional<StagedShares> of(ExchangeWork work, Stage stage, int blocks) {
        return Optional.of(new StagedShares(work, stage, blocks)).filter(shares -> shares.slice > 0);
    }

    private static Map<Range, Integer> numbered(Stream<Location> places) {
        Map<Range, Integer> numbers = new HashMap<>();
        places.forEach(place -> numbers.putIfAbsent(range(place), numbers.size()));
        return numbers;
    }

    private static Range range(Location place) {
        return new Range(place.space(), place.offset());
    }

    /** Returns the bytes of a share that a block takes at once. */
    long slice() {
        return slice;
    }

    /** Returns the number of slices that a block takes one after another. */
    long rounds(int blocks) {
        return Math.ceilDiv(work.longest(), slice * blocks);
    }

    /** Returns the shares of a rank. */
    List<Share> of(int rank) {
        List<Share> shares = new ArrayList<>();
        Map<Location, Long> sources = new LinkedHashMap<>();
        Map<Location, Long> targets = new LinkedHashMap<>();
        for (DirectExchange.Share share : work.exchange().shares()) {
            work.sources(share).stream()
                    .filter(source -> source.rank() == rank)
                    .forEach(source -> sources.merge(source, share.bytes(), Math::max));
            if (share.rank() == rank) {
                shares.add(staged(share));
            }
            work.targets(share).stream()
                    .filter(target -> target.rank() == rank)
                    .forEach(target -> targets.put(target, share.bytes()));
        }
        alike(sources)
                .forEach(some -> shares.add(copies(
                        some,
                        StagedShares::buffer,
                        this::input,
                        Share.COPY_IN,
                        Objects.requireNonNull(sources.get(some.getFirst())))));
        alike(targets)
                .forEach(some -> shares.add(copies(
                        some,
                        this::output,
                        StagedShares::buffer,
                        Share.COPY_OUT,
                        Objects.requireNonNull(targets.get(some.getFirst())))));
        return shares;
    }

    /** Returns groups of places of one length, all aligned or none, each with as many as a share may have. */
    private static List<List<Location>> alike(Map<Location, Long> places) {
        Map<List<Long>, List<Location>> kinds = new LinkedHashMap<>();
        places.forEach((place, bytes) -> kinds.computeIfAbsent(
                        List.of(bytes, place.offset() % ExchangeTable.WORD_BYTES), _ -> new ArrayList<>())
                .add(place));
        int most = Kernel.Program.MOST_RANKS;
        return kinds.values().stream()
                .flatMap(all -> IntStream.range(0, Math.ceilDiv(all.size(), most))
                        .mapToObj(k -> all.subList(k * most, Math.min(all.size(), (k + 1) * most))))
                .toList();
    }

    private Share copies(
            List<Location> places,
            Function<Location, Place> from,
            Function<Location, Place> to,
            int phase,
            long bytes) {
        return new Share(
                places.stream().map(from).toList(),
                places.stream().map(to).toList(),
                1,
                phase,
                bytes / work.elementBytes());
    }

    private Share staged(DirectExchange.Share share) {
        List<Location> sources = work.sources(share);
        List<Location> targets = work.targets(share);
        int kind = work.multicasts(share);
        if (kind == 0) {
            return new Share(
                    sources.stream().map(this::input).toList(),
                    targets.stream().map(this::output).toList(),
                    work.divisor(),
                    Share.STAGED,
                    share.bytes() / work.elementBytes());
        }
        Location source = sources.getFirst();
        Location target = targets.getFirst();
        // The switch takes whole words; what is behind the last element stays in the stage.
        long words = Math.ceilDiv(share.bytes(), (long) ExchangeTable.WORD_BYTES);
        return new Share(
                List.of((kind & Share.COMBINED) == 0 ? input(source) : place(stage.multicast(), inputNumber(source))),
                List.of((kind & Share.TO_ALL) == 0 ? output(target) : place(stage.multicast(), outputNumber(target))),
                work.divisor(),
                Share.STAGED + kind,
                words * ExchangeTable.WORD_BYTES / work.elementBytes());
    }

    private static Place buffer(Location place) {
        return new Place(ExchangeShares.number(place.space(), place.rank()), place.offset());
    }

    private Place input(Location source) {
        return place(stage.addresses().get(source.rank()), inputNumber(source));
    }

    private Place output(Location target) {
        return place(stage.addresses().get(target.rank()), outputNumber(target));
    }

    private int inputNumber(Location source) {
        return Objects.requireNonNull(inputs.get(range(source)));
    }

    private int outputNumber(Location target) {
        return inputs.size() + Objects.requireNonNull(outputs.get(range(target)));
    }

    private Place place(long stageOfBlock, int number) {
        return new Place(ExchangeTable.STAGE, stageOfBlock + slice * number);
    }
}
