package dev.banyan.cli;

import java.io.PrintWriter;
import java.nio.charset.Charset;

/** Starts the {@code banyan} command. */
public final class Main {
    private Main() {}

    /**
     * Runs one command and ends the JVM: 0 is success, 1 a failure, 2 wrong usage.
     *
     * @param args as typed
     */
    public static void main(String[] args) {
        PrintWriter out = new PrintWriter(System.out, false, Charset.defaultCharset());
        PrintWriter err = new PrintWriter(System.err, true, Charset.defaultCharset());
        int status = BanyanCommand.commandLine(out, err).execute(args);
        out.flush();
        System.exit(status);
    }
}
