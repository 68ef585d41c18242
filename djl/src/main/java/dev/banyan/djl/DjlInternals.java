package dev.banyan.djl;

import ai.djl.engine.Engine;
import ai.djl.engine.EngineProvider;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Sampler;
import java.lang.reflect.Field;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The two private fields of DJL that Banyan needs, and the only place where it looks at such. Made for DJL 0.35. */
final class DjlInternals {
    private static final String IN = ", in DJL ";

    private DjlInternals() {}

    /**
     * Makes a provider the one of its name, in place of what is registered.
     *
     * @throws IllegalStateException if this DJL keeps its engines otherwise; the message says so
     */
    @SuppressWarnings("unchecked")
    static void register(EngineProvider provider) {
        Map<String, EngineProvider> engines = (Map<String, EngineProvider>) value(Engine.class, "ALL_ENGINES", null);
        engines.put(provider.getEngineName(), provider);
    }

    /**
     * What a dataset draws its batches by.
     *
     * @throws IllegalStateException if this DJL keeps it otherwise; the message says so
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
                    "Banyan can't use " + owner.getSimpleName() + "." + name + IN + Engine.getDjlVersion() + " (" + e
                            + "); take DJL 0.35.1, on the class path",
                    e);
        }
        if (value == null) {
            throw new IllegalStateException(
                    owner.getSimpleName() + "." + name + " is not set; set it before the training");
        }
        return value;
    }
}
