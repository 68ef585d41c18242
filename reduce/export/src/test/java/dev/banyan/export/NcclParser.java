package dev.banyan.export;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads a graph file as NCCL does: character by character, with one space before each attribute, and no tab, entity or
 * XML declaration.
 */
final class NcclParser {
    record Element(String name, Map<String, String> attributes, List<Element> children) {
        int number(String key) {
            return Integer.decode(attributes.get(key));
        }

        double decimal(String key) {
            return Double.parseDouble(attributes.get(key));
        }
    }

    private final String text;
    private int at;

    private NcclParser(String text) {
        this.text = text;
    }

    static Element parse(String text) {
        return new NcclParser(text).root();
    }

    private Element root() {
        Element whole = new Element("", new LinkedHashMap<>(), new ArrayList<>());
        Deque<Element> open = new ArrayDeque<>(List.of(whole));
        while (true) {
            while (at < text.length() && " \n".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
            if (at == text.length()) {
                break;
            }
            expect('<');
            if (text.startsWith("!--", at)) {
                at = text.indexOf("-->", at) + 3;
            } else if (text.charAt(at) == '/') {
                at++;
                String name = word();
                expect('>');
                if (!open.pop().name().equals(name)) {
                    throw wrong("closes the wrong element");
                }
            } else {
                element(open);
            }
        }
        if (open.size() != 1 || whole.children().size() != 1) {
            throw wrong("has not one closed root");
        }
        return whole.children().getFirst();
    }

    private void element(Deque<Element> open) {
        Element element = new Element(word(), new LinkedHashMap<>(), new ArrayList<>());
        while (text.charAt(at) == ' ') {
            at++;
            String key = word();
            expect('=');
            expect('"');
            int end = text.indexOf('"', at);
            element.attributes().put(key, text.substring(at, end));
            at = end + 1;
        }
        open.element().children().add(element);
        if (text.charAt(at) == '/') {
            at++;
        } else {
            open.push(element);
        }
        expect('>');
    }

    private String word() {
        int start = at;
        while (Character.isLetterOrDigit(text.charAt(at))) {
            at++;
        }
        if (at == start) {
            throw wrong("has no name here");
        }
        return text.substring(start, at);
    }

    private void expect(char wanted) {
        if (text.charAt(at++) != wanted) {
            throw wrong("has no " + wanted + " here");
        }
    }

    private IllegalStateException wrong(String problem) {
        return new IllegalStateException("offset " + at + " " + problem);
    }
}
