package dev.banyan.study.text;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/** Tables among the resources of the command: fields with blanks between, comments begin with {@code #}. */
public final class ResourceTable {
    private ResourceTable() {}

    /**
     * Reads a table.
     *
     * @param beside a class in the package of the table
     * @param fields number of fields of a row; the last one may hold blanks
     */
    public static List<String[]> rows(Class<?> beside, String name, int fields) {
        try (InputStream in = Objects.requireNonNull(beside.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.startsWith("#"))
                    .map(line -> line.split(" ", fields))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
