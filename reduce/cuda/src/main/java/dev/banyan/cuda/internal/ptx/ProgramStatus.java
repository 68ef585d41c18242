package dev.banyan.cuda.internal.ptx;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * Why a block of a device program stopped, as the kernel leaves it in the control block. The control block is mapped
 * host memory, offsets in bytes:
 *
 * <pre>
 *  0 u32 abort: if not 0, all blocks stop that wait      8 u64 base of the last launch that ended well
 * 64 for each block 64 bytes: u32 code, u32 loop, u32 slice, u32 channel, u64 seen, u64 wanted
 * </pre>
 *
 * @param loop the {@linkplain ProgramLoop#id() id} of the loop
 * @param channel of the wait, or of the input whose lines did not come
 * @param seen value of the flag, or of the flags of a line: that of its first half in the low word
 * @param wanted value that was waited for
 */
public record ProgramStatus(Code code, int loop, int slice, int channel, long seen, long wanted) {
    public static final int ABORT = 0;
    public static final int DONE = 8;
    /** Offset of the status of the first block, and bytes of each. */
    public static final int FIRST = 64;

    public static final int BYTES = 64;

    /** The reason for which a block stopped, if it did. */
    public enum Code {
        NONE(0),
        TIMEOUT(1),
        ABORTED(2);

        private final int code;

        Code(int code) {
            this.code = code;
        }

        /** As the kernel writes it. */
        public int code() {
            return code;
        }

        private static Code of(int code) {
            return Arrays.stream(values())
                    .filter(known -> known.code == code)
                    .findAny()
                    .orElseThrow(() -> new IllegalStateException("a block reports code " + code));
        }
    }

    /** Bytes of the control block of a launch. */
    public static long controlBytes(int blocks) {
        return FIRST + (long) BYTES * blocks;
    }

    /** Reads the status of a block. */
    public static ProgramStatus of(MemorySegment control, int block) {
        long at = FIRST + (long) BYTES * block;
        return new ProgramStatus(
                Code.of(control.get(ValueLayout.JAVA_INT, at)),
                control.get(ValueLayout.JAVA_INT, at + 4),
                control.get(ValueLayout.JAVA_INT, at + 8),
                control.get(ValueLayout.JAVA_INT, at + 12),
                control.get(ValueLayout.JAVA_LONG, at + 16),
                control.get(ValueLayout.JAVA_LONG, at + 24));
    }
}
