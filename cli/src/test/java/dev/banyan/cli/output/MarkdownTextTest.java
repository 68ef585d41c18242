package dev.banyan.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cli.CommandRun;
import dev.banyan.study.text.TextTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MarkdownTextTest {
    @TempDir
    private Path folder;

    @Test
    void namesOfFilesAreNoHtml() throws IOException {
        Path file = Files.writeString(folder.resolve("<b>&lt;"), "0 2\n2 0\n");

        CommandRun run = CommandRun.of("compare --format markdown --machine " + file);

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains("&lt;b>&amp;lt;").doesNotContain("<");
    }

    @Test
    void cellsOfTablesAreEscaped() {
        TextTable table = new TextTable("name", "a < b");
        table.row("<img>", "x|y");

        assertThat(table.markdown()).containsExactly("| name | a < b |", "|---|---:|", "| &lt;img> | x\\|y |");
    }
}
