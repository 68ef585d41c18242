package dev.banyan.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.io.StringWriter;

/** One run of the command in this JVM. */
public record CommandRun(int status, String out, String err) {
    /** Runs it with arguments that are separated by single spaces. */
    public static CommandRun of(String arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        String[] words = arguments.isEmpty() ? new String[0] : arguments.split(" ", -1);
        int status = BanyanCommand.commandLine(new PrintWriter(out), new PrintWriter(err, true), words)
                .execute(words);
        return new CommandRun(status, out.toString(), err.toString());
    }

    /** All of stdout, which must be JSON as docs/output.schema.json describes it, and nothing else. */
    public JsonNode json() throws java.io.IOException {
        try (var parser = new ObjectMapper().createParser(out)) {
            JsonNode node = parser.readValueAsTree();
            if (node == null) {
                throw new AssertionError("nothing on stdout, but status " + status + " and on stderr: " + err);
            }
            if (parser.nextToken() != null) {
                throw new AssertionError("more than one JSON value on stdout: " + out);
            }
            OutputSchema.check(node);
            return node;
        }
    }

    /** The table of {@link #json}. */
    public JsonNode rows() throws java.io.IOException {
        return json().get("rows");
    }
}
