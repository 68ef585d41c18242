package dev.banyan.dlc;

import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcRole;
import dev.banyan.dlc.internal.read.DlcReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Traces as text, and lines of them. */
final class DlcSamples {
    private DlcSamples() {}

    static DlcTrace read(String text) {
        try {
            return DlcReader.read("t.txt", new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    static String write(DlcTrace trace) {
        StringWriter text = new StringWriter();
        try {
            DlcWriter.write(trace, text);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return text.toString();
    }

    /** A file of columns that are separated by blanks, with a header. */
    static DlcTrace trace(DlcRole role, int workers, int servers, String records) {
        String header = write(new DlcTrace(DlcHeader.of(role, "box", workers, servers), List.of()));
        return read(header + records);
    }
}
