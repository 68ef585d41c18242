package dev.banyan.cuda.internal.ptx;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The machine code of a kernel for sm_70 or later, as far as tests need it: 16 bytes an instruction, of which the low
 * 12 bits name the operation and the form of its operands.
 *
 * @param operations a letter for each instruction: L loads from global memory, S stores there, A adds floats, B
 *     branches, and a dot is any other one
 */
record Sass(String operations) {
    private static final int INSTRUCTION_BYTES = 16;
    private static final int SECTION_BYTES = 64;

    /** Reads the only kernel of an ELF file of NVIDIA's compilers. */
    static Sass of(byte[] file) {
        ByteBuffer elf = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
        int sections = (int) elf.getLong(40);
        int names = (int) elf.getLong(sections + elf.getShort(62) * SECTION_BYTES + 24);
        for (int s = 0; s < elf.getShort(60); s++) {
            int section = sections + s * SECTION_BYTES;
            if (name(file, names + elf.getInt(section)).startsWith(".text.")) {
                int begin = (int) elf.getLong(section + 24);
                int count = (int) elf.getLong(section + 32) / INSTRUCTION_BYTES;
                return new Sass(IntStream.range(0, count)
                        .mapToObj(i -> letter(elf.getInt(begin + i * INSTRUCTION_BYTES) & 0xfff))
                        .collect(Collectors.joining()));
            }
        }
        throw new AssertionError("the file has no code");
    }

    private static String name(byte[] file, int at) {
        int end = at;
        while (file[end] != 0) {
            end++;
        }
        return new String(file, at, end - at, StandardCharsets.US_ASCII);
    }

    private static String letter(int operation) {
        return switch (operation) {
            case 0x381, 0x981 -> "L";
            case 0x386, 0x986 -> "S";
            case 0x221, 0x421, 0x621 -> "A";
            case 0x947 -> "B";
            default -> ".";
        };
    }
}
