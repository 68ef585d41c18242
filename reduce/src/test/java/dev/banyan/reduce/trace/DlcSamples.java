package dev.banyan.reduce.trace;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Traces of a small run: keys of some sizes, a number of iterations, times that are easy to follow. */
final class DlcSamples {
    static final long BEGIN_US = 1_700_000_000_000_000L;

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

    static DlcMessage worker(
            int id, int worker, int server, int workers, long length, int number, int key, int operation, long timeUs) {
        DlcOperation what = DlcOperation.values()[operation % DlcOperation.MESSAGES];
        DlcOperationId name = new DlcOperationId(key, operation, DlcRole.SERVER, server - workers);
        List<DlcDependency> after = new ArrayList<>();
        if (operation == 0) {
            return message(id, worker, server, length, number, what, name, DlcDependencyType.INDEPENDENT, timeUs, after);
        }
        boolean push = what == DlcOperation.PUSH_SEND_WORKER;
        after.add(push
                ? DlcDependency.onAllKeys(operation - 1, DlcRole.SERVER, server - workers)
                : DlcDependency.on(new DlcOperationId(key, operation - 1, DlcRole.SERVER, server - workers)));
        DlcDependencyType type = push ? DlcDependencyType.PUSH_ON_PULL : DlcDependencyType.values()[what.message()];
        return message(id, worker, server, length, number, what, name, type, timeUs, after);
    }

    private static DlcMessage message(
            int id,
            int worker,
            int server,
            long length,
            int number,
            DlcOperation what,
            DlcOperationId name,
            DlcDependencyType type,
            long timeUs,
            List<DlcDependency> after) {
        return new DlcMessage(
                id,
                what.toServer() ? worker : server,
                what.toServer() ? server : worker,
                length,
                number,
                what,
                name,
                type,
                after.isEmpty() ? 0 : 10,
                BEGIN_US + timeUs,
                after);
    }
}
