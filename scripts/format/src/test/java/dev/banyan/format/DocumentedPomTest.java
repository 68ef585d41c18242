package dev.banyan.format;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/** The POM of README.md is well formed and asks for what this build makes and uses. */
class DocumentedPomTest {
    private static final Pattern BLOCK = Pattern.compile("^```xml\\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);

    private final Path root = Path.of(System.getProperty("banyan.root"));

    @Test
    void versionsAreThoseOfThisBuild() throws Exception {
        Matcher block = BLOCK.matcher(Files.readString(root.resolve("README.md")));
        assertThat(block.find()).as("an XML block in README.md").isTrue();
        Element documented = parse(new ByteArrayInputStream(block.group(1).getBytes(StandardCharsets.UTF_8)));
        Element own = parse(Files.newInputStream(root.resolve("pom.xml")));
        Element published = parse(Files.newInputStream(root.resolve("reduce/banyan/pom.xml")));

        Map<String, String> expected = Map.of(
                text(published, "artifactId", 1),
                text(own, "version", 0),
                "slf4j-simple",
                text(own, "slf4j.version", 0));
        assertThat(dependencies(documented)).isEqualTo(expected);
        assertThat(text(documented, "maven.compiler.source", 0)).isEqualTo(text(own, "maven.compiler.release", 0));
        assertThat(text(documented, "maven.compiler.target", 0)).isEqualTo(text(own, "maven.compiler.release", 0));

        assertThat(block.find()).as("a second XML block in README.md").isTrue();
        String ofDjl = "<dependencies>" + block.group(1) + "</dependencies>";
        assertThat(dependencies(parse(new ByteArrayInputStream(ofDjl.getBytes(StandardCharsets.UTF_8)))))
                .isEqualTo(Map.of(
                        "banyan-djl",
                        text(own, "version", 0),
                        "pytorch-jni",
                        text(own, "pytorch.version", 0) + "-" + text(own, "djl.version", 0),
                        "pytorch-native-cpu",
                        text(own, "pytorch.version", 0)));
    }

    private static Map<String, String> dependencies(Element pom) {
        Map<String, String> versions = new HashMap<>();
        NodeList dependencies = pom.getElementsByTagName("dependency");
        for (int d = 0; d < dependencies.getLength(); d++) {
            Element dependency = (Element) dependencies.item(d);
            versions.put(text(dependency, "artifactId", 0), text(dependency, "version", 0));
        }
        return versions;
    }

    /** Returns the text of the element's n-th descendant of a name. */
    private static String text(Element element, String name, int n) {
        return element.getElementsByTagName(name).item(n).getTextContent().strip();
    }

    private static Element parse(InputStream in) throws IOException, ParserConfigurationException, SAXException {
        try (in) {
            return DocumentBuilderFactory.newDefaultInstance()
                    .newDocumentBuilder()
                    .parse(in)
                    .getDocumentElement();
        }
    }
}
