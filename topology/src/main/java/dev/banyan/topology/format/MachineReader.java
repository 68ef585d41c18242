package dev.banyan.topology.format;

import dev.banyan.InputException;
import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.Quote;
import dev.banyan.config.internal.UnreadableFileException;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.amd.AmdSmiFormat;
import dev.banyan.topology.internal.amd.RocmSmiFormat;
import dev.banyan.topology.internal.json.BanyanJsonFormat;
import dev.banyan.topology.internal.matrix.MatrixFormat;
import dev.banyan.topology.internal.nccl.NcclXmlFormat;
import dev.banyan.topology.internal.nvidia.ForeignOutput;
import dev.banyan.topology.internal.nvidia.TopoTextFormat;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.CodingErrorAction;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/**
 * Reads machine descriptions. The format is found from the content: text of {@code nvidia-smi topo -m}, {@code rocm-smi
 * --showtopo} or {@code amd-smi topology}, an NCCL topology XML, a plain n x n matrix, or Banyan's own JSON.
 *
 * <p>Immutable and safe for use from any thread.
 */
public final class MachineReader {
    /** Largest file that is read, in bytes. */
    public static final int MAX_BYTES = 16 << 20;

    private static final BoundedInput LIMIT = new BoundedInput(MAX_BYTES, 200_000);
    private static final String KNOWN = "Banyan reads output of \"nvidia-smi topo -m\", \"rocm-smi --showtopo\" and"
            + " \"amd-smi topology\", NCCL topology XML, a plain n x n matrix, and its own JSON";

    private final List<MachineFormat> formats;
    private final StatedSpeeds stated;

    /** A reader that takes the entries of a plain matrix as classic link classes. */
    public MachineReader() {
        this(MatrixUnit.CLASSES);
    }

    /**
     * @param unit what the entries of a plain matrix are; other formats carry their units themselves
     */
    public MachineReader(MatrixUnit unit) {
        this(unit, StatedSpeeds.NONE);
    }

    /**
     * A reader that needs to assume less.
     *
     * @param unit what the entries of a plain matrix are
     * @param stated speeds of links whose description leaves them open; a description of a format that states all
     *     speeds is then rejected
     */
    public MachineReader(MatrixUnit unit, StatedSpeeds stated) {
        this.stated = Objects.requireNonNull(stated);
        // Text of another tool may hold lines that look like a matrix, so it is looked for before the matrix.
        formats = List.of(
                new BanyanJsonFormat(),
                new NcclXmlFormat(stated),
                new RocmSmiFormat(stated),
                new AmdSmiFormat(stated),
                new TopoTextFormat(stated),
                new ForeignOutput(),
                new MatrixFormat(Objects.requireNonNull(unit), stated));
    }

    /**
     * Reads a file: UTF-8, or UTF-16 with a byte order mark as Windows redirection writes it.
     *
     * @throws InputException if the file cannot be read, is larger than {@link #MAX_BYTES}, is not
     *     text, or is not a machine description; the message says which and what to do
     */
    public Machine read(Path file) {
        String source = file.toString();
        try {
            return parse(source, BoundedInput.decoded(LIMIT.bytes(file), CodingErrorAction.REPLACE));
        } catch (UnreadableFileException e) {
            throw new InputException(source, 0, 0, e.reason());
        }
    }

    /**
     * Reads a stream to its end, as {@link #read(Path)} reads a file; leaves it open.
     *
     * @param source what to call it in messages, e.g. {@code stdin}
     * @throws InputException as for a file
     */
    public Machine read(String source, InputStream in) {
        try {
            return parse(source, BoundedInput.decoded(LIMIT.bytes(in), CodingErrorAction.REPLACE));
        } catch (UnreadableFileException e) {
            throw new InputException(source, 0, 0, e.reason());
        } catch (IOException e) {
            throw new InputException(source, 0, 0, "it cannot be read: " + e.getMessage());
        }
    }

    /**
     * Reads a description that is in memory.
     *
     * @param source what to call it in messages, e.g. a file's path; its last segment names the machine
     *     where the description has no name of its own
     * @param text the whole description
     * @throws InputException if it is not a machine description; the message says where and why
     */
    public Machine parse(String source, String text) {
        String content = text.startsWith("\uFEFF") ? text.substring(1) : text;
        if (content.isBlank()) {
            throw new InputException(source, 0, 0, "is empty; " + KNOWN);
        }
        int nul = content.indexOf('\0');
        if (nul >= 0) {
            throw new InputException(
                    source, 0, 0, "is not text (it holds NUL bytes); save it as UTF-8, or name another file");
        }
        for (MachineFormat format : formats) {
            if (format.recognizes(content)) {
                if (!stated.equals(StatedSpeeds.NONE) && !format.leavesSpeedsOpen()) {
                    throw new InputException(source, 0, 0, "carries the speeds of its links itself; state none for it");
                }
                return format.read(source, content);
            }
        }
        List<String> lines = content.lines().toList();
        int first = 0;
        while (lines.get(first).isBlank()) {
            first++;
        }
        throw new InputException(
                source,
                first + 1,
                0,
                "this is no machine description: it begins with \""
                        + Quote.of(lines.get(first).strip()) + "\"; " + KNOWN);
    }
}
