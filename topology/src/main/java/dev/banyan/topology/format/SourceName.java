package dev.banyan.topology.format;

/** What to call a machine whose description does not name it. */
final class SourceName {
    private SourceName() {}

    /** The last segment of a path. */
    static String of(String source) {
        return source.substring(Math.max(source.lastIndexOf('/'), source.lastIndexOf('\\')) + 1);
    }
}
