package dev.banyan.cuda.internal.ptx;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.stream.Stream;

/**
 * One loop of a block of a device program: a move that is repeated over the slices of a lane. The record of a loop lies
 * in global memory; the block copies it into shared memory when the loop begins. Layout of a record, offsets in bytes:
 *
 * <pre>
 *  0 u32 bytes of the record, a multiple of 16    4 u32 slices
 *  8 u32 elements of a slice                     12 u32 elements of the last slice
 * 16 u32 waits                                   20 u32 inputs
 * 24 u32 outputs                                 28 u32 posts
 * 32 u64 offset
 * 40 u32 divisor                                 44 u32 id
 * 48 u32 protocol                                52 u32 0    56 u64 0
 * 64 waits:           u64 flag, u32 lag, u32 channel
 *    inputs, outputs: u64 address, u32 buffer, u32 bytes of a slot, u32 mask of slots, u32 form, u32 channel, u32 0
 *    posts:           u64 flag, u32 kind, u32 0
 * </pre>
 *
 * Flags count in units of a slice: with {@code start = base of the launch + offset}, the data flag of a channel is
 * {@code start + k + 1} after slice k, and its credit flag is {@code start} when the receiver is ready and
 * {@code start + k + 1} when slice k has been consumed.
 *
 * @param slices at least 1
 * @param elements of each slice but the last; times the bytes of an element a multiple of 16
 * @param lastElements 1 to {@code elements}
 * @param waits at most 32
 * @param inputs at most 16, combined in this order; none for a loop that only waits and posts
 * @param outputs at most 16, which all receive the result
 * @param posts at most 32
 * @param offset added to the base of the launch
 * @param divisor 1 for no division; only for floating sums
 * @param id reported in the {@linkplain ProgramStatus status} when the loop fails
 */
