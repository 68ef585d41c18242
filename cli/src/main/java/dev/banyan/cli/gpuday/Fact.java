package dev.banyan.cli.gpuday;

import java.util.Map;

/**
 * A property of the machine.
 *
 * @param name e.g. {@code card}
 * @param of what has it, e.g. {@code GPU} to {@code 0}
 * @param value in words or as a number
 */
record Fact(String name, Map<String, String> of, String value) {}
