package dev.banyan.djl.internal.data;

import ai.djl.engine.Engine;
import ai.djl.engine.EngineProvider;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Sampler;
import java.lang.reflect.Field;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Access to the two private fields of DJL 0.35 that Banyan needs. No other class uses reflection on DJL. */
public final class DjlInternals {
    private DjlInternals() {}

    /**
     * Registers a provider in place of the registered one of the same name.
     *
     * @throws IllegalStateException if this version of DJL stores its engines differently; the message says so
     */
    @SuppressWarnings("unchecked")
    public static void register(EngineProvider provider) {
        Map<String, EngineProvider> engines = (Map<String, EngineProvider>) value(Engine.class, "ALL_ENGINES", null);
        engines.put(provider.getEngineName(), provider);
    }

    /**
     * Returns the sampler that draws the batches of a dataset.
     *
     * @throws IllegalStateException if this version of DJL stores it differently; the message says so
     */
    static Sampler sampler(RandomAccessDataset dataset) {
        return (Sampler) value(RandomAccessDataset.class, "sampler", dataset);
    }

    private static Object value(Class<?> owner, String name, @Nullable Object object) {
        @Nullable Object value;
        try {
            Field field = owner.getDeclaredField(name);
            field.setAccessible(true);
            value = field.get(object);
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw new IllegalStateException(
                    "Banyan can't use " + owner.getSimpleName() + "." + name + ", in DJL " + Engine.getDjlVersion()
                            + " (" + e + "); take DJL 0.36.0, on the class path",
                    e);
        }
        if (value == null) {
            throw new IllegalStateException(
                    owner.getSimpleName() + "." + name + " is not set; set it before the training");
        }
        return value;
    }
}
