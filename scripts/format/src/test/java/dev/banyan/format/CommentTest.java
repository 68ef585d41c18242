package dev.banyan.format;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A comment begins with its subject or its verb, not with a clause that stands for the subject. */
class CommentTest {
    private static final String CLAUSE = "(What|Whether|Where|Of|Whose|How|Which|Who|When)\\b.*";
    private static final Pattern LINE = Pattern.compile("\\s*// " + CLAUSE);
    private static final Pattern BLOCK = Pattern.compile("\\s*/\\*\\*? " + CLAUSE);
    private static final Pattern SECOND = Pattern.compile("\\s*\\* " + CLAUSE);

    @Test
    void everyCommentBeginsWithItsSubjectOrVerb() throws IOException {
        Path root = Path.of(System.getProperty("banyan.root"));
        List<String> objections = new ArrayList<>();
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : (Iterable<Path>) files.filter(CommentTest::isSource)::iterator) {
                String before = "";
                int number = 0;
                for (String line : Files.readAllLines(file)) {
                    number++;
                    String last = before.strip();
                    if ((LINE.matcher(line).matches() && !last.startsWith("//"))
                            || BLOCK.matcher(line).matches()
                            || (SECOND.matcher(line).matches() && last.matches("/\\*\\*?"))) {
                        objections.add(root.relativize(file) + ":" + number + ": " + line.strip());
                    }
                    before = line;
                }
            }
        }
        assertThat(objections).isEmpty();
    }

    private static boolean isSource(Path file) {
        String name = file.toString();
        return name.matches(".*/src/.*\\.(java|c|js)") && !name.contains("/target/");
    }
}
