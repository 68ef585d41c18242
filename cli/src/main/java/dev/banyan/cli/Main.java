package dev.banyan.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
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
        PrintWriter err = new PrintWriter(System.err, true, Charset.defaultCharset());
        // System.out would hide that output is lost.
        System.exit(BanyanCommand.run(new FileOutputStream(FileDescriptor.out), err, args));
    }
}
