package dev.banyan.dlc.internal.read;

import dev.banyan.InputException;
import dev.banyan.dlc.DlcTrace;
import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcRecord;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Reads traces in the DLC format, ours or anybody's: with one or more tabs or blanks between columns, with or
 * without the header, with setup messages that lack columns, with ids of operations as late or early tracers
 * write them.
 *
 * <p>O(characters).
 */
public final class DlcReader {
    private static final Pattern COLUMNS =
            Pattern.compile("\\s*id\\s+src\\s+dst\\s+length\\b.*", Pattern.CASE_INSENSITIVE);
    private static final Pattern RECORD = Pattern.compile("\\s*\\d+\\s+\\d+\\s+\\d+\\s+\\d+\\s.*");

    private DlcReader() {}

    /**
     * Reads a trace.
     *
     * @param source what to call it in messages, e.g. the file's name
     * @param in its contents, UTF-8; read to the end, not closed
     * @throws InputException if it cannot be understood
     * @throws IOException if reading fails
     */
    public static DlcTrace read(String source, InputStream in) throws IOException {
        BufferedReader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        DlcHeaderParser headers = new DlcHeaderParser(source);
        List<DlcRecord> records = new ArrayList<>();
        int number = 1;
        String text = reader.readLine();
        for (; text != null && !RECORD.matcher(text).matches(); text = reader.readLine(), number++) {
            if (COLUMNS.matcher(text).matches()) {
                number++;
                text = reader.readLine();
                break;
            }
            headers.take(number, text);
        }
        if (text == null) {
            throw new InputException(
                    source, 0, 0, "has no records of a DLC trace; they follow a line 'id src dst length num_pp ...'");
        }
        Optional<DlcHeader> header = headers.header();
        DlcRecordParser parser = new DlcRecordParser(header);
        for (; text != null; text = reader.readLine(), number++) {
            if (COLUMNS.matcher(text).matches()) {
                throw new InputException(
                        source, number, 0, "a second trace begins here; tracers append to files, so cut it off before");
            }
            if (!text.isBlank()) {
                records.add(parser.parse(new DlcLine(source, number, text)));
            }
        }
        return new DlcTrace(header.orElseGet(() -> headers.derived(records)), records);
    }
}
