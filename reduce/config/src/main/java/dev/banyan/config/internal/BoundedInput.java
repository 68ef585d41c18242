package dev.banyan.config.internal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;

/**
 * Reads whole files and streams up to a limit of bytes and of lines. The limits apply to the bytes that arrive, since
 * the size that a file system states may be wrong for a file that grows or that the kernel makes up. Folders, pipes,
 * sockets and devices are refused by name, as they may never end.
 *
 * <p>Immutable and safe for use from any thread.
 *
 * @param mostBytes the largest input that is read, in bytes; below 2 GiB
 * @param mostLines the largest number of line feeds in it
 */
public record BoundedInput(int mostBytes, int mostLines) {
    /** Reads at most 16 MiB and a million lines, which suffices for descriptions and results of one machine. */
    public static final BoundedInput USUAL = new BoundedInput(16 << 20, 1_000_000);

    private static final int BUFFER_BYTES = 64 << 10;
    private static final int TYPE = 0170000;
    private static final int PIPE = 0010000;
    private static final int SOCKET = 0140000;

    /**
     * Reads a file of text: UTF-8, or UTF-16 with a byte order mark. The mark is no part of the result.
     *
     * @param file the file
     * @throws UnreadableFileException if it is refused; the message says why
     */
    public String text(Path file) throws UnreadableFileException {
        return decoded(bytes(file), CodingErrorAction.REPORT);
    }

    /**
     * Reads the bytes of a file.
     *
     * @param file the file
     * @throws UnreadableFileException if it is refused; the message says why
     */
    public byte[] bytes(Path file) throws UnreadableFileException {
        try {
            requireRegular(file);
            try (InputStream in = Files.newInputStream(file)) {
                return bytes(in);
            }
        } catch (UnreadableFileException e) {
            throw e;
        } catch (NoSuchFileException e) {
            throw new UnreadableFileException("there is no such file", e);
        } catch (AccessDeniedException e) {
            throw new UnreadableFileException("it may not be read; check its permissions", e);
        } catch (IOException e) {
            throw new UnreadableFileException("it cannot be read: " + e.getMessage(), e);
        }
    }

    /**
     * Reads the bytes of a stream to its end; leaves the stream open.
     *
     * @param in the stream
     * @throws UnreadableFileException if it has more bytes or lines than the limits allow
     * @throws IOException if reading fails
     */
    public byte[] bytes(InputStream in) throws IOException {
        byte[] bytes = new byte[Math.min(BUFFER_BYTES, mostBytes + 1)];
        int length = 0;
        int lines = 0;
        for (int read = in.read(bytes); read >= 0; read = in.read(bytes, length, bytes.length - length)) {
            for (int i = length; i < length + read; i++) {
                if (bytes[i] == '\n') {
                    lines++;
                }
            }
            length += read;
            if (length > mostBytes) {
                throw new UnreadableFileException("it is larger than " + size(mostBytes));
            }
            if (lines > mostLines) {
                throw new UnreadableFileException("it has more than " + mostLines + " lines");
            }
            if (length == bytes.length) {
                bytes = Arrays.copyOf(bytes, (int) Math.min(2L * length, mostBytes + 1L));
            }
        }
        return Arrays.copyOf(bytes, length);
    }

    private static String size(int bytes) {
        return bytes % (1 << 20) == 0 ? (bytes >> 20) + " MiB" : bytes + " bytes";
    }

    /**
     * Refuses folders, pipes, sockets and devices.
     *
     * @param file the file
     * @throws UnreadableFileException if it is none that ends
     * @throws IOException if it cannot be looked at
     */
    public static void requireRegular(Path file) throws IOException {
        BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
        if (attributes.isDirectory()) {
            throw new UnreadableFileException("this is a folder; name a file in it");
        }
        if (attributes.isOther()) {
            throw new UnreadableFileException(
                    "this is " + kind(file) + "; save its contents in a file and name that one");
        }
    }

    private static String kind(Path file) throws IOException {
        if (!file.getFileSystem().supportedFileAttributeViews().contains("unix")) {
            return "no regular file";
        }
        int type = (int) Files.getAttribute(file, "unix:mode") & TYPE;
        return type == PIPE ? "a pipe" : type == SOCKET ? "a socket" : "a device";
    }

    /**
     * Decodes text in UTF-8, or in UTF-16 with a byte order mark. The mark is no part of the result.
     *
     * @param bytes the text
     * @param malformed what to do with bytes that are no characters
     * @throws UnreadableFileException if some are to be reported
     */
    public static String decoded(byte[] bytes, CodingErrorAction malformed) throws UnreadableFileException {
        Charset charset = StandardCharsets.UTF_8;
        int skipped = 0;
        if (startsWith(bytes, 0xEF, 0xBB, 0xBF)) {
            skipped = 3;
        } else if (startsWith(bytes, 0xFF, 0xFE)) {
            charset = StandardCharsets.UTF_16LE;
            skipped = 2;
        } else if (startsWith(bytes, 0xFE, 0xFF)) {
            charset = StandardCharsets.UTF_16BE;
            skipped = 2;
        }
        try {
            return charset.newDecoder()
                    .onMalformedInput(malformed)
                    .onUnmappableCharacter(malformed)
                    .decode(ByteBuffer.wrap(bytes, skipped, bytes.length - skipped))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new UnreadableFileException("it is not text in " + (skipped == 2 ? "UTF-16" : "UTF-8"), e);
        }
    }

    private static boolean startsWith(byte[] bytes, int... prefix) {
        if (bytes.length < prefix.length) {
            return false;
        }
        for (int i = 0; i < prefix.length; i++) {
            if ((bytes[i] & 0xFF) != prefix[i]) {
                return false;
            }
        }
        return true;
    }
}
