package dev.banyan.study.measured;

import java.util.regex.Pattern;

/** Models of GPUs between which NVIDIA's driver allows no peer access; patched drivers do. */
public final class ForbiddenPeers {
    private static final Pattern MODEL = Pattern.compile("\\bRTX [45]0[5-9]0\\b");

    private ForbiddenPeers() {}

    public static boolean isForbidden(String model) {
        return MODEL.matcher(model).find();
    }
}
