package dev.banyan.page.study;

import java.util.List;

/**
 * The gradients of a model.
 *
 * @param model its name
 * @param elements elements of 4 bytes of each key, in the order of the layers
 */
public record ModelGradients(String model, List<Long> elements) {
    public ModelGradients {
        elements = List.copyOf(elements);
        if (elements.isEmpty()) {
            throw new IllegalArgumentException("the model " + model + " has no gradient; give at least one size");
        }
    }
}
