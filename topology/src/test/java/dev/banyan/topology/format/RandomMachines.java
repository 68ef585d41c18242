package dev.banyan.topology.format;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Machines that need make no sense: any nodes, links, names and attributes. */
final class RandomMachines {
    private static final String[] WORDS = {
        "",
        "a",
        "GPU0",
        "0000:06:00.0",
        "two words",
        "\"quoted\"",
        "back\\slash",
        "<tag/>",
        "&amp;",
        "line\nfeed",
        "tab\t",
        "\u0000",
        "\u001b[4m",
        "\u00e9",
        "\ud83c\udf33",
        "\ud800",
        "{}",
        "null",
        "1e400",
    };

    private RandomMachines() {}

    static Machine next(Random random) {
        List<Device> devices = new ArrayList<>();
        for (int i = random.nextInt(6); i > 0; i--) {
            devices.add(new Device(
                    word(random),
                    random.nextBoolean() ? word(random) : null,
                    random.nextInt(4) - 1,
                    attributes(random)));
        }
        List<Hub> hubs = new ArrayList<>();
        for (int i = random.nextInt(6); i > 0; i--) {
            Hub.Kind kind = any(Hub.Kind.values(), random);
            boolean reduces = kind == Hub.Kind.NVSWITCH && random.nextBoolean();
            hubs.add(new Hub(word(random), kind, reduces, attributes(random)));
        }
        int nodes = devices.size() + hubs.size();
        List<Link> links = new ArrayList<>();
        for (int i = nodes < 2 ? 0 : random.nextInt(12); i > 0; i--) {
            int a = random.nextInt(nodes);
            links.add(new Link(
                    a,
                    (a + 1 + random.nextInt(nodes - 1)) % nodes,
                    any(Link.Kind.values(), random),
                    1 + random.nextInt(1 + random.nextInt(Integer.MAX_VALUE - 1)),
                    number(random),
                    number(random),
                    number(random)));
        }
        List<Nic> nics = new ArrayList<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            nics.add(new Nic(word(random), random.nextInt(nodes + 1) - 1, attributes(random)));
        }
        List<String> warnings = words(random);
        return new Machine(word(random), devices, hubs, links, nics, warnings, words(random));
    }

    private static List<String> words(Random random) {
        List<String> words = new ArrayList<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            words.add(word(random));
        }
        return words;
    }

    private static double number(Random random) {
        return switch (random.nextInt(5)) {
            case 0 -> 0;
            case 1 -> random.nextInt(1000);
            case 2 -> Double.MAX_VALUE * random.nextDouble();
            case 3 -> Double.MIN_VALUE * random.nextInt(1000);
            default -> random.nextDouble() * 1000;
        };
    }

    private static Map<String, String> attributes(Random random) {
        Map<String, String> attributes = new LinkedHashMap<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            attributes.put(word(random), word(random));
        }
        return attributes;
    }

    private static String word(Random random) {
        return any(WORDS, random);
    }

    private static <T> T any(T[] values, Random random) {
        return values[random.nextInt(values.length)];
    }
}
