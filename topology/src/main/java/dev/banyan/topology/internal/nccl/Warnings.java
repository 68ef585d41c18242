package dev.banyan.topology.internal.nccl;

import java.util.ArrayList;
import java.util.List;

/** The oddities of a description: one sentence each, and a bounded number of them. */
final class Warnings {
    private static final int MOST = 50;

    private final List<String> sentences = new ArrayList<>();
    private int more;

    void add(String sentence) {
        if (sentences.size() < MOST) {
            sentences.add(sentence);
        } else {
            more++;
        }
    }

    void add(XmlElement where, String sentence) {
        add("line " + where.place.line() + ": " + sentence);
    }

    List<String> list() {
        List<String> all = new ArrayList<>(sentences);
        if (more > 0) {
            all.add(more + " further warnings are left out");
        }
        return all;
    }
}