public record ProgramLoop(
        int slices,
        int elements,
        int lastElements,
        List<Wait> waits,
        List<Place> inputs,
        List<Place> outputs,
        List<Post> posts,
        long offset,
        int divisor,
        int id,
        Protocol protocol) {
    /** Bytes of a record without its waits, places and posts. */
    static final int HEAD_BYTES = 64;

    static final int WAIT_BYTES = 16;
    static final int PLACE_BYTES = 32;
    static final int POST_BYTES = 16;
    public static final int MOST_WAITS = 32;
    public static final int MOST_POSTS = 32;
    public static final int MOST_INPUTS = 16;
    public static final int MOST_OUTPUTS = 16;
    static final int MOST_BYTES =
            HEAD_BYTES + MOST_WAITS * WAIT_BYTES + (MOST_INPUTS + MOST_OUTPUTS) * PLACE_BYTES + MOST_POSTS * POST_BYTES;
    /** The buffer of a place whose address is absolute, as the table has it. */
    public static final int ABSOLUTE = -1;

    /** The protocol by which data reaches the receiver. */
    public enum Protocol {
        /** Plain data, then a flag. */
        BULK(0),
        /** Lines of data and flag; never more slices than slots. */
        LOW_LATENCY(1);

        private final int code;

        Protocol(int code) {
            this.code = code;
        }

        /** As records have it. */
        int code() {
            return code;
        }
    }

    /** The form of the data at a place. */
    public enum Form {
        PLAIN(0),
        /** Lines of 16 bytes {u32 data, u32 flag, u32 data, u32 flag}: 2 bytes for each byte of data. */
        LINES(1);

        private final int code;

        Form(int code) {
            this.code = code;
        }

        /** As records have it. */
        int code() {
            return code;
        }
    }

    /** The moments at which a flag is posted. */
    public enum PostKind {
        AFTER_SLICES(0),
        WHEN_READY_AND_AFTER_SLICES(1),
        WHEN_READY(2);

        private final int code;

        PostKind(int code) {
            this.code = code;
        }

        /** As records have it. */
        int code() {
            return code;
        }
    }

    /**
     * A flag in this device's memory that every slice k waits for, until it is at least
     * {@code start + max(0, k + 1 - lag)}.
     *
     * @param lag 0 for data; the slots of the channel for credits; {@link #READINESS} for {@code start} alone
     * @param channel reported in the status
     */
    public record Wait(long flag, int lag, int channel) {
        public static final int READINESS = -1;
    }

    /**
     * The place of slice k of an input or output: at {@code address + k * (bytes of a slice)}, or with slots at {@code
     * address + (k & slotMask) * slotBytes}.
     *
     * @param address absolute, or relative to a buffer parameter of the kernel
     * @param buffer number of the parameter, or {@link #ABSOLUTE}
     * @param slotBytes a multiple of 16, or 0 for no slots
     * @param slotMask number of slots, a power of two, minus 1
     * @param channel reported in the status when lines do not come
     */
    public record Place(long address, int buffer, int slotBytes, int slotMask, Form form, int channel) {
        public Place {
            if (slotBytes % 16 != 0 || (slotMask & (slotMask + 1)) != 0 || (form == Form.LINES && slotBytes == 0)) {
                throw new IllegalArgumentException(
                        "slots of " + slotBytes + " bytes with mask " + slotMask + " for " + form);
            }
        }

        public static Place linear(int buffer, long offset) {
            return new Place(offset, buffer, 0, 0, Form.PLAIN, 0);
        }

        public static Place slots(long address, int slotBytes, int slots, Form form, int channel) {
            return new Place(address, ABSOLUTE, slotBytes, slots - 1, form, channel);
        }
    }

    public record Post(long flag, PostKind kind) {}

    public ProgramLoop {
        if (slices < 1 || lastElements < 1 || lastElements > elements) {
            throw new IllegalArgumentException(
                    slices + " slices of " + elements + " elements, the last one of " + lastElements);
        }
        if (waits.size() > MOST_WAITS
                || inputs.size() > MOST_INPUTS
                || outputs.size() > MOST_OUTPUTS
                || posts.size() > MOST_POSTS) {
            throw new IllegalArgumentException("a loop with " + waits.size() + " waits, " + inputs.size() + " inputs, "
                    + outputs.size() + " outputs and " + posts.size() + " posts");
        }
        for (Place place : Stream.concat(inputs.stream(), outputs.stream()).toList()) {
            if (place.form() == Form.LINES && (protocol != Protocol.LOW_LATENCY || slices - 1 > place.slotMask())) {
                throw new IllegalArgumentException(
                        slices + " slices by " + protocol + " in lines of " + (place.slotMask() + 1) + " slots");
            }
        }
        waits = List.copyOf(waits);
        inputs = List.copyOf(inputs);
        outputs = List.copyOf(outputs);
        posts = List.copyOf(posts);
        if (inputs.isEmpty() != outputs.isEmpty()) {
            throw new IllegalArgumentException(inputs.size() + " inputs, but " + outputs.size() + " outputs");
        }
    }

    int bytes() {
        return HEAD_BYTES
                + WAIT_BYTES * waits.size()
                + PLACE_BYTES * (inputs.size() + outputs.size())
                + POST_BYTES * posts.size();
    }

    /** Appends the record to a buffer, whose order becomes that of the machine. */
    void write(ByteBuffer to) {
        to.order(ByteOrder.nativeOrder());
        to.putInt(bytes()).putInt(slices).putInt(elements).putInt(lastElements);
        to.putInt(waits.size()).putInt(inputs.size()).putInt(outputs.size()).putInt(posts.size());
        to.putLong(offset).putInt(divisor).putInt(id);
        to.putInt(protocol.code()).putInt(0).putLong(0);
        for (Wait wait : waits) {
            to.putLong(wait.flag()).putInt(wait.lag()).putInt(wait.channel());
        }
        inputs.forEach(input -> write(to, input));
        outputs.forEach(output -> write(to, output));
        for (Post post : posts) {
            to.putLong(post.flag()).putInt(post.kind().code()).putInt(0);
        }
    }

    private static void write(ByteBuffer to, Place place) {
        to.putLong(place.address()).putInt(place.buffer()).putInt(place.slotBytes());
        to.putInt(place.slotMask())
                .putInt(place.form().code())
                .putInt(place.channel())
                .putInt(0);
    }
}
