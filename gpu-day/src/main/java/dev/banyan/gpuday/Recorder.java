package dev.banyan.gpuday;

import java.util.Map;

/** Takes results as they come in, so that those before a failure are kept. Used by one thread. */
public interface Recorder {
    /** Records what was measured. */
    void figure(Figure figure);

    /**
     * Records a property of the machine.
     *
     * @param of what has the property, e.g. {@code device} to {@code 0}
     */
    void fact(String name, Map<String, String> of, String value);

    /** Records a sentence, e.g. what was left out and why. */
    void note(String sentence);
}
