package dev.banyan.schedule;

import dev.banyan.schedule.type.Collective;
import java.util.List;
import java.util.Objects;

/**
 * A collective as data: what is copied and reduced, and in which order. It knows no hardware and no
 * operation; it can be printed, verified, simulated and run.
 *
 * @param algorithm name of the algorithm that made it, e.g. {@code ring}
 * @param collective what it does
 * @param ranks number of ranks n, at least 1
 * @param root the root, or -1 where the collective has none
 * @param count elements, as {@link Collective} counts them
 * @param elementBytes size of one element in bytes
 * @param inPlace whether inputs and outputs share memory as {@link Collective} says
 * @param scratchBytes bytes of {@link Space#SCRATCH} that each rank needs
 * @param chunks the pieces; no chunk for no element or one rank in place
 */
public record Schedule(
        String algorithm,
        Collective collective,
        int ranks,
        int root,
        long count,
        int elementBytes,
        boolean inPlace,
        long scratchBytes,
        List<Chunk> chunks) {
    public Schedule {
        Objects.requireNonNull(algorithm, "algorithm");
        Objects.requireNonNull(collective, "collective");
        chunks = List.copyOf(chunks);
        if (ranks < 1 || count < 0 || elementBytes < 1 || scratchBytes < 0) {
            throw new IllegalArgumentException("a schedule of " + ranks + " ranks, " + count + " elements of "
                    + elementBytes + " bytes and " + scratchBytes + " bytes of scratch");
        }
        if (collective.hasRoot() ? root < 0 || root >= ranks : root != -1) {
            throw new IllegalArgumentException(
                    "root " + root + " for " + collective.label() + " over " + ranks + " ranks");
        }
    }

    /**
     * Returns the offset of a location in its rank's only buffer if the schedule is in place: the input's offset in the
     * output for all_gather, the output's in the input for reduce_scatter, no shift otherwise.
     *
     * @param location in {@link Space#INPUT} or {@link Space#OUTPUT}
     * @return offset in bytes
     */
    public long offsetInPlace(Location location) {
        boolean shifted = switch (location.space()) {
            case INPUT -> collective == Collective.ALL_GATHER;
            case OUTPUT -> collective == Collective.REDUCE_SCATTER;
            case SCRATCH -> false;
        };
        return shifted ? location.offset() + location.rank() * count * elementBytes : location.offset();
    }

    /**
     * Returns a location as a backend sees it: in place there is one buffer, the output.
     *
     * @return the location itself unless the schedule is in place
     */
    public Location inBuffers(Location location) {
        return inPlace && location.space() != Space.SCRATCH
                ? new Location(location.rank(), Space.OUTPUT, offsetInPlace(location))
                : location;
    }

    /**
     * Returns whether the final contents of a location are part of the collective's result.
     *
     * @param location as {@link #inBuffers} has it
     */
    public boolean hasResultAt(Location location) {
        if (location.space() != Space.OUTPUT) {
            return false;
        }
        return switch (collective) {
            case REDUCE -> location.rank() == root;
            case REDUCE_SCATTER -> {
                long block = count * elementBytes;
                long first = inPlace ? location.rank() * block : 0;
                yield location.offset() >= first && location.offset() < first + block;
            }
            default -> true;
        };
    }

    /**
     * Returns the same schedule for more or other elements, each range longer by the same factor. The elements of a
     * schedule from a file stand for equal parts of the data; this method makes a schedule that runs at any
     * multiple of that size.
     *
     * @param newCount elements, as {@link Collective} counts them
     * @param newElementBytes size of one element in bytes
     * @throws IllegalArgumentException if that is not a whole number of the new elements per old element
     */
    public Schedule resized(long newCount, int newElementBytes) {
        if (count < 1 || newCount < 1 || newCount % count != 0) {
            throw new IllegalArgumentException(
                    "a schedule for " + count + " elements cannot be resized to " + newCount + "; take a multiple");
        }
        long factor = Math.multiplyExact(newCount / count, (long) newElementBytes);
        List<Chunk> longer = chunks.stream()
                .map(chunk -> new Chunk(
                        stretched(chunk.bytes(), factor),
                        chunk.steps().stream()
                                .map(step -> new Step(
                                        step.sources().stream()
                                                .map(source -> stretched(source, factor))
                                                .toList(),
                                        stretched(step.target(), factor),
                                        step.after()))
                                .toList()))
                .toList();
        return new Schedule(
                algorithm,
                collective,
                ranks,
                root,
                newCount,
                newElementBytes,
                inPlace,
                stretched(scratchBytes, factor),
                longer);
    }

    private Location stretched(Location location, long factor) {
        return new Location(location.rank(), location.space(), stretched(location.offset(), factor));
    }

    private long stretched(long bytes, long factor) {
        return Math.multiplyExact(bytes / elementBytes, factor);
    }

    /** Returns the number of steps of all chunks. */
    public int stepCount() {
        return chunks.stream().mapToInt(chunk -> chunk.steps().size()).sum();
    }
}
