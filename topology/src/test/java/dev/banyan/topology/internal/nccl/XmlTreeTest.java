package dev.banyan.topology.internal.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.banyan.InputException;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Places are right however long the first tag is, and whatever follows it at once: the parser reads in pieces. */
class XmlTreeTest {
    /** The parser refuses names of more than 1000 characters. */
    private static final int LONGEST_NAME = 900;

    private static final List<String> PROLOGS =
            List.of("", "\n ", "<?xml version=\"1.0\"?>", "<?xml version=\"1.0\"?>\n", "<!-- <z> -->\r\n");

    /** Attributes, with the space before them, of about a given length. */
    private static List<String> attributes(int length) {
        return List.of(
                "",
                " ".repeat(length),
                "\n".repeat(length),
                "\r\n".repeat(length),
                " x=\"" + "y".repeat(length) + "\"",
                " x='>&lt;" + "y&amp;".repeat(length / 6) + "'",
                " " + "x".repeat(Math.min(length, LONGEST_NAME)) + "x=\"1\"");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 20, 40, 50, 57, 60, 61, 62, 63, 64, 65, 70, 100, 127, 128, 129, 300, 8190, 8300, 70_000})
    void tagsBeginWhereTheyAreSaidTo(int length) {
        for (String prolog : PROLOGS) {
            for (String attributes : attributes(length)) {
                for (String name : List.of("a", "a".repeat(Math.min(length, LONGEST_NAME) + 1))) {
                    String text = prolog + "<" + name + attributes + "><b/><c/>\n<d><e/></d></" + name + ">";
                    XmlElement root = XmlTree.parse("x", text);
                    assertThat(place(root)).isEqualTo(place(text, prolog.length()));
                    assertThat(place(root.children.get(0))).isEqualTo(place(text, text.indexOf("<b/>")));
                    assertThat(place(root.children.get(1))).isEqualTo(place(text, text.indexOf("<c/>")));
                    assertThat(place(root.children.get(2).children.getFirst()))
                            .isEqualTo(place(text, text.indexOf("<e/>")));
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 20, 40, 50, 60, 62, 64, 70, 128, 300, 8190, 8300})
    void errorsAreWhereTheyAreSaidToBe(int length) {
        for (String prolog : PROLOGS) {
            for (String attributes : attributes(length)) {
                String text = prolog + "<a" + attributes + "><b x=1/></a>";
                InputException refusal = catchThrowableOfType(InputException.class, () -> XmlTree.parse("x", text));
                assertThat(refusal.getMessage())
                        .startsWith("x:" + place(text, text.lastIndexOf("1/>")) + ": is not well-formed XML");
                String cut = prolog + "<a" + attributes + "><b/> ";
                refusal = catchThrowableOfType(InputException.class, () -> XmlTree.parse("x", cut));
                assertThat(refusal.getMessage()).startsWith("x:" + place(cut, cut.length() - 1) + ": is cut off");
            }
        }
    }

    private static String place(XmlElement element) {
        return element.place.line() + ":" + element.place.column();
    }

    private static String place(String text, int position) {
        String before = text.substring(0, position);
        return (before.chars().filter(c -> c == '\n').count() + 1) + ":" + (position - before.lastIndexOf('\n'));
    }
}
