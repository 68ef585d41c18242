package dev.banyan.topology.format;

/** Small topology files for tests. */
final class NcclFiles {
    private NcclFiles() {}

    static String system(String... cpus) {
        return "<system version=\"1\">\n" + String.join("", cpus) + "</system>\n";
    }

    static String cpu(int numa, String... content) {
        return "<cpu numaid=\"" + numa + "\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"85\">\n"
                + String.join("", content) + "</cpu>\n";
    }

    static String pcieSwitch(String busId, String... content) {
        return pci(busId, "0x060400", content);
    }

    static String pci(String busId, String pciClass, String... content) {
        return "<pci busid=\"" + busId + "\" class=\"" + pciClass
                + "\" link_speed=\"8.0 GT/s PCIe\" link_width=\"16\">\n" + String.join("", content) + "</pci>\n";
    }

    /** A V100 in the PCI function {@code 0000:NN:00.0}, where NN is dev + 10. */
    static String gpu(int dev, String... links) {
        return gpu(dev, dev, 70, links);
    }

    static String gpu(int dev, int rank, int sm, String... links) {
        return pci(
                busId(dev),
                "0x030200",
                "<gpu dev=\"" + dev + "\" sm=\"" + sm + "\" rank=\"" + rank + "\" gdr=\"1\">\n" + String.join("", links)
                        + "</gpu>\n");
    }

    static String busId(int dev) {
        return "0000:" + (dev + 10) + ":00.0";
    }

    static String nvlink(int dev, int count) {
        return link("nvlink", busId(dev), count, "0x030200");
    }

    static String toSwitch(String busId, int count) {
        return link("nvlink", busId, count, "0x068000");
    }

    static String link(String element, String target, int count, String targetClass) {
        return "<" + element + " target=\"" + target + "\" count=\"" + count + "\" tclass=\"" + targetClass + "\"/>\n";
    }
}
