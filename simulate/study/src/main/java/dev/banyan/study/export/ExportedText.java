package dev.banyan.study.export;

import java.util.List;

/**
 * A file and what its user should know.
 *
 * @param file the file's contents
 * @param use lines for a shell that make a program use the file
 * @param remarks sentences about it
 */
public record ExportedText(String file, List<String> use, List<String> remarks) {
    public ExportedText {
        use = List.copyOf(use);
        remarks = List.copyOf(remarks);
    }
}
